/* from_run.c - a second stage that continues a finished run (option from). */
#include "train/from_run.h"
#include "cluster/kmeans.h"
#include "core/error.h"
#include "train/method.h"
#include "train/run_files.h"

static int open_run(const struct ck_train_options *o, struct ck_run *r)
{
    int rc = ck_run_open(r, o->from, 0);
    return rc ? ck_fail_prefix(rc, "from: ") : COKE_OK;
}

/* The projector of the other methods is their own. */
static int adopt_clusters(struct ck_train_options *o, const struct ck_run *r)
{
    int64_t head = o->own.from_head;
    if (head >= r->heads)
        return ck_fail(COKE_EUSAGE, "from-head: %lld, but %s has %d heads%s", (long long)head,
                       r->weights, r->heads,
                       r->heads ? ", counted from 0" : ": it is a run without clusters");
    int64_t k = ck_kmeans_k(r->head[head]);
    if (o->k.n > 1 || (o->k.n == 1 && o->k.v[0] != k))
        return ck_fail(COKE_EUSAGE,
                       "k: head %lld of %s has %lld clusters, which method %s keeps",
                       (long long)head, r->weights, (long long)k, ck_method_row(o)->name);
    o->encoder.projector = r->encoder.o.projector;
    o->encoder.hidden = r->encoder.o.hidden;
    o->encoder.dim = r->encoder.o.dim;
    o->k = (struct ck_ints){.n = 1, .v = {(int32_t)k}};
    if (r->has_options)
        o->loss.temperature = r->o.loss.temperature;
    return COKE_OK;
}

/* Size and normalization of the views, unless they are given. */
static void adopt_views(struct ck_train_options *o, const struct ck_run *r)
{
    struct ck_numbers *x = &o->loader.normalize;
    if (o->loader.view.size == 0)
        o->loader.view.size = r->view_size;
    if (x->n || x->word != CK_NORM_AUTO || (r->normed != 1 && r->normed != 3))
        return;
    x->n = 2 * r->normed;
    for (int c = 0; c < r->normed; c++) {
        x->v[c] = (double)r->mean[c];
        x->v[r->normed + c] = (double)r->std[c];
    }
}

int ck_from_run_adopt(struct ck_train_options *o)
{
    int rc = COKE_OK;
    struct ck_run r;
    if (ck_method_row(o)->takes != CK_TAKES_NOTHING && !o->from)
        return ck_fail(COKE_EUSAGE, "from: method %s continues a finished run; name its folder",
                       ck_method_row(o)->name);
    if (!o->from)
        return COKE_OK;
    CK_RETURN_IF(open_run(o, &r));
    o->encoder.arch = r.encoder.o.arch;
    o->encoder.stem = r.encoder.o.stem;
    o->encoder.width = r.encoder.o.width;
    adopt_views(o, &r);
    if (ck_method_row(o)->takes == CK_TAKES_CLUSTERS)
        CK_TRY(adopt_clusters(o, &r));
    o->init = o->from;
done:
    ck_run_close(&r);
    return rc;
}

int ck_from_run_centers(const struct ck_train_options *o, int64_t k, int dim, float *centers)
{
    int rc = COKE_OK;
    int64_t head = o->own.from_head;
    struct ck_run r;
    CK_RETURN_IF(open_run(o, &r));
    if (head >= r.heads || ck_kmeans_k(r.head[head]) != k || ck_kmeans_dim(r.head[head]) != dim)
        CK_FAIL(COKE_EUSAGE, "from: head %lld of %s has changed since the training began",
                (long long)head, r.weights);
    ck_kmeans_copy_centers(r.head[head], CK_CENTERS_LAST, centers);
done:
    ck_run_close(&r);
    return rc;
}
