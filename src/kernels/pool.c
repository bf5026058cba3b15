/* pool.c - pooling: computes the averages, and splits all poolings over the team. */
#include "kernels/pool.h"
#include "core/workers.h"
#include "kernels/kernels_layers.h"

#include <string.h>

enum {
    LANES = 64,  /* channels summed at a time, in f32, on the stack */
    TASK = 16384 /* approximate elements per task */
};

/* Calls fn(arg, row) for every row of the result (or plane) on the team. Rows are disjoint
 * outputs, so fn needs no synchronisation, and the result does not depend on the split. */
struct rows {
    void (*fn)(const void *arg, int64_t row);
    const void *arg;
    int64_t rows, each; /* rows per task */
};

static void rows_task(void *arg, int64_t task, int worker)
{
    (void)worker;
    const struct rows *r = arg;
    for (int64_t row = task * r->each; row < (task + 1) * r->each && row < r->rows; row++)
        r->fn(r->arg, row);
}

static void run_rows(void (*fn)(const void *arg, int64_t row), const void *arg, int64_t rows,
                     int64_t elements)
{
    struct rows r = {fn, arg, rows, elements < TASK ? TASK / elements : 1};
    ck_parallel((rows + r.each - 1) / r.each, rows_task, &r);
}

/* Channels from `at` on that one step handles. */
static int piece(int64_t at, int64_t size)
{
    return size - at < LANES ? (int)(size - at) : LANES;
}

/* sum [n] += elements i..i + n - 1. Plain loops that the compiler vectorises; bits << 16 is a
 * widened bf16. */
static void add_row(enum ck_dtype t, const void *x, int64_t i, int n, float *sum)
{
    if (t == CK_F32) {
        for (int k = 0; k < n; k++)
            sum[k] += ((const float *)x)[i + k];
        return;
    }
    for (int k = 0; k < n; k++) {
        uint32_t bits = (uint32_t)((const uint16_t *)x)[i + k] << 16;
        float v;
        memcpy(&v, &bits, sizeof v);
        sum[k] += v;
    }
}

/* Stores v [n] as elements i..i + n - 1, rounding bf16 once. */
static void put_row(enum ck_dtype t, const float *v, int n, void *y, int64_t i)
{
    if (t == CK_F32)
        memcpy((float *)y + i, v, (size_t)n * sizeof *v);
    else
        ck_layer_kernels()->to_bf16(n, v, (uint16_t *)y + i);
}

/* ---- over the whole image ---- */

/* Shared by both directions: forward `in` is x and `out` is y [n][ld]; backward `in` is dy. */
struct mean_pool {
    const struct ck_act_shape *a;
    enum ck_dtype t;
    int64_t channels, ld;
    const void *in;
    void *out;
};

/* One plane [s][blk]; skips the lanes from `channels` on, which are padding. */
static void mean_plane(const void *arg, int64_t plane)
{
    const struct mean_pool *p = arg;
    const struct ck_act_shape *a = p->a;
    int64_t image = plane / a->cb, c = plane % a->cb * a->blk;
    float *y = (float *)p->out + image * p->ld + c;
    for (int64_t lane = 0; lane < a->blk && c + lane < p->channels; lane += LANES) {
        int n = piece(lane, a->blk);
        float sum[LANES] = {0};
        for (int64_t s = 0; s < a->s; s++)
            add_row(p->t, p->in, (plane * a->s + s) * a->blk + lane, n, sum);
        for (int k = 0; k < n && c + lane + k < p->channels; k++)
            y[lane + k] = sum[k] / (float)a->s;
    }
}

void ck_mean_pool(const struct ck_act_shape *a, enum ck_dtype t, const void *x,
                  int64_t channels, int64_t ld, float *y)
{
    struct mean_pool p = {a, t, channels, ld, x, y};
    run_rows(mean_plane, &p, a->n * a->cb, a->s * a->blk);
}

/* All s positions of a channel get the same gradient: rounds it once, then copies. */
static void mean_grad_plane(const void *arg, int64_t plane)
{
    const struct mean_pool *p = arg;
    const struct ck_act_shape *a = p->a;
    int64_t image = plane / a->cb, c = plane % a->cb * a->blk;
    const float *dy = (const float *)p->in + image * p->ld + c;
    for (int64_t lane = 0; lane < a->blk; lane += LANES) {
        int n = piece(lane, a->blk);
        size_t bytes = (size_t)n * (p->t == CK_F32 ? 4 : 2);
        float v[LANES] = {0};
        for (int k = 0; k < n && c + lane + k < p->channels; k++)
            v[k] = dy[lane + k] / (float)a->s;
        int64_t first = plane * a->s * a->blk + lane;
        put_row(p->t, v, n, p->out, first);
        for (int64_t s = 1; s < a->s; s++)
            memcpy(ck_at(p->t, p->out, first + s * a->blk), ck_at(p->t, p->out, first), bytes);
    }
}

void ck_mean_pool_grad(const struct ck_act_shape *a, enum ck_dtype t, const float *dy,
                       int64_t channels, int64_t ld, void *dx)
{
    struct mean_pool p = {a, t, channels, ld, dy, dx};
    run_rows(mean_grad_plane, &p, a->n * a->cb, a->s * a->blk);
}

/* ---- over windows ---- */

