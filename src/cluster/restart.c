/* restart.c - further starts: from the best centers so far, with those that are missed least drawn
 * anew where the rows are far from any center; and all starts of rows that fit into memory. */
#include "cluster/descent.h"
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
    const struct ck_best *from;
    int64_t k;
    int ld, dim;
    struct merger *best; /* [k] */
};

/* Ward's criterion: a b / (a + b) times the squared distance of the centers. */
static void find_merger(void *arg, int64_t k, int worker)
{
    (void)worker;
    const struct search *s = arg;
    const float *center = s->from->center, *c = center + k * s->ld;
    struct merger m = {INFINITY, k, k};
    double a = (double)s->from->size[k];
    for (int64_t l = 0; l < s->k; l++) {
        double b = (double)s->from->size[l], square = 0;
        for (int d = 0; d < s->dim; d++)
            square += pow((double)(c[d] - center[l * s->ld + d]), 2);
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

int ck_restart_centers(struct ck_job *j, int h, const struct ck_best *from, uint64_t seed,
                       float *center)
{
    const struct ck_scan *scan = &j->c->scan;
    int64_t k = j->c->o.k.v[h];
    int rc = COKE_ENOMEM;
    struct search s = {from, k, scan->ld, j->c->dim, ck_alloc_array((size_t)k, sizeof *s.best)};
    uint8_t *redraw = ck_calloc_array((size_t)k, 1);
    if (!s.best || !redraw)
        goto done;
    ck_parallel(k, find_merger, &s);
    qsort(s.best, (size_t)k, sizeof *s.best, by_cost);
    mark_clusters(s.best, k, j->redraw[h], seed, redraw);
    memcpy(center, from->center, (size_t)(k * scan->ld) * sizeof *center);
    CK_TRY(ck_start_redraw(scan, ck_polish_init(j, h), seed, redraw, k, center, j->cb));
done:
    ck_free(s.best);
    ck_free(redraw);
    return rc;
}

/* ---- in memory ---- */

/* The best start of a descent so far. Owned. */
struct winner {
    float *center;
    double *price;
    int64_t *size;
    double fit;
};

static int make_winner(struct winner *w, const struct ck_descent *d)
{
    size_t k = (size_t)d->dense.k;
    w->center = ck_alloc_array(k, (size_t)d->scan->ld * sizeof *w->center);
    w->price = ck_alloc_array(k, sizeof *w->price);
    w->size = ck_alloc_array(k, sizeof *w->size);
    w->fit = -INFINITY;
    return w->center && w->price && w->size ? COKE_OK : COKE_ENOMEM;
}

static void free_winner(struct winner *w)
{
    ck_free(w->center);
    ck_free(w->price);
    ck_free(w->size);
}

static void copy_centers(const struct ck_descent *d, float *to, const float *from)
{
    memcpy(to, from, (size_t)(d->dense.k * d->scan->ld) * sizeof *to);
}

static void keep_winner(struct ck_job *j, int h, struct winner *w, const struct ck_descent *d)
{
    int64_t k = d->dense.k, half = j->redraw[h] / 2;
    if (!(d->fit > w->fit)) {
        j->redraw[h] = half > 1 ? half : 1;
        j->failures[h]++;
        return;
    }
    copy_centers(d, w->center, d->center);
    memcpy(w->price, d->dense.price, (size_t)k * sizeof *w->price);
    memcpy(w->size, d->dense.size, (size_t)k * sizeof *w->size);
    w->fit = d->fit;
    j->failures[h] = 0;
}

/* Rounds until nothing changes, or ten more gains like the last one would not reach `goal`. */
static int descend(struct ck_job *j, int h, struct ck_descent *d, double goal)
{
    int64_t rounds = ck_polish_most_rounds(j);
    double before = -INFINITY;
    int moved = 1;
    for (int64_t r = 0; r < rounds && moved; r++) {
        moved = ck_descent_round(d);
        if (!(d->fit > before) || d->fit + 10 * (d->fit - before) < goal)
            break;
        before = d->fit;
        CK_RETURN_IF(ck_polish_report(j, h, r));
    }
    return COKE_OK;
}

/* Centers, prices and sizes of the winner become those that the head ends its epochs with. */
static void adopt(struct ck_job *j, int h, const struct winner *w, struct ck_descent *d)
{
    struct coke_kmeans *km = j->c->head[h];
    copy_centers(d, km->prev, w->center);
    ck_kmeans_round(km);
    memcpy(d->dense.price, w->price, (size_t)km->k * sizeof *w->price);
    memcpy(j->c->size[h], w->size, (size_t)km->k * sizeof *w->size);
}

int ck_restart_in_memory(struct ck_job *j, int h, int bounded, struct ck_descent *d)
{
    struct coke_kmeans *km = j->c->head[h];
    struct coke_head_summary *s = &j->c->summary[h];
    int64_t starts = ck_polish_starts(j, h);
    struct winner w = {0};
    int rc;
    CK_RETURN_IF(
        ck_descent_init(d, &j->c->scan, km->k, bounded ? km->min_size : NULL, km->max_size));
    CK_TRY(make_winner(&w, d));
    copy_centers(d, d->center, km->prev);
    for (int64_t k = 0; k < km->k && bounded; k++)
        d->dense.price[k] = (double)j->c->price[h][k];
    for (s->restarts = 0; s->restarts < starts && !ck_polish_gives_up(j, h); s->restarts++) {
        struct ck_best best = {w.center, w.size};
        if (s->restarts > 0) {
            memcpy(d->dense.price, w.price, (size_t)km->k * sizeof *w.price);
            CK_TRY(ck_restart_centers(j, h, &best, ck_job_seed(j, h, s->restarts), d->center));
        }
        CK_TRY(descend(j, h, d, w.fit));
        keep_winner(j, h, &w, d);
    }
    adopt(j, h, &w, d);
    s->reads++;
done:
    free_winner(&w);
    return rc;
}
