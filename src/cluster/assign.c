/* assign.c - rows to their best centers.
 *
 * Two paths give the same labels. Dense: every score in f32. Screening: 8-bit products give an
 * upper bound on every score; the centers under the highest bound are scored in f32, then all
 * whose bound reaches the best score found. With m the mean of the centers, y = x - m,
 * r = c - m and q(.) rounding to 8 bits:
 *
 *     x.c = x.m + m.r + y.r,   |y.r - q(y).q(r)| <= |y - q(y)| |r| + |q(y)| |r - q(r)|
 *
 * by Cauchy-Schwarz, with the actual lengths of the rounding errors. Subtracting m keeps what
 * all centers have in common out of the rounding. slack_of() bounds the error of f32 arithmetic.
 *
 * Rows and centers may have any length. A column may be exempt from rounding (the lift, l): m is
 * zero there, y and r are without it, and x_l c_l is added to the estimate in f32. */

#include "cluster/assign_internal.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "core/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDED_BYTES = WIDEST * CK_SCREEN_ROWS, /* room for a block's rounded rows */
    FEW_CENTERS = 24,
    FIRST_PROBE = 1 << 20, /* rows after which screening is tried for few centers */
    GROUPS = 64,           /* sets of panels; one bound per lane and set is kept */
};

int ck_assigner_new(struct ck_assigner **out, const struct ck_kernels *kn, const float *center,
                    int64_t k, int ld)
{
    int rc = COKE_ENOMEM;
    struct ck_assigner *a = ck_calloc_array(1, sizeof *a);
    if (!a)
        goto done;
    a->kn = kn;
    a->center = center;
    a->k = k;
    a->ld = a->width = ld;
    a->lift = -1;
    a->panels = (k + kn->panel - 1) / kn->panel;
    a->path = CK_PATH_DENSE;
    a->bias = ck_alloc_array((size_t)a->panels * (size_t)kn->panel, sizeof *a->bias);
    a->raised = ck_alloc_array((size_t)a->panels * (size_t)kn->panel, sizeof *a->raised);
    /* Memory for the dense panels is reserved here, so that choosing a path cannot fail; its
     * pages become resident only when they are written. */
    a->dense =
        ck_calloc_array((size_t)a->panels * (size_t)kn->panel, (size_t)ld * sizeof(float));
    if (!a->bias || !a->raised || !a->dense)
        goto done;
    if (kn->screen && ld <= WIDEST) {
        /* few centers do not fill a panel, and rounding the rows costs more than their scores */
        a->path = k < FEW_CENTERS ? CK_PATH_DENSE : CK_PATH_SCREEN;
        a->next_probe = k < FEW_CENTERS ? FIRST_PROBE : 0;
        a->screen_panels = (k + CK_SCREEN_PANEL - 1) / CK_SCREEN_PANEL;
        a->group = (int)((a->screen_panels + GROUPS - 1) / GROUPS);
        a->panel_bytes =
            sizeof(struct ck_screen_panel) + (size_t)row_bytes(ld) * CK_SCREEN_PANEL;
        a->screen = ck_calloc_array((size_t)a->screen_panels, a->panel_bytes);
        a->reference = ck_calloc_array((size_t)ld, sizeof *a->reference);
        a->reference_dot = ck_calloc_array((size_t)k, sizeof *a->reference_dot);
        a->length = ck_calloc_array((size_t)k, sizeof *a->length);
        if (!a->screen || !a->reference || !a->reference_dot || !a->length)
            goto done;
    }
    *out = a;
    return COKE_OK;
done:
    ck_assigner_free(a);
    return rc;
}

void ck_assigner_lift(struct ck_assigner *a, int column)
{
    a->lift = column;
    a->width = ck_padded(column);
}

int ck_assigner_subset(struct ck_assigner **out, const struct ck_assigner *of,
                       const int32_t *which, int64_t n, float *center)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(center + i * of->ld, of->center + which[i] * (int64_t)of->ld,
               (size_t)of->ld * sizeof *center);
    CK_RETURN_IF(ck_assigner_new(out, of->kn, center, n, of->ld));
    if (of->lift >= 0)
        ck_assigner_lift(*out, of->lift);
    return COKE_OK;
}

