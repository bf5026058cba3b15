/* tree_start.c - the first tree of a clustering of two levels. */
#include "cluster/tree_start.h"
#include "cluster/job.h"
#include "cluster/start.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_PER_GROUP = 256, /* of the sample that the groups are made from */
    FEWEST_ROWS = 1 << 14,
    GROUP_EPOCHS = 5,
    GAP_ROWS = 512,
    BLOCK = 4096, /* rows that are routed at a time */
    DRAW_GROUPS = 3,
    DRAW_LEAVES = 4,
    DRAW_GAP = 5,
};

/* Flat costs n k ld products of 8 bits per epoch, about 5e11 per second and core; two levels pay
 * where an epoch would take several seconds. */
int ck_levels_choose(enum ck_levels levels, int64_t n, int64_t k, int ld)
{
    const double flat = 4e12;
    const int64_t fewest = 4096;
    if (levels != CK_LEVELS_AUTO)
        return levels == CK_LEVELS_TWO ? 2 : 1;
    return k >= fewest && (double)n * (double)k * (double)ld > flat ? 2 : 1;
}

/* ---- a sample of the rows as rows of their own ---- */

struct view {
    struct coke_rows rows;
    struct coke_rows *all;
    int64_t *id; /* [rows.n] */
    double *weight;
    const struct coke_callbacks *callbacks; /* of the clustering */
};

static int view_get(struct coke_rows *r, const int64_t *index, int n, float *out, int ld)
{
    struct view *v = (struct view *)(void *)r;
    for (int i = 0; i < n; i++)
        CK_RETURN_IF(v->all->get(v->all, &v->id[index[i]], 1, out + (int64_t)i * ld, ld));
    return COKE_OK;
}

static void view_where(const struct coke_rows *r, int64_t index, char *text, int size)
{
    const struct view *v = (const struct view *)(const void *)r;
    v->all->where(v->all, v->id[index], text, size);
}

/* id [count]: usable rows in a random order; returns how many there are. */
static int64_t draw_rows(const struct ck_scan *s, uint64_t seed, uint64_t draw, int64_t count,
                         int64_t *id)
{
    struct ck_perm perm;
    int64_t got = 0;
    ck_perm_init(&perm, seed, CK_RNG_INIT, draw, (uint64_t)s->rows->n);
    for (int64_t at = 0; at < s->rows->n && got < count; at++) {
        int64_t row = (int64_t)ck_perm_at(&perm, (uint64_t)at);
        if (!ck_scan_is_bad(s, row))
            id[got++] = row;
    }
    return got;
}

static int view_init(struct view *v, const struct ck_tree_start *s, int64_t count)
{
    const struct ck_scan *scan = s->scan;
    v->all = scan->rows;
    v->callbacks = s->callbacks;
    v->id = ck_alloc_array((size_t)count, sizeof *v->id);
    v->weight = scan->weight ? ck_alloc_array((size_t)count, sizeof *v->weight) : NULL;
    if (!v->id || (scan->weight && !v->weight))
        return COKE_ENOMEM;
    count = draw_rows(scan, s->seed, DRAW_GROUPS, count, v->id);
    for (int64_t i = 0; scan->weight && i < count; i++)
        v->weight[i] = ck_scan_weight(scan, v->id[i]);
    v->rows = (struct coke_rows){.n = count,
                                 .dim = scan->rows->dim,
                                 .bytes = count * scan->rows->dim,
                                 .name = scan->rows->name,
                                 .note = "",
                                 .get = view_get,
                                 .where = view_where};
    return COKE_OK;
}

/* ---- the groups ---- */

/* Progress of the groups is that of the start of the whole; only a request to stop matters. */
static int pass_on(void *user, const struct coke_progress *p)
{
    const struct view *v = user;
    struct coke_progress init = {.phase = "init", .done = p->done, .total = p->total};
    return ck_progress_ask(v->callbacks, &init);
}

/* A row is compared with all groups, then with the leaves of some: sqrt(probes k) groups make
 * both cost the same. */
static int64_t count_groups(int64_t k, int probes)
{
    int64_t groups = llround(sqrt((double)probes * (double)k));
    return groups < k ? groups : k;
}

/* A clustering of the sample, flat. Sizes within a factor of two keep the cost of a search
 * even. */
static int make_groups(const struct ck_tree_start *s, int64_t groups, struct coke_cluster **out)
{
    struct view v = {0};
    int rc = COKE_OK;
    struct ck_cluster_options o = ck_cluster_options_default();
    o.k.n = 1;
    o.k.v[0] = (int32_t)groups;
    o.kmeans.ratio = 0.5;
    o.kmeans.max_ratio = 2;
    o.max_epochs = GROUP_EPOCHS;
    o.repair = 0;
    o.restarts = 1;
    o.polish = 0;
    o.kmeans.metric = s->scan->frame.metric;
    o.init = s->init == CK_INIT_AUTO ? CK_INIT_SAMPLE : s->init;
    o.levels = CK_LEVELS_ONE;
    o.seed = (int64_t)(s->seed & 0xffffffff);
    int64_t count = groups * ROWS_PER_GROUP;
    int64_t usable = s->scan->rows->n - s->scan->nbad;
    count = count > FEWEST_ROWS ? count : FEWEST_ROWS;
    CK_TRY(view_init(&v, s, count < usable ? count : usable));
    struct coke_callbacks cb = {.size = sizeof cb, .user = &v, .progress = pass_on};
    struct coke_cluster_input input = {
        .size = sizeof input, .rows = &v.rows, .weights = v.weight};
    CK_TRY(ck_cluster_run(out, &input, &o, &cb, NULL));
done:
    ck_free(v.id);
    ck_free(v.weight);
    return rc;
}

