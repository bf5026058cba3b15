/* method_secu.c - SeCu, stable cluster discrimination: CoKe's labels and loss, with centers that
 * are learned by their own gradient (docs/algorithm.md). */
#include "core/error.h"
#include "core/mem.h"
#include "train/clusters.h"
#include "train/secu.h"

#include <stdio.h>
#include <string.h>

/* By default the entropy has this weight per image, as in the authors' CIFAR-10 runs. */
static const double entropy_per_image = 0.12;

/* ---- making ---- */

static int allocate(struct ck_secu *u, const struct ck_session *s)
{
    int64_t most = 0;
    for (int h = 0; h < s->heads.n; h++) {
        int64_t k = ck_kmeans_k(s->heads.head[h]);
        u->centers += k;
        most = k > most ? k : most;
    }
    size_t all = (size_t)(u->centers * s->dim);
    u->memory = ck_calloc_array(all, 2 * sizeof *u->memory);
    u->unit = ck_alloc_array((size_t)(most * s->dim), sizeof *u->unit);
    u->grad = ck_alloc_array(all, sizeof *u->grad);
    if (!u->memory || !u->unit || !u->grad)
        return COKE_ENOMEM;
    return ck_center_loss_new(&u->loss, s->views * s->max_local, most, s->dim);
}

/* The parameters begin as the random unit centers of the heads. */
static int make_centers(struct ck_secu *u, const struct ck_session *s)
{
    float *at = u->memory;
    for (int h = 0; h < s->heads.n; h++) {
        struct ck_param *p = &u->center[h];
        int64_t k = ck_kmeans_k(s->heads.head[h]);
        *p = (struct ck_param){.ndim = 2, .shape = {k, s->dim}, .size = k * s->dim};
        snprintf(p->name, sizeof p->name, "center.%d", h);
        p->value = at;
        p->grad = at + u->centers * s->dim;
        at += p->size;
        ck_kmeans_copy_centers(s->heads.head[h], CK_CENTERS_CURRENT, p->value);
    }
    return ck_optimizer_new(&u->optimizer, u->center, s->heads.n, &s->o.optimizer);
}

static int init(struct ck_session *s)
{
    struct ck_train_options o = s->o;
    int entropy = o.own.constraint == CK_CONSTRAINT_ENTROPY;
    double weight = o.own.entropy_weight > 0 ? o.own.entropy_weight
                                             : entropy_per_image * (double)s->data->set->n;
    struct ck_secu *u = s->own = ck_calloc_array(1, sizeof *u);
    if (!u)
        return COKE_ENOMEM;
    o.kmeans.update = CK_UPDATE_FIXED;
    o.kmeans.ratio = entropy ? 0 : o.kmeans.ratio;
    CK_RETURN_IF(ck_clusters_build(s, &o));
    if (entropy)
        CK_RETURN_IF(ck_heads_use_entropy(&s->heads, weight));
    CK_RETURN_IF(allocate(u, s));
    return make_centers(u, s);
}

static void release(struct ck_session *s)
{
    struct ck_secu *u = s->own;
    if (!u)
        return;
    ck_optimizer_free(u->optimizer);
    ck_center_loss_free(u->loss);
    ck_free(u->memory);
    ck_free(u->unit);
    ck_free(u->grad);
    ck_free(u);
    s->own = NULL;
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct ck_secu *u = s->own;
    for (int h = 0; h < s->heads.n; h++) {
        const struct ck_param *p = &u->center[h];
        CK_RETURN_IF(ck_state_add(out, p->name, CK_F32, p->ndim, p->shape, p->value));
    }
    return ck_optimizer_save(u->optimizer, out);
}

/* ---- a step ---- */

static const char *whole_batch(const struct ck_train_options *o)
{
    (void)o;
    return "the centers learn by the labels of this step, which are known only after the whole "
           "batch";
}

/* Adds the loss of the centers, the mean over heads, views and images. */
static void add_center_loss(struct ck_session *s, struct ck_part part, double *sums)
{
    struct ck_secu *u = s->own;
    double sum = 0, *grad = u->grad;
    memset(u->grad, 0, (size_t)(u->centers * s->dim) * sizeof *u->grad);
    for (int h = 0; h < s->heads.n && part.n > 0; h++) {
        const struct ck_param *p = &u->center[h];
        struct ck_center_input in = {.views = s->views,
                                     .n = part.n,
                                     .k = p->shape[0],
                                     .x = s->proj,
                                     .centers = p->value,
                                     .label =
                                         s->heads.label + h * s->ranks.total + s->ranks.first,
                                     .temperature = s->o.own.center_temperature};
        ck_center_loss_add(u->loss, &in, &sum, grad);
        grad += p->size;
    }
    sums[0] += sum / (s->views * s->heads.n);
}

/* Labels come from the current centers. The encoder learns those of the last epoch, in epoch 0 the
 * current ones; the centers learn the current ones. */
static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    CK_RETURN_IF(ck_clusters_move(s, b->epoch == 0));
    CK_RETURN_IF(ck_clusters_loss(s, part, 1, sums));
    add_center_loss(s, part, sums);
    return COKE_OK;
}

static int end_step(struct ck_session *s, const struct coke_batch *b)
{
    struct ck_secu *u = s->own;
    double scale = 1.0 / ((double)s->views * s->heads.n * (double)s->ranks.total);
    const double *grad = u->grad;
    (void)b;
    CK_RETURN_IF(ck_group_sum_f64(s->ranks.group, u->grad, u->centers * s->dim));
    for (int h = 0; h < s->heads.n; h++) {
        const struct ck_param *p = &u->center[h];
        ck_center_gradient(p->value, grad, p->shape[0], s->dim, scale, p->grad);
        grad += p->size;
    }
    return COKE_OK;
}

double ck_secu_rate(const struct ck_method_options *o, int64_t epochs, int64_t steps,
                    int64_t step)
{
    return o->center_schedule == CK_CENTERS_RISING
               ? ck_schedule_rising(o->center_rate, epochs, steps, step)
               : o->center_rate;
}

static int after_step(struct ck_session *s, const struct coke_batch *b)
{
    struct ck_secu *u = s->own;
    int64_t step = b->epoch * b->steps + b->step;
    double rate = ck_secu_rate(&s->o.own, s->o.epochs, b->steps, step);
    CK_RETURN_IF(ck_optimizer_step(u->optimizer, rate, 1, step + 1));
    for (int h = 0; h < s->heads.n; h++) {
        const struct ck_param *p = &u->center[h];
        ck_center_unit(p->value, p->shape[0], s->dim, u->unit);
        ck_kmeans_set_centers(s->heads.head[h], u->unit);
    }
    return COKE_OK;
}

static const char *const options[] = {"k",
                                      "ratio",
                                      "eta",
                                      "eta-mode",
                                      "alpha",
                                      "alpha-start",
                                      "alpha-until",
                                      "temperature",
                                      "constraint",
                                      "entropy-weight",
                                      "center-rate",
                                      "center-schedule",
                                      "center-temperature",
                                      NULL};

const struct ck_method ck_method_secu = {
    .name = "secu",
    .about = "stable cluster discrimination: as coke, with centers learned by gradient",
    .options = options,
    .clusters = 1,
    .views = 2,
    .predictor = CK_PREDICTOR_NONE,
    .learns_at_once = 1,
    .whole_batch = whole_batch,
    .init = init,
    .release = release,
    .state = state,
    .begin_epoch = ck_clusters_begin_epoch,
    .begin_step = ck_clusters_read,
    .loss = loss,
    .end_step = end_step,
    .after_step = after_step,
    .end_epoch = ck_clusters_end_epoch,
};
