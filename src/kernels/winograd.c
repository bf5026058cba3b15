/* winograd.c - Winograd's convolutions: the forward and backward-data passes.
 *
 * The second is the first with weights turned by 180 degrees and the channels' roles swapped.
 * For each of the 36 points a product of a matrix V [tiles][k] of transformed inputs and a
 * matrix U [k][width] of transformed weights gives M [tiles][width]; k counts input channels.
 * Tiles go in groups, k in chunks of blocks, output channels in panels as wide as a product,
 * so that what is used again stays in the second-level cache. The bytes of the results do not
 * depend on any of this: each sum goes along k. */
#include "kernels/winograd.h"
#include "core/workers.h"
#include "kernels/winograd_tiles.h"

#include <stdatomic.h>
#include <string.h>
#include <stdlib.h>

enum { BLOCK = CK_WINO_BLOCK, POINTS = CK_WINO_POINTS, TAPS = CK_WINO_TAPS * CK_WINO_TAPS };
/* Floats that keep the 36 rows of a transform out of each other's cache sets. */
enum { SKEW = 16 };

struct run {
    const struct ck_wino_kernels *kn;
    int64_t rows, width; /* most of a product */
    struct ck_wino_shape s;
    int turned; /* weights turned and swapped: the backward-data pass */
    struct ck_wino_grid g;
    int64_t in_blocks, out_blocks;
    int64_t group, groups; /* most tiles in a group */
    int64_t chunk, chunks; /* blocks of k; 1 chunk if U is made beforehand */
    int64_t panels, share; /* of output channels; in an item of work */
    int own_weights;       /* each item makes its U, else its V; the other is made beforehand */
    int64_t shared_floats; /* all of U or V, ... */
    int64_t u_floats, v_floats, m_floats; /* ... and a worker's */
    const float *x, *w;
    float *y, *shared, *own;
    int stream;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- sizes ---------------------------------------------------------------------------------
 */

static int64_t group_start(const struct run *r, int64_t group)
{
    return r->g.tiles * group / r->groups;
}

static int64_t group_tiles(const struct run *r, int64_t group)
{
    return group_start(r, group + 1) - group_start(r, group);
}

static int panel_width(const struct run *r, int64_t panel)
{
    return (int)least(r->width, r->out_blocks * BLOCK - panel * r->width);
}

static int64_t chunk_blocks(const struct run *r, int64_t chunk)
{
    return least(r->chunk, r->in_blocks - chunk * r->chunk);
}

/* Distances between points, in floats. */
static int64_t v_stride(int64_t tiles, int64_t blocks)
{
    return tiles * blocks * BLOCK + SKEW;
}

static int64_t u_stride(int64_t blocks, int64_t width)
{
    return blocks * BLOCK * width + SKEW;
}

static int64_t m_stride(int64_t tiles, int64_t width)
{
    return tiles * width + SKEW;
}

static int tune(const char *n, int d)
{
    const char *s = getenv(n);
    return s ? atoi(s) : d;
}
static void set_blocking(struct run *r)
{
    r->width = least(r->kn->width, r->out_blocks * BLOCK);
    r->rows = r->kn->rows[r->width / BLOCK - 1];
    int64_t width = r->width;
    r->own_weights = tune("WB", r->in_blocks * r->out_blocks >= 256);
    r->group = tune("WT", r->own_weights ? 54 : 30);
    r->groups = (r->g.tiles + r->group - 1) / r->group;
    r->group = (r->g.tiles + r->groups - 1) / r->groups;
    r->panels = (r->out_blocks * BLOCK + width - 1) / width;
    r->chunk = r->own_weights ? least(r->in_blocks, tune("WK", 4)) : r->in_blocks;
    r->chunks = (r->in_blocks + r->chunk - 1) / r->chunk;
    r->share =
        r->own_weights ? least(r->panels, (tune("WN", 64) + width - 1) / width) : r->panels;
}

static void set_sizes(struct run *r)
{
    int64_t width = r->width;
    int64_t u = POINTS * u_stride(r->chunk, width), m = POINTS * m_stride(r->group, width);
    int64_t v = r->chunks * POINTS * v_stride(r->group, r->chunk);
    r->v_floats = v;
    r->u_floats = u;
    r->m_floats = m;
    r->shared_floats = r->own_weights ? r->groups * v : r->panels * u;
}

/* What a worker needs. */
static int64_t own_floats(const struct run *r)
{
    return r->own_weights ? r->u_floats + r->share * r->m_floats : r->v_floats + r->m_floats;
}

static struct run run_for(const struct ck_wino_shape *s, int turned)
{
    int64_t in = ck_wino_blocks(s->ic), out = ck_wino_blocks(s->oc);
    struct run r = {.kn = ck_wino_kernels(),
                    .s = *s,
                    .turned = turned,
                    .g = ck_wino_grid(s),
                    .in_blocks = turned ? out : in,
                    .out_blocks = turned ? in : out};
    set_blocking(&r);
    set_sizes(&r);
    return r;
}

/* ---- weights -------------------------------------------------------------------------------
 */

/* taps [16 k][9][16 lanes] of block k and the output channels from `lane` on; the weights'
 * own, as they lie. */
static void gather_block(const struct run *r, int64_t k, int64_t lane, float *taps)
{
    const struct ck_wino_shape *s = &r->s;
    int64_t first = k * BLOCK, ld = s->ic * TAPS;
    if (!r->turned) {
        int n = (int)least(BLOCK, s->ic - first);
        r->kn->gather(r->w + lane * ld + first * TAPS, ld, (int)least(BLOCK, s->oc - lane),
                      n * TAPS, taps);
        memset(taps + n * TAPS * BLOCK, 0, (size_t)((BLOCK - n) * TAPS * BLOCK) * sizeof *taps);
        return;
    }
    for (int i = 0; i < BLOCK; i++, taps += TAPS * BLOCK)
        if (first + i < s->oc)
            r->kn->gather(r->w + (first + i) * ld + lane * TAPS, TAPS,
                          (int)least(BLOCK, s->ic - lane), TAPS, taps);
        else
            memset(taps, 0, TAPS * BLOCK * sizeof *taps);
}

/* u [36][k][width] of a panel and a chunk. */
static void make_weights(const struct run *r, int64_t panel, int64_t chunk, float *u)
{
    float taps[BLOCK * TAPS * BLOCK];
    int width = panel_width(r, panel);
    int64_t blocks = chunk_blocks(r, chunk), stride = u_stride(blocks, width);
    for (int64_t b = 0; b < blocks; b++)
        for (int lane = 0; lane < width; lane += BLOCK) {
            gather_block(r, chunk * r->chunk + b, panel * r->width + lane, taps);
            for (int i = 0; i < BLOCK; i++) {
                const float *g = taps + i * TAPS * BLOCK;
                r->kn->weights(r->turned ? g + (TAPS - 1) * BLOCK : g,
                               r->turned ? -BLOCK : BLOCK, u + (b * BLOCK + i) * width + lane,
                               stride);
            }
        }
}

/* ---- products of a group -------------------------------------------------------------------
 */

/* The rows [*first, *first + count) that product number `part` of a group takes. */
static int64_t part_rows(int64_t tiles, int64_t parts, int64_t part, int64_t *first)
{
    *first = tiles * part / parts;
    return tiles * (part + 1) / parts - *first;
}

static int64_t part_count(const struct run *r, int64_t tiles)
{
    return (tiles + r->rows - 1) / r->rows;
}

static float *chunk_of(const struct run *r, float *v, int64_t tiles, int64_t chunk)
{
    return v + chunk * POINTS * v_stride(tiles, r->chunk);
}

/* v [36][part][blocks][rows][16] of a chunk: each product reads one piece. */
static void make_inputs(const struct run *r, int64_t group, int64_t chunk, float *v)
{
    int64_t tiles = group_tiles(r, group), blocks = chunk_blocks(r, chunk);
    int64_t parts = part_count(r, tiles);
    for (int64_t part = 0; part < parts; part++)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t first, rows = part_rows(tiles, parts, part, &first);
            struct ck_wino_range range = {chunk * r->chunk + b, r->in_blocks,
                                          group_start(r, group) + first, rows,
                                          r->own_weights && tune("WV", 1)};
            ck_wino_inputs(r->kn, &r->g, &range, r->x, v + (first * blocks + b * rows) * BLOCK,
                           v_stride(tiles, blocks));
        }
}

