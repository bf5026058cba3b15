/* job_from.c - where a clustering starts: given centers, a model, or a fit on other rows. */
#include "cluster/job_internal.h"
#include "cluster/model.h"
#include "cluster/start.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

static int is_given(const struct ck_job *j)
{
    return j->from || j->input->centers || j->input->model;
}

int64_t ck_job_most_starts(const struct ck_job *j, int64_t starts)
{
    return is_given(j) ? 1 : starts;
}

/* ---- checks ---- */

static int check_model(const struct coke_cluster_input *in, struct ck_ints *k)
{
    const struct coke_model *m = in->model;
    if (in->centers)
        return ck_fail(COKE_EUSAGE,
                       "init: a model to continue brings its centers; give one of the two");
    if (in->rows->dim != m->dim)
        return ck_fail(COKE_EUSAGE, "%s has %d columns, the model to continue %d",
                       in->rows->name, in->rows->dim, m->dim);
    if (k->n == 0)
        *k = (struct ck_ints){.n = 1, .v = {(int32_t)m->k}};
    if (k->n != 1 || k->v[0] != m->k)
        return ck_fail(COKE_EUSAGE,
                       "k: the model to continue has %lld clusters, not %d%s; leave k out",
                       (long long)m->k, k->v[0], k->n > 1 ? ",..." : "");
    return COKE_OK;
}

int ck_job_check_from(const struct coke_cluster_input *in, struct ck_ints *k)
{
    if (in->keep_bounds && (!in->model || in->min_sizes || in->max_sizes))
        return ck_fail(COKE_EUSAGE, "keep_bounds needs a model and no other sizes");
    if (in->model)
        return check_model(in, k);
    if (in->centers && k->n != 1)
        return ck_fail(COKE_EUSAGE, "init: given centers need a single k, not %d of them",
                       k->n);
    return COKE_OK;
}

/* ---- centers ---- */

/* Center i of head h in the coordinates of the data, to c [dim]; 0: none is given. */
static int given_center(const struct ck_job *j, int h, int64_t i, float *c)
{
    const struct coke_model *m = j->input->model;
    const float *from = j->from ? j->from->center[h] : j->input->centers;
    if (m && !j->from)
        ck_frame_center_out(&m->frame, m->center + i * m->frame.ld, c);
    else if (from)
        memcpy(c, from + i * j->c->dim, (size_t)j->c->dim * sizeof *c);
    return m || from;
}

int ck_job_cover_centers(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    if (!is_given(j))
        return COKE_OK;
    float *center = ck_alloc_array((size_t)c->dim, sizeof *center);
    if (!center)
        return COKE_ENOMEM;
    for (int h = 0; h < c->heads; h++)
        for (int64_t i = 0; i < c->o.k.v[h]; i++)
            if (given_center(j, h, i, center))
                ck_scan_cover(&c->scan, center);
    ck_free(center);
    return COKE_OK;
}

/* Given centers to center [k][ld] in inner coordinates; by cosine normalized like rows. */
static int take_centers(const struct ck_job *j, int h, int64_t k, float *center)
{
    const struct ck_scan *s = &j->c->scan;
    for (int64_t i = 0; i < k; i++) {
        float *c = center + i * s->ld;
        memset(c, 0, (size_t)s->ld * sizeof *c);
        given_center(j, h, i, c);
        int bad = ck_frame_center(&s->frame, s->kn, c);
        if (bad >= 0)
            return ck_fail(COKE_ENUMERIC, "init: center %lld, column %d is %s", (long long)i,
                           bad,
                           isnan(c[bad])      ? "NaN"
                           : isfinite(c[bad]) ? "beyond 1e15"
                                              : "infinite");
        if (s->frame.metric == COKE_METRIC_COSINE && !(ck_normalize(s->kn, c, s->ld) > 0))
            return ck_fail(COKE_ENUMERIC,
                           "init: center %lld is a zero vector, which has no direction",
                           (long long)i);
    }
    return COKE_OK;
}

int ck_job_centers(const struct ck_job *j, int h, enum ck_init how, uint64_t seed,
                   float *center)
{
    const struct coke_cluster *c = j->c;
    int64_t k = c->o.k.v[h];
    if (is_given(j))
        return take_centers(j, h, k, center);
    return ck_start_centers(&c->scan, how, seed, k, center, j->cb);
}

/* ---- bounds, duals and prior ---- */

int ck_job_sizes(const struct ck_job *j, int64_t **low, int64_t **high)
{
    const struct coke_model *m = j->input->model;
    *low = *high = NULL;
    if (!m || !j->input->keep_bounds)
        return COKE_OK;
    *low = ck_alloc_array((size_t)m->k, sizeof **low);
    *high = m->max_size ? ck_alloc_array((size_t)m->k, sizeof **high) : NULL;
    if (!*low || (m->max_size && !*high))
        return COKE_ENOMEM;
    ck_model_scale_bounds(m, j->usable, *low, *high);
    return COKE_OK;
}

/* A price is lower minus upper dual. A negative one without upper bounds says only that a
 * cluster was above its lower bound: no dual here. */
static void take_duals(struct coke_kmeans *km)
{
    struct ck_duals *d = &km->duals;
    const float *price = km->average;
    for (int64_t i = 0; i < km->k; i++) {
        d->rho[i] = price[i] > 0 || d->free ? price[i] : 0;
        if (d->sigma && !d->free)
            d->sigma[i] = price[i] < 0 ? -price[i] : 0;
    }
}

/* Prices in units of `scale` times those of the data, to the average duals. */
static void take_prices(struct coke_kmeans *km, const float *price, double scale)
{
    for (int64_t i = 0; i < km->k; i++)
        km->average[i] = (float)((double)price[i] * (scale / ck_frame_scale(&km->frame)));
}

/* Sums as if `rows` rows with the mean cosine `fit` to center i had been seen; Euclidean: with
 * center i as their mean. */
static void add_prior(struct coke_kmeans *km, int64_t i, double rows, double fit)
{
    double scale = rows * fit * (double)km->sum_scale;
    for (int j = 0; j < km->ld; j++)
        km->sum[i * km->ld + j] = llrint(scale * (double)km->cur[i * km->ld + j]);
    if (km->o.metric == COKE_METRIC_EUCLIDEAN)
        km->sum[i * km->ld + km->o.dim] = llrint(scale);
}

/* At most as many rows as an epoch has: the fixed-point sums have room for them. */
static void take_prior(struct coke_kmeans *km, const struct coke_model *m)
{
    double fit = m && m->objective > 0 && m->objective <= 1 ? m->objective : 1, total = 0;
    fit = km->o.metric == COKE_METRIC_EUCLIDEAN ? 1 : fit;
    for (int64_t i = 0; m && i < km->k; i++)
        total += (double)m->size[i];
    double shrink = total > (double)km->o.n ? (double)km->o.n / total : 1;
    for (int64_t i = 0; i < km->k; i++)
        add_prior(km, i,
                  m ? shrink * (double)m->size[i]
                    : km->o.carry * (double)km->o.n / (double)km->k,
                  fit);
}

void ck_job_start_head(struct ck_job *j, int h)
{
    struct coke_kmeans *km = j->c->head[h];
    const struct coke_model *m = j->input->model;
    if (j->from) {
        take_prices(km, j->from->price[h], 1);
    } else if (m) {
        take_prices(km, m->price, ck_frame_scale(&m->frame));
        take_duals(km);
    }
    if (is_given(j) && km->o.update == CK_UPDATE_MEAN)
        take_prior(km, m);
}
