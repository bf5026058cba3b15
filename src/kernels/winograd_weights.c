/* winograd_weights.c - Winograd's convolutions: the gradient of the weights.
 *
 * For each of the 36 points the sum over all tiles of V' D, V [tiles][ic] the transformed
 * inputs and D [tiles][oc] the transformed gradients of outputs; then back to 3x3. */
#include "core/workers.h"
#include "kernels/winograd_tiles.h"

#include <stdlib.h>

enum { BLOCK = CK_WINO_BLOCK, POINTS = CK_WINO_POINTS, TAPS = CK_WINO_TAPS * CK_WINO_TAPS };
/* Floats that keep the 36 rows of a transform out of each other's cache sets. */
enum { SKEW = 16 };

struct run {
    const struct ck_wino_kernels *kn;
    struct ck_wino_shape s;
    struct ck_wino_grid g;
    int64_t in_blocks, out_blocks, panels; /* panels of output channels */
    int64_t parts; /* of the tiles, with sums of their own; 1 if all workers share V and D */
    int64_t group; /* tiles whose V and D exist at a time */
    int64_t v_floats, d_floats, sum_floats;
    int shared;
    const float *x, *dy;
    float *v, *d, *sum; /* [36][in_blocks][group][16], [36][panels][group][width],
                         * [parts][in_blocks][panels][36][16][width] */
    float *dw;
    int accumulate;
    int64_t first, count; /* the group in hand, if shared */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int panel_width(const struct run *r, int64_t panel)
{
    return (int)least(r->kn->width, r->out_blocks * BLOCK - panel * r->kn->width);
}

static int tune(const char *n, int d)
{
    const char *s = getenv(n);
    return s ? atoi(s) : d;
}
static struct run run_for(const struct ck_wino_shape *s)
{
    struct run r = {.kn = ck_wino_kernels(), .s = *s, .g = ck_wino_grid(s)};
    int64_t width = r.kn->width;
    r.in_blocks = ck_wino_blocks(s->ic);
    r.out_blocks = ck_wino_blocks(s->oc);
    r.panels = (r.out_blocks * BLOCK + width - 1) / width;
    r.shared = tune("WB", r.in_blocks * r.out_blocks > 16);
    r.parts = r.shared ? 1 : least(tune("WP", 8), (r.g.tiles + 63) / 64);
    r.group = least(
        tune("WG",
             r.shared ? (int)(10000000 / (POINTS * BLOCK * (r.in_blocks + r.out_blocks))) : 32),
        r.g.tiles);
    r.v_floats = r.in_blocks * POINTS * (r.group * BLOCK + SKEW);
    r.d_floats = r.panels * POINTS * (r.group * width + SKEW);
    r.sum_floats = r.in_blocks * r.panels * POINTS * BLOCK * width;
    return r;
}

/* ---- transforms and products of a group ----------------------------------------------------
 */

static int64_t v_stride(int64_t count)
{
    return count * BLOCK + SKEW;
}

static void make_inputs(const struct run *r, int64_t block, int64_t first, int64_t count,
                        float *v)
{
    struct ck_wino_range range = {block, r->in_blocks, first, count,
                                  r->shared && tune("WV", 1)};
    ck_wino_inputs(r->kn, &r->g, &range, r->x, v + block * POINTS * v_stride(count),
                   v_stride(count));
}

static int64_t d_stride(const struct run *r, int64_t panel, int64_t count)
{
    return count * panel_width(r, panel) + SKEW;
}

static float *d_panel(const struct run *r, int64_t panel, int64_t count, float *d)
{
    return d + panel * POINTS * (count * r->kn->width + SKEW);
}

static void make_grads(const struct run *r, int64_t block, int64_t first, int64_t count,
                       float *d)
{
    struct ck_wino_range range = {block, r->out_blocks, first, count,
                                  r->shared && tune("WV", 1)};
    int64_t panel = block * BLOCK / r->kn->width, lane = block * BLOCK % r->kn->width;
    ck_wino_output_grads(r->kn, &r->g, &range, r->dy, d_panel(r, panel, count, d) + lane,
                         panel_width(r, panel), d_stride(r, panel, count));
}

/* Tiles whose D for a panel fits the first-level cache. */
static void multiply(const struct run *r, int point, int64_t count, const float *v,
                     const float *d, int accumulate, float *sum)
{
    int64_t step = tune("WL", 128);
    for (int64_t first = 0; first < count; first += step)
        for (int64_t panel = 0; panel < r->panels; panel++)
            for (int64_t block = 0; block < r->in_blocks; block++) {
                int width = panel_width(r, panel);
                const float *a = v + (block * POINTS + point) * v_stride(count) + first * BLOCK;
                const float *b = d_panel(r, panel, count, (float *)(uintptr_t)d) +
                                 point * d_stride(r, panel, count) + first * width;
                float *c =
                    sum + ((block * r->panels + panel) * POINTS + point) * BLOCK * r->kn->width;
                r->kn->outer(least(step, count - first), width, a, b, accumulate || first > 0,
                             c);
            }
}

/* ---- items of work -------------------------------------------------------------------------
 */

/* Few channels: a part of the tiles has sums of its own, in the worker's cache. */
static void run_part(void *arg, int64_t part, int worker)
{
    const struct run *r = arg;
    int64_t begin = r->g.tiles * part / r->parts, end = r->g.tiles * (part + 1) / r->parts;
    float *v = r->v + worker * (r->v_floats + r->d_floats), *d = v + r->v_floats;
    float *sum = r->sum + part * r->sum_floats;
    for (int64_t t = begin; t < end; t += r->group) {
        int64_t count = least(r->group, end - t);
        for (int64_t block = 0; block < r->in_blocks; block++)
            make_inputs(r, block, t, count, v);
        for (int64_t block = 0; block < r->out_blocks; block++)
            make_grads(r, block, t, count, d);
        for (int point = 0; point < POINTS; point++)
            multiply(r, point, count, v, d, t > begin, sum);
    }
}

static void make_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    const struct run *r = arg;
    if (block < r->in_blocks)
        make_inputs(r, block, r->first, r->count, r->v);
    else
        make_grads(r, block - r->in_blocks, r->first, r->count, r->d);
}

