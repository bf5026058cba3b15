/* method_deepclusterv2.c - DeepCluster-v2: predict the clusters of a k-means of the last epoch's
 * projections, which is made anew after each epoch. */
#include "cluster/job.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/rows_file.h"
#include "nn/kept_loss.h"
#include "train/batch_loss.h"
#include "train/clusters.h"

#include <string.h>

struct own {
    float *bank;         /* [images][dim] last projection of each image; 0 = none yet */
    int32_t *label;      /* [images] scratch */
    double *proj, *grad; /* [views][max_local][dim] */
    double *scratch;
    int64_t epochs; /* k-means made so far, whose seeds differ */
};

/* ---- making ---- */

static int init(struct ck_session *s)
{
    struct ck_train_options o = s->o;
    int64_t n = s->data->set->n, most = 0;
    size_t all = (size_t)s->views * (size_t)(s->max_local * s->dim);
    for (int i = 0; i < o.k.n; i++)
        most = o.k.v[i] > most ? o.k.v[i] : most;
    struct own *w = s->own = ck_calloc_array(1, sizeof *w);
    if (!w)
        return COKE_ENOMEM;
    o.kmeans.update = CK_UPDATE_FIXED;
    o.kmeans.ratio = 0; /* of the assignments during an epoch, which nothing learns from */
    CK_RETURN_IF(ck_heads_init(&s->heads, &o, n));
    w->bank = ck_calloc_array((size_t)n, (size_t)s->dim * sizeof *w->bank);
    w->label = ck_alloc_array((size_t)n, sizeof *w->label);
    w->proj = ck_alloc_array(all, sizeof *w->proj);
    w->grad = ck_alloc_array(all, sizeof *w->grad);
    w->scratch =
        ck_alloc_array((size_t)ck_kept_scratch(s->max_local, most, s->dim), sizeof *w->scratch);
    return w->bank && w->label && w->proj && w->grad && w->scratch ? COKE_OK : COKE_ENOMEM;
}

static void release(struct ck_session *s)
{
    struct own *w = s->own;
    if (!w)
        return;
    ck_free(w->proj);
    ck_free(w->grad);
    ck_free(w->scratch);
    ck_free(w->bank);
    ck_free(w->label);
    ck_free(w);
    s->own = NULL;
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct own *w = s->own;
    int64_t shape[2] = {s->data->set->n, s->dim};
    CK_RETURN_IF(ck_state_add(out, "projections", CK_F32, 2, shape, w->bank));
    return ck_state_add(out, "epochs", CK_I64, 0, NULL, &w->epochs);
}

/* ---- a step ---- */

/* Keeps the projections of the batch of all ranks. The labels that the present centers give are
 * for the journal: those of the loss are the k-means's. */
static int keep(struct ck_session *s)
{
    struct own *w = s->own;
    for (int64_t i = 0; i < s->ranks.total; i++)
        memcpy(w->bank + s->ids[i] * s->dim, s->projections + i * s->dim,
               (size_t)s->dim * sizeof *w->bank);
    return ck_clusters_move(s, 0);
}

static int scan(struct ck_session *s, const struct coke_batch *b, int64_t parts, double *sums)
{
    (void)b;
    (void)parts;
    (void)sums;
    return keep(s);
}

/* The mean over the heads. */
static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct own *w = s->own;
    struct ck_targets target[COKE_MAX_HEADS];
    struct ck_kept_input in = {w->proj, s->views, part.n, s->dim, s->o.loss.temperature};
    int64_t all = s->views * part.n * s->dim;
    double value = 0, share = 1 / (double)s->heads.n;
    (void)b;
    ck_clusters_targets(s, part, target);
    ck_part_loss_widen(s->proj, all, w->proj);
    memset(w->grad, 0, (size_t)all * sizeof *w->grad);
    for (int h = 0; h < s->heads.n; h++) {
        struct ck_kept_head head = {s->heads.centers[h], target[h].label,
                                    ck_kmeans_k(s->heads.head[h]), share};
        double right, got = ck_kept_loss(&in, &head, w->scratch, &right, w->grad);
        sums[1 + 2 * h] += got * (double)part.n;
        sums[2 + 2 * h] += right * (double)part.n;
        value += share * got;
    }
    return ck_part_loss_take(s, part, value, w->grad, 0, sums);
}

static int end_step(struct ck_session *s, const struct coke_batch *b)
{
    (void)b;
    return keep(s);
}

/* ---- an epoch ---- */

static struct ck_cluster_options kmeans_options(const struct ck_session *s)
{
    const struct own *w = s->own;
    struct ck_cluster_options o = ck_cluster_options_default();
    o.k = s->o.k;
    o.kmeans.ratio = s->o.kmeans.ratio;
    o.epochs = s->o.own.kmeans_epochs;
    o.restarts = 1;
    o.polish = 0;
    o.bad = CK_BAD_SKIP;
    o.seed = s->o.loader.view.seed + w->epochs;
    return o;
}

/* Every rank clusters all projections: the same labels and centers everywhere, without
 * communication. */
static int cluster(struct ck_session *s)
{
    struct own *w = s->own;
    int rc = COKE_OK;
    int64_t n = s->data->set->n;
    struct coke_rows *rows = NULL;
    struct coke_cluster *result = NULL;
    struct ck_cluster_options o = kmeans_options(s);
    CK_TRY(ck_rows_from_array(&rows, w->bank, n, s->dim));
    struct coke_cluster_input in = {.size = sizeof in, .rows = rows};
    CK_TRY(ck_cluster_run(&result, &in, &o, NULL, NULL));
    for (int h = 0; h < s->heads.n; h++) {
        ck_kmeans_set_centers(s->heads.head[h], result->center[h]);
        ck_cluster_labels(result, h, w->label);
        for (int64_t i = 0; i < n; i++)
            ck_kmeans_set_label(s->heads.head[h], i, w->label[i]);
    }
    w->epochs++;
done:
    ck_cluster_free(result);
    ck_rows_free(rows);
    return rc;
}

static int end_epoch(struct ck_session *s)
{
    CK_RETURN_IF(cluster(s));
    return ck_clusters_end_epoch(s);
}

static const char *const options[] = {"k", "ratio", "temperature", "kmeans-epochs", NULL};

const struct ck_method ck_method_deepclusterv2 = {
    .name = "deepclusterv2",
    .about = "DeepCluster-v2: predict the clusters of a k-means after each epoch",
    .options = options,
    .clusters = 1,
    .predictor = CK_PREDICTOR_NONE,
    .init = init,
    .release = release,
    .state = state,
    .scan = scan,
    .begin_step = ck_clusters_read,
    .loss = loss,
    .end_step = end_step,
    .end_epoch = end_epoch,
};
