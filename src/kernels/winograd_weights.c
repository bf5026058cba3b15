/* winograd_weights.c - Winograd's convolutions: the gradient of the weights.
 *
 * Computes for each of the 36 points the sum over all tiles, and over the slots of the point, of
 * V' D, V [tiles][ic] the transformed inputs and D [tiles][oc] the transformed output gradients;
 * then transforms back to 3x3. There are three strategies, chosen by what fits the second-level cache:
 *
 * BY_PART (few channels): a worker takes a part of the tiles, group by group; V, D and the
 * part's own sums stay in its cache. The parts do not depend on the number of workers.
 *
 * BY_POINT: all workers compute V and D of a large group of tiles, then each takes points,
 * whose sums stay in its cache.
 *
 * BY_BLOCK (many channels, few tiles): like BY_POINT, but a worker takes all points of some
 * channels and transforms back to 3x3 at once. */
#include "core/workers.h"
#include "kernels/integers.h"
#include "kernels/winograd_tiles.h"

#include <stdatomic.h>

enum { BLOCK = CK_WINO_BLOCK, POINTS = CK_WINO_POINTS, TAPS = CK_WINO_TAPS * CK_WINO_TAPS };
enum {
    /* Padding that keeps the rows of a transform from mapping to the same cache sets. */
    SKEW = 16,
    /* Tiles whose D for a panel stays in the first-level cache. */
    STEP = 128,
    /* BY_PART: maximum number of parts, minimum tiles per part; tiles in a group times blocks
     * of channels. */
    PARTS = 8,
    PART = 128,
    GROUP_BLOCKS = 256,
    /* Otherwise: maximum size of V and D of a group. */
    GROUP_FLOATS = 10 << 20,
    /* BY_BLOCK: blocks of input channels per item. */
    ITEM_BLOCKS = 4,
};

enum way { BY_PART, BY_POINT, BY_BLOCK };

/* One gradient. Lives on the caller's stack; workers read it concurrently and write disjoint
 * parts of sum, v, d and dw. Only ck_wino_weights changes it, between parallel regions. */
struct run {
    const struct ck_wino_kernels *kn;
    struct ck_wino_shape s;
    struct ck_wino_grid g;
    enum way way;
    int64_t in_blocks, out_blocks;
    int64_t panels, width;           /* panels of output channels, and their width */
    int64_t parts, group;            /* group: maximum tiles per group */
    int64_t unit;                    /* indivisible run of tiles: an image's, or 1 */
    int64_t v_floats, d_floats;      /* per group */
    int64_t sum_floats, part_floats; /* per block and panel, per part */
    const float *x, *dy;
    float *dw;
    int accumulate;
    float *sum;           /* [parts][in_blocks][panels][16][36][width] */
    float *v, *d;         /* [in_blocks][slots][group][16], [panels][slots][group][width] */
    int64_t first, count; /* the current group, unless BY_PART */
};

/* ---- sizes ---- */

static int panel_width(const struct run *r, int64_t panel)
{
    return (int)smaller(r->width, r->out_blocks * BLOCK - panel * r->width);
}

static int64_t v_stride(int64_t count)
{
    return count * BLOCK + SKEW;
}

static int64_t d_stride(int64_t count, int64_t width)
{
    return count * width + SKEW;
}

/* The thresholds are measured: how many sums, and how much of V and D, a cache holds. */
static void set_way(struct run *r)
{
    int64_t floats = r->g.slots * BLOCK * (r->in_blocks + r->out_blocks);
    r->parts = smaller(PARTS, r->g.tiles / PART);
    if (r->in_blocks * r->out_blocks <= 16 && r->parts >= 4) {
        r->way = BY_PART;
        r->group = GROUP_BLOCKS / (r->in_blocks + r->out_blocks);
        return;
    }
    r->parts = 1;
    r->group = smaller(r->g.tiles, GROUP_FLOATS / floats + 1);
    int few = r->group == r->g.tiles && r->group < 2 * STEP;
    r->way = few && r->in_blocks * r->panels >= 8 * ITEM_BLOCKS ? BY_BLOCK : BY_POINT;
}

/* Sorted tiles need groups of whole images. */
static void set_unit(struct run *r)
{
    int64_t image = r->g.rows * r->g.cols;
    r->unit = image <= r->group && ck_wino_sort(&r->g) ? image : 1;
    r->group = r->group / r->unit * r->unit;
}

