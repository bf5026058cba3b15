/* job_end.c - after the last epoch: the final scan, the repair, the polish, and the summary. */
#include "cluster/distances.h"
#include "cluster/job_internal.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

/* Copies the centers of head h, as they are returned and saved. */
static int copy_centers(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    c->center[h] = ck_alloc_array((size_t)c->head[h]->k, (size_t)c->dim * sizeof(float));
    if (!c->center[h])
        return COKE_ENOMEM;
    ck_kmeans_copy_centers(c->head[h], CK_CENTERS_LAST, c->center[h]);
    return COKE_OK;
}

void ck_job_scale_prices(struct coke_cluster *c, int h)
{
    for (int64_t k = 0; k < c->head[h]->k; k++)
        c->price[h][k] *= (float)ck_frame_scale(&c->scan.frame);
}

/* Sizes and bounds of head h. ck_spread_sort sorts in place, hence the
 * copies. */
static int summarise(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    struct coke_kmeans *km = c->head[h];
    struct coke_head_summary *s = &c->summary[h];
    s->n = s->fit_rows = j->usable;
    s->k = km->k;
    s->dim = c->dim;
    s->skipped = c->scan.nbad;
    int64_t *sorted = ck_alloc_array((size_t)km->k, sizeof *sorted);
    if (!sorted)
        return COKE_ENOMEM;
    memcpy(sorted, c->size[h], (size_t)km->k * sizeof *sorted);
    struct ck_spread sizes = ck_spread_sort(sorted, km->k);
    s->size_min = sizes.min;
    s->size_median = sizes.median;
    s->size_max = sizes.max;
    memcpy(sorted, km->min_size, (size_t)km->k * sizeof *sorted);
    struct ck_spread bounds = ck_spread_sort(sorted, km->k);
    s->lower_bound_min = bounds.min;
    s->lower_bound_max = bounds.max;
    if (km->max_size)
        memcpy(sorted, km->max_size, (size_t)km->k * sizeof *sorted);
    struct ck_spread upper = ck_spread_sort(sorted, km->k);
    s->upper_bound_min = km->max_size ? upper.min : -1;
    s->upper_bound_max = km->max_size ? upper.max : -1;
    ck_free(sorted);
    return COKE_OK;
}

static int has_bounds(const struct coke_kmeans *km)
{
    for (int64_t k = 0; k < km->k; k++)
        if (km->min_size[k] > 0 || km->max_size)
            return 1;
    return 0;
}

/* Sizes of the online labels of the last epoch, and by how much they violate their bounds. */
static void count_online(struct coke_cluster *c, int h)
{
    const struct coke_kmeans *km = c->head[h];
    struct coke_head_summary *s = &c->summary[h];
    memset(c->size[h], 0, (size_t)km->k * sizeof **c->size);
    for (int64_t i = 0; i < c->n; i++)
        if (ck_labels_get(&km->labels, i) >= 0)
            c->size[h][ck_labels_get(&km->labels, i)]++;
    for (int64_t k = 0; k < km->k; k++) {
        int64_t missing = km->min_size[k] - c->size[h][k];
        s->below_before_repair += missing > 0;
        s->missing_before_repair += missing > 0 ? missing : 0;
        s->above_before_repair += km->max_size && c->size[h][k] > km->max_size[k];
    }
}

/* The assignment of all rows to the centers of the head, within its bounds if it has any. */
static struct ck_repair assignment(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    struct coke_kmeans *km = c->head[h];
    ck_assigner_reset(km->assigner, km->prev);
    return (struct ck_repair){.scan = &c->scan,
                              .assigner = km->assigner,
                              .k = km->k,
                              .min_size = km->min_size,
                              .max_size = km->max_size,
                              .exact = has_bounds(km) && c->o.repair != CK_REPAIR_OFF,
                              .tolerance = c->o.repair == CK_REPAIR_NEAR ? c->o.gap : 0,
                              .sample = c->o.seed,
                              .callbacks = j->round,
                              .epochs = c->summary[h].epochs,
                              .share = &j->share,
                              .expected = c->size[h],
                              .price = c->price[h],
                              .labels = &km->labels,
                              .size = c->size[h]};
}

/* Weighted sum of the squared distances of the rows to the centers of their labels. */
static int measure(struct ck_job *j, int h, double *inertia)
{
    const struct coke_kmeans *km = j->c->head[h];
    struct ck_labelled l = {&j->c->scan, &km->labels, km->prev};
    *inertia = 0;
    if (km->o.metric != COKE_METRIC_EUCLIDEAN)
        return COKE_OK;
    return ck_distances(&l, &j->share, NULL, inertia);
}