/* m [36][tiles][width] of a panel = or += v u. */
static void multiply(const struct run *r, int64_t tiles, int64_t blocks, int width,
                     const float *v, const float *u, int accumulate, float *m,
                     struct ck_wino_ahead *ahead)
{
    int64_t parts = part_count(r, tiles);
    int64_t lines = tune("WA", 1) ? (ahead->lines + POINTS * parts * r->panels - 1) /
                                        (POINTS * parts * r->panels)
                                  : 0;
    for (int point = 0; point < POINTS; point++)
        for (int64_t part = 0; part < parts; part++) {
            int64_t first, rows = part_rows(tiles, parts, part, &first);
            struct ck_wino_product p = {
                .rows = (int)rows,
                .width = width,
                .k = blocks * BLOCK,
                .a_stride = rows * BLOCK,
                .a = v + point * v_stride(tiles, blocks) + first * blocks * BLOCK,
                .b = u + point * u_stride(blocks, width),
                .accumulate = accumulate,
                .c = m + point * m_stride(tiles, width) + first * width};
            ck_wino_ahead_step(ahead, lines);
            r->kn->product(&p);
        }
}

static void write_outputs(const struct run *r, int64_t group, int64_t panel, const float *m)
{
    int64_t tiles = group_tiles(r, group);
    int width = panel_width(r, panel);
    for (int lane = 0; lane < width; lane += BLOCK) {
        struct ck_wino_range range = {(panel * r->width + lane) / BLOCK, r->out_blocks,
                                      group_start(r, group), tiles, r->stream};
        ck_wino_outputs(r->kn, &r->g, &range, m + lane, width, m_stride(tiles, width), r->y);
    }
}

