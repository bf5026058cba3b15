/* batch_loss.c - from the outputs of a step to a loss in double, and its gradients back. */
#include "train/batch_loss.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

int ck_batch_loss_make(struct ck_batch_loss *l, const struct ck_session *s, int64_t scratch)
{
    size_t all = (size_t)s->views * (size_t)(s->max_batch * s->dim);
    l->proj = ck_alloc_array(all, sizeof *l->proj);
    l->pred = s->pred ? ck_alloc_array(all, sizeof *l->pred) : NULL;
    l->grad = ck_alloc_array(all, sizeof *l->grad);
    l->scratch = ck_alloc_array((size_t)scratch, sizeof *l->scratch);
    l->gathered = ck_alloc_array((size_t)(s->max_batch * s->dim), sizeof *l->gathered);
    return l->proj && (l->pred || !s->pred) && l->grad && (l->scratch || !scratch) &&
                   l->gathered
               ? COKE_OK
               : COKE_ENOMEM;
}

void ck_batch_loss_drop(struct ck_batch_loss *l)
{
    ck_free(l->proj);
    ck_free(l->pred);
    ck_free(l->grad);
    ck_free(l->scratch);
    ck_free(l->gathered);
}

int ck_batch_loss_init(struct ck_session *s, int64_t scratch)
{
    s->own = ck_calloc_array(1, sizeof(struct ck_batch_loss));
    return s->own ? ck_batch_loss_make(s->own, s, scratch) : COKE_ENOMEM;
}

void ck_batch_loss_release(struct ck_session *s)
{
    if (s->own)
        ck_batch_loss_drop(s->own);
    ck_free(s->own);
    s->own = NULL;
}

const char *ck_batch_loss_whole(const struct ck_train_options *o)
{
    (void)o;
    return "the loss compares all images of a batch with each other";
}

int ck_batch_loss_check_two(const struct ck_train_options *o)
{
    return o->loader.batch == 1
               ? ck_fail(COKE_EUSAGE, "batch: method %s compares images; use at least 2",
                         ck_method_row(o)->name)
               : COKE_OK;
}

/* from [views][part.n][dim] of this rank, to [views][total][dim]. */
static int gather(struct ck_session *s, struct ck_part part, const float *from, double *to)
{
    struct ck_batch_loss *l = s->own;
    struct ck_ranks *r = &s->ranks;
    int64_t mine = part.n * s->dim, all = r->total * s->dim;
    for (int v = 0; v < s->views; v++) {
        memcpy(l->gathered + r->first * s->dim, from + v * mine, (size_t)mine * sizeof *from);
        CK_RETURN_IF(ck_ranks_gather(r, l->gathered, (size_t)s->dim * sizeof *l->gathered));
        for (int64_t i = 0; i < all; i++)
            to[v * all + i] = (double)l->gathered[i];
    }
    return COKE_OK;
}

int ck_batch_loss_gather(struct ck_session *s, struct ck_part part)
{
    struct ck_batch_loss *l = s->own;
    CK_RETURN_IF(gather(s, part, s->proj, l->proj));
    return s->pred ? gather(s, part, s->pred, l->pred) : COKE_OK;
}

/* ---- back ---- */

/* grad: [views][stride][dim], of which the part's images are the first; times scale. */
static int take(struct ck_session *s, struct ck_part part, double loss, const double *grad,
                int64_t stride, double scale, int of_pred, double *sums)
{
    float *to = of_pred ? s->grad_pred : s->grad_proj;
    float *none = of_pred ? s->grad_proj : s->grad_pred;
    int64_t mine = part.n * s->dim;
    if (!isfinite(loss))
        return ck_fail(COKE_ENUMERIC, "the loss is not finite");
    sums[0] += loss * (double)part.n;
    if (none)
        memset(none, 0, (size_t)(s->views * mine) * sizeof *none);
    for (int v = 0; v < s->views; v++)
        for (int64_t i = 0; i < mine; i++)
            to[v * mine + i] = (float)(scale * grad[v * stride * s->dim + i]);
    return COKE_OK;
}

int ck_batch_loss_take(struct ck_session *s, struct ck_part part, double loss, int of_pred,
                       double *sums)
{
    const struct ck_batch_loss *l = s->own;
    return take(s, part, loss, l->grad + s->ranks.first * s->dim, s->ranks.total, 1, of_pred,
                sums);
}

int ck_part_loss_take(struct ck_session *s, struct ck_part part, double loss,
                      const double *grad, int of_pred, double *sums)
{
    double scale = (double)part.n / (double)s->ranks.total;
    return take(s, part, part.n ? loss : 0, grad, part.n, scale, of_pred, sums);
}

void ck_part_loss_widen(const float *from, int64_t n, double *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (double)from[i];
}
