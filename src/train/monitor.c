/* monitor.c - periodic k-NN and clustering evaluation of the features during a training. */
#include "train/monitor.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "data/loader.h"
#include "data/preview.h"
#include "eval/agreement.h"
#include "eval/exemplars.h"
#include "eval/features.h"
#include "eval/knn.h"
#include "train/averaged.h"

/* Images evaluated, at most; images per forward pass; rows and columns of a sheet. */
enum { IMAGES = 5000, BATCH = 100, SHOWN = 16, NEAREST = 10 };

struct ck_monitor {
    struct ck_session *s; /* borrowed */
    struct ck_features *features;
    int64_t n;          /* images evaluated */
    int64_t *index;     /* [n] in the data set */
    int32_t *truth;     /* [n] class, -1 = unknown */
    int32_t *label;     /* [n] of head `shown` */
    uint8_t *bad;       /* [n] images that could not be read */
    float *x, *proj;    /* [n][dim] */
    int matched, shown; /* heads; matched -1 = none has as many clusters as there are classes */
};

int64_t ck_monitor_batch(const struct ck_train_options *o)
{
    int64_t part = o->loader.batch / o->accumulate;
    part = part > 1 ? part : 1;
    return part < BATCH ? part : BATCH;
}

int ck_monitor_has_classes(const struct ck_monitor *w)
{
    return w && w->s->data->set->label && w->s->data->set->classes > 1;
}

/* The head with as many clusters as there are classes. */
static int find_head(const struct ck_session *s)
{
    for (int h = 0; h < s->heads.n; h++)
        if (ck_kmeans_k(s->heads.head[h]) == s->data->set->classes)
            return h;
    return -1;
}

/* A random sample by the seed: the same images in every epoch and after a resume. */
static void choose_images(struct ck_monitor *w)
{
    const struct ck_dataset *set = w->s->data->set;
    struct ck_perm perm;
    ck_perm_init(&perm, (uint64_t)w->s->o.loader.view.seed, CK_RNG_SAMPLE, 1, (uint64_t)set->n);
    w->n = set->n < IMAGES ? set->n : IMAGES;
    for (int64_t i = 0; i < w->n; i++) {
        w->index[i] = (int64_t)ck_perm_at(&perm, (uint64_t)i);
        w->truth[i] = set->label ? set->label[w->index[i]] : -1;
    }
}

/* The buffers are allocated once, for the life of the training. */
int ck_monitor_new(struct ck_monitor **out, struct ck_session *s)
{
    int rc = COKE_OK;
    struct ck_monitor *w = NULL;
    struct ck_recipe like = *ck_loader_recipe(s->loader);
    *out = NULL;
    if (s->o.monitor == 0)
        return COKE_OK;
    if (s->o.embed_size)
        like.view[0].width = like.view[0].height = (int32_t)s->o.embed_size;
    w = ck_calloc_array(1, sizeof *w);
    if (!w)
        return COKE_ENOMEM;
    w->s = s;
    w->matched = ck_monitor_has_classes(w) ? find_head(s) : -1;
    w->shown = w->matched < 0 ? 0 : w->matched;
    CK_TRY(ck_features_new(&w->features, ck_averaged_encoder(s), s->data, &like,
                           ck_monitor_batch(&s->o), (enum ck_precision)s->o.precision));
    size_t max = IMAGES, dim = (size_t)ck_features_dim(w->features);
    w->index = ck_alloc_array(max, sizeof *w->index);
    w->truth = ck_alloc_array(max, sizeof *w->truth);
    w->label = ck_alloc_array(max, sizeof *w->label);
    w->bad = ck_alloc_array(max, sizeof *w->bad);
    w->x = ck_alloc_array(max * dim, sizeof *w->x);
    w->proj = ck_alloc_array(max * (size_t)s->dim, sizeof *w->proj);
    if (!w->index || !w->truth || !w->label || !w->bad || !w->x || !w->proj)
        CK_LEAVE(COKE_ENOMEM);
    choose_images(w);
    *out = w;
    w = NULL;
done:
    ck_monitor_free(w);
    return rc;
}

void ck_monitor_free(struct ck_monitor *w)
{
    if (!w)
        return;
    ck_features_free(w->features);
    ck_free(w->index);
    ck_free(w->truth);
    ck_free(w->label);
    ck_free(w->bad);
    ck_free(w->x);
    ck_free(w->proj);
    ck_free(w);
}

/* At most half of an average class: with more, leaving an image out turns the votes against its
 * class. */