/* Objectives and certificate of the assignment r, whose centers the head still has. */
static int describe(struct ck_job *j, int h, const struct ck_repair *r)
{
    struct coke_head_summary *s = &j->c->summary[h];
    double inertia;
    s->not_nearest = r->off;
    CK_RETURN_IF(measure(j, h, &inertia));
    ck_summary_objectives(s, r, inertia);
    if (!r->exact || j->from) { /* then the summary describes the returned labels */
        s->below_before_repair = r->below;
        s->above_before_repair = r->above;
        s->missing_before_repair = r->missing;
    }
    s->repaired = r->exact;
    s->repair_bytes = r->bytes;
    return COKE_OK;
}

/* After the last means, which moved the centers: the objective of the labels for these. */
static int describe_moved(struct ck_job *j, int h, double weight)
{
    struct coke_head_summary *s = &j->c->summary[h];
    int euclidean = s->metric == COKE_METRIC_EUCLIDEAN;
    double inertia;
    CK_RETURN_IF(measure(j, h, &inertia));
    s->labels_objective = (euclidean ? inertia : j->fit[h]) / weight;
    s->inertia = euclidean ? inertia : NAN;
    return COKE_OK;
}

/* Rounds of assignment and means, until the means have the bits of the centers that the rows were
 * assigned with, or the total ceases to grow, which rounding and ties can bring about. A last
 * assignment without means would leave centers that are not those of the clusters. d: the rows in
 * memory, or NULL. */
static int polish(struct ck_job *j, int h, struct ck_descent *d)
{
    struct coke_head_summary *s = &j->c->summary[h];
    int64_t rounds = ck_polish_rounds(j, h);
    double fit = -INFINITY;
    int moved = 1, stuck = 0, last;
    do {
        ck_polish_announce(j, h);
        struct ck_repair r = assignment(j, h);
        if (j->from)
            r.expected = NULL; /* there are no labels of an epoch */
        CK_RETURN_IF(d ? ck_descent_label(d, j->c->head[h]->prev, &r) : ck_repair_run(&r));
        s->reads += r.scans;
        j->fit[h] = r.primal;
        last = s->polish + 1 >= rounds || stuck == 1;
        if (last)
            CK_RETURN_IF(describe(j, h, &r));
        if (rounds == 0)
            break;
        CK_RETURN_IF(ck_polish_move(j, h, &j->fit[h], &moved));
        s->polish++;
        s->reads++;
        stuck = j->fit[h] > fit ? 0 : stuck + 1;
        fit = j->fit[h];
        if (!moved && !last)
            CK_RETURN_IF(describe(j, h, &r));
        if (moved && last)
            CK_RETURN_IF(describe_moved(j, h, r.weight));
    } while (moved && !last);
    s->settled = !moved;
    s->converged |= s->settled;
    return COKE_OK;
}

/* Two levels: one assignment, which is most of the work, and its means. */
static int polish_tree(struct ck_job *j, int h)
{
    struct coke_head_summary *s = &j->c->summary[h];
    double weight;
    int moved = 0;
    ck_polish_announce(j, h);
    CK_RETURN_IF(ck_job_finish_tree(j, h, has_bounds(j->c->head[h]), &weight));
    if (ck_polish_rounds(j, h) == 0)
        return COKE_OK;
    CK_RETURN_IF(ck_polish_move(j, h, &j->fit[h], &moved));
    s->polish++;
    s->reads++;
    s->settled = !moved;
    return moved ? describe_moved(j, h, weight) : COKE_OK;
}

int ck_job_finish_head(struct ck_job *j, int h)
{
    struct coke_kmeans *km = j->c->head[h];
    struct ck_descent d = {0};
    int rc = COKE_OK;
    if (j->start == 0) {
        if (has_bounds(km))
            memcpy(j->c->price[h], km->average, (size_t)km->k * sizeof **j->c->price);
        count_online(j->c, h);
    }
    ck_kmeans_round(km);
    j->c->summary[h].levels = km->tree ? 2 : 1;
    if (ck_polish_in_memory(j, h))
        CK_TRY(ck_restart_in_memory(j, h, has_bounds(km), &d));
    CK_TRY(km->tree ? polish_tree(j, h) : polish(j, h, d.x ? &d : NULL));
    CK_TRY(copy_centers(j, h));
    CK_TRY(summarise(j, h));
done:
    ck_descent_release(&d);
    return rc;
}

/* A one-pass stream is consumed when the epoch ends: its labels are the online ones. */
int ck_job_finish_stream(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    struct coke_head_summary *s = &c->summary[h];
    count_online(c, h);
    memcpy(c->price[h], c->head[h]->average, (size_t)c->head[h]->k * sizeof(float));
    s->metric = c->o.kmeans.metric;
    s->labels_objective = s->objective;
    s->dual = s->gap = NAN;
    s->not_nearest = -1;
    s->levels = 1;
    s->primal = s->objective * (double)j->usable;
    s->inertia = s->metric == COKE_METRIC_EUCLIDEAN ? s->primal : NAN;
    ck_kmeans_round(c->head[h]);
    CK_RETURN_IF(copy_centers(j, h));
    return summarise(j, h);
}
