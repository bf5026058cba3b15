/* winograd.c - Winograd's convolutions: the forward and backward-data passes.
 *
 * The second is the first with weights rotated by 180 degrees and the channels' roles swapped,
 * and with other transforms if the stride is 2. For each of the 36 or 81 slots the product of a
 * matrix V [tiles][k] of transformed inputs and the matrix U [k][oc] of transformed weights of
 * the slot's point gives M [tiles][oc]; k counts input channels. Output channels are divided
 * into panels as wide as a product. There are two strategies:
 *
 * GROUPS: U is computed first; a worker takes a small group of tiles from inputs to outputs. V
 * and M stay in its second-level cache, U streams through it.
 *
 * SLOTS (many channels, where U would stream in from memory too often): U, and V of a large
 * group of tiles, are computed first; a worker takes a slot, whose V and M stay in its cache;
 * then the outputs are computed.
 *
 * The bytes of the results do not depend on any of this: each sum runs along k. */
#include "kernels/winograd.h"
#include "core/workers.h"
#include "kernels/integers.h"
#include "kernels/winograd_tiles.h"

#include <stdatomic.h>
#include <string.h>

enum { BLOCK = CK_WINO_BLOCK, POINTS = CK_WINO_POINTS, TAPS = CK_WINO_TAPS * CK_WINO_TAPS };
/* Padding that keeps the rows of a transform from mapping to the same cache sets. */
enum { SKEW = 16 };
/* Blocks of k whose U for a panel stays in the first-level cache. */
enum { CHUNK = 8 };
enum { GROUP_FLOATS = 10 << 20 }; /* SLOTS: maximum size of V and M */

/* One convolution. Lives on the caller's stack; workers read it concurrently and write disjoint
 * parts of y, u, v and m. Only convolve() changes it, between parallel regions. */
struct run {
    const struct ck_wino_kernels *kn;
    int64_t rows, width; /* maximum of a product */
    struct ck_wino_shape s;
    int rotated; /* weights rotated and swapped: the backward-data pass */
    struct ck_wino_grid g;
    int64_t in_blocks, out_blocks, panels;
    int by_slots;
    int64_t group, groups;                /* maximum tiles per group */
    int64_t unit;                         /* indivisible run of tiles: an image's, or 1 */
    int64_t u_floats, v_floats, m_floats; /* u: per panel; v, m: per group */
    const float *x, *w;
    float *y;
    float *u;      /* [panels][36][k][width] */
    float *v, *m;  /* GROUPS: one pair per worker; SLOTS: m [panels][slots][tiles][width] */
    int64_t g_now; /* SLOTS: the current group */
    int stream;    /* whether stores to y bypass the caches */
    const struct ck_wino_producer *producer;
};

/* ---- sizes ---- */

/* First tile of a group; groups differ by at most one unit in size. */
static int64_t group_start(const struct run *r, int64_t group)
{
    return r->g.tiles / r->unit * group / r->groups * r->unit;
}

static int64_t group_tiles(const struct run *r, int64_t group)
{
    return group_start(r, group + 1) - group_start(r, group);
}

static int panel_width(const struct run *r, int64_t panel)
{
    return (int)smaller(r->width, r->out_blocks * BLOCK - panel * r->width);
}

/* Distances between slots or points, in floats. */
static int64_t v_stride(const struct run *r, int64_t tiles)
{
    return tiles * r->in_blocks * BLOCK + SKEW;
}

static int64_t u_stride(const struct run *r, int64_t width)
{
    return r->in_blocks * BLOCK * width + SKEW;
}

static int64_t m_stride(int64_t tiles, int64_t width)
{
    return tiles * width + SKEW;
}

/* Tiles per group, tuned by measurement: while all of U fits the second-level cache, V and M
 * must not displace it; otherwise they fill that cache, so that U streams in less often. But
 * there should be enough groups for a team. */
static int64_t small_group(const struct run *r)
{
    int fits = r->in_blocks * r->out_blocks <= 16;
    int64_t limit = smaller(64, (fits ? 96 : 480) / r->in_blocks);
    if (r->s.halved)
        limit = (2 * limit + 2) / 3; /* V and M are larger, U is used more often */
    int64_t eighth = r->g.tiles / 8;
    return smaller(limit, eighth < r->rows ? r->rows : eighth);
}