/* Shared by both directions; backward `in` is dy and `out` is dx. */
struct window_pool {
    const struct ck_pool_shape *p;
    enum ck_dtype t;
    const void *in;
    void *out;
    uint8_t *where; /* written forward, read backward */
};

static int64_t out_elements(const struct ck_pool_shape *p) /* per plane */
{
    return (int64_t)p->oh * p->ow * p->blk;
}

static int64_t in_elements(const struct ck_pool_shape *p)
{
    return (int64_t)p->h * p->w * p->blk;
}

void ck_pool_out(struct ck_pool_shape *p)
{
    p->oh = (p->h + 2 * p->pad_h - p->kh) / p->stride_h + 1;
    p->ow = (p->w + 2 * p->pad_w - p->kw) / p->stride_w + 1;
}

/* `row` counts output rows over all planes. */
static void max_pool_row(const void *arg, int64_t row)
{
    const struct window_pool *g = arg;
    const struct ck_pool_shape *p = g->p;
    int64_t plane = row / p->oh, at = row * p->ow * p->blk;
    ck_layer_kernels()->max_pool_row(p, g->t, ck_at(g->t, g->in, plane * in_elements(p)),
                                     (int)(row % p->oh), ck_at(g->t, g->out, at),
                                     g->where ? g->where + at : NULL);
}

void ck_max_pool(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, void *y,
                 uint8_t *where)
{
    struct window_pool g = {p, t, x, y, where};
    run_rows(max_pool_row, &g, p->n * p->cb * p->oh, (int64_t)p->ow * p->blk);
}

/* `row` counts input rows over all planes. Gathers from the windows that cover a pixel instead
 * of scattering to winners, so that rows stay independent. */
static void max_pool_grad_row(const void *arg, int64_t row)
{
    const struct window_pool *g = arg;
    const struct ck_pool_shape *p = g->p;
    int64_t out = row / p->h * out_elements(p);
    ck_layer_kernels()->max_pool_grad_row(p, g->t, ck_at(g->t, g->in, out), g->where + out,
                                          (int)(row % p->h),
                                          ck_at(g->t, g->out, row * p->w * p->blk));
}

void ck_max_pool_grad(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy,
                      const uint8_t *where, void *dx)
{
    struct window_pool g = {p, t, dy, dx, (uint8_t *)(uintptr_t)where};
    run_rows(max_pool_grad_row, &g, p->n * p->cb * p->h, (int64_t)p->w * p->blk);
}

/* Sums the elements (i, j) in [i[0], i[1]) x [j[0], j[1]) of a plane of `columns` columns that
 * starts at `from`, divides by the window's size and stores the result at `to`. */
static void average(const struct window_pool *g, int64_t from, int columns, const int i[2],
                    const int j[2], int64_t to)
{
    const struct ck_pool_shape *p = g->p;
    float count = (float)(p->kh * p->kw);
    for (int64_t lane = 0; lane < p->blk; lane += LANES) {
        int n = piece(lane, p->blk);
        float sum[LANES] = {0};
        for (int a = i[0]; a < i[1]; a++)
            for (int b = j[0]; b < j[1]; b++)
                add_row(g->t, g->in, from + ((int64_t)a * columns + b) * p->blk + lane, n, sum);
        for (int k = 0; k < n; k++)
            sum[k] /= count;
        put_row(g->t, sum, n, g->out, to + lane);
    }
}

static void avg_pool_row(const void *arg, int64_t row)
{
    const struct window_pool *g = arg;
    const struct ck_pool_shape *p = g->p;
    int oh = (int)(row % p->oh), i[2], j[2];
    int64_t plane = row / p->oh * in_elements(p);
    ck_pool_inside(oh, p->kh, p->stride_h, p->pad_h, p->h, &i[0], &i[1]);
    for (int ow = 0; ow < p->ow; ow++) {
        int64_t corner =
            (int64_t)(oh * p->stride_h - p->pad_h) * p->w + ow * p->stride_w - p->pad_w;
        ck_pool_inside(ow, p->kw, p->stride_w, p->pad_w, p->w, &j[0], &j[1]);
        average(g, plane + corner * p->blk, p->w, i, j, (row * p->ow + ow) * p->blk);
    }
}

void ck_avg_pool(const struct ck_pool_shape *p, enum ck_dtype t, const void *x, void *y)
{
    struct window_pool g = {p, t, x, y, NULL};
    run_rows(avg_pool_row, &g, p->n * p->cb * p->oh, (int64_t)p->ow * p->blk);
}

static void avg_pool_grad_row(const void *arg, int64_t row)
{
    const struct window_pool *g = arg;
    const struct ck_pool_shape *p = g->p;
    int i[2], j[2];
    int64_t plane = row / p->h * out_elements(p);
    ck_pool_cover((int)(row % p->h), p->kh, p->stride_h, p->pad_h, p->oh, &i[0], &i[1]);
    for (int w = 0; w < p->w; w++) {
        ck_pool_cover(w, p->kw, p->stride_w, p->pad_w, p->ow, &j[0], &j[1]);
        average(g, plane, p->ow, i, j, (row * p->w + w) * p->blk);
    }
}

void ck_avg_pool_grad(const struct ck_pool_shape *p, enum ck_dtype t, const void *dy, void *dx)
{
    struct window_pool g = {p, t, dy, dx, NULL};
    run_rows(avg_pool_grad_row, &g, p->n * p->cb * p->h, (int64_t)p->w * p->blk);
}
