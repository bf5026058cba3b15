/* method_nnclr.c - NNCLR: the nearest earlier projection to a view finds the prediction from the
 * other view of the image. */
#include "core/error.h"
#include "core/mem.h"
#include "nn/contrast_loss.h"
#include "nn/queue.h"
#include "train/batch_loss.h"

#include <string.h>

struct nnclr {
    struct ck_batch_loss batch;
    struct ck_queue queue; /* unit projections of view 0 */
    int64_t *index;        /* [max_batch] nearest row of the queue */
    double *neighbor;      /* [max_batch][dim] */
};

static int check(const struct ck_train_options *o)
{
    return o->own.queue < 1 ? ck_fail(COKE_EUSAGE, "queue: method nnclr needs one; use 4096")
                            : COKE_OK;
}

static int init(struct ck_session *s)
{
    int64_t match = ck_contrast_scratch(s->max_batch);
    int64_t search = ck_nearest_scratch(s->o.own.queue, s->dim);
    struct nnclr *n = s->own = ck_calloc_array(1, sizeof *n);
    if (!n)
        return COKE_ENOMEM;
    CK_RETURN_IF(ck_batch_loss_make(&n->batch, s, match > search ? match : search));
    CK_RETURN_IF(ck_queue_init(&n->queue, s->o.own.queue, s->dim));
    ck_queue_fill(&n->queue, (uint64_t)s->o.encoder.seed);
    n->index = ck_alloc_array((size_t)s->max_batch, sizeof *n->index);
    n->neighbor = ck_alloc_array((size_t)(s->max_batch * s->dim), sizeof *n->neighbor);
    return n->index && n->neighbor ? COKE_OK : COKE_ENOMEM;
}

static void release(struct ck_session *s)
{
    struct nnclr *n = s->own;
    if (!n)
        return;
    ck_batch_loss_drop(&n->batch);
    ck_queue_release(&n->queue);
    ck_free(n->index);
    ck_free(n->neighbor);
    ck_free(n);
    s->own = NULL;
}

static int state(const struct ck_session *s, struct ck_state *out)
{
    const struct nnclr *n = s->own;
    return ck_queue_state(&n->queue, "queue", out);
}

/* The neighbors of all images of view v: a rank looks for its own. */
static int find_neighbors(struct ck_session *s, struct ck_part part, int v)
{
    struct nnclr *n = s->own;
    int64_t total = s->ranks.total, first = s->ranks.first;
    const double *proj = n->batch.proj + (v * total + first) * s->dim;
    struct ck_contrast c = {proj, n->queue.row, part.n, n->queue.n, s->dim, 1};
    CK_RETURN_IF(ck_nearest_column(&c, n->batch.scratch, n->index + first));
    CK_RETURN_IF(ck_ranks_gather(&s->ranks, n->index, sizeof *n->index));
    for (int64_t i = 0; i < total; i++)
        memcpy(n->neighbor + i * s->dim, n->queue.row + n->index[i] * s->dim,
               (size_t)s->dim * sizeof *n->neighbor);
    return COKE_OK;
}

static int loss(struct ck_session *s, const struct coke_batch *b, struct ck_part part,
                double *sums)
{
    struct nnclr *n = s->own;
    struct ck_batch_loss *l = &n->batch;
    int64_t total = s->ranks.total, one = total * s->dim;
    double value = 0;
    (void)b;
    CK_RETURN_IF(ck_batch_loss_gather(s, part));
    for (int v = 0; v < 2; v++) {
        CK_RETURN_IF(find_neighbors(s, part, v));
        struct ck_contrast c = {n->neighbor, l->pred + (1 - v) * one, total, total,
                                s->dim,      s->o.loss.temperature};
        value += ck_match_loss(&c, 0, l->scratch, NULL, l->grad + (1 - v) * one) / 2;
    }
    for (int64_t i = 0; i < 2 * one; i++)
        l->grad[i] /= 2;
    ck_queue_push(&n->queue, l->proj, total, 0);
    return ck_batch_loss_take(s, part, value, 1, sums);
}

static const char *const options[] = {"temperature", "queue", NULL};

const struct ck_method ck_method_nnclr = {
    .name = "nnclr",
    .about = "NNCLR: the nearest earlier image finds the prediction from the other view",
    .options = options,
    .views = 2,
    .predictor = CK_PREDICTOR_NEEDED,
    .check = check,
    .whole_batch = ck_batch_loss_whole,
    .init = init,
    .release = release,
    .state = state,
    .loss = loss,
};