static int64_t large_group(const struct run *r)
{
    return GROUP_FLOATS / (r->g.slots * BLOCK * (r->in_blocks + r->out_blocks)) + 1;
}

/* Keeps small images whole, which is also what allows a producer. */
static void set_groups(struct run *r)
{
    int64_t limit = r->by_slots ? large_group(r) : small_group(r),
            image = r->g.rows * r->g.cols;
    int sorted = image <= limit && ck_wino_sort(&r->g);
    r->unit = image <= limit && (sorted || !r->by_slots) ? image : 1;
    /* segments should fill their products: at least as many tiles as the limit */
    int64_t units = r->g.tiles / r->unit, per_group = (limit + sorted * (image - 1)) / r->unit;
    r->groups = (units + per_group - 1) / per_group;
    r->group = (units + r->groups - 1) / r->groups * r->unit;
}

static void set_blocking(struct run *r)
{
    r->width = smaller(r->kn->width, r->out_blocks * BLOCK);
    r->rows = r->kn->rows[r->width / BLOCK - 1];
    r->panels = (r->out_blocks * BLOCK + r->width - 1) / r->width;
    r->by_slots = r->in_blocks * r->out_blocks >= (r->s.halved ? 512 : 128);
    set_groups(r);
    r->u_floats = POINTS * u_stride(r, r->width);
    r->v_floats = r->g.slots * v_stride(r, r->group);
    r->m_floats = r->g.slots * m_stride(r->group, r->width) * (r->by_slots ? r->panels : 1);
}

static struct run run_for(const struct ck_wino_shape *s, int rotated)
{
    int64_t in = ck_wino_blocks(s->ic), out = ck_wino_blocks(s->oc);
    struct run r = {.kn = ck_wino_kernels(),
                    .s = *s,
                    .rotated = rotated,
                    .g = ck_wino_grid(s, !s->halved ? CK_WINO_SAME
                                         : rotated  ? CK_WINO_UP
                                                    : CK_WINO_DOWN),
                    .in_blocks = rotated ? out : in,
                    .out_blocks = rotated ? in : out};
    set_blocking(&r);
    return r;
}

/* ---- weights ---- */

/* Copies the taps [16 k][9][16 lanes] of block k and the output channels from `lane` on, in the
 * order of the weights; zeros where a block is padded. */
static void gather_block(const struct run *r, int64_t k, int64_t lane, float *taps)
{
    const struct ck_wino_shape *s = &r->s;
    int64_t first = k * BLOCK, ld = s->ic * TAPS;
    if (!r->rotated) {
        int n = (int)smaller(BLOCK, s->ic - first);
        r->kn->gather(r->w + lane * ld + first * TAPS, ld, (int)smaller(BLOCK, s->oc - lane),
                      n * TAPS, taps);
        memset(taps + n * TAPS * BLOCK, 0, (size_t)((BLOCK - n) * TAPS * BLOCK) * sizeof *taps);
        return;
    }
    for (int i = 0; i < BLOCK; i++, taps += TAPS * BLOCK)
        if (first + i < s->oc)
            r->kn->gather(r->w + (first + i) * ld + lane * TAPS, TAPS,
                          (int)smaller(BLOCK, s->ic - lane), TAPS, taps);
        else
            memset(taps, 0, TAPS * BLOCK * sizeof *taps);
}

/* An item: U of one block of k and one panel. */
static void make_weights(void *arg, int64_t item, int worker)
{
    (void)worker;
    const struct run *r = arg;
    float taps[BLOCK * TAPS * BLOCK];
    int64_t panel = item / r->in_blocks, block = item % r->in_blocks;
    int width = panel_width(r, panel);
    float *u = r->u + panel * r->u_floats + block * BLOCK * width;
    for (int lane = 0; lane < width; lane += BLOCK) {
        gather_block(r, block, panel * r->width + lane, taps);
        for (int i = 0; i < BLOCK; i++) {
            const float *g = taps + i * TAPS * BLOCK;
            r->kn->weights[r->s.halved][r->by_slots](r->rotated ? g + (TAPS - 1) * BLOCK : g,
                                                     r->rotated ? -BLOCK : BLOCK,
                                                     u + i * width + lane, u_stride(r, width));
        }
    }
    atomic_thread_fence(memory_order_seq_cst); /* streamed stores are weakly ordered */
}