void ck_assigner_free(struct ck_assigner *a)
{
    if (!a)
        return;
    ck_free(a->bias);
    ck_free(a->raised);
    ck_free(a->dense);
    ck_free(a->screen);
    ck_free(a->reference);
    ck_free(a->reference_dot);
    ck_free(a->length);
    ck_free(a);
}

void ck_assigner_widen(struct ck_assigner *a, const float *more, const float *rise,
                       const float *look)
{
    a->more = more;
    a->rise = rise;
    a->look = look;
}

void ck_assigner_force(struct ck_assigner *a, enum ck_assign_path path)
{
    a->forced = path == CK_PATH_SCREEN && !a->screen ? CK_PATH_DENSE : path;
    if (a->forced)
        a->path = a->forced;
}

struct ck_assign_stats ck_assigner_stats(const struct ck_assigner *a)
{
    return (struct ck_assign_stats){.path = a->path == CK_PATH_SCREEN ? "screen" : "dense",
                                    .rows = atomic_load(&a->path_rows[CK_PATH_SCREEN]),
                                    .candidates = atomic_load(&a->candidates)};
}

/* ---- one block of rows ---- */

/* State of one call on one thread; on the stack. */
struct block {
    struct ck_assigner *a;
    const float *x; /* [n][ld] */
    int n;
    float margin;
    float best[CK_ASSIGN_BLOCK];  /* best score + bias so far */
    float score[CK_ASSIGN_BLOCK]; /* without the bias */
    int32_t label[CK_ASSIGN_BLOCK];
    struct ck_near_list *near; /* or NULL */
    int rc;
    int64_t scored;
};

static int keep_near(struct block *b, int row, int64_t k, float score)
{
    struct ck_near_list *list = b->near;
    CK_RETURN_IF(CK_VEC_RESERVE(list->item, list->room, list->n + 1));
    list->item[list->n++] = (struct ck_near){.row = row, .k = (int32_t)k, .score = score};
    return COKE_OK;
}

/* How far behind its best a row lists centers; more of the label, once the row has one. */
static float margin_of(const struct block *b, int row)
{
    int known = b->a->more && b->label[row] != INT32_MAX;
    return b->margin + (known ? b->a->more[b->label[row]] : 0);
}

/* How far behind the best a row scores centers: at least as far as it lists them, and no
 * further than the nearest center can be. */
static float look_of(const struct block *b, int row)
{
    float margin = margin_of(b, row);
    if (!b->a->look || b->label[row] == INT32_MAX)
        return margin;
    float look = b->a->look[b->label[row]];
    float behind = b->best[row] - (b->near->nearest[row] + b->a->lowest);
    look = behind < look ? behind : look;
    return larger(look, margin);
}

/* Centers below this limit need no score: they are neither the best nor listed. */
static float limit_of(const struct block *b, int row, float offset)
{
    return b->best[row] - (b->near ? look_of(b, row) : 0) - offset;
}

/* Takes an exact score of (row, k) into account. Near lists keep all centers that any label
 * would list; settle_near() drops those outside the final label's margin. Values are finite except
 * after overflow: then the first one is as good as any. */
static void offer(struct block *b, int row, int64_t k, float score)
{
    float value = score + b->a->bias[k];
    if (b->near && !b->rc) {
        b->near->nearest[row] = larger(b->near->nearest[row], score);
        if (score + b->a->raised[k] >= b->best[row] - (b->margin + b->a->most_more))
            b->rc = keep_near(b, row, k, score);
    }
    if (!(value >= b->best[row]) || (value == b->best[row] && k >= b->label[row]))
        return;
    b->best[row] = value;
    b->score[row] = score;
    b->label[row] = (int32_t)k;
}

float ck_assigner_score(const struct ck_assigner *a, const float *x, int64_t k)
{
    return a->kn->dot(x, a->center + k * a->ld, a->ld);
}

const float *ck_assigner_center(const struct ck_assigner *a, int64_t k)
{
    return a->center + k * a->ld;
}

static void score_now(struct block *b, int row, int64_t k)
{
    offer(b, row, k, ck_assigner_score(b->a, b->x + (int64_t)row * b->a->ld, k));
}

