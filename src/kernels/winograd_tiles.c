/* winograd_tiles.c - iterates over the tiles of images; selects the version of the kernels. */
#include "kernels/winograd_tiles.h"
#include "kernels/integers.h"
#include "kernels/kernels.h"

enum { BLOCK = CK_WINO_BLOCK, IN = CK_WINO_IN };

/* Not synchronised: tests and benchmarks set it while no other thread computes. */
static const struct ck_wino_kernels *forced;

static const struct ck_wino_kernels *version_for(const struct ck_kernels *k)
{
    k = ck_kernels_f32(k);
#if defined(__x86_64__)
    if (k == &ck_kernels_avx512)
        return &ck_wino_kernels_avx512;
    if (k == &ck_kernels_avx2)
        return &ck_wino_kernels_avx2;
#endif
    return k ? &ck_wino_kernels_ref : NULL;
}

const struct ck_wino_kernels *ck_wino_kernels(void)
{
    return forced ? forced : version_for(ck_kernels());
}

void ck_wino_kernels_force(const struct ck_wino_kernels *version)
{
    forced = version;
}

const struct ck_wino_kernels *ck_wino_kernels_named(const char *name)
{
    return version_for(ck_kernels_named(name));
}

/* step, before and size of the input's tiles, and the side of the output's. */
static const struct {
    int step, before, size, out, side;
} forms[CK_WINO_FORMS] = {
    [CK_WINO_SAME] = {4, 1, 6, 4, 6},
    [CK_WINO_DOWN] = {8, 1, 9, 4, 9},
    [CK_WINO_UP] = {4, 0, 5, 8, 9},
};

struct ck_wino_grid ck_wino_grid(const struct ck_wino_shape *s, enum ck_wino_form form)
{
    int64_t h = s->halved ? (s->h + 1) / 2 : s->h, w = s->halved ? (s->w + 1) / 2 : s->w;
    int up = form == CK_WINO_UP, out = forms[form].out, side = forms[form].side;
    struct ck_wino_grid g = {.form = form, .side = side, .slots = side * side};
    g.in = (struct ck_wino_plane){up ? h : s->h, up ? w : s->w, forms[form].step,
                                  forms[form].before, forms[form].size};
    g.out = (struct ck_wino_plane){up ? s->h : h, up ? s->w : w, out, 0, out};
    g.rows = (g.out.h + out - 1) / out;
    g.cols = (g.out.w + out - 1) / out;
    g.full_rows = g.rows;
    g.full_cols = g.cols;
    g.tiles = s->n * g.rows * g.cols;
    return g;
}

/* ---- segments ---- */

/* Bits of the slots of a row or column that its last tile, of less than `size` outputs, does not
 * need: the point infinity adds to the last output alone, and even pixels to one output each. */
static int unused(const struct ck_wino_grid *g, int64_t pixels)
{
    int64_t rest = pixels % g->out.size, infinity = g->form == CK_WINO_SAME ? 5 : 4;
    int64_t even = g->form == CK_WINO_UP ? (rest + 1) / 2 : rest;
    int bits = 0;
    for (int slot = 0; rest && slot < g->side; slot++)
        bits |= (slot == infinity || slot - infinity > even) << slot;
    return bits;
}

int ck_wino_sort(struct ck_wino_grid *g)
{
    g->full_rows = g->out.h / g->out.size;
    g->full_cols = g->out.w / g->out.size;
    g->skip_rows = unused(g, g->out.h);
    g->skip_cols = unused(g, g->out.w);
    return g->skip_rows || g->skip_cols;
}

struct ck_wino_cut ck_wino_cut(const struct ck_wino_grid *g, int64_t tiles)
{
    int64_t images = tiles / (g->rows * g->cols), short_rows = g->rows - g->full_rows,
            short_cols = g->cols - g->full_cols;
    return (struct ck_wino_cut){{0, images * short_rows * g->full_cols,
                                 tiles - images * short_cols * g->rows,
                                 tiles - images * short_cols * short_rows, tiles}};
}

/* ---- positions ---- */

/* Position of a tile in a plane: the plane's offset in floats, and the first pixel (y, x), of
 * the steps that belong to the tile. */
struct cursor {
    const struct ck_wino_grid *g;
    const struct ck_wino_plane *p;
    int64_t image;      /* floats to the same channel block of the next image */
    int64_t start, end; /* planes of the group; unsorted: no end */
    int64_t top, bottom, left, right; /* of the segment, in tiles */
    int64_t plane, row, col;
    int segment;
};

static void set_segment(struct cursor *c, int segment)
{
    const struct ck_wino_grid *g = c->g;
    int short_rows = segment == 0 || segment == 3, short_cols = segment >= 2;
    c->segment = segment;
    c->top = short_rows ? g->full_rows : 0;
    c->bottom = short_rows ? g->rows : g->full_rows;
    c->left = short_cols ? g->full_cols : 0;
    c->right = short_cols ? g->cols : g->full_cols;
}