/* ---- inputs, products and outputs of a group ---- */

/* Divides the rows of V of each segment into parts of nearly equal size, one per product. */
static int64_t parts_of(const struct run *r, const struct ck_wino_cut *cut, int segment)
{
    return (cut->start[segment + 1] - cut->start[segment] + r->rows - 1) / r->rows;
}

/* The part-th of so many parts of a segment; the one after the last begins at its end. */
static int64_t part_start(const struct ck_wino_cut *cut, int segment, int64_t part,
                          int64_t parts)
{
    return cut->start[segment] +
           (cut->start[segment + 1] - cut->start[segment]) * part / parts;
}

static int64_t part_count(const struct run *r, int64_t tiles)
{
    struct ck_wino_cut cut = ck_wino_cut(&r->g, tiles);
    int64_t count = 0;
    for (int i = 0; i < CK_WINO_SEGMENTS; i++)
        count += parts_of(r, &cut, i);
    return count;
}

/* Finds a part by its number among those of all segments: *first, and its size. */
static int64_t find_part(const struct run *r, int64_t tiles, int64_t part, int64_t *first)
{
    struct ck_wino_cut cut = ck_wino_cut(&r->g, tiles);
    int segment = 0;
    int64_t parts;
    while (part >= (parts = parts_of(r, &cut, segment))) {
        part -= parts;
        segment++;
    }
    *first = part_start(&cut, segment, part, parts);
    return part_start(&cut, segment, part + 1, parts) - *first;
}

static struct ck_wino_group group_of(const struct run *r, int64_t group)
{
    return (struct ck_wino_group){group_start(r, group), group_tiles(r, group)};
}

/* v [slots][part][in_blocks][rows][16]: each product reads one contiguous piece. */
static void make_inputs(const struct run *r, int64_t group, int64_t part, float *v)
{
    int64_t tiles = group_tiles(r, group), first, count = find_part(r, tiles, part, &first);
    struct ck_wino_range range = {.group = group_of(r, group),
                                  .blocks = r->in_blocks,
                                  .first = first,
                                  .count = count,
                                  .stream = r->by_slots};
    v += first * r->in_blocks * BLOCK;
    for (; range.block < r->in_blocks; range.block++, v += range.count * BLOCK)
        ck_wino_inputs(r->kn, &r->g, &range, r->x, v, v_stride(r, tiles));
}

/* What to prefetch during products: the next u, or pixels. Either may be NULL. */
struct ahead {
    const float *u;
    struct ck_wino_ahead *pixels;
};

/* V, U and M of a slot and a panel. */
struct factors {
    const float *v, *u;
    float *m; /* [tiles][width] */
    int width;
};

/* One chunk of k, from `block` on, of a segment's tiles; returns the number of products. */
static int64_t multiply_segment(const struct run *r, const struct factors *f,
                                const struct ck_wino_cut *cut, int segment, int64_t block,
                                const struct ahead *next, int64_t done)
{
    int64_t k = smaller(CHUNK, r->in_blocks - block) * BLOCK, parts = parts_of(r, cut, segment);
    int64_t first = cut->start[segment];
    for (int64_t part = 0; part < parts; part++, done++) {
        int64_t end = part_start(cut, segment, part + 1, parts), rows = end - first;
        struct ck_wino_product p = {.rows = (int)rows,
                                    .width = f->width,
                                    .k = k,
                                    .a = f->v + (first * r->in_blocks + rows * block) * BLOCK,
                                    .a_stride = rows * BLOCK,
                                    .b = f->u + block * BLOCK * f->width,
                                    .accumulate = block > 0,
                                    .c = f->m + first * f->width};
        if (next->pixels)
            p.ahead = ck_wino_ahead_next(next->pixels, k);
        else if (next->u && done < f->width / BLOCK)
            p.ahead = next->u + done * k * BLOCK;
        r->kn->product(&p);
        first = end;
    }
    return done;
}

