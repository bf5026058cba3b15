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

static int is_sorted(const struct ck_wino_grid *g)
{
    return g->full_rows < g->rows || g->full_cols < g->cols;
}

int ck_wino_sort(struct ck_wino_grid *g)
{
    g->full_rows = g->out.h / g->out.size;
    g->full_cols = g->out.w / g->out.size;
    return is_sorted(g);
}

int64_t ck_wino_segment(const struct ck_wino_grid *g, int64_t tiles, int segment)
{
    int64_t images = tiles / (g->rows * g->cols), short_rows = g->rows - g->full_rows,
            short_cols = g->cols - g->full_cols;
    switch (segment) {
    case 0:
        return 0;
    case 1:
        return images * short_rows * g->full_cols;
    case 2:
        return tiles - images * short_cols * g->rows;
    case 3:
        return tiles - images * short_cols * short_rows;
    default:
        return tiles;
    }
}

/* Whether the last tile of `pixels` outputs, a short one, needs no slot of this row or column: the
 * point infinity adds to the last output alone, and even pixels to one output each. */
static int unused(const struct ck_wino_grid *g, int64_t slot, int64_t pixels)
{
    int64_t rest = pixels % g->out.size, infinity = g->form == CK_WINO_SAME ? 5 : 4;
    int64_t even = g->form == CK_WINO_UP ? (rest + 1) / 2 : rest;
    return slot == infinity || slot - infinity > even;
}

void ck_wino_used(const struct ck_wino_grid *g, int64_t tiles, int64_t slot, int64_t *first,
                  int64_t *end)
{
    int full_rows = unused(g, slot / g->side, g->out.h),
        full_cols = unused(g, slot % g->side, g->out.w);
    *first = ck_wino_segment(g, tiles, full_rows ? 1 : 0);
    *end = ck_wino_segment(g, tiles, full_cols ? 2 : full_rows ? 3 : 4);
}

/* ---- positions ---- */

/* Position of a tile in a plane: the plane's offset in floats, and the first pixel (y, x), of
 * the steps that belong to the tile. */
struct cursor {
    const struct ck_wino_grid *g;
    const struct ck_wino_plane *p;
    const struct ck_wino_range *r;
    int64_t floats; /* of a channel block of an image */
    int64_t image, row, col;
    int segment;
};

static int64_t first_row(const struct cursor *c)
{
    return c->segment == 0 || c->segment == 3 ? c->g->full_rows : 0;
}

static int64_t end_row(const struct cursor *c)
{
    return c->segment == 0 || c->segment == 3 ? c->g->rows : c->g->full_rows;
}

static int64_t first_col(const struct cursor *c)
{
    return c->segment >= 2 ? c->g->full_cols : 0;
}

static int64_t end_col(const struct cursor *c)
{
    return c->segment >= 2 ? c->g->cols : c->g->full_cols;
}

static struct cursor cursor_at(const struct ck_wino_grid *g, const struct ck_wino_plane *p,
                               const struct ck_wino_range *r)
{
    struct cursor c = {.g = g, .p = p, .r = r, .floats = p->h * p->w * BLOCK};
    while (r->first >= ck_wino_segment(g, r->group.tiles, c.segment + 1))
        c.segment++;
    int64_t image = g->rows * g->cols, cols = end_col(&c) - first_col(&c);
    int64_t tiles = (end_row(&c) - first_row(&c)) * cols;
    int64_t at = r->first - ck_wino_segment(g, r->group.tiles, c.segment) +
                 r->group.start % image; /* not 0 only if unsorted: one segment */
    c.image = r->group.start / image + at / tiles;
    c.row = first_row(&c) + at % tiles / cols;
    c.col = first_col(&c) + at % tiles % cols;
    return c;
}

static int64_t plane_of(const struct cursor *c)
{
    return (c->image * c->r->blocks + c->r->block) * c->floats;
}

/* Moves to the next tile; after the last of an image's segment, to that of the next image; after
 * the last image, to the next segment that has tiles. */
static void cursor_next(struct cursor *c)
{
    if (++c->col < end_col(c))
        return;
    c->col = first_col(c);
    if (++c->row < end_row(c))
        return;
    c->row = first_row(c);
    int64_t image = c->g->rows * c->g->cols;
    if (++c->image < (c->r->group.start + c->r->group.tiles) / image || !is_sorted(c->g))
        return;
    c->image = c->r->group.start / image;
    do
        c->segment++;
    while (c->segment < CK_WINO_SEGMENTS &&
           (first_row(c) == end_row(c) || first_col(c) == end_col(c)));
    c->row = first_row(c);
    c->col = first_col(c);
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
    const float *at = images + plane_of(c) + (y * p->w + x + t->first) * BLOCK;
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
        kn->output[g->form](m + i * m_row, stride, y + plane_of(&c) + (top * p->w + left) * BLOCK,
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