static struct cursor cursor_at(const struct ck_wino_grid *g, const struct ck_wino_plane *p,
                               const struct ck_wino_range *r)
{
    struct cursor c = {.g = g, .p = p, .image = r->blocks * p->h * p->w * BLOCK};
    struct ck_wino_cut cut = ck_wino_cut(g, r->group.tiles);
    int64_t tiles = g->rows * g->cols, image = r->group.start / tiles;
    int segment = 0;
    while (r->first >= cut.start[segment + 1])
        segment++;
    set_segment(&c, segment);
    c.start = (image * r->blocks + r->block) * p->h * p->w * BLOCK;
    c.end = g->skip_rows | g->skip_cols ? c.start + r->group.tiles / tiles * c.image : INT64_MAX;
    /* unsorted groups have one segment and may begin within an image */
    int64_t at = r->first - cut.start[segment] + r->group.start % tiles, cols = c.right - c.left;
    tiles = (c.bottom - c.top) * cols;
    c.plane = c.start + at / tiles * c.image;
    c.row = c.top + at % tiles / cols;
    c.col = c.left + at % tiles % cols;
    return c;
}

/* Moves to the next tile; after the last of an image's segment, to the same channel block of the
 * next image; after the last image, to the next segment that has tiles. */
static void cursor_next(struct cursor *c)
{
    if (++c->col < c->right)
        return;
    c->col = c->left;
    if (++c->row < c->bottom)
        return;
    c->row = c->top;
    c->plane += c->image;
    if (c->plane < c->end)
        return;
    c->plane = c->start;
    do
        set_segment(c, c->segment + 1);
    while (c->segment < CK_WINO_SEGMENTS && (c->top == c->bottom || c->left == c->right));
    c->row = c->top;
    c->col = c->left;
}

/* Sets t to the tile's pixels; rows outside are zeros. Fills it in place: copying a struct that
 * was just stored would stall on store forwarding. */
static void set_tile(struct ck_wino_tile *t, const struct cursor *c, const float *images)
{
    static const float zeros[IN * BLOCK];
    const struct ck_wino_plane *p = c->p;
    int64_t y = c->row * p->step - p->before, x = c->col * p->step - p->before;
    t->first = x < 0 ? (int)-x : 0;
    t->end = (int)smaller(p->size, p->w - x);
    const float *at = images + c->plane + (y * p->w + x + t->first) * BLOCK;
    for (int i = 0; i < p->size; i++)
        t->row[i] = y + i >= 0 && y + i < p->h ? at + i * p->w * BLOCK : zeros;
}

void ck_wino_inputs(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                    const struct ck_wino_range *r, const float *x, float *v, int64_t stride)
{
    struct cursor c = cursor_at(g, &g->in, r);
    for (int64_t i = 0; i < r->count; i++, cursor_next(&c)) {
        struct ck_wino_tile t;
        set_tile(&t, &c, x);
        kn->input[g->form][r->stream](&t, v + i * BLOCK, stride);
    }
}

void ck_wino_output_grads(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                          const struct ck_wino_range *r, const float *dy, float *m,
                          int64_t m_row, int64_t stride)
{
    struct cursor c = cursor_at(g, &g->out, r);
    for (int64_t i = 0; i < r->count; i++, cursor_next(&c)) {
        struct ck_wino_tile t;
        set_tile(&t, &c, dy);
        kn->output_grad[g->form != CK_WINO_SAME][r->stream](&t, m + i * m_row, stride);
    }
}

void ck_wino_outputs(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                     const struct ck_wino_range *r, const float *m, int64_t m_row,
                     int64_t stride, float *y)
{
    struct cursor c = cursor_at(g, &g->out, r);
    const struct ck_wino_plane *p = &g->out;
    for (int64_t i = 0; i < r->count; i++, cursor_next(&c)) {
        int64_t top = c.row * p->step, left = c.col * p->step;
        kn->output[g->form](m + i * m_row, stride, y + c.plane + (top * p->w + left) * BLOCK,
                            p->w * BLOCK, (int)smaller(p->size, p->h - top),
                            (int)smaller(p->size, p->w - left), r->stream);
    }
}

/* ---- prefetching ---- */

struct ck_wino_ahead ck_wino_ahead(const struct ck_wino_grid *g,
                                   const struct ck_wino_plane *plane, const float *x,
                                   int64_t blocks, int64_t first, int64_t count)
{
    return (struct ck_wino_ahead){.g = g,
                                  .plane = plane,
                                  .x = x,
                                  .blocks = blocks,
                                  .first = first,
                                  .end = first + count,
                                  .image = first / (g->rows * g->cols)};
}

/* Advances to the next image and block: the rows of the tiles' steps, which are contiguous.
 * Returns 0 at the end. */
static int next_span(struct ck_wino_ahead *a)
{
    const struct ck_wino_grid *g = a->g;
    const struct ck_wino_plane *p = a->plane;
    int64_t tiles = g->rows * g->cols, start = a->image * tiles;
    if (start >= a->end && !a->then)
        return 0;
    if (start >= a->end) {
        a->x = a->then;
        a->then = NULL;
        a->image = a->first / tiles;
        return next_span(a);
    }
    int64_t top = a->first > start ? (a->first - start) / g->cols * p->step : 0;
    int64_t last = a->end < start + tiles ? a->end - start - 1 : tiles - 1;
    const float *plane = a->x + (a->image * a->blocks + a->block) * p->h * p->w * BLOCK;
    a->at = plane + smaller(top, p->h) * p->w * BLOCK;
    a->stop = plane + smaller((last / g->cols + 1) * p->step, p->h) * p->w * BLOCK;
    if (++a->block == a->blocks) {
        a->block = 0;
        a->image++;
    }
    return 1;
}

const float *ck_wino_ahead_next(struct ck_wino_ahead *a, int64_t lines)
{
    if (a->at >= a->stop && !next_span(a))
        return NULL;
    const float *at = a->at;
    a->at = a->stop - at > lines * BLOCK ? at + lines * BLOCK : a->stop;
    return at;
}