/* Computes M in chunks of k, of the tiles that need the slot. */
static void multiply(const struct run *r, const struct ck_wino_cut *cut, int64_t slot,
                     const struct factors *f, const struct ahead *next)
{
    int first, end;
    ck_wino_used(&r->g, slot, &first, &end);
    for (int64_t block = 0; block < r->in_blocks; block += CHUNK) {
        struct ahead ahead = *next;
        int64_t done = 0;
        if (block + CHUNK < r->in_blocks)
            ahead.u = f->u + (block + CHUNK) * BLOCK * f->width;
        for (int segment = first; segment < end; segment++)
            done = multiply_segment(r, f, cut, segment, block, &ahead, done);
    }
}

/* Transforms the tiles first..first + count - 1 of a group back and stores them in y. */
static void make_outputs(const struct run *r, int64_t group, int64_t panel, int64_t first,
                         int64_t count, const float *m)
{
    int width = panel_width(r, panel);
    for (int lane = 0; lane < width; lane += BLOCK) {
        struct ck_wino_range range = {.group = group_of(r, group),
                                      .block = (panel * r->width + lane) / BLOCK,
                                      .blocks = r->out_blocks,
                                      .first = first,
                                      .count = count,
                                      .stream = r->stream};
        ck_wino_outputs(r->kn, &r->g, &range, m + first * width + lane, width,
                        m_stride(group_tiles(r, group), width), r->y);
    }
}

/* ---- items of work ---- */

/* All slots of a group and a panel, point by point. */
static void multiply_panel(const struct run *r, int64_t tiles, int64_t panel, const float *v,
                           struct ck_wino_ahead *pixels, float *m)
{
    int width = panel_width(r, panel);
    struct ck_wino_cut cut = ck_wino_cut(&r->g, tiles);
    const float *u = r->u + panel * r->u_floats;
    for (int point = 0; point < POINTS; point++, u += u_stride(r, width))
        for (int i = 0; i < ck_wino_copies(&r->g, point); i++) {
            int64_t slot = ck_wino_slot(&r->g, point, i);
            struct ahead next = {point + 1 < POINTS ? u + u_stride(r, width) : NULL, pixels};
            struct factors f = {v + slot * v_stride(r, tiles), u,
                                m + slot * m_stride(tiles, width), width};
            multiply(r, &cut, slot, &f, &next);
        }
}

/* Where U is small, products have bandwidth to spare: they prefetch the pixels of the group
 * that this worker will most likely take next. */
static struct ck_wino_ahead pixels_ahead(const struct run *r, int64_t group)
{
    int64_t next = smaller(group + ck_threads(), r->groups);
    struct ck_wino_ahead a =
        ck_wino_ahead(&r->g, &r->g.in, r->x, r->in_blocks, group_start(r, next),
                      next < r->groups ? group_tiles(r, next) : 0);
    a.then = r->producer ? r->producer->source : NULL;
    return a;
}

/* GROUPS: an item is a group, in the worker's own v and m. */
static void run_group(void *arg, int64_t group, int worker)
{
    const struct run *r = arg;
    int64_t tiles = group_tiles(r, group);
    float *v = r->v + worker * (r->v_floats + r->m_floats), *m = v + r->v_floats;
    struct ck_wino_ahead pixels = pixels_ahead(r, group);
    int small = r->in_blocks * r->out_blocks <= 8;
    if (r->producer)
        r->producer->run(r->producer->arg, group_start(r, group) / r->unit, tiles / r->unit);
    for (int64_t part = 0; part < part_count(r, tiles); part++)
        make_inputs(r, group, part, v);
    for (int64_t panel = 0; panel < r->panels; panel++) {
        multiply_panel(r, tiles, panel, v, small ? &pixels : NULL, m);
        make_outputs(r, group, panel, 0, tiles, m);
    }
    atomic_thread_fence(memory_order_seq_cst);
}