/* ---- dense ---- */

/* hits: columns of a panel above the limit, as bits; out [panel]: scores with bias. */
static void take_best(struct block *b, int row, int64_t first, uint64_t hits, const float *out)
{
    for (; hits; hits &= hits - 1) {
        int c = __builtin_ctzll(hits);
        if (out[c] > b->best[row]) {
            b->best[row] = out[c];
            b->label[row] = (int32_t)(first + c);
        }
    }
}

/* One sweep over all panels: finds the best scores or, with `collect`, offers those whose
 * raised values reach the limits. */
static void dense_sweep(struct block *b, float *limit, int collect)
{
    struct ck_assigner *a = b->a;
    int width = a->kn->panel;
    const float *bias = collect ? a->raised : a->bias;
    uint64_t hits[CK_TILE];
    float out[CK_TILE * CK_PANEL_MAX];
    for (int64_t p = 0; p < a->panels; p++) {
        int64_t first = p * width, left = a->k - first;
        uint64_t real = left >= 64 ? UINT64_MAX : ((uint64_t)1 << left) - 1;
        for (int t = 0; t < b->n; t += CK_TILE) {
            unsigned mask =
                a->kn->dense_tile(a->dense + first * a->ld, bias + first,
                                  b->x + (int64_t)t * a->ld, a->ld, limit + t, hits, out);
            for (; mask; mask &= mask - 1) {
                int r = __builtin_ctz(mask), row = t + r;
                if (!collect) {
                    take_best(b, row, first, hits[r] & real, out + r * width);
                    limit[row] = b->best[row];
                    continue;
                }
                for (uint64_t h = hits[r] & real; h; h &= h - 1)
                    score_now(b, row, first + __builtin_ctzll(h));
            }
        }
    }
}

/* Two sweeps if near lists are wanted: limits are known only after the best. */
static void dense_block(struct block *b)
{
    struct ck_assigner *a = b->a;
    float limit[CK_ASSIGN_BLOCK];
    for (int r = 0; r < CK_ASSIGN_BLOCK; r++)
        limit[r] = r < b->n ? -INFINITY : INFINITY;
    dense_sweep(b, limit, 0);
    for (int r = 0; r < b->n; r++) {
        if (b->label[r] == INT32_MAX) /* only if every score overflowed */
            continue;
        b->score[r] = a->kn->dot(b->x + (int64_t)r * a->ld,
                                 a->center + b->label[r] * (int64_t)a->ld, a->ld);
        limit[r] = limit_of(b, r, 0);
    }
    if (b->near)
        dense_sweep(b, limit, 1);
}

/* ---- screening ---- */

/* Bounds the error of f32 arithmetic: in the scores (ld/8 fused steps, 3 sums, the bias), in
 * x.m and m.r (the same), in the rounding of y and r, and 5 more in the estimate. Each is at
 * most u = 2^-24 times the sum of the absolute products: those of the rounded columns are all
 * below (|x|+|m|)(|c|+|m|), that of the lift is at most |x_l c_l|; or times a bias. 2^-23 instead
 * of u covers second-order terms and the rounding of the bound itself. No length is assumed to
 * be 1. x_length is without the lift. */
static float slack_of(const struct ck_assigner *a, float x_length, float x_lift)
{
    float steps = (float)(a->ld / CK_LANES + 16);
    float lengths =
        (x_length + a->reference_length) * (a->center_length + a->reference_length) +
        fabsf(x_lift) * a->center_lift;
    return 0x1p-23f * steps * (3 * lengths + 2 * a->bias_size);
}

/* Scores the centers behind one maximum: a lane of all panels of a group. The fourth vector of
 * each dot4 is the reference: scores and bounds differ by x.m, which is returned. */
