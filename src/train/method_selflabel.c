/* method_selflabel.c - self-labelling: where a weak view is confident of its cluster, a strong view
 * learns it. The clusters are those of a finished run. */
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "nn/class_loss.h"
#include "train/batch_loss.h"
#include "train/class_heads.h"
#include "train/clusters.h"
#include "train/from_run.h"

#include <math.h>
#include <string.h>

enum { BINS = 100 }; /* of confidences, each 1 % wide */

/* l->extra. Scores of a cluster are the cosine to its center over the temperature; where the
 * centers are the axes (runs of scan, iic, supervised), the projections themselves. */
struct own {
    int64_t k;
    int axes;         /* changes with the centers */
    double threshold; /* of this epoch */
    float *centers; /* [k][dim] */
    double *scores; /* [2][max_batch][k] weak, then strong */
    double *grad;   /* [max_batch][k] of the strong scores */
    double *p;      /* [max_batch][k] scratch */
    double *weight; /* [k] */
    int32_t *label; /* [max_batch] */
    int32_t *seen;  /* [k][BINS] images of epoch 0 by the confidence of their weak view */
};

static int check(const struct ck_train_options *o)
{
    int32_t recipe = o->loader.view.recipe;
    if (recipe != CK_RECIPE_WEAK_STRONG && recipe != CK_RECIPE_CIFAR_WEAK_STRONG)
        return ck_fail(COKE_EUSAGE,
                       "recipe: method selflabel compares a weak with a strong view; "
                       "use weak-strong or cifar-weak-strong");
    return COKE_OK;
}

/* ---- making ---- */

static struct own *own_of(const struct ck_session *s)
{
    const struct ck_batch_loss *l = s->own;
    return l->extra;
}

static void release(struct ck_session *s)
{
    struct own *w = s->own ? own_of(s) : NULL;
    if (w) {
        ck_free(w->centers);
        ck_free(w->scores);
        ck_free(w->grad);
        ck_free(w->p);
        ck_free(w->weight);
        ck_free(w->label);
        ck_free(w->seen);
    }
    ck_free(w);
    ck_batch_loss_release(s);
}

static int loaded(struct ck_session *s)
{
    struct own *w = own_of(s);
    w->axes = w->k == s->dim;
    for (int64_t i = 0; i < w->k * s->dim; i++)
        w->axes &= w->centers[i] == (float)(i / s->dim == i % s->dim);
    return COKE_OK;
}

/* Labels come from the first view, the weak one. */
static int init(struct ck_session *s)
{
    s->large = 1;
    if (s->o.k.n < 1)
        return ck_fail(COKE_EUSAGE, "from: method selflabel continues a run; name its folder");
    CK_RETURN_IF(ck_batch_loss_init(s, 0));
    struct ck_batch_loss *l = s->own;
    struct own *w = l->extra = ck_calloc_array(1, sizeof *w);
    if (!w)
        return COKE_ENOMEM;
    w->k = s->o.k.v[0];
    size_t scores = (size_t)(s->max_batch * w->k);
    w->centers = ck_calloc_array((size_t)(w->k * s->dim), sizeof *w->centers);
    w->scores = ck_alloc_array(2 * scores, sizeof *w->scores);
    w->grad = ck_alloc_array(scores, sizeof *w->grad);
    w->p = ck_alloc_array(scores, sizeof *w->p);
    w->weight = ck_alloc_array((size_t)w->k, sizeof *w->weight);
    w->label = ck_alloc_array((size_t)s->max_batch, sizeof *w->label);
    w->seen = ck_calloc_array((size_t)w->k, BINS * sizeof *w->seen);
    if (!w->centers || !w->scores || !w->grad || !w->p || !w->weight || !w->label || !w->seen)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < w->k; i++) /* until begin_run or a checkpoint brings them */
        w->centers[i * s->dim + i % s->dim] = 1;
    CK_RETURN_IF(ck_class_heads_init(s, w->centers));
    return loaded(s);
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct own *w = own_of(s);
    int64_t shape[2] = {w->k, s->dim}, bins[2] = {w->k, BINS};
    CK_RETURN_IF(ck_state_add(out, "centers", CK_F32, 2, shape, w->centers));
    return ck_state_add(out, "seen", CK_I32, 2, bins, w->seen);
}

static int begin_run(struct ck_session *s, const struct coke_callbacks *messages)
{
    struct own *w = own_of(s);
    CK_RETURN_IF(ck_from_run_centers(&s->o, w->k, s->dim, w->centers));
    ck_kmeans_set_centers(s->heads.head[0], w->centers);
    ck_say(messages, "selflabel: %lld clusters of head %lld of %s", (long long)w->k,
           (long long)s->o.own.from_head, s->o.from);
    return loaded(s);
}

/* ---- a step ---- */

static double length(const double *x, int dim)
{
    double square = 0;
    for (int j = 0; j < dim; j++)
        square += x[j] * x[j];
    return fmax(sqrt(square), 1e-12);
}

/* Scores [k] of a projection x [dim]. */
static void score(const struct ck_session *s, const struct own *w, const double *x, double *out)
{
    double size = w->axes ? 1 : length(x, s->dim) * s->o.loss.temperature;
    for (int64_t c = 0; c < w->k; c++) {
        out[c] = 0;
        for (int j = 0; j < s->dim; j++)
            out[c] += x[j] * (double)w->centers[c * s->dim + j] / size;
    }
}

