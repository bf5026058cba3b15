/* repair_twins.c - centers that coincide count as one in the repair.
 *
 * Where many rows are equal, so are many centers, and all of these are equally near to every row:
 * lists of near centers explode, and no prices can divide the rows. A group of such centers is one
 * center here, whose bounds are the sums of theirs. Any division of its rows that keeps the bounds
 * of the members is as good as another, up to |x| times the distance between the centers. */
#include "cluster/repair_twins.h"
#include "cluster/near_groups.h"
#include "cluster/row_sum.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

/* ---- groups ---- */

/* Members by group, each group's in ascending order. The first of them need not be the one that the
 * distances were measured from: then the radius doubles. */
static void list_members(struct ck_twins *t)
{
    for (int64_t k = 0; k < t->k; k++)
        t->start[t->group[k] + 2]++;
    for (int64_t g = 0; g < t->groups; g++)
        t->start[g + 2] += t->start[g + 1];
    for (int64_t k = 0; k < t->k; k++)
        t->member[t->start[t->group[k] + 1]++] = (int32_t)k;
    t->radius *= 2;
}

int ck_twins_find(struct ck_twins *t, const struct ck_repair *r, double limit)
{
    *t = (struct ck_twins){.k = r->k};
    t->group = ck_alloc_array((size_t)r->k, sizeof *t->group);
    t->member = ck_alloc_array((size_t)r->k, sizeof *t->member);
    t->start = ck_calloc_array((size_t)r->k + 2, sizeof *t->start);
    if (!t->group || !t->member || !t->start)
        return COKE_ENOMEM;
    CK_RETURN_IF(ck_near_groups(ck_assigner_center(r->assigner, 0), r->k, r->scan->ld, limit,
                                t->group, &t->groups, &t->radius));
    list_members(t);
    return COKE_OK;
}

void ck_twins_release(struct ck_twins *t)
{
    ck_free(t->group);
    ck_free(t->member);
    ck_free(t->start);
    memset(t, 0, sizeof *t);
}

/* ---- from groups to members ---- */

/* The problem of the groups. Owns what differs from the problem of the centers. */
struct grouped {
    const struct ck_twins *t;
    struct ck_repair r;
    float *center; /* [groups][ld] */
    int32_t *first;
    int64_t *min_size, *max_size, *size, *expected;
    float *price;
};

static void release(struct grouped *g)
{
    ck_assigner_free(g->r.assigner);
    ck_free(g->center);
    ck_free(g->first);
    ck_free(g->min_size);
    ck_free(g->max_size);
    ck_free(g->size);
    ck_free(g->expected);
    ck_free(g->price);
}

/* Sums the bounds and sizes of the members, and takes the mean of their prices. */
static void add_members(struct grouped *g, const struct ck_repair *r)
{
    for (int64_t k = 0; k < r->k; k++) {
        int32_t i = g->t->group[k];
        double members = (double)(g->t->start[i + 1] - g->t->start[i]);
        g->min_size[i] += r->min_size[k];
        g->max_size[i] += r->max_size ? r->max_size[k] : 0;
        g->expected[i] += r->expected ? r->expected[k] : 0;
        g->price[i] += (float)((double)r->price[k] / members);
    }
}

static int prepare(struct grouped *g, const struct ck_repair *r)
{
    size_t n = (size_t)g->t->groups;
    g->r = *r;
    g->r.assigner = NULL;
    g->center = ck_alloc_array(n, (size_t)r->scan->ld * sizeof *g->center);
    g->first = ck_alloc_array(n, sizeof *g->first);
    g->min_size = ck_calloc_array(n, sizeof *g->min_size);
    g->max_size = ck_calloc_array(n, sizeof *g->max_size);
    g->size = ck_calloc_array(n, sizeof *g->size);
    g->expected = ck_calloc_array(n, sizeof *g->expected);
    g->price = ck_calloc_array(n, sizeof *g->price);
    if (!g->center || !g->first || !g->min_size || !g->max_size || !g->size || !g->expected ||
        !g->price)
        return COKE_ENOMEM;
    for (size_t i = 0; i < n; i++)
        g->first[i] = g->t->member[g->t->start[i]];
    CK_RETURN_IF(
        ck_assigner_subset(&g->r.assigner, r->assigner, g->first, g->t->groups, g->center));
    add_members(g, r);
    g->r.k = g->t->groups;
    g->r.min_size = g->min_size;
    g->r.max_size = r->max_size ? g->max_size : NULL;
    g->r.size = g->size;
    g->r.expected = r->expected ? g->expected : NULL;
    g->r.price = g->price;
    return COKE_OK;
}

/* Sizes of the members of group g: their minima, then equal parts of the rest, as far as the
 * maxima allow. */