static float score_lane(struct block *b, int row, int index)
{
    struct ck_assigner *a = b->a;
    const float *x = b->x + (int64_t)row * a->ld, *c[4];
    float score[4] = {0};
    int64_t first = (int64_t)(index / CK_SCREEN_LANES) * a->group;
    int64_t end = first + a->group < a->screen_panels ? first + a->group : a->screen_panels;
    c[3] = a->reference;
    for (int64_t p = first; p < end; p++) {
        int64_t k = p * CK_SCREEN_PANEL + index % CK_SCREEN_LANES;
        for (int v = 0; v < 3; v++)
            c[v] = a->center +
                   (k + v * CK_SCREEN_LANES < a->k ? k + v * CK_SCREEN_LANES : 0) * a->ld;
        a->kn->dot4(x, c, a->ld, score);
        for (int v = 0; v < 3 && k + v * CK_SCREEN_LANES < a->k; v++, b->scored++)
            offer(b, row, k + v * CK_SCREEN_LANES, score[v]);
    }
    return score[3];
}

/* Requests a vector from farther caches: as much of it as is worth the instructions. */
static void prefetch(const float *v, int ld)
{
    enum { LINE = 64 / sizeof(float), LINES = 16 };
    for (int j = 0; j < ld && j < LINE * LINES; j += LINE)
        __builtin_prefetch(v + j);
}

/* The centers behind one maximum, if these are few. */
static void prefetch_lane(const struct ck_assigner *a, int index)
{
    int64_t k = (int64_t)(index / CK_SCREEN_LANES) * CK_SCREEN_PANEL + index % CK_SCREEN_LANES;
    for (int v = 0; v < 3 && a->group == 1; v++, k += CK_SCREEN_LANES)
        if (k < a->k)
            prefetch(a->center + k * a->ld, a->ld);
}

/* From the bounds top [n] of a row to its label. The highest bound, at `peak`, is scored first:
 * its score is often the best, and excludes most of the others. */
static void settle_row(struct block *b, int row, const float *top, int n, int peak, float norm,
                       float lift)
{
    struct ck_assigner *a = b->a;
    int32_t index[GROUPS * CK_SCREEN_LANES];
    float slack = slack_of(a, norm + a->reference_length, lift);
    if (!(slack < INFINITY)) { /* overflow: the bounds are useless */
        for (int64_t k = 0; k < a->k; k++)
            score_now(b, row, k);
        return;
    }
    float offset = score_lane(b, row, peak) + slack;
    float limit = limit_of(b, row, offset);
    int hits = a->kn->reach(top, n, limit, index);
    int left = 0;
    for (int i = 0; i < hits; i++) {
        if (index[i] == peak)
            continue;
        if (top[index[i]] >= limit_of(b, row, offset))
            score_lane(b, row, index[i]);
        else
            index[left++] = index[i];
    }
    if (!b->near)
        return;
    /* The label may have changed to one with a wider margin: score what that includes. */
    float wider = limit_of(b, row, offset);
    for (int i = 0; i < left; i++)
        if (top[index[i]] >= wider)
            score_lane(b, row, index[i]);
    for (int i = 0; wider < limit && i < n; i++)
        if (top[i] >= wider && top[i] < limit && i != peak)
            score_lane(b, row, i);
}

_Static_assert((int)CK_ASSIGN_BLOCK <= (int)CK_SCREEN_MOST, "a block is screened by one call");

/* The rounded rows of a block; the last tile is filled with copies of the first row. */
struct rounded {
    int n; /* a multiple of CK_TILE */
    uint8_t q[ROUNDED_BYTES] __attribute__((aligned(64)));
    float scale[CK_ASSIGN_BLOCK], norm[CK_ASSIGN_BLOCK], lift[CK_ASSIGN_BLOCK];
    float length[CK_ASSIGN_BLOCK / CK_TILE], residue[CK_ASSIGN_BLOCK / CK_TILE];
};

static const float *row_of(const struct block *b, int r)
{
    return b->x + (int64_t)(r < b->n ? r : 0) * b->a->ld;
}

/* Makes the ranges [n] of the rows of a tile of the matrix unit the largest one, if they are
 * similar. With one scale the unit's results need less arithmetic, but rows of a smaller range have
 * larger errors. */
static void join_ranges(float *range, int n)
{
    float most = 0, least = INFINITY;
    for (int i = 0; i < n; i++) {
        most = larger(most, range[i]);
        least = range[i] < least ? range[i] : least;
    }
    for (int i = 0; i < n && most < 2 * least; i++)
        range[i] = most;
}