static int64_t limit_neighbours(int64_t k, int64_t n, int64_t classes)
{
    int64_t most = n / (2 * classes);
    most = most > 1 ? most : 1;
    return k < most ? k : most;
}

/* Leave-one-out k-NN of x [n][dim]: every image is asked once, so that small data sets have as
 * many questions as images. */
static int ask_neighbours(const struct ck_monitor *w, const float *x, int dim,
                          struct ck_knn_result *result)
{
    struct ck_knn_job job = ck_knn_job_default();
    job.dim = dim;
    job.classes = w->s->data->set->classes;
    job.bank = x;
    job.bank_label = w->truth;
    job.nbank = w->n;
    for (int i = 0; i < job.nk; i++)
        job.k[i] = limit_neighbours(job.k[i], w->n, job.classes);
    return ck_knn(&job, NULL, result);
}

static int compute_knn(struct ck_monitor *w, struct ck_epoch_report *r)
{
    struct ck_knn_result result;
    CK_RETURN_IF(ask_neighbours(w, w->x, ck_features_dim(w->features), &result));
    r->knn20 = result.accuracy[0];
    r->knn200 = result.accuracy[1];
    r->asked = result.asked;
    return COKE_OK;
}

/* Once per training, after epoch 0. */
static int compute_pixels(struct ck_monitor *w, struct ck_epoch_report *r)
{
    struct ck_knn_result result;
    int dim = ck_features_pixels_dim(w->features), rc = COKE_OK;
    float *x = ck_alloc_array((size_t)w->n, (size_t)dim * sizeof *x);
    if (!x)
        return COKE_ENOMEM;
    CK_TRY(ck_features_pixels(w->features, w->index, w->n, x, w->bad));
    CK_TRY(ask_neighbours(w, x, dim, &result));
    r->pixels = result.accuracy[0];
done:
    ck_free(x);
    return rc;
}

/* ACC, NMI and ARI of head `matched`, which has as many clusters as there are classes. */
static int compare_clusters(struct ck_monitor *w, struct ck_epoch_report *r)
{
    struct ck_agreement a;
    int32_t classes = w->s->data->set->classes;
    int rc = ck_agreement(w->truth, w->label, w->n, classes, classes, &a);
    if (rc)
        return rc;
    r->accuracy = a.accuracy;
    r->nmi = a.nmi;
    r->ari = a.ari;
    return COKE_OK;
}

/* Images that cannot be read are skipped: a training continues with its other images too. */
int ck_monitor_evaluate(struct ck_monitor *w, struct ck_epoch_report *r)
{
    r->monitored = ck_monitor_has_classes(w);
    r->matched = w->matched;
    CK_RETURN_IF(ck_features_try(w->features, w->index, w->n, w->x, w->proj, w->bad));
    if (w->s->heads.n)
        CK_RETURN_IF(
            ck_kmeans_predict(w->s->heads.head[w->shown], w->proj, w->n, w->label, NULL));
    for (int64_t i = 0; i < w->n; i++)
        if (w->bad[i])
            w->truth[i] = w->label[i] = -1; /* left out of k-NN and sheet */
    if (r->monitored)
        CK_RETURN_IF(compute_knn(w, r));
    if (r->monitored && r->epoch == 0)
        CK_RETURN_IF(compute_pixels(w, r));
    if (w->matched >= 0)
        CK_RETURN_IF(compare_clusters(w, r));
    return COKE_OK;
}

/* Uses labels and projections of the last ck_monitor_evaluate. */
int ck_monitor_show(struct ck_monitor *w, struct ck_image *out, int *head)
{
    const struct ck_heads *heads = &w->s->heads;
    struct ck_exemplars e = {0};
    struct ck_exemplar_job job = {.n = w->n,
                                  .k = ck_kmeans_k(heads->head[w->shown]),
                                  .dim = w->s->dim,
                                  .center = heads->center[w->shown],
                                  .label = w->label,
                                  .x = w->proj,
                                  .members = NEAREST};
    int64_t index[SHOWN * NEAREST];
    int rows = job.k < SHOWN ? (int)job.k : SHOWN, rc = COKE_OK;
    CK_TRY(ck_exemplars(&e, &job));
    for (int i = 0; i < rows * NEAREST; i++)
        index[i] = e.nearest[i].row < 0 ? -1 : w->index[e.nearest[i].row];
    CK_TRY(ck_preview_images(w->s->data, index, rows, NEAREST, out));
    *head = w->shown;
done:
    ck_exemplars_release(&e);
    return rc;
}
