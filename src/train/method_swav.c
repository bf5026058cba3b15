/* method_swav.c - SwAV: a view predicts how the large views of its image are spread over
 * prototypes, which images must use evenly. */
#include "core/error.h"
#include "core/mem.h"
#include "core/share.h"
#include "nn/prototype_loss.h"
#include "nn/queue.h"
#include "train/batch_loss.h"
#include "train/prototypes.h"

#include <stdio.h>
#include <string.h>

enum { MAX_QUEUES = COKE_MAX_VIEWS };

struct swav {
    struct ck_prototypes prototypes;
    double *x, *grad;                  /* [views][part][dim] */
    double *score, *grad_score;        /* [views][part][prototypes] */
    double *code;                      /* [large][part][prototypes] */
    double *matrix;                    /* [part + this rank's rows of the queue][prototypes] */
    double *loss, *sums, *pushed;      /* [views][part], [prototypes], [max_batch][dim] */
    float *gathered;                   /* [max_batch][dim] */
    struct ck_queue queue[MAX_QUEUES]; /* of each large view; none if option queue is 0 */
};

static int check(const struct ck_train_options *o)
{
    return ck_train_views(o) < 2
               ? ck_fail(COKE_EUSAGE, "recipe: method swav compares views; use at least 2")
               : COKE_OK;
}

static const char *whole_batch(const struct ck_train_options *o)
{
    (void)o;
    return "the codes of a batch are computed together";
}

/* Rows of the queue that this rank has in the matrix of codes. */
static int64_t queue_first(const struct ck_session *s, int rank)
{
    return ck_share_first(s->o.own.queue, rank, s->ranks.size);
}

static int allocate(struct swav *w, const struct ck_session *s)
{
    size_t n = (size_t)s->max_local, dim = (size_t)s->dim, k = (size_t)s->o.own.prototypes;
    size_t all = (size_t)s->views * n;
    size_t queued = (size_t)(s->o.own.queue / s->ranks.size + 1);
    w->x = ck_alloc_array(all * dim, sizeof *w->x);
    w->grad = ck_alloc_array(all * dim, sizeof *w->grad);
    w->score = ck_alloc_array(all * k, sizeof *w->score);
    w->grad_score = ck_alloc_array(all * k, sizeof *w->grad_score);
    w->code = ck_alloc_array((size_t)s->large * n * k, sizeof *w->code);
    w->matrix = ck_alloc_array((n + queued) * k, sizeof *w->matrix);
    w->loss = ck_alloc_array(all, sizeof *w->loss);
    w->sums = ck_alloc_array(k, sizeof *w->sums);
    w->pushed = ck_alloc_array((size_t)s->max_batch * dim, sizeof *w->pushed);
    w->gathered = ck_alloc_array((size_t)s->max_batch * dim, sizeof *w->gathered);
    return w->x && w->grad && w->score && w->grad_score && w->code && w->matrix && w->loss &&
                   w->sums && w->pushed && w->gathered
               ? COKE_OK
               : COKE_ENOMEM;
}

static int init(struct ck_session *s)
{
    struct swav *w = s->own = ck_calloc_array(1, sizeof *w);
    if (!w)
        return COKE_ENOMEM;
    CK_RETURN_IF(allocate(w, s));
    for (int v = 0; v < s->large && s->o.own.queue > 0; v++)
        CK_RETURN_IF(ck_queue_init(&w->queue[v], s->o.own.queue, s->dim));
    return ck_prototypes_init(&w->prototypes, s,
                              s->o.own.prototype_norm == CK_PROTOTYPES_SPHERE);
}

static void release(struct ck_session *s)
{
    struct swav *w = s->own;
    if (!w)
        return;
    ck_prototypes_release(&w->prototypes);
    for (int v = 0; v < MAX_QUEUES; v++)
        ck_queue_release(&w->queue[v]);
    double *const arrays[] = {w->x,      w->grad, w->score, w->grad_score, w->code,
                              w->matrix, w->loss, w->sums,  w->pushed};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ck_free(arrays[i]);
    ck_free(w->gathered);
    ck_free(w);
    s->own = NULL;
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct swav *w = s->own;
    char name[32];
    for (int v = 0; v < s->large && s->o.own.queue > 0; v++) {
        snprintf(name, sizeof name, "queue.%d", v);
        CK_RETURN_IF(ck_queue_state(&w->queue[v], name, out));
    }
    return ck_prototypes_state(&w->prototypes, out);
}

static int begin_step(struct ck_session *s, const struct coke_batch *b)
{
    struct swav *w = s->own;
    (void)b;
    ck_prototypes_begin(&w->prototypes);
    return COKE_OK;
}