static void round_rows(const struct block *b, struct rounded *q)
{
    struct ck_assigner *a = b->a;
    int group = a->kn->unit_rows;
    float copy[WIDEST], range[CK_ASSIGN_BLOCK];
    q->n = (b->n + CK_TILE - 1) / CK_TILE * CK_TILE;
    for (int r = 0; r < q->n; r++)
        range[r] = a->kn->range8(without_lift(a, row_of(b, r), copy), a->reference, a->width,
                                 &q->norm[r]);
    for (int r = 0; r < q->n && group && a->lift < 0; r += group)
        join_ranges(range + r, q->n - r < group ? q->n - r : group);
    for (int r = 0; r < q->n; r++) {
        const float *x = row_of(b, r);
        float *length = &q->length[r / CK_TILE], *residue = &q->residue[r / CK_TILE];
        struct ck_rounded y =
            a->kn->round8(without_lift(a, x, copy), a->reference, a->width, range[r], !group, 4,
                          q->q + (int64_t)r * row_bytes(a->width));
        q->scale[r] = y.scale;
        q->lift[r] = a->lift >= 0 ? x[a->lift] : 0;
        *length = r % CK_TILE ? larger(*length, y.length) : y.length;
        *residue = r % CK_TILE ? larger(*residue, y.residue) : y.residue;
    }
}

static void screen_block(struct block *b)
{
    struct ck_assigner *a = b->a;
    struct rounded q;
    float top[CK_ASSIGN_BLOCK * (GROUPS + 2) * CK_SCREEN_LANES] __attribute__((aligned(64)));
    int n = (int)((a->screen_panels + a->group - 1) / a->group) * CK_SCREEN_LANES;
    /* A multiple of 2 KiB would put all rows into a few sets of the caches. */
    int stride = n + CK_SCREEN_LANES * (1 + ((n / CK_SCREEN_LANES + 1) % 32 == 0));
    round_rows(b, &q);
    struct ck_screen_panels panels = {.first = a->screen,
                                      .bytes = a->panel_bytes,
                                      .n = a->screen_panels,
                                      .group = a->group,
                                      .ld = a->width};
    struct ck_screen_rows rows = {.q = q.q,
                                  .stride = row_bytes(a->width),
                                  .n = q.n,
                                  .scale = q.scale,
                                  .lift = q.lift,
                                  .length = q.length,
                                  .residue = q.residue};
    a->kn->screen(&panels, &rows, top, stride);
    int peak[CK_ASSIGN_BLOCK];
    for (int r = 0; r < b->n; r++) {
        peak[r] = a->kn->peak(top + r * stride, n);
        prefetch_lane(a, peak[r]);
    }
    for (int r = 0; r < b->n; r++)
        settle_row(b, r, top + r * stride, n, peak[r], q.norm[r], q.lift[r]);
}

/* ---- blocks and teams ---- */

/* The entries of one row in the order of their centers: few, by insertion. */
static void sort_by_center(struct ck_near *item, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        struct ck_near it = item[i];
        int64_t at = i;
        for (; at > 0 && item[at - 1].k > it.k; at--)
            item[at] = item[at - 1];
        item[at] = it;
    }
}

static int by_row_and_k(const void *a, const void *b)
{
    const struct ck_near *x = a, *y = b;
    return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                            : (x->k > y->k) - (x->k < y->k);
}

/* Drops entries that a later best score excludes and orders the rest by (row, k). Screening comes
 * row by row; where it does not, or lists are long, they are sorted as a whole. */
static void settle_near(struct block *b, int64_t start)
{
    enum { FEW = 64 };
    struct ck_near *item = b->near->item + start;
    int64_t n = 0, first = 0, longest = 0;
    int late = 0;
    for (int64_t i = 0; i < b->near->n - start; i++) {
        struct ck_near it = item[i];
        if (it.score + b->a->raised[it.k] < b->best[it.row] - margin_of(b, it.row))
            continue;
        late |= n > 0 && it.row < item[n - 1].row;
        first = n > 0 && it.row == item[n - 1].row ? first : n;
        longest = n + 1 - first > longest ? n + 1 - first : longest;
        item[n++] = it;
    }
    b->near->n = start + n;
    if (late || longest > FEW) {
        qsort(item, (size_t)n, sizeof *item, by_row_and_k);
        return;
    }
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && item[end].row == item[i].row;)
            end++;
        sort_by_center(item + i, end - i);
    }
}

