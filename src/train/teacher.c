/* teacher.c - a second encoder that follows the trained one as a moving average. */
#include "train/teacher.h"
#include "core/error.h"
#include "core/mem.h"
#include "nn/average.h"
#include "nn/mlp.h"
#include "nn/precision.h"

#include <string.h>

int ck_teacher_init(struct ck_teacher *t, const struct ck_session *s)
{
    struct ck_encoder_options o = s->encoder.o;
    memset(t, 0, sizeof *t);
    t->views = s->skip ? s->skip : s->large;
    o.predictor = (struct ck_layers){.word = CK_PREDICTOR_OFF};
    CK_RETURN_IF(ck_encoder_init(&t->encoder, &o));
    t->ready = 1;
    ck_teacher_copy(t, s);
    t->proj =
        ck_alloc_array((size_t)(t->views * s->max_local), (size_t)s->dim * sizeof *t->proj);
    return t->proj ? COKE_OK : COKE_ENOMEM;
}

void ck_teacher_release(struct ck_teacher *t)
{
    ck_plan_cache_release(&t->plans);
    if (t->ready)
        ck_encoder_release(&t->encoder);
    ck_free(t->proj);
}

/* The predictor comes last in an encoder: its other tensors have the same numbers in both. */
void ck_teacher_copy(struct ck_teacher *t, const struct ck_session *s)
{
    struct ck_net *net = &t->encoder.net;
    ck_average_params(net->param, s->encoder.net.param, net->nparams, 0);
    ck_average_params(net->buffer, s->encoder.net.buffer, net->nbuffers, 0);
}

/* Views of one size share a plan, as nothing is kept for a backward pass. */
int ck_teacher_run(struct ck_teacher *t, struct ck_session *s, const struct coke_batch *b,
                   struct ck_part part)
{
    size_t bytes = (size_t)(part.n * s->dim) * sizeof(float);
    struct ck_reduce reduce = ck_ranks_reduce(&s->ranks, part.n == 0);
    struct ck_plan_request r = ck_plan_request_default();
    struct ck_plans *plans;
    int node = t->encoder.node[COKE_OUTPUT_PROJ];
    r.dtype = ck_precision_dtype((enum ck_precision)s->o.precision);
    r.train = 1;
    r.want[r.nwant++] = node;
    CK_RETURN_IF(ck_plan_cache_get(&t->plans, &t->encoder.net, &r, b, 0, 1,
                                   ck_part_images(part), &plans));
    struct ck_plan *plan = plans->plan[0];
    ck_plan_synchronise(plan, s->ranks.size > 1 ? &reduce : NULL);
    for (int v = 0; v < t->views; v++) {
        CK_RETURN_IF(ck_plan_forward(plan, ck_session_view(s, b, part, v)));
        memcpy(t->proj + v * part.n * s->dim, ck_plan_vector(plan, node), bytes);
    }
    return COKE_OK;
}

/* Epoch 0 changes nothing: the first update is that of the first step of epoch 1. */
double ck_teacher_follow(struct ck_teacher *t, const struct ck_session *s,
                         const struct coke_batch *b)
{
    struct ck_net *net = &t->encoder.net;
    int64_t at = (b->epoch - 1) * b->steps + b->step, all = (s->o.epochs - 1) * b->steps;
    double tau = ck_average_tau(s->o.own.momentum_start, s->o.own.momentum_end, at, all);
    ck_average_params(net->param, s->encoder.net.param, net->nparams, tau);
    return tau;
}

/* ---- rows ---- */

int ck_taught_state(const struct ck_session *s, struct ck_state *out)
{
    const struct ck_teacher *t = s->own;
    struct ck_state own = {0};
    int rc = COKE_OK;
    CK_TRY(ck_net_save(&t->encoder.net, &own));
    CK_TRY(ck_state_add_part(out, "teacher.", &own));
done:
    ck_state_release(&own);
    return rc;
}

int ck_taught_loaded(struct ck_session *s)
{
    struct ck_teacher *t = s->own;
    ck_encoder_touch(&t->encoder);
    return COKE_OK;
}

int ck_taught_begin_run(struct ck_session *s, const struct coke_callbacks *messages)
{
    (void)messages;
    ck_teacher_copy(s->own, s);
    return COKE_OK;
}

int ck_taught_after_step(struct ck_session *s, const struct coke_batch *b)
{
    ck_teacher_follow(s->own, s, b);
    return COKE_OK;
}