/* Rows of zeros are rows that were never written; the last one is written last. */
static int is_full(const struct ck_queue *q)
{
    for (int64_t i = (q->n - 1) * q->dim; i < q->n * q->dim; i++)
        if (q->row[i] != 0)
            return 1;
    return 0;
}

/* The codes of large view v: those of the batch of all ranks, together with the queue. */
static int make_codes(struct ck_session *s, const struct coke_batch *b, int64_t n, int v)
{
    struct swav *w = s->own;
    const struct ck_queue *q = &w->queue[v];
    const struct ck_method_options *o = &s->o.own;
    int64_t k = o->prototypes, more = 0;
    struct ck_reduce reduce = ck_ranks_reduce(&s->ranks, 0);
    ck_code_begin(w->score + v * n * k, n, k, o->sinkhorn_eps, w->matrix);
    if (q->n > 0 && b->epoch >= o->queue_from && is_full(q)) {
        int64_t from = queue_first(s, s->ranks.rank);
        double *at = w->matrix + n * k;
        more = queue_first(s, s->ranks.rank + 1) - from;
        ck_prototype_scores(q->row + from * s->dim, more, w->prototypes.unit, k, s->dim, at);
        ck_code_begin(at, more, k, o->sinkhorn_eps, at);
    }
    CK_RETURN_IF(ck_sinkhorn(w->matrix, n + more, k, (int)o->sinkhorn_rounds,
                             s->ranks.size > 1 ? &reduce : NULL, w->sums));
    memcpy(w->code + v * n * k, w->matrix, (size_t)(n * k) * sizeof *w->code);
    return COKE_OK;
}

static int push(struct ck_session *s, int64_t n, int v)
{
    struct swav *w = s->own;
    if (w->queue[v].n == 0)
        return COKE_OK;
    memcpy(w->gathered + s->ranks.first * s->dim, s->proj + v * n * s->dim,
           (size_t)(n * s->dim) * sizeof *w->gathered);
    CK_RETURN_IF(ck_ranks_gather(&s->ranks, w->gathered, (size_t)s->dim * sizeof *w->gathered));
    ck_part_loss_widen(w->gathered, s->ranks.total * s->dim, w->pushed);
    ck_queue_push(&w->queue[v], w->pushed, s->ranks.total, 0);
    return COKE_OK;
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct swav *w = s->own;
    int64_t k = s->o.own.prototypes, rows = s->views * part.n;
    double value = 0, share = (double)part.n / (double)s->ranks.total;
    ck_part_loss_widen(s->proj, rows * s->dim, w->x);
    ck_prototype_scores(w->x, rows, w->prototypes.unit, k, s->dim, w->score);
    for (int v = 0; v < s->large; v++) {
        CK_RETURN_IF(make_codes(s, b, part.n, v));
        CK_RETURN_IF(push(s, part.n, v));
    }
    struct ck_code_input in = {w->score, w->code, s->views, s->large,
                               1,        part.n,  k,        s->o.loss.temperature};
    if (part.n > 0)
        value = ck_code_loss(&in, w->loss, w->grad_score);
    ck_prototype_gradients(w->grad_score, rows, w->prototypes.unit, k, s->dim, w->grad);
    for (int64_t i = 0; i < rows * k; i++)
        w->grad_score[i] *= share;
    ck_prototype_collect(w->grad_score, rows, w->x, k, s->dim, w->prototypes.grad);
    return ck_part_loss_take(s, part, value, w->grad, 0, sums);
}

static int end_step(struct ck_session *s, const struct coke_batch *b)
{
    struct swav *w = s->own;
    (void)b;
    return ck_prototypes_end(&w->prototypes, s);
}

static int after_step(struct ck_session *s, const struct coke_batch *b)
{
    struct swav *w = s->own;
    return ck_prototypes_step(&w->prototypes, s, b);
}

static const char *const options[] = {"temperature",    "prototypes",   "freeze-prototypes",
                                      "prototype-norm", "sinkhorn-eps", "sinkhorn-rounds",
                                      "queue",          "queue-from",   NULL};

const struct ck_method ck_method_swav = {
    .name = "swav",
    .about = "SwAV: predict the prototypes of the other views, which are used evenly",
    .options = options,
    .predictor = CK_PREDICTOR_NONE,
    .check = check,
    .whole_batch = whole_batch,
    .init = init,
    .release = release,
    .state = state,
    .begin_step = begin_step,
    .loss = loss,
    .end_step = end_step,
    .after_step = after_step,
};