/* One block through the path in use; adds its cost to the counters of that path. */
static int run_block(struct ck_assigner *a, const float *x, int n, float margin, int32_t *label,
                     float *score, struct ck_near_list *near)
{
    int64_t began = ck_clock_ns();
    struct block b = {.a = a, .x = x, .n = n, .margin = margin, .near = near};
    for (int r = 0; r < n; r++) {
        b.best[r] = -INFINITY;
        b.label[r] = INT32_MAX;
        if (near)
            near->nearest[r] = -INFINITY;
    }
    int64_t start = near ? near->n : 0;
    if (a->path == CK_PATH_SCREEN)
        screen_block(&b);
    else
        dense_block(&b);
    for (int r = 0; r < n; r++)
        if (b.label[r] == INT32_MAX) /* only if every score overflowed */
            b.label[r] = 0;
    if (near && !b.rc)
        settle_near(&b, start);
    memcpy(label, b.label, (size_t)n * sizeof *label);
    if (score)
        memcpy(score, b.score, (size_t)n * sizeof *score);
    a->candidates += b.scored;
    a->path_rows[a->path] += n;
    a->path_ns[a->path] += ck_clock_ns() - began;
    return b.rc;
}

/* Splits wide rows into smaller blocks, so that their rounded form fits its buffer. */
static int run_rows(struct ck_assigner *a, const float *x, int n, float margin, int32_t *label,
                    float *score, struct ck_near_list *near)
{
    int limit = CK_ASSIGN_BLOCK;
    if (a->path == CK_PATH_SCREEN && ROUNDED_BYTES / row_bytes(a->width) < limit)
        limit = CK_SCREEN_ROWS;
    float nearest[CK_ASSIGN_BLOCK];
    for (int r = 0; r < n; r += limit) {
        int64_t start = near ? near->n : 0;
        int rows = n - r < limit ? n - r : limit;
        int rc = run_block(a, x + (int64_t)r * a->ld, rows, margin, label + r,
                           score ? score + r : NULL, near);
        if (rc)
            return rc;
        for (int64_t i = start; near && i < near->n; i++)
            near->item[i].row += r;
        if (near)
            memcpy(nearest + r, near->nearest, (size_t)rows * sizeof *nearest);
    }
    if (near)
        memcpy(near->nearest, nearest, (size_t)n * sizeof *nearest);
    return COKE_OK;
}

void ck_assign_block(struct ck_assigner *a, const float *x, int n, int32_t *label, float *score)
{
    run_rows(a, x, n, 0, label, score, NULL);
}

int ck_assign_near_block(struct ck_assigner *a, const float *x, int n, float margin,
                         int32_t *label, float *score, struct ck_near_list *near)
{
    return run_rows(a, x, n, margin, label, score, near);
}

struct assign_job {
    struct ck_assigner *a;
    const float *x;
    int64_t n;
    int block;
    int32_t *label;
    float *score;
};

static void assign_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct assign_job *j = arg;
    int64_t at = chunk * j->block;
    int64_t n = j->n - at < j->block ? j->n - at : j->block;
    ck_assign_block(j->a, j->x + at * j->a->ld, (int)n, j->label + at,
                    j->score ? j->score + at : NULL);
}

/* At least two chunks per thread, for balance, unless that makes them smaller than a tile. */
int ck_assign_chunk_rows(int64_t n)
{
    int block = CK_ASSIGN_BLOCK;
    while (block > CK_TILE && n / block < 2 * ck_threads())
        block /= 2;
    return block;
}

void ck_assign(struct ck_assigner *a, const float *x, int64_t n, int32_t *label, float *score)
{
    struct assign_job job = {.a = a,
                             .x = x,
                             .n = n,
                             .block = ck_assign_chunk_rows(n),
                             .label = label,
                             .score = score};
    ck_parallel((n + job.block - 1) / job.block, assign_chunk, &job);
}
