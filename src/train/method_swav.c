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
    struct ck_arrays arrays;
    double *code;                      /* [large][part][prototypes] */
    double *matrix;                    /* [part + this rank's rows of the queue][prototypes] */
    double *sums, *pushed;             /* [prototypes], [max_batch][dim] */
    float *gathered;                   /* [max_batch][dim] */
    struct ck_queue queue[MAX_QUEUES]; /* of each large view; none if option queue is 0 */
};

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
    size_t n = (size_t)s->max_local, k = (size_t)s->o.own.prototypes;
    size_t queued = (size_t)(s->o.own.queue / s->ranks.size + 1);
    size_t batch = (size_t)(s->max_batch * s->dim);
    w->code = ck_arrays_doubles(&w->arrays, (size_t)s->large * n * k);
    w->matrix = ck_arrays_doubles(&w->arrays, (n + queued) * k);
    w->sums = ck_arrays_doubles(&w->arrays, k);
    w->pushed = ck_arrays_doubles(&w->arrays, batch);
    w->gathered = ck_arrays_floats(&w->arrays, batch);
    return ck_arrays_status(&w->arrays);
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
    ck_arrays_release(&w->arrays);
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
    ck_code_begin(w->prototypes.score + v * n * k, n, k, o->sinkhorn_eps, w->matrix);
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
    struct ck_prototypes *p = &w->prototypes;
    double value = 0;
    ck_prototypes_score(p, s, part);
    for (int v = 0; v < s->large; v++) {
        CK_RETURN_IF(make_codes(s, b, part.n, v));
        CK_RETURN_IF(push(s, part.n, v));
    }
    struct ck_code_input in = {p->score, w->code, s->views,            s->large,
                               1,        part.n,  s->o.own.prototypes, s->o.loss.temperature};
    if (part.n > 0)
        value = ck_code_loss(&in, p->loss, p->grad_score);
    return ck_prototypes_take(p, s, part, value, sums);
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
    .check = ck_prototypes_check,
    .whole_batch = whole_batch,
    .init = init,
    .release = release,
    .state = state,
    .begin_step = begin_step,
    .loss = loss,
    .end_step = end_step,
    .after_step = after_step,
};