static struct run run_for(const struct ck_wino_shape *s)
{
    struct run r = {.kn = ck_wino_kernels(),
                    .s = *s,
                    .g = ck_wino_grid(s, s->halved ? CK_WINO_DOWN : CK_WINO_SAME)};
    r.in_blocks = ck_wino_blocks(s->ic);
    r.out_blocks = ck_wino_blocks(s->oc);
    r.width = smaller(r.kn->width, r.out_blocks * BLOCK);
    r.panels = (r.out_blocks * BLOCK + r.width - 1) / r.width;
    set_way(&r);
    set_unit(&r);
    r.v_floats = r.in_blocks * r.g.slots * v_stride(r.group);
    r.d_floats = r.panels * r.g.slots * d_stride(r.group, r.width);
    r.sum_floats = BLOCK * POINTS * r.width;
    r.part_floats = r.in_blocks * r.panels * r.sum_floats;
    return r;
}

/* Floats of sums: per worker BY_BLOCK, else per part. */
static int64_t all_sums(const struct run *r, int threads)
{
    return r->way == BY_BLOCK ? threads * ITEM_BLOCKS * r->sum_floats
                              : r->parts * r->part_floats;
}

/* ---- transforms and products ---- */

/* V of one input channel block; bypasses the caches unless the same worker reads it next. */
static void make_inputs(const struct run *r, int64_t block, int64_t first, int64_t count,
                        float *v)
{
    struct ck_wino_range range = {{first, count}, block, r->in_blocks, 0, count,
                                  r->way != BY_PART};
    ck_wino_inputs(r->kn, &r->g, &range, r->x, v + block * r->g.slots * v_stride(count),
                   v_stride(count));
}

/* D of one output channel block, written into its lanes of a panel. */
static void make_grads(const struct run *r, int64_t block, int64_t first, int64_t count,
                       float *d)
{
    struct ck_wino_range range = {{first, count}, block, r->out_blocks, 0, count,
                                  r->way != BY_PART};
    int64_t panel = block * BLOCK / r->width, lane = block * BLOCK % r->width;
    int width = panel_width(r, panel);
    ck_wino_output_grads(r->kn, &r->g, &range, r->dy,
                         d + panel * r->g.slots * d_stride(count, r->width) + lane, width,
                         d_stride(count, width));
}

/* V and D of `count` tiles; borrowed from the scratch. */
struct pile {
    const float *v, *d;
    int64_t count;
    struct ck_wino_cut cut;
};

static struct pile pile_of(const struct run *r, const float *v, const float *d, int64_t count)
{
    return (struct pile){v, d, count, ck_wino_cut(&r->g, count)};
}

/* One product of them: `tiles` tiles from `at` on, of the copy-th slot of a point. */
struct product {
    int64_t point, panel, block, at, tiles;
    int copy;
};

static const float *v_of(const struct run *r, const struct pile *p, const struct product *m)
{
    return p->v +
           (m->block * r->g.slots + ck_wino_slot(&r->g, m->point, m->copy)) *
               v_stride(p->count) +
           m->at * BLOCK;
}

static const float *d_of(const struct run *r, const struct pile *p, const struct product *m)
{
    int64_t width = panel_width(r, m->panel);
    return p->d + m->panel * r->g.slots * d_stride(p->count, r->width) +
           ck_wino_slot(&r->g, m->point, m->copy) * d_stride(p->count, width) + m->at * width;
}

/* Sets the product to the first of the pile's tiles that need its slot; returns the end of these.
 * There may be none: then a product of no tiles makes the sum 0. */
static int64_t end_of(const struct run *r, const struct pile *p, struct product *m)
{
    int first, end;
    ck_wino_used(&r->g, ck_wino_slot(&r->g, m->point, m->copy), &first, &end);
    m->at = p->cut.start[first];
    return p->cut.start[end];
}

/* Adds to sum [16][36][width] of the product's block and panel. next_v and next_d are
 * prefetched; either may be NULL. */
static void multiply(const struct run *r, const struct pile *p, const struct product *m,
                     const float *next_v, const float *next_d, int accumulate, float *sum)
{
    struct ck_wino_outer o = {.k = m->tiles,
                              .width = panel_width(r, m->panel),
                              .accumulate = accumulate,
                              .a = v_of(r, p, m),
                              .b = d_of(r, p, m),
                              .c = sum + m->point * r->width,
                              .c_row = POINTS * r->width,
                              .ahead = {next_v, next_d}};
    r->kn->outer(&o);
}

/* Adds the sums of all parts in order, transforms them to the 3x3 taps of a block and a panel,
 * and stores those in dw. Blocks and panels are disjoint in dw. */
