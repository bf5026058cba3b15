/* job_end.c - after the last epoch: the final scan, the repair, and the summary. */
#include "cluster/distances.h"
#include "cluster/job_internal.h"
#include "cluster/near_rows.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

/* The centers of head h as they are returned and saved: rounded to f32 in the coordinates of the
 * data. Labels belong to the rounded ones, so that a model that is loaded gives the same. */
static int settle_centers(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    struct coke_kmeans *km = c->head[h];
    float *out = ck_alloc_array((size_t)km->k, (size_t)c->dim * sizeof *out);
    if (!out)
        return COKE_ENOMEM;
    c->center[h] = out;
    ck_kmeans_copy_centers(km, CK_CENTERS_LAST, out);
    for (int64_t i = 0; i < km->k && km->o.metric == COKE_METRIC_EUCLIDEAN; i++) {
        memcpy(km->prev + i * km->ld, out + i * c->dim, (size_t)c->dim * sizeof *out);
        ck_frame_center(&km->frame, km->kn, km->prev + i * km->ld);
    }
    return COKE_OK;
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

/* From inner units to those of the data. */
static void scale_prices(struct coke_cluster *c, int h)
{
    for (int64_t k = 0; k < c->head[h]->k; k++)
        c->price[h][k] *= (float)ck_frame_scale(&c->scan.frame);
}

int ck_job_finish_head(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    struct coke_kmeans *km = c->head[h];
    struct coke_head_summary *s = &c->summary[h];
    int bounded = has_bounds(km);
    double inertia = 0;
    CK_RETURN_IF(settle_centers(j, h));
    if (km->tree) {
        count_online(c, h);
        CK_RETURN_IF(ck_job_finish_tree(j, h, bounded));
        return summarise(j, h);
    }
    s->levels = 1;
    struct ck_repair r = {.scan = &c->scan,
                          .assigner = km->assigner,
                          .k = km->k,
                          .min_size = km->min_size,
                          .max_size = km->max_size,
                          .exact = bounded && c->o.repair != CK_REPAIR_OFF,
                          .tolerance = c->o.repair == CK_REPAIR_NEAR ? c->o.gap : 0,
                          .sample = c->o.seed,
                          .callbacks = j->cb,
                          .epochs = s->epochs,
                          .share = &j->share,
                          .expected = c->size[h],
                          .price = c->price[h],
                          .labels = &km->labels,
                          .size = c->size[h]};
    if (bounded)
        memcpy(r.price, km->average, (size_t)km->k * sizeof *r.price);
    ck_assigner_reset(km->assigner, km->prev);
    count_online(c, h);
    if (j->from)
        r.expected = NULL; /* there are no labels of an epoch */
    CK_RETURN_IF(ck_repair_run(&r));
    CK_RETURN_IF(ck_off_nearest(&r, &s->not_nearest));
    if (km->o.metric == COKE_METRIC_EUCLIDEAN) {
        struct ck_labelled l = {&c->scan, &km->labels, km->prev};
        CK_RETURN_IF(ck_distances(&l, &j->share, NULL, &inertia));
    }
    ck_summary_objectives(s, &r, inertia);
    scale_prices(c, h);
    if (!r.exact || j->from) { /* then the summary describes the returned labels */
        s->below_before_repair = r.below;
        s->above_before_repair = r.above;
        s->missing_before_repair = r.missing;
    }
    s->repaired = r.exact;
    s->repair_bytes = r.bytes;
    s->reads += r.scans;
    return summarise(j, h);
}

/* A one-pass stream is consumed when the epoch ends: its labels are the online ones. */
int ck_job_finish_stream(struct ck_job *j, int h)
{
    struct coke_cluster *c = j->c;
    struct coke_head_summary *s = &c->summary[h];
    count_online(c, h);
    memcpy(c->price[h], c->head[h]->average, (size_t)c->head[h]->k * sizeof(float));
    scale_prices(c, h);
    s->metric = c->o.kmeans.metric;
    s->labels_objective = s->objective;
    s->dual = s->gap = NAN;
    s->not_nearest = -1;
    s->levels = 1;
    s->primal = s->objective * (double)j->usable;
    s->inertia = s->metric == COKE_METRIC_EUCLIDEAN ? s->primal : NAN;
    CK_RETURN_IF(settle_centers(j, h));
    return summarise(j, h);
}