/* ---- items of work -------------------------------------------------------------------------
 */

static void make_shared_weights(void *arg, int64_t panel, int worker)
{
    (void)worker;
    const struct run *r = arg;
    make_weights(r, panel, 0, r->shared + panel * r->u_floats);
}

static void make_shared_inputs(void *arg, int64_t item, int worker)
{
    (void)worker;
    const struct run *r = arg;
    int64_t group = item / r->chunks, chunk = item % r->chunks;
    make_inputs(r, group, chunk,
                chunk_of(r, r->shared + group * r->v_floats, group_tiles(r, group), chunk));
}

/* Few channels, many tiles: the weights are there, the group's inputs are made here. */
static void run_group(void *arg, int64_t group, int worker)
{
    const struct run *r = arg;
    int64_t tiles = group_tiles(r, group);
    float *v = r->own + worker * own_floats(r), *m = v + r->v_floats;
    int64_t next = least(group + ck_threads(), r->groups - 1);
    struct ck_wino_ahead ahead = ck_wino_ahead(&r->g, r->x, r->in_blocks, group_start(r, next),
                                               next > group ? group_tiles(r, next) : 0);
    make_inputs(r, group, 0, v);
    for (int64_t panel = 0; panel < r->panels; panel++) {
        multiply(r, tiles, r->in_blocks, panel_width(r, panel), v,
                 r->shared + panel * r->u_floats, 0, m, &ahead);
        write_outputs(r, group, panel, m);
    }
    atomic_thread_fence(memory_order_seq_cst); /* streamed stores are weakly ordered */
}

/* Many channels: the inputs are there; weights are made chunk by chunk, while a share of the
 * panels gathers its products. */
static void run_share(void *arg, int64_t item, int worker)
{
    const struct run *r = arg;
    int64_t shares = (r->panels + r->share - 1) / r->share;
    int64_t group = item / shares, begin = item % shares * r->share;
    int64_t end = least(begin + r->share, r->panels), tiles = group_tiles(r, group);
    float *u = r->own + worker * own_floats(r), *m = u + r->u_floats;
    struct ck_wino_ahead ahead = {0};
    for (int64_t chunk = 0; chunk < r->chunks; chunk++) {
        const float *v = chunk_of(r, r->shared + group * r->v_floats, tiles, chunk);
        for (int64_t panel = begin; panel < end; panel++) {
            make_weights(r, panel, chunk, u);
            multiply(r, tiles, chunk_blocks(r, chunk), panel_width(r, panel), v, u, chunk > 0,
                     m + (panel - begin) * r->m_floats, &ahead);
        }
    }
    for (int64_t panel = begin; panel < end; panel++)
        write_outputs(r, group, panel, m + (panel - begin) * r->m_floats);
    atomic_thread_fence(memory_order_seq_cst);
}

static void convolve(struct run *r, void *scratch)
{
    uintptr_t start = ((uintptr_t)scratch + 63) & ~(uintptr_t)63;
    r->shared = (float *)start;
    r->own = r->shared + r->shared_floats;
    r->stream = tune("WS", 1) && (uintptr_t)r->y % 64 == 0;
    if (r->own_weights) {
        ck_parallel(r->groups * r->chunks, make_shared_inputs, r);
        ck_parallel(r->groups * ((r->panels + r->share - 1) / r->share), run_share, r);
    } else {
        ck_parallel(r->panels, make_shared_weights, r);
        ck_parallel(r->groups, run_group, r);
    }
}

/* ---- public --------------------------------------------------------------------------------
 */

int ck_wino_is_fast(void)
{
    return ck_wino_kernels() != &ck_wino_kernels_ref;
}

void ck_wino_forward(const struct ck_wino_shape *s, const float *x, const float *w, float *y,
                     void *scratch)
{
    struct run r = run_for(s, 0);
    r.x = x;
    r.w = w;
    r.y = y;
    convolve(&r, scratch);
}

void ck_wino_data(const struct ck_wino_shape *s, const float *dy, const float *w, float *dx,
                  void *scratch)
{
    struct run r = run_for(s, 1);
    r.x = dy;
    r.w = w;
    r.y = dx;
    convolve(&r, scratch);
}

size_t ck_wino_scratch(const struct ck_wino_shape *s, enum ck_wino_pass pass, int threads)
{
    if (pass == CK_WINO_WEIGHTS)
        return ck_wino_weights_scratch(s, threads);
    struct run r = run_for(s, pass == CK_WINO_DATA);
    return (size_t)(r.shared_floats + threads * own_floats(&r)) * sizeof(float) + 64;
}
