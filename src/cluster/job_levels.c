/* job_levels.c - heads of two levels in a clustering: when, from where, and their end. */
#include "cluster/distances.h"
#include "cluster/job_internal.h"
#include "cluster/tree_repair.h"
#include "cluster/tree_start.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

int ck_job_check_levels(const struct ck_job *j)
{
    const struct coke_cluster_input *in = j->input;
    if (j->c->o.levels != CK_LEVELS_TWO)
        return COKE_OK;
    if (in->rows->one_pass)
        return ck_fail(COKE_EUSAGE, "levels=2 reads the rows several times; %s is read once",
                       in->rows->name);
    if (in->centers || in->model)
        return ck_fail(COKE_EUSAGE, "levels=2 numbers clusters by group, so that they cannot "
                                    "start from given centers; use levels=1");
    return COKE_OK;
}

/* Of a fit on other rows the levels are kept. */
int ck_job_levels(const struct ck_job *j, int h)
{
    const struct coke_cluster *c = j->c;
    const struct coke_cluster_input *in = j->input;
    if (j->from)
        return j->from->head[h]->tree ? 2 : 1;
    if (in->rows->one_pass || in->centers || in->model)
        return 1;
    return ck_levels_choose((enum ck_levels)c->o.levels, j->usable, c->o.k.v[h], c->scan.ld);
}

int ck_job_most_levels(const struct ck_job *j)
{
    int levels = 1;
    for (int h = 0; h < j->c->heads; h++)
        levels = ck_job_levels(j, h) == 2 ? 2 : levels;
    return levels;
}

/* The tree of a fit on other rows, whose coordinates may differ, with leaves center [k][ld]. */
static int take_tree(const struct ck_job *j, int h, const float *center, struct ck_tree **tree)
{
    const struct ck_tree *t = j->from->head[h]->tree;
    const struct ck_scan *s = &j->c->scan;
    int rc = COKE_OK;
    float *group = ck_calloc_array((size_t)t->groups, (size_t)s->ld * sizeof *group);
    if (!group)
        return COKE_ENOMEM;
    for (int64_t g = 0; g < t->groups; g++) {
        ck_frame_center_out(t->frame, t->center + g * t->ld, group + g * s->ld);
        ck_frame_center(&s->frame, s->kn, group + g * s->ld);
    }
    rc = ck_tree_new(tree, &s->frame, group, t->groups, t->first, center, t->probes);
    ck_free(group);
    return rc;
}

int ck_job_start_tree(struct ck_job *j, int h, uint64_t seed, float *center,
                      struct ck_tree **tree, double *gap)
{
    const struct coke_cluster *c = j->c;
    int64_t k = c->o.k.v[h];
    *gap = 0; /* duals of a fit do not move */
    if (j->from) {
        CK_RETURN_IF(ck_job_centers(j, h, (enum ck_init)c->o.init, seed, center));
        return take_tree(j, h, center, tree);
    }
    struct ck_tree_start s = {.scan = &c->scan,
                              .seed = seed,
                              .k = k,
                              .probes = (int)c->o.probes,
                              .init = c->o.init,
                              .callbacks = j->cb,
                              .center = center};
    CK_RETURN_IF(ck_tree_start(&s));
    *tree = s.tree;
    *gap = s.gap;
    ck_say(j->cb,
           "k=%lld: two levels; a row is compared with %lld groups, then with the clusters of "
           "the nearest %d (levels=1: with all clusters)",
           (long long)k, (long long)s.tree->groups, s.tree->probes);
    return COKE_OK;
}

/* Copies of what a search needs besides the centers, for the model. */
static int keep_groups(struct coke_cluster *c, int h)
{
    const struct ck_tree *t = c->head[h]->tree;
    size_t groups = (size_t)t->groups;
    c->group_center[h] = ck_alloc_array(groups, (size_t)c->dim * sizeof **c->group_center);
    c->group_first[h] = ck_alloc_array(groups + 1, sizeof **c->group_first);
    if (!c->group_center[h] || !c->group_first[h])
        return COKE_ENOMEM;
    for (int64_t g = 0; g < t->groups; g++)
        ck_frame_center_out(t->frame, t->center + g * t->ld, c->group_center[h] + g * c->dim);
    memcpy(c->group_first[h], t->first, (groups + 1) * sizeof *t->first);
    return COKE_OK;
}

/* Objectives and certificate, from the sums of the repair. */
static int describe(struct ck_job *j, int h, const struct ck_tree_repair *r)
{
    double inertia = 0;
    struct ck_repair sums = {.scan = r->scan,
                             .weight = r->weight,
                             .nearest = r->nearest,
                             .primal = r->primal,
                             .dual = r->dual};
    if (r->scan->frame.metric == COKE_METRIC_EUCLIDEAN)
        CK_RETURN_IF(ck_distances(&(struct ck_labelled){r->scan, r->labels, r->center},
                                  &j->share, NULL, &inertia));
    ck_summary_objectives(&j->c->summary[h], &sums, inertia);
    return COKE_OK;
}

int ck_job_finish_tree(struct ck_job *j, int h, int bounded, double *weight)
{
    struct coke_cluster *c = j->c;
    struct coke_kmeans *km = c->head[h];
    struct coke_head_summary *s = &c->summary[h];
    struct ck_tree_repair r = {.scan = &c->scan,
                               .tree = km->tree,
                               .center = km->prev,
                               .min_size = km->min_size,
                               .max_size = km->max_size,
                               .exact = bounded && c->o.repair,
                               .seed = (uint64_t)c->o.seed,
                               .callbacks = j->cb,
                               .epochs = s->epochs,
                               .share = &j->share,
                               .price = c->price[h],
                               .labels = &km->labels,
                               .size = c->size[h]};
    if (bounded)
        memcpy(r.price, km->average, (size_t)km->k * sizeof *r.price);
    ck_tree_reset(km->tree, km->prev);
    CK_RETURN_IF(ck_tree_repair_run(&r));
    CK_RETURN_IF(describe(j, h, &r));
    if (!r.exact || j->from) { /* then the summary describes the returned labels */
        s->below_before_repair = r.below;
        s->above_before_repair = r.above;
        s->missing_before_repair = r.missing;
    }
    s->not_nearest = r.not_nearest;
    s->repaired = r.exact;
    s->repair_bytes = r.bytes;
    s->reads += r.scans;
    *weight = r.weight;
    s->groups = km->tree->groups;
    s->probes = km->tree->probes;
    s->beyond = r.beyond;
    return keep_groups(c, h);
}