static void divide(const struct grouped *g, const struct ck_repair *r, int64_t i)
{
    const int32_t *member = g->t->member + g->t->start[i];
    int64_t n = g->t->start[i + 1] - g->t->start[i], rest = g->size[i];
    for (int64_t m = 0; m < n; m++) {
        r->size[member[m]] = r->min_size[member[m]];
        rest -= r->min_size[member[m]];
    }
    for (int64_t given = 1; rest > 0 && given > 0;) {
        given = 0;
        for (int64_t m = 0; m < n && rest > 0; m++) {
            int64_t part = (rest + n - m - 1) / (n - m), *size = &r->size[member[m]];
            int64_t room = r->max_size ? r->max_size[member[m]] - *size : part;
            part = part < room ? part : room;
            *size += part;
            rest -= part;
            given += part;
        }
    }
}

/* The rows of a group go to its members in turn; left [k]: scratch. */
static void relabel(const struct grouped *g, const struct ck_repair *r, int64_t *left,
                    int64_t *at)
{
    const struct ck_twins *t = g->t;
    memcpy(left, r->size, (size_t)r->k * sizeof *left);
    memcpy(at, t->start, (size_t)t->groups * sizeof *at);
    for (int64_t i = 0; i < r->scan->rows->n; i++) {
        int32_t label = ck_labels_get(r->labels, i);
        if (label < 0)
            continue;
        while (left[t->member[at[label]]] == 0 && at[label] + 1 < t->start[label + 1])
            at[label]++;
        left[t->member[at[label]]]--;
        ck_labels_set(r->labels, i, t->member[at[label]]);
    }
}

/* ---- scores of the rows that moved from the first center of a group to another ---- */

struct pass {
    const struct ck_twins *t;
    const struct ck_repair *r;
};

static int32_t first_of(const struct pass *p, int32_t k)
{
    return p->t->member[p->t->start[p->t->group[k]]];
}

static int has_moved(const void *arg, int64_t id)
{
    const struct pass *p = arg;
    int32_t k = ck_labels_get(p->r->labels, id);
    return k >= 0 && k != first_of(p, k);
}

static int add_gain(const void *arg, const int64_t *id, int n, const float *x, double *gain)
{
    const struct pass *p = arg;
    const struct ck_repair *r = p->r;
    for (int i = 0; i < n; i++, x += r->scan->ld) {
        int32_t k = ck_labels_get(r->labels, id[i]);
        float now = ck_assigner_score(r->assigner, x, k);
        *gain += (double)now - (double)ck_assigner_score(r->assigner, x, first_of(p, k));
        if (r->scores)
            r->scores[id[i]] = now;
    }
    return COKE_OK;
}

/* Adds to r->primal what the members' scores differ from those of the first ones. With scores
 * every process reads all rows. */
static int score_members(const struct ck_twins *t, struct ck_repair *r)
{
    struct pass p = {.t = t, .r = r};
    struct ck_row_sum s = {.scan = r->scan,
                           .share = r->scores ? NULL : r->share,
                           .wanted = has_moved,
                           .add = add_gain,
                           .arg = &p};
    double gain;
    CK_RETURN_IF(ck_row_sum(&s, &gain));
    r->primal += gain;
    return COKE_OK;
}

/* ---- the run ---- */

/* The sum of the lengths of the rows, or more: by cosine that of the weights; else, with the last
 * column, sum w sqrt(q + 1) <= sqrt(sum w * sum w (q + 1)). */
static double lengths(const struct ck_repair *r)
{
    return r->scan->frame.metric == COKE_METRIC_EUCLIDEAN
               ? sqrt(r->weight * (r->square + r->weight))
               : r->weight;
}

/* Everything that the groups' run set and the members' does not need to change. */
static void take_results(struct ck_repair *r, const struct ck_repair *of)
{
    struct ck_repair given = *r;
    *r = *of;
    r->assigner = given.assigner;
    r->k = given.k;
    r->min_size = given.min_size;
    r->max_size = given.max_size;
    r->size = given.size;
    r->expected = given.expected;
    r->price = given.price;
}

int ck_twins_run(const struct ck_twins *t, struct ck_repair *r, int (*run)(struct ck_repair *r))
{
    struct grouped g = {.t = t};
    int64_t *left = ck_alloc_array((size_t)r->k, sizeof *left);
    int64_t *at = ck_alloc_array((size_t)t->groups, sizeof *at);
    int rc = left && at ? COKE_OK : COKE_ENOMEM;
    if (rc)
        goto done;
    CK_TRY(prepare(&g, r));
    CK_TRY(run(&g.r));
    take_results(r, &g.r);
    for (int64_t k = 0; k < r->k; k++)
        r->price[k] = g.price[t->group[k]];
    for (int64_t i = 0; i < t->groups; i++)
        divide(&g, r, i);
    relabel(&g, r, left, at);
    CK_TRY(score_members(t, r));
    r->dual = fmax(r->primal, r->dual + t->radius * lengths(r));
done:
    ck_free(left);
    ck_free(at);
    release(&g);
    return rc;
}