/* From the gradient g [k] of its scores to that of the projection. */
static void unscore(const struct ck_session *s, const struct own *w, const double *x,
                    const double *g, double *out)
{
    double size = w->axes ? 1 : length(x, s->dim), along = 0;
    double scale = w->axes ? 1 : 1 / (size * s->o.loss.temperature);
    for (int j = 0; j < s->dim; j++) {
        out[j] = 0;
        for (int64_t c = 0; c < w->k; c++)
            out[j] += scale * g[c] * (double)w->centers[c * s->dim + j];
        along += out[j] * x[j] / size;
    }
    for (int j = 0; j < s->dim && !w->axes; j++)
        out[j] -= along * x[j] / size;
}

/* Scores of the first views of all ranks' images, and their labels; returns how many have one.
 * Collective. */
static int label_images(struct ck_session *s, struct ck_part part, int views, int64_t *kept)
{
    struct ck_batch_loss *l = s->own;
    struct own *w = l->extra;
    int64_t n = s->ranks.total;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    for (int64_t i = 0; i < views * n; i++)
        score(s, w, l->proj + i * s->dim, w->scores + i * w->k);
    *kept = ck_confident_labels(w->scores, n, (int)w->k, w->threshold, w->p, w->label);
    return COKE_OK;
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct ck_batch_loss *l = s->own;
    struct own *w = l->extra;
    int64_t n = s->ranks.total, half = n * s->dim, kept;
    (void)b;
    CK_RETURN_IF(label_images(s, part, 2, &kept));
    ck_balance_classes(w->label, n, (int)w->k, w->weight);
    double value = ck_label_cross_entropy(w->scores + n * w->k, n, (int)w->k, w->label,
                                          w->weight, w->grad);
    memset(l->grad, 0, (size_t)half * sizeof *l->grad);
    for (int64_t i = 0; i < n; i++)
        unscore(s, w, l->proj + half + i * s->dim, w->grad + i * w->k,
                l->grad + half + i * s->dim);
    ck_class_heads_add(part, value, (double)kept / (double)n, sums);
    return ck_batch_loss_take(s, part, value, 0, sums);
}

/* ---- epoch 0: are there labels to learn from? ---- */

static int scan(struct ck_session *s, const struct coke_batch *b, int64_t parts, double *sums)
{
    struct own *w = own_of(s);
    struct ck_part part = {.n = b->n};
    int64_t kept;
    CK_RETURN_IF(label_images(s, part, 1, &kept));
    for (int64_t i = 0; i < s->ranks.total; i++) {
        const double *p = w->p + i * w->k;
        int64_t best = 0;
        for (int64_t c = 1; c < w->k; c++)
            best = p[c] > p[best] ? c : best;
        w->seen[best * BINS + (int)fmin(p[best] * BINS, BINS - 1)]++;
    }
    ck_class_heads_add(part, 0, (double)kept / (double)s->ranks.total, sums);
    return ck_class_heads_scan(s, b, parts, sums);
}

/* Images of a cluster in bins from `from` on. */
static int64_t count_from(const struct own *w, int64_t c, int from)
{
    int64_t n = 0;
    for (int i = from; i < BINS; i++)
        n += w->seen[c * BINS + i];
    return n;
}

/* The largest threshold, in bins, that a quarter of every cluster's images exceed. */
static int choose_threshold(const struct own *w)
{
    int least = BINS - 1;
    for (int64_t c = 0; c < w->k; c++)
        while (least > 0 && 4 * count_from(w, c, least) < count_from(w, c, 0))
            least--;
    return least;
}

/* Until epoch 0 is complete, auto is 0: every image has a label, and none is learned. */
static void begin_epoch(struct ck_session *s, int64_t epoch)
{
    struct own *w = own_of(s);
    w->threshold = s->o.own.threshold;
    if (w->threshold == 0 && epoch > 0)
        w->threshold = choose_threshold(w) / (double)BINS;
}

/* A cluster without labels is only ever the wrong answer: it loses its images to the others. */
static void advise(const struct ck_session *s, int64_t epoch, char *text, size_t size)
{
    const struct own *w = own_of(s);
    double threshold = s->o.own.threshold;
    int from = (int)fmin(floor(threshold * BINS), BINS - 1), none = 0, used = 0;
    for (int64_t c = 0; c < w->k && epoch == 0; c++) {
        int any = count_from(w, c, 0) > 0;
        used += any;
        none += any && count_from(w, c, from) == 0;
    }
    if (none)
        ck_format(text, size,
                  "selflabel: %d of %d clusters have no image with a probability above %g and "
                  "will lose theirs to the others. Try threshold auto (%.2f here, which a quarter "
                  "of every cluster exceeds) or a first run that trained longer",
                  none, used, threshold, choose_threshold(w) / (double)BINS);
}

static const char *const options[] = {"k",         "from",        "from-head",
                                      "threshold", "temperature", NULL};

const struct ck_method ck_method_selflabel = {
    .name = "selflabel",
    .about = "second stage of a run with clusters (--from RUN): learn its confident labels",
    .options = options,
    .views = 2,
    .predictor = CK_PREDICTOR_NONE,
    .any_length = 1,
    .takes = CK_TAKES_CLUSTERS,
    .check = check,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = release,
    .state = state,
    .loaded = loaded,
    .begin_run = begin_run,
    .begin_epoch = begin_epoch,
    .scan = scan,
    .loss = loss,
    .end_step = ck_class_heads_end_step,
    .advise = advise,
    .end_epoch = ck_clusters_end_epoch,
};