/* ---- the leaves ---- */

/* First everyone gets the whole part, at least 1; then the largest remainders one more, and
 * if the ones that were raised to 1 took too many, the largest quotas give back. */
void ck_tree_quotas(const int64_t *size, int64_t groups, int64_t k, int64_t *quota,
                    double *scratch)
{
    int64_t total = 0, given = 0;
    for (int64_t g = 0; g < groups; g++)
        total += size[g];
    for (int64_t g = 0; g < groups; g++) {
        double part = (double)k * (double)size[g] / (double)total;
        quota[g] = (int64_t)floor(part);
        quota[g] = quota[g] == 0 && size[g] > 0 ? 1 : quota[g];
        scratch[g] = part - (double)quota[g];
        given += quota[g];
    }
    for (; given != k; given += given < k ? 1 : -1) {
        int64_t at = -1;
        int sign = given < k ? 1 : -1; /* one more to the largest, one less to the smallest */
        for (int64_t g = 0; g < groups; g++)
            if (size[g] > 0 && (sign > 0 || quota[g] > 1) &&
                (at < 0 || sign * scratch[g] > sign * scratch[at]))
                at = g;
        quota[at] += sign;
        scratch[at] -= sign;
    }
}

/* Rows drawn as leaves, and their groups. */
struct picks {
    int64_t n, room;
    int64_t *id;     /* [room] rows drawn at random, in that order */
    int32_t *group;  /* [room] nearest group of each */
    uint8_t *taken;  /* [room] is it a leaf? */
    int64_t *quota;  /* [groups] */
    double *scratch; /* [groups] */
    float *x;        /* [BLOCK + CK_TILE][ld] */
    int64_t leaves;  /* taken so far */
};

static void picks_release(struct picks *p)
{
    ck_free(p->id);
    ck_free(p->group);
    ck_free(p->taken);
    ck_free(p->quota);
    ck_free(p->scratch);
    ck_free(p->x);
}

/* Room for several times k rows: enough to fill nearly all quotas. */
static int picks_init(struct picks *p, const struct ck_tree_start *s, int64_t groups)
{
    int64_t usable = s->scan->rows->n - s->scan->nbad, room = 4 * s->k + (1 << 16);
    p->room = room < usable ? room : usable;
    size_t n = (size_t)p->room;
    p->id = ck_alloc_array(n, sizeof *p->id);
    p->group = ck_alloc_array(n, sizeof *p->group);
    p->taken = ck_calloc_array(n, sizeof *p->taken);
    p->quota = ck_alloc_array((size_t)groups, sizeof *p->quota);
    p->scratch = ck_alloc_array((size_t)groups, sizeof *p->scratch);
    p->x = ck_calloc_array(BLOCK + CK_TILE, (size_t)s->scan->ld * sizeof *p->x);
    if (!p->id || !p->group || !p->taken || !p->quota || !p->scratch || !p->x)
        return COKE_ENOMEM;
    p->room = draw_rows(s->scan, s->seed, DRAW_LEAVES, p->room, p->id);
    return COKE_OK;
}

/* Routes the next block of drawn rows and takes those whose group lacks leaves. */
static int pick_block(struct picks *p, const struct ck_scan *s, struct ck_assigner *a)
{
    int64_t n = p->room - p->n < BLOCK ? p->room - p->n : BLOCK;
    for (int64_t i = 0; i < n; i += CK_ASSIGN_BLOCK)
        CK_RETURN_IF(ck_scan_get(s, p->id + p->n + i,
                                 (int)(n - i < CK_ASSIGN_BLOCK ? n - i : CK_ASSIGN_BLOCK),
                                 p->x + i * s->ld));
    ck_assign(a, p->x, n, p->group + p->n, NULL);
    for (int64_t i = p->n; i < p->n + n; i++)
        if (p->quota[p->group[i]] > 0) {
            p->quota[p->group[i]]--;
            p->taken[i] = 1;
            p->leaves++;
        }
    p->n += n;
    return COKE_OK;
}

/* Takes k rows: by quota, and if rows of some group were not met, any others. */
static int pick_leaves(struct picks *p, const struct ck_tree_start *s, struct ck_assigner *a)
{
    ck_assigner_settle(a, NULL);
    while (p->leaves < s->k && p->n < p->room) {
        CK_RETURN_IF(pick_block(p, s->scan, a));
        CK_RETURN_IF(ck_progress(
            s->callbacks,
            &(struct coke_progress){.phase = "init", .done = p->leaves, .total = s->k}));
    }
    for (int64_t i = 0; i < p->n && p->leaves < s->k; i++)
        if (!p->taken[i]) {
            p->taken[i] = 1;
            p->leaves++;
        }
    return COKE_OK;
}