static void finish(const struct run *r, int64_t block, int64_t panel, const float *sum)
{
    float taps[BLOCK * TAPS * BLOCK];
    int cols = (int)smaller(BLOCK, r->s.ic - block * BLOCK) * TAPS;
    for (int lane = 0; lane < panel_width(r, panel); lane += BLOCK) {
        int64_t channel = panel * r->width + lane, ld = r->s.ic * TAPS;
        for (int i = 0; i < BLOCK; i++)
            r->kn->weights_grad[r->s.halved](sum + i * POINTS * r->width + lane, r->width,
                                             (int)r->parts, r->part_floats,
                                             taps + i * TAPS * BLOCK);
        r->kn->scatter(taps, (int)smaller(BLOCK, r->s.oc - channel), cols, r->accumulate,
                       r->dw + channel * ld + block * BLOCK * TAPS, ld);
    }
}

/* ---- items of work ---- */

/* Adds the products of a group and prefetches pixels of the next. */
static void multiply_group(const struct run *r, const struct pile *p,
                           struct ck_wino_ahead next[2], int accumulate, float *sum)
{
    struct product m = {0};
    for (; m.point < POINTS; m.point++)
        for (m.block = 0; m.block < r->in_blocks; m.block++)
            for (m.panel = 0; m.panel < r->panels; m.panel++)
                for (m.copy = 0; m.copy < ck_wino_copies(&r->g, m.point); m.copy++) {
                    m.tiles = end_of(r, p, &m) - m.at;
                    multiply(r, p, &m, ck_wino_ahead_next(&next[0], m.tiles),
                             ck_wino_ahead_next(&next[1], m.tiles), accumulate || m.copy,
                             sum + (m.block * r->panels + m.panel) * r->sum_floats);
                }
}

/* BY_PART: an item is a part of the tiles, in the worker's own v and d. */
static void run_part(void *arg, int64_t part, int worker)
{
    const struct run *r = arg;
    int64_t units = r->g.tiles / r->unit;
    int64_t begin = units * part / r->parts * r->unit,
            end = units * (part + 1) / r->parts * r->unit;
    float *v = r->v + worker * (r->v_floats + r->d_floats), *d = v + r->v_floats;
    for (int64_t t = begin; t < end; t += r->group) {
        struct pile p = pile_of(r, v, d, smaller(r->group, end - t));
        int64_t then = t + p.count, count = smaller(r->group, end - then);
        if (r->in_blocks * r->out_blocks > 8)
            count = 0; /* the sums fill the cache: prefetch nothing */
        struct ck_wino_ahead next[] = {
            ck_wino_ahead(&r->g, &r->g.in, r->x, r->in_blocks, then, count),
            ck_wino_ahead(&r->g, &r->g.out, r->dy, r->out_blocks, then, count)};
        for (int64_t block = 0; block < r->in_blocks; block++)
            make_inputs(r, block, t, p.count, v);
        for (int64_t block = 0; block < r->out_blocks; block++)
            make_grads(r, block, t, p.count, d);
        multiply_group(r, &p, next, t > begin, r->sum + part * r->part_floats);
    }
}

/* An item is one channel block of V or D of the current group. */
static void make_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    const struct run *r = arg;
    if (block < r->in_blocks)
        make_inputs(r, block, r->first, r->count, r->v);
    else
        make_grads(r, block - r->in_blocks, r->first, r->count, r->d);
    atomic_thread_fence(memory_order_seq_cst); /* streamed stores are weakly ordered */
}

/* The piece of the next D that the i-th of several products prefetches; NULL: nothing left. */
static const float *slice(const struct run *r, const struct pile *p, const struct product *next,
                          int64_t i)
{
    if (i >= panel_width(r, next->panel) / BLOCK || next->at + next->tiles > p->count)
        return NULL;
    return d_of(r, p, next) + i * next->tiles * BLOCK;
}

/* All tiles of a slot, prefetching within it. */
static void multiply_slot(const struct run *r, const struct pile *p, struct product m)
{
    int64_t end = end_of(r, p, &m), first = m.at;
    for (; m.at < end || m.at == first; m.at += STEP)
        for (m.panel = 0; m.panel < r->panels; m.panel++)
            for (m.block = 0; m.block < r->in_blocks; m.block++) {
                m.tiles = smaller(STEP, end - m.at);
                struct product next_v = m, next_d = m;
                next_v.block++;
                next_d.panel = m.panel + 1 < r->panels ? m.panel + 1 : 0;
                next_d.at += next_d.panel ? 0 : STEP;
                multiply(r, p, &m, next_v.block < r->in_blocks ? v_of(r, p, &next_v) : NULL,
                         slice(r, p, &next_d, m.block), r->first || m.at > first || m.copy,
                         r->sum + (m.block * r->panels + m.panel) * r->sum_floats);
            }
}

