/* job_fit.c - the public door of a clustering: on all rows, or fitted on a sample of them. */
#include "cluster/job_internal.h"
#include "cluster/model.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows index[0] < index[1] < ... of another source. */
struct sample {
    struct coke_rows rows; /* first: the interface */
    struct coke_rows *all; /* borrowed */
    int64_t *index;        /* [rows.n] */
};

static int get(struct coke_rows *r, const int64_t *index, int n, float *out, int ld)
{
    const struct sample *s = (const struct sample *)r;
    enum { PIECE = 64 };
    int64_t row[PIECE];
    for (int at = 0; at < n; at += PIECE) {
        int count = n - at < PIECE ? n - at : PIECE;
        for (int i = 0; i < count; i++)
            row[i] = s->index[index[at + i]];
        CK_RETURN_IF(s->all->get(s->all, row, count, out + (int64_t)at * ld, ld));
    }
    return COKE_OK;
}

static void where(const struct coke_rows *r, int64_t index, char *text, int size)
{
    const struct sample *s = (const struct sample *)r;
    s->all->where(s->all, s->index[index], text, size);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* `count` different rows, drawn by the seed; in ascending order, so that a file is read forwards. */
static int draw(struct sample *s, struct coke_rows *all, int64_t count, uint64_t seed)
{
    struct ck_perm perm;
    *s = (struct sample){.rows = *all, .all = all};
    s->index = ck_alloc_array((size_t)count, sizeof *s->index);
    if (!s->index)
        return COKE_ENOMEM;
    ck_perm_init(&perm, seed, CK_RNG_SAMPLE, 2, (uint64_t)all->n);
    for (int64_t i = 0; i < count; i++)
        s->index[i] = (int64_t)ck_perm_at(&perm, (uint64_t)i);
    qsort(s->index, (size_t)count, sizeof *s->index, ascending);
    s->rows.n = count;
    s->rows.bytes = (int64_t)((double)all->bytes * (double)count / (double)all->n);
    s->rows.get = get;
    s->rows.will_need = NULL;
    s->rows.where = where;
    s->rows.free = NULL;
    return COKE_OK;
}

/* What the fit needs of the input, for the rows of the sample. */
struct fit_input {
    struct coke_cluster_input in;
    struct sample sample;
    int64_t *low, *high; /* [k] */
    double *weight;      /* [rows of the sample] */
};

/* Sizes in proportion; rounding keeps them feasible. NULL stays NULL. */
static int scale_sizes(const int64_t *size, int64_t k, double factor, int up, int64_t **out)
{
    if (!size)
        return COKE_OK;
    *out = ck_alloc_array((size_t)k, sizeof **out);
    for (int64_t i = 0; *out && i < k; i++) {
        double x = (double)size[i] * factor;
        (*out)[i] = (int64_t)(up ? ceil(x * (1 - 1e-12)) : floor(x * (1 + 1e-12)));
    }
    return *out ? COKE_OK : COKE_ENOMEM;
}

static int prepare(struct fit_input *f, const struct coke_cluster_input *input,
                   const struct ck_cluster_options *o)
{
    struct coke_rows *all = input->rows;
    int64_t k = o->k.n == 1 ? o->k.v[0] : 0;
    double factor = (double)o->fit_rows / (double)all->n;
    f->in = *input;
    CK_RETURN_IF(draw(&f->sample, all, o->fit_rows, (uint64_t)o->seed));
    CK_RETURN_IF(scale_sizes(input->min_sizes, k, factor, 0, &f->low));
    CK_RETURN_IF(scale_sizes(input->max_sizes, k, factor, 1, &f->high));
    if (input->weights) {
        f->weight = ck_alloc_array((size_t)o->fit_rows, sizeof *f->weight);
        if (!f->weight)
            return COKE_ENOMEM;
        for (int64_t i = 0; i < o->fit_rows; i++)
            f->weight[i] = input->weights[f->sample.index[i]];
    }
    f->in.rows = &f->sample.rows;
    f->in.min_sizes = f->low;
    f->in.max_sizes = f->high;
    f->in.weights = f->weight;
    return COKE_OK;
}

static void release(struct fit_input *f)
{
    ck_free(f->sample.index);
    ck_free(f->low);
    ck_free(f->high);
    ck_free(f->weight);
}

/* The summary of the labels, and from the fit what the epochs did. */
static void merge(struct coke_cluster *c, const struct coke_cluster *fit)
{
    for (int h = 0; h < c->heads; h++) {
        struct coke_head_summary *s = &c->summary[h];
        const struct coke_head_summary *f = &fit->summary[h];
        s->epochs = f->epochs;
        s->converged = f->converged;
        s->eta = f->eta;
        s->restarts = f->restarts;
        s->polish = f->polish;
        s->reads += f->reads * (double)fit->n / (double)c->n;
        s->fit_rows = f->n;
    }
    c->timing.init += fit->timing.init;
    c->timing.epochs = fit->timing.epochs;
    c->timing.final += fit->timing.final;
    c->timing.total += fit->timing.total;
    c->timing.vectors_per_second = fit->timing.vectors_per_second;
}

static int fit_and_label(struct coke_cluster **out, const struct coke_cluster_input *input,
                         const struct ck_cluster_options *o, const struct coke_callbacks *cb,
                         const struct ck_share *share)
{
    struct fit_input f = {0};
    struct coke_cluster *fit = NULL;
    struct coke_cluster_input rest = *input;
    int rc;
    CK_TRY(prepare(&f, input, o));
    CK_TRY(ck_job_run(&fit, &f.in, o, cb, share, NULL));
    CK_TRY(ck_job_run(out, &rest, o, cb, share, fit));
    merge(*out, fit);
done:
    ck_cluster_free(fit);
    release(&f);
    return rc;
}

/* The largest k of the heads; of a model to continue, if k is not given. */
static int64_t most_clusters(const struct coke_cluster_input *input, const struct ck_ints *k)
{
    int64_t most = k->n == 0 && input->model ? input->model->k : 0;
    for (int h = 0; h < k->n; h++)
        most = k->v[h] > most ? k->v[h] : most;
    return most;
}

int ck_cluster_run(struct coke_cluster **out, const struct coke_cluster_input *input,
                   const struct ck_cluster_options *options,
                   const struct coke_callbacks *callbacks, const struct ck_share *share)
{
    const struct coke_rows *rows = input->rows;
    int64_t fit = options->fit_rows;
    *out = NULL;
    if (fit == 0 || fit >= rows->n)
        return ck_job_run(out, input, options, callbacks, share, NULL);
    if (rows->one_pass)
        return ck_fail(COKE_EUSAGE, "fit-rows: %s is read once and has no sample", rows->name);
    int64_t k = most_clusters(input, &options->k);
    if (fit < k)
        return ck_fail(COKE_EUSAGE, "fit-rows: %lld rows cannot be fitted by %lld clusters",
                       (long long)fit, (long long)k);
    return fit_and_label(out, input, options, callbacks, share);
}
