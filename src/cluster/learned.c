/* learned.c - heads whose centers are learned elsewhere, and the entropy of labels as a
 * constraint. */
#include "cluster/learned.h"
#include "cluster/kmeans_internal.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

void ck_kmeans_set_centers(struct coke_kmeans *km, const float *centers)
{
    for (int64_t k = 0; k < km->k; k++)
        memcpy(km->cur + k * km->ld, centers + k * km->o.dim,
               (size_t)km->o.dim * sizeof *centers);
    ck_kmeans_point_assigner(km);
}

/* ---- entropy ---- */

int ck_entropy_init(struct ck_entropy *e, const struct coke_kmeans *km, double weight)
{
    *e = (struct ck_entropy){.weight = weight};
    e->members = ck_calloc_array((size_t)km->k, sizeof *e->members);
    e->add = ck_calloc_array((size_t)km->k, sizeof *e->add);
    if (!e->members || !e->add)
        return COKE_ENOMEM;
    ck_entropy_recount(e, km);
    return COKE_OK;
}

void ck_entropy_release(struct ck_entropy *e)
{
    ck_free(e->members);
    ck_free(e->add);
    memset(e, 0, sizeof *e);
}

void ck_entropy_recount(struct ck_entropy *e, const struct coke_kmeans *km)
{
    memset(e->members, 0, (size_t)km->k * sizeof *e->members);
    e->total = 0;
    for (int64_t i = 0; i < km->ids; i++) {
        int32_t label = ck_labels_get(&km->labels, i);
        if (label >= 0) {
            e->members[label]++;
            e->total++;
        }
    }
}

/* p log p of `members` of `all`; 0 log 0 = 0. */
static double entropy_term(int64_t members, double all)
{
    double p = (double)members / all;
    return members > 0 ? p * log(p) : 0;
}

/* Change of sum p log p if a cluster gains a member. */
static double gain(int64_t members, double all)
{
    return entropy_term(members + 1, all) - entropy_term(members, all);
}

/* A batch; read-only for the workers but for label. */
struct choice {
    const struct coke_kmeans *km;
    const struct ck_entropy *e;
    const float *x;
    const int64_t *ids;
    int32_t *label;
};

static double dot(const float *x, const float *c, int64_t dim)
{
    double sum = 0;
    for (int64_t j = 0; j < dim; j++)
        sum += (double)x[j] * (double)c[j];
    return sum;
}

/* A row that has a label leaves its cluster, so that the total stays; a row without one is added
 * to the total. */
static void choose_row(void *arg, int64_t i, int worker)
{
    const struct choice *c = arg;
    const struct coke_kmeans *km = c->km;
    int32_t old = ck_labels_get(&km->labels, c->ids[i]), best = 0;
    double least = INFINITY, all = (double)(c->e->total + (old < 0)), leave = 0;
    (void)worker;
    if (old >= 0)
        leave = -gain(c->e->members[old] - 1, all);
    for (int64_t k = 0; k < km->k; k++) {
        double cost = -dot(c->x + i * km->o.dim, km->cur + k * km->ld, km->o.dim);
        if (k != old)
            cost +=
                c->e->weight * (old < 0 ? gain(c->e->members[k], all) : c->e->add[k] + leave);
        if (cost < least) {
            least = cost;
            best = (int32_t)k;
        }
    }
    c->label[i] = best;
}

/* Labels are stored one after the other, so that the table is right where an id repeats. */
static void count_labels(struct ck_entropy *e, struct coke_kmeans *km, const int64_t *ids,
                         int64_t n, const int32_t *label)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t old = ck_labels_get(&km->labels, ids[i]);
        if (old >= 0)
            e->members[old]--;
        else
            e->total++;
        e->members[label[i]]++;
        ck_labels_set(&km->labels, ids[i], label[i]);
    }
}

int ck_entropy_step(struct ck_entropy *e, struct coke_kmeans *km, const float *x,
                    const int64_t *ids, int64_t n, int32_t *label)
{
    struct choice c = {km, e, x, ids, label};
    CK_RETURN_IF(ck_kmeans_check_ids(km, ids, n));
    CK_RETURN_IF(ck_kmeans_reserve(km, n));
    for (int64_t k = 0; e->total > 0 && k < km->k; k++)
        e->add[k] = gain(e->members[k], (double)e->total);
    ck_parallel(n, choose_row, &c);
    count_labels(e, km, ids, n, label);
    ck_kmeans_apply(km, NULL, ids, n, label);
    return COKE_OK;
}
