/* restart.c - centers to start again from: the best so far, with those that are missed least drawn
 * anew where the rows are far from any center. */
#include "cluster/job_internal.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What it costs to merge cluster k with the one where that costs least. */
struct merger {
    double cost;
    int64_t k, other;
};

struct search {
    const struct coke_kmeans *km;
    struct merger *best; /* [k] */
};

/* Ward's criterion: a b / (a + b) times the squared distance of the centers. */
static void find_merger(void *arg, int64_t k, int worker)
{
    (void)worker;
    const struct search *s = arg;
    const struct coke_kmeans *km = s->km;
    struct merger m = {INFINITY, k, k};
    double a = (double)km->count[k];
    for (int64_t l = 0; l < km->k; l++) {
        double b = (double)km->count[l], square = 0;
        for (int64_t d = 0; d < km->o.dim; d++)
            square += pow((double)(km->prev[k * km->ld + d] - km->prev[l * km->ld + d]), 2);
        double cost = a + b > 0 ? a * b / (a + b) * square : 0;
        if (l != k && cost < m.cost)
            m = (struct merger){cost, k, l};
    }
    s->best[k] = m;
}

static int by_cost(const void *x, const void *y)
{
    const struct merger *a = x, *b = y;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    return (a->k > b->k) - (a->k < b->k);
}

/* Marks `count` clusters from the cheapest mergers on, one of each pair at most. Every third one
 * is passed over by chance, so that no two starts try the same. */
static void mark_clusters(const struct merger *m, int64_t k, int64_t count, uint64_t seed,
                          uint8_t *redraw)
{
    int64_t left = count;
    for (int64_t i = 0; i < k && left; i++) {
        if (redraw[m[i].k] || redraw[m[i].other])
            continue;
        if (ck_rng_unit(seed, CK_RNG_INIT, (uint64_t)i, 5) < 1.0 / 3)
            continue;
        redraw[m[i].k] = 1;
        left--;
    }
}

int ck_restart_centers(struct ck_job *j, int h, uint64_t seed, float *center)
{
    const struct coke_kmeans *km = j->best[h].head;
    int rc = COKE_ENOMEM;
    struct search s = {km, ck_alloc_array((size_t)km->k, sizeof *s.best)};
    uint8_t *redraw = ck_calloc_array((size_t)km->k, 1);
    if (!s.best || !redraw)
        goto done;
    ck_parallel(km->k, find_merger, &s);
    qsort(s.best, (size_t)km->k, sizeof *s.best, by_cost);
    mark_clusters(s.best, km->k, j->redraw[h], seed, redraw);
    memcpy(center, km->prev, (size_t)(km->k * km->ld) * sizeof *center);
    CK_TRY(ck_start_redraw(&j->c->scan, ck_polish_init(j, h), seed, redraw, km->k, center));
done:
    ck_free(s.best);
    ck_free(redraw);
    return rc;
}