/* Leaves ordered by group, within a group as drawn; groups without leaves are left out. first
 * [groups + 1] and center [groups][ld] of the groups are changed in place. */
static int order_leaves(const struct picks *p, struct ck_tree_start *s, int64_t *groups,
                        int64_t *first, float *center)
{
    struct ck_scan plain = *s->scan;
    int ld = s->scan->ld;
    int64_t kept = 0;
    plain.weight = NULL;
    memset(first, 0, (size_t)(*groups + 1) * sizeof *first);
    for (int64_t i = 0; i < p->n; i++)
        first[p->group[i]] += p->taken[i];
    for (int64_t g = 0, at = 0; g < *groups; g++) {
        int64_t n = first[g];
        first[g] = at;
        at += n;
    }
    for (int64_t i = 0; i < p->n; i++)
        if (p->taken[i]) {
            float *c = s->center + first[p->group[i]]++ * ld;
            CK_RETURN_IF(ck_scan_get(&plain, p->id + i, 1, c));
            ck_frame_close(&plain.frame, plain.kn, c);
        }
    for (int64_t g = 0, from = 0; g < *groups; from = first[g], g++)
        if (first[g] > from) { /* now the end of its leaves */
            memmove(center + kept * ld, center + g * ld, (size_t)ld * sizeof *center);
            p->quota[kept++] = from;
        }
    memcpy(first, p->quota, (size_t)kept * sizeof *first);
    first[kept] = s->k;
    *groups = kept;
    return COKE_OK;
}

/* ---- the lead of the best candidate ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Lead of row i of those routed. */
static double lead_of(const struct ck_tree *t, const float *center, const float *x, int64_t i)
{
    float best = -INFINITY, second = -INFINITY;
    for (int p = 0; p < t->probes; p++) {
        int64_t g = t->route[i * t->probes + p];
        for (int64_t k = t->first[g]; k < t->first[g + 1]; k++) {
            float score = t->kn->dot(x + i * t->ld, center + k * t->ld, t->ld);
            second = fmaxf(second, fminf(best, score));
            best = fmaxf(best, score);
        }
    }
    return second > -INFINITY ? (double)best - (double)second : 0;
}

static int measure_gap(struct ck_tree_start *s)
{
    int64_t usable = s->scan->rows->n - s->scan->nbad, id[GAP_ROWS];
    int64_t n = usable < GAP_ROWS ? usable : GAP_ROWS;
    double lead[GAP_ROWS];
    int rc = COKE_OK;
    float *x = ck_calloc_array((size_t)n + CK_TILE, (size_t)s->scan->ld * sizeof *x);
    if (!x)
        return COKE_ENOMEM;
    struct ck_scan plain = *s->scan;
    plain.weight = NULL;
    n = draw_rows(s->scan, s->seed, DRAW_GAP, n, id);
    for (int64_t i = 0; i < n; i++)
        CK_TRY(ck_scan_get(&plain, id + i, 1, x + i * s->scan->ld));
    CK_TRY(ck_tree_reserve(s->tree, n));
    ck_tree_route(s->tree, 0, x, n);
    for (int64_t i = 0; i < n; i++)
        lead[i] = lead_of(s->tree, s->center, x, i);
    qsort(lead, (size_t)n, sizeof *lead, ascending);
    s->gap = lead[n / 2];
done:
    ck_free(x);
    return rc;
}

int ck_tree_start(struct ck_tree_start *s)
{
    int64_t groups = count_groups(s->k, s->probes), *first = NULL;
    struct coke_cluster *c = NULL;
    struct ck_assigner *a = NULL;
    struct picks p = {0};
    int rc = COKE_OK, ld = s->scan->ld;
    s->tree = NULL;
    float *center = ck_calloc_array((size_t)groups, (size_t)ld * sizeof *center);
    first = ck_calloc_array((size_t)groups + 1, sizeof *first);
    if (!center || !first)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(make_groups(s, groups, &c));
    for (int64_t g = 0; g < groups; g++) {
        memcpy(center + g * ld, c->center[0] + g * c->dim, (size_t)c->dim * sizeof *center);
        ck_frame_center(&s->scan->frame, s->scan->kn, center + g * ld);
    }
    CK_TRY(picks_init(&p, s, groups));
    ck_tree_quotas(c->size[0], groups, s->k, p.quota, p.scratch);
    CK_TRY(ck_frame_assigner(&a, &s->scan->frame, s->scan->kn, center, groups));
    CK_TRY(pick_leaves(&p, s, a));
    CK_TRY(order_leaves(&p, s, &groups, first, center));
    CK_TRY(ck_tree_new(&s->tree, &s->scan->frame, center, groups, first, s->center, s->probes));
    CK_TRY(measure_gap(s));
done:
    if (rc) {
        ck_tree_free(s->tree);
        s->tree = NULL;
    }
    picks_release(&p);
    ck_assigner_free(a);
    ck_cluster_free(c);
    ck_free(center);
    ck_free(first);
    return rc;
}
