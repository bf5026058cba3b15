/* winograd_tiles.c - iterates over the tiles of images; selects the version of the kernels. */
#include "kernels/winograd_tiles.h"
#include "kernels/kernels.h"

enum { BLOCK = CK_WINO_BLOCK, IN = CK_WINO_IN, OUT = CK_WINO_OUT };

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

struct ck_wino_grid ck_wino_grid(const struct ck_wino_shape *s)
{
    int64_t rows = (s->h + OUT - 1) / OUT, cols = (s->w + OUT - 1) / OUT;
    return (struct ck_wino_grid){s->h, s->w, rows, cols, s->n * rows * cols};
}

static int smaller(int64_t a, int64_t b)
{
    return (int)(a < b ? a : b);
}

/* Position of a tile: the plane's offset in floats, and the first output pixel (y, x). */
struct cursor {
    int64_t plane, y, x;
};

static struct cursor cursor_at(const struct ck_wino_grid *g, const struct ck_wino_range *r)
{
    int64_t image = r->first / (g->rows * g->cols), in_image = r->first % (g->rows * g->cols);
    return (struct cursor){(image * r->blocks + r->block) * g->h * g->w * BLOCK,
                           in_image / g->cols * OUT, in_image % g->cols * OUT};
}

/* Moves to the next tile; after the last of an image, to the same channel block of the next. */
static void cursor_next(const struct ck_wino_grid *g, const struct ck_wino_range *r,
                        struct cursor *c)
{
    c->x += OUT;
    if (c->x < g->w)
        return;
    c->x = 0;
    c->y += OUT;
    if (c->y < g->h)
        return;
    c->y = 0;
    c->plane += r->blocks * g->h * g->w * BLOCK;
}

/* Sets t to the `size` x `size` pixels of a plane from (y, x) on; rows outside are zeros. Fills
 * it in place: copying a struct that was just stored would stall on store forwarding. */
static void set_tile(struct ck_wino_tile *t, const struct ck_wino_grid *g, const float *plane,
                     int64_t y, int64_t x, int size)
{
    static const float zeros[IN * BLOCK];
    t->first = x < 0 ? (int)-x : 0;
    t->end = smaller(size, g->w - x);
    const float *at = plane + (y * g->w + x + t->first) * BLOCK;
    for (int i = 0; i < size; i++)
        t->row[i] = y + i >= 0 && y + i < g->h ? at + i * g->w * BLOCK : zeros;
}

/* A 3x3 kernel with padding 1 reads one pixel beyond the outputs on each side. */
void ck_wino_inputs(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                    const struct ck_wino_range *r, const float *x, float *v, int64_t stride)
{
    struct cursor c = cursor_at(g, r);
    for (int64_t i = 0; i < r->count; i++, cursor_next(g, r, &c)) {
        struct ck_wino_tile t;
        set_tile(&t, g, x + c.plane, c.y - 1, c.x - 1, IN);
        kn->input[r->stream](&t, v + i * BLOCK, stride);
    }
}

void ck_wino_output_grads(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                          const struct ck_wino_range *r, const float *dy, float *m,
                          int64_t m_row, int64_t stride)
{
    struct cursor c = cursor_at(g, r);
    for (int64_t i = 0; i < r->count; i++, cursor_next(g, r, &c)) {
        struct ck_wino_tile t;
        set_tile(&t, g, dy + c.plane, c.y, c.x, OUT);
        kn->output_grad[r->stream](&t, m + i * m_row, stride);
    }
}

void ck_wino_outputs(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                     const struct ck_wino_range *r, const float *m, int64_t m_row,
                     int64_t stride, float *y)
{
    struct cursor c = cursor_at(g, r);
    for (int64_t i = 0; i < r->count; i++, cursor_next(g, r, &c))
        kn->output(m + i * m_row, stride, y + c.plane + (c.y * g->w + c.x) * BLOCK,
                   g->w * BLOCK, smaller(OUT, g->h - c.y), smaller(OUT, g->w - c.x), r->stream);
}

/* ---- prefetching ---- */

struct ck_wino_ahead ck_wino_ahead(const struct ck_wino_grid *g, const float *x, int64_t blocks,
                                   int64_t first, int64_t count)
{
    return (struct ck_wino_ahead){.g = g,
                                  .x = x,
                                  .blocks = blocks,
                                  .first = first,
                                  .end = first + count,
                                  .image = first / (g->rows * g->cols)};
}

/* Advances to the next image and block: the rows that the tiles' outputs cover, which are
 * contiguous. Returns 0 at the end. */
static int next_span(struct ck_wino_ahead *a)
{
    const struct ck_wino_grid *g = a->g;
    int64_t tiles = g->rows * g->cols, start = a->image * tiles;
    if (start >= a->end && !a->then)
        return 0;
    if (start >= a->end) {
        a->x = a->then;
        a->then = NULL;
        a->image = a->first / tiles;
        return next_span(a);
    }
    int64_t top = a->first > start ? (a->first - start) / g->cols * OUT : 0;
    int64_t last = a->end < start + tiles ? a->end - start - 1 : tiles - 1;
    const float *plane = a->x + (a->image * a->blocks + a->block) * g->h * g->w * BLOCK;
    a->at = plane + top * g->w * BLOCK;
    a->stop = plane + smaller((last / g->cols + 1) * OUT, g->h) * g->w * BLOCK;
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