/* SLOTS, step 1: an item is a part of the current group's tiles. */
static void inputs_item(void *arg, int64_t part, int worker)
{
    (void)worker;
    const struct run *r = arg;
    make_inputs(r, r->g_now, part, r->v);
    atomic_thread_fence(memory_order_seq_cst);
}

/* SLOTS: where M of a panel begins. */
static float *m_panel(const struct run *r, int64_t panel)
{
    return r->m + panel * r->g.slots * m_stride(r->group, r->width);
}

static const float *u_of(const struct run *r, int64_t panel, int64_t slot)
{
    return r->u + panel * r->u_floats +
           ck_wino_point(&r->g, slot) * u_stride(r, panel_width(r, panel));
}

/* SLOTS, step 2: an item is a slot, all panels of it. */
static void run_slot(void *arg, int64_t slot, int worker)
{
    (void)worker;
    const struct run *r = arg;
    int64_t tiles = group_tiles(r, r->g_now);
    struct ck_wino_cut cut = ck_wino_cut(&r->g, tiles);
    for (int64_t panel = 0; panel < r->panels; panel++) {
        int width = panel_width(r, panel);
        struct ahead next = {panel + 1 < r->panels ? u_of(r, panel + 1, slot) : NULL, NULL};
        struct factors f = {r->v + slot * v_stride(r, tiles), u_of(r, panel, slot),
                            m_panel(r, panel) + slot * m_stride(tiles, width), width};
        multiply(r, &cut, slot, &f, &next);
    }
}

/* SLOTS, step 3: an item is a part of the tiles and a panel. The items of a step are
 * independent; ck_parallel ends each step with a barrier. */
static void outputs_item(void *arg, int64_t item, int worker)
{
    (void)worker;
    const struct run *r = arg;
    int64_t tiles = group_tiles(r, r->g_now), part = item / r->panels, panel = item % r->panels;
    int64_t first, count = find_part(r, tiles, part, &first);
    make_outputs(r, r->g_now, panel, first, count, m_panel(r, panel));
    atomic_thread_fence(memory_order_seq_cst);
}

/* Lays out `scratch` as ck_wino_scratch sizes it, aligned to 64 bytes, and runs the
 * strategy. */
static void convolve(struct run *r, void *scratch)
{
    r->u = (float *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    r->v = r->u + r->panels * r->u_floats;
    r->m = r->v + r->v_floats;
    r->stream = (uintptr_t)r->y % 64 == 0;
    ck_parallel(r->panels * r->in_blocks, make_weights, r);
    if (!r->by_slots)
        ck_parallel(r->groups, run_group, r);
    for (; r->by_slots && r->g_now < r->groups; r->g_now++) {
        int64_t parts = part_count(r, group_tiles(r, r->g_now));
        ck_parallel(parts, inputs_item, r);
        ck_parallel(r->g.slots, run_slot, r);
        ck_parallel(parts * r->panels, outputs_item, r);
    }
}

/* ---- public ---- */

int ck_wino_is_fast(void)
{
    return ck_wino_kernels() != &ck_wino_kernels_ref;
}

int ck_wino_takes_producer(const struct ck_wino_shape *s, enum ck_wino_pass pass)
{
    if (pass == CK_WINO_WEIGHTS)
        return 0;
    struct run r = run_for(s, pass == CK_WINO_DATA);
    return !r.by_slots && r.unit == r.g.rows * r.g.cols;
}

void ck_wino_forward(const struct ck_wino_shape *s, const float *x, const float *w, float *y,
                     const struct ck_wino_producer *producer, void *scratch)
{
    struct run r = run_for(s, 0);
    r.producer = producer;
    r.x = x;
    r.w = w;
    r.y = y;
    convolve(&r, scratch);
}

void ck_wino_data(const struct ck_wino_shape *s, const float *dy, const float *w, float *dx,
                  const struct ck_wino_producer *producer, void *scratch)
{
    struct run r = run_for(s, 1);
    r.producer = producer;
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
    int64_t copies = r.by_slots ? 1 : threads;
    return (size_t)(r.panels * r.u_floats + copies * (r.v_floats + r.m_floats)) *
               sizeof(float) +
           64;
}