static void multiply_point(void *arg, int64_t point, int worker)
{
    (void)worker;
    const struct run *r = arg;
    multiply(r, (int)point, r->count, r->v, r->d, r->first > 0, r->sum);
}

/* 3x3 taps of 16 input channels and a panel. */
static void finish_block(void *arg, int64_t item, int worker)
{
    (void)worker;
    const struct run *r = arg;
    float taps[BLOCK * TAPS * BLOCK];
    int64_t block = item / r->panels, panel = item % r->panels, ld = r->s.ic * TAPS;
    int width = panel_width(r, panel);
    const float *sum = r->sum + item * POINTS * BLOCK * r->kn->width;
    int cols = (int)least(BLOCK, r->s.ic - block * BLOCK) * TAPS;
    for (int lane = 0; lane < width; lane += BLOCK) {
        int64_t channel = panel * r->kn->width + lane;
        for (int i = 0; i < BLOCK; i++)
            r->kn->weights_grad(sum + i * width + lane, BLOCK * r->kn->width, (int)r->parts,
                                r->sum_floats, taps + i * TAPS * BLOCK);
        r->kn->scatter(taps, (int)least(BLOCK, r->s.oc - channel), cols, r->accumulate,
                       r->dw + channel * ld + block * BLOCK * TAPS, ld);
    }
}

void ck_wino_weights(const struct ck_wino_shape *s, const float *x, const float *dy,
                     int accumulate, float *dw, void *scratch)
{
    struct run r = run_for(s);
    r.x = x;
    r.dy = dy;
    r.dw = dw;
    r.accumulate = accumulate;
    r.sum = (float *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    r.v = r.sum + r.parts * r.sum_floats;
    r.d = r.v + r.v_floats;
    if (!r.shared)
        ck_parallel(r.parts, run_part, &r);
    for (r.first = 0; r.shared && r.first < r.g.tiles; r.first += r.group) {
        r.count = least(r.group, r.g.tiles - r.first);
        ck_parallel(r.in_blocks + r.out_blocks, make_block, &r);
        ck_parallel(POINTS, multiply_point, &r);
    }
    ck_parallel(r.in_blocks * r.panels, finish_block, &r);
}

size_t ck_wino_weights_scratch(const struct ck_wino_shape *s, int threads)
{
    struct run r = run_for(s);
    int64_t copies = r.shared ? 1 : threads;
    return (size_t)(r.parts * r.sum_floats + copies * (r.v_floats + r.d_floats)) *
               sizeof(float) +
           64;
}