/* BY_POINT: an item is a point, those with many slots first. Its sums persist from group to
 * group. */
static void run_point(void *arg, int64_t item, int worker)
{
    (void)worker;
    const struct run *r = arg;
    struct pile p = pile_of(r, r->v, r->d, r->count);
    struct product m = {.point = POINTS - 1 - item};
    for (; m.copy < ck_wino_copies(&r->g, m.point); m.copy++)
        multiply_slot(r, &p, m);
}

/* A slot of the input blocks begin..end - 1; prefetches the next point or copy. */
static void multiply_blocks(const struct run *r, const struct pile *p, struct product m,
                            int64_t begin, int64_t end, float *sum)
{
    struct product then = m;
    int last = m.copy + 1 == ck_wino_copies(&r->g, m.point);
    then.point += last;
    then.copy = last ? 0 : m.copy + 1;
    int64_t stop = end_of(r, p, &m), first = m.at;
    for (; m.at < stop || m.at == first; m.at += STEP)
        for (m.block = begin; m.block < end; m.block++) {
            m.tiles = smaller(STEP, stop - m.at);
            int more = m.block + 1 < end;
            struct product next_v = more ? m : then, next_d = then;
            next_v.block = more ? m.block + 1 : begin;
            next_v.at = next_d.at = m.at;
            next_d.tiles = m.tiles;
            multiply(r, p, &m, next_v.point < POINTS ? v_of(r, p, &next_v) : NULL,
                     next_d.point < POINTS ? slice(r, p, &next_d, m.block - begin) : NULL,
                     m.at > first || m.copy, sum + (m.block - begin) * r->sum_floats);
        }
}

/* BY_BLOCK: an item is ITEM_BLOCKS input blocks of a panel, with the worker's own sums; it also
 * finishes them, as no other item adds to them. */
static void run_blocks(void *arg, int64_t item, int worker)
{
    const struct run *r = arg;
    int64_t begin = item / r->panels * ITEM_BLOCKS,
            end = smaller(begin + ITEM_BLOCKS, r->in_blocks);
    float *sum = r->sum + worker * ITEM_BLOCKS * r->sum_floats;
    struct pile p = pile_of(r, r->v, r->d, r->count);
    struct product m = {.panel = item % r->panels};
    for (; m.point < POINTS; m.point++)
        for (m.copy = 0; m.copy < ck_wino_copies(&r->g, m.point); m.copy++)
            multiply_blocks(r, &p, m, begin, end, sum);
    for (int64_t block = begin; block < end; block++)
        finish(r, block, m.panel, sum + (block - begin) * r->sum_floats);
}

/* An item is a block of input channels and a panel. */
static void finish_item(void *arg, int64_t item, int worker)
{
    (void)worker;
    const struct run *r = arg;
    finish(r, item / r->panels, item % r->panels, r->sum + item * r->sum_floats);
}

/* ---- drivers ---- */

static void make_group(struct run *r)
{
    r->count = smaller(r->group, r->g.tiles - r->first);
    ck_parallel(r->in_blocks + r->out_blocks, make_block, r);
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
    r.v = r.sum + all_sums(&r, ck_threads());
    r.d = r.v + r.v_floats;
    switch (r.way) {
    case BY_PART:
        ck_parallel(r.parts, run_part, &r);
        break;
    case BY_POINT:
        for (; r.first < r.g.tiles; r.first += r.group) {
            make_group(&r);
            ck_parallel(POINTS, run_point, &r);
        }
        break;
    case BY_BLOCK:
        make_group(&r);
        ck_parallel((r.in_blocks + ITEM_BLOCKS - 1) / ITEM_BLOCKS * r.panels, run_blocks, &r);
        return;
    }
    ck_parallel(r.in_blocks * r.panels, finish_item, &r);
}

size_t ck_wino_weights_scratch(const struct ck_wino_shape *s, int threads)
{
    struct run r = run_for(s);
    int64_t copies = r.way == BY_PART ? threads : 1;
    return (size_t)(all_sums(&r, threads) + copies * (r.v_floats + r.d_floats)) *
               sizeof(float) +
           64;
}
