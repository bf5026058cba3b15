/* optimizer.c - LARS, SGD with momentum, Adam and AdamW.
 *
 * A step sweeps over the parameters twice, both times in pieces on the OpenMP team: first norms
 * and a check of the gradients, then, only if all are finite, the update. Clipping needs the norm
 * of all gradients before: one sweep more. Pieces are fixed and disjoint, so that results do not
 * depend on the number of threads. */
#include "nn/optimizer.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "kernels/adam.h"
#include "kernels/update.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char PREFIX[] = "momentum.", SECOND[] = "second.", UPDATES[] = "momentum.updates";
static const double adam_eps = 1e-8; /* as in PyTorch */

enum { CHUNK = 1 << 14 }; /* values per piece, for any number of threads */

/* A piece of a parameter, and what the first sweep found there. */
struct piece {
    int param;
    int64_t from, n;
    struct ck_update_norms norms;
};

/* How the second sweep updates a parameter. */
struct rule {
    float *momentum; /* [size] */
    float *second;   /* [size] of Adam, mean of the squares; NULL of the others */
    float multiple;  /* multiplies the learning rate */
    float held;      /* its rate instead, whatever that of the step; 0 = none */
    int decays;      /* whether weight decay applies to it */
    float trust;     /* LARS's factor in this step; 1 otherwise */
    int scaled;      /* whether it has such a factor */
};

struct ck_optimizer {
    struct ck_optimizer_options o;
    /* [n], borrowed */
    struct ck_param *param;
    int n;
    struct rule *rule;      /* [n] */
    float *momentum;        /* of all parameters, concatenated, then `second` of all; owned */
    int64_t total, moments; /* values of all parameters; of momentum */
    int64_t updates;        /* steps done, which Adam's corrections depend on */
    struct piece *piece;
    int64_t pieces;
    float decay;
    float rate, grad_scale; /* of the current step */
};

/* ---- memory ---- */

static int check_options(const struct ck_optimizer_options *o)
{
    if (!(o->momentum >= 0 && o->momentum < 1))
        return ck_fail(COKE_EUSAGE, "momentum: %g is not within [0, 1)", o->momentum);
    if (!(o->weight_decay >= 0 && isfinite(o->weight_decay)))
        return ck_fail(COKE_EUSAGE, "weight decay: %g is not a non-negative number",
                       o->weight_decay);
    if (!(o->trust > 0 && isfinite(o->trust)))
        return ck_fail(COKE_EUSAGE, "trust: %g is not positive", o->trust);
    if (!(o->second_momentum >= 0 && o->second_momentum < 1))
        return ck_fail(COKE_EUSAGE, "second-momentum: %g is not within [0, 1)",
                       o->second_momentum);
    if (o->trust_clip && o->kind != CK_LARS)
        return ck_fail(COKE_EUSAGE, "trust-clip: only LARS has a trust factor");
    return COKE_OK;
}

static int is_adam(const struct ck_optimizer *o)
{
    return o->o.kind == CK_ADAM || o->o.kind == CK_ADAMW;
}

static int is_learned(const struct ck_param *p)
{
    return p->grad && !p->fixed;
}

static int64_t pieces_of(const struct ck_param *p)
{
    return is_learned(p) ? (p->size + CHUNK - 1) / CHUNK : 0;
}

static void cut_pieces(struct ck_optimizer *o)
{
    struct piece *at = o->piece;
    for (int i = 0; i < o->n; i++)
        for (int64_t j = 0; j < pieces_of(&o->param[i]); j++, at++) {
            int64_t from = j * CHUNK, left = o->param[i].size - from;
            *at = (struct piece){.param = i, .from = from, .n = left < CHUNK ? left : CHUNK};
        }
}

/* Parameters without a gradient have no momentum. */
static void point_to_momentum(struct ck_optimizer *o)
{
    float *at = o->momentum;
    for (int i = 0; i < o->n; i++)
        if (is_learned(&o->param[i])) {
            o->rule[i].momentum = at;
            o->rule[i].second = o->moments > o->total ? at + o->total : NULL;
            at += o->param[i].size;
        }
}

static void set_rules(struct ck_optimizer *o)
{
    for (int i = 0; i < o->n; i++) {
        struct rule *r = &o->rule[i];
        r->multiple = r->trust = 1;
        r->scaled = o->o.kind == CK_LARS && o->param[i].ndim >= 2;
        r->decays = o->o.kind == CK_SGD || o->o.kind == CK_ADAM || o->param[i].ndim >= 2;
    }
}

int ck_optimizer_new(struct ck_optimizer **out, struct ck_param *param, int n,
                     const struct ck_optimizer_options *options)
{
    int rc = COKE_OK;
    struct ck_optimizer *o = NULL;
    *out = NULL;
    CK_TRY(check_options(options));
    o = ck_calloc_array(1, sizeof *o);
    if (!o)
        return COKE_ENOMEM;
    o->o = *options;
    o->param = param;
    o->n = n;
    for (int i = 0; i < n; i++) {
        o->pieces += pieces_of(&param[i]);
        o->total += is_learned(&param[i]) ? param[i].size : 0;
    }
    o->rule = ck_calloc_array((size_t)n, sizeof *o->rule);
    o->decay = (float)options->weight_decay;
    o->moments = is_adam(o) ? 2 * o->total : o->total;
    o->momentum = ck_calloc_array((size_t)o->moments, sizeof *o->momentum);
    o->piece = ck_calloc_array((size_t)o->pieces, sizeof *o->piece);
    if (!o->rule || !o->momentum || !o->piece)
        CK_LEAVE(COKE_ENOMEM);
    set_rules(o);
    cut_pieces(o);
    point_to_momentum(o);
    *out = o;
    o = NULL;
done:
    ck_optimizer_free(o);
    return rc;
}

void ck_optimizer_free(struct ck_optimizer *o)
{
    if (!o)
        return;
    ck_free(o->rule);
    ck_free(o->momentum);
    ck_free(o->piece);
    ck_free(o);
}

int ck_optimizer_set_rate(struct ck_optimizer *o, const char *name, double multiple)
{
    if (!(multiple >= 0 && isfinite(multiple)))
        return ck_fail(COKE_EUSAGE, "learning rate of %s: %g is not a non-negative number",
                       name, multiple);
    for (int i = 0; i < o->n; i++)
        if (strcmp(o->param[i].name, name) == 0 && is_learned(&o->param[i])) {
            o->rule[i].multiple = (float)multiple;
            return COKE_OK;
        }
    return ck_fail(COKE_EUSAGE, "no parameter %s to learn", name);
}

int ck_optimizer_hold_rate(struct ck_optimizer *o, const char *prefix, double rate)
{
    int found = 0;
    if (!(rate > 0 && isfinite(rate)))
        return ck_fail(COKE_EUSAGE, "learning rate of %s*: %g is not a positive number", prefix,
                       rate);
    for (int i = 0; i < o->n; i++)
        if (strncmp(o->param[i].name, prefix, strlen(prefix)) == 0 &&
            is_learned(&o->param[i])) {
            o->rule[i].held = (float)rate;
            found = 1;
        }
    return found ? COKE_OK : ck_fail(COKE_EUSAGE, "no parameters %s* to learn", prefix);
}

void ck_optimizer_set_decay(struct ck_optimizer *o, double decay)
{
    o->decay = (float)decay;
}

/* ---- a step ---- */

/* Rate 0 is that of a step that changes nothing. */
static float rate_of(const struct ck_optimizer *o, const struct rule *r)
{
    return r->held > 0 && o->rate > 0 ? r->held : o->rate * r->multiple;
}

static struct ck_update_rule update_of(const struct ck_optimizer *o, const struct rule *r)
{
    return (struct ck_update_rule){.scale = o->grad_scale,
                                   .decay = r->decays ? o->decay : 0,
                                   .keep = (float)o->o.momentum,
                                   .trust = r->trust,
                                   .rate = rate_of(o, r)};
}

/* Norms where LARS needs them; a check of the gradient everywhere. */
static void measure_piece(void *arg, int64_t index, int worker)
{
    struct ck_optimizer *o = arg;
    struct piece *c = &o->piece[index];
    const struct rule *r = &o->rule[c->param];
    const struct ck_param *p = &o->param[c->param];
    struct ck_update_rule u = update_of(o, r);
    (void)worker;
    if (r->scaled)
        ck_update_measure(&u, c->n, p->value + c->from, p->grad + c->from, &c->norms);
    else
        c->norms.bad = ck_update_check(c->n, p->grad + c->from);
}

/* The square of the gradient alone, for clipping. */
static void measure_gradient(void *arg, int64_t index, int worker)
{
    struct ck_optimizer *o = arg;
    struct piece *c = &o->piece[index];
    const struct ck_param *p = &o->param[c->param];
    struct ck_update_rule u = {.scale = o->grad_scale};
    (void)worker;
    ck_update_measure(&u, c->n, p->value + c->from, p->grad + c->from, &c->norms);
}

/* As PyTorch's clip_grad_norm_: gradients times limit / (norm + 1e-6), if that is below 1. */
static void clip_gradients(struct ck_optimizer *o)
{
    double square = 0;
    if (o->o.clip <= 0)
        return;
    ck_parallel(o->pieces, measure_gradient, o);
    for (int64_t i = 0; i < o->pieces; i++)
        square += o->piece[i].norms.change;
    double factor = o->o.clip / (sqrt(square) + 1e-6);
    if (factor < 1) /* also not for a NaN, which check_gradients reports */
        o->grad_scale *= (float)factor;
}

static int check_gradients(const struct ck_optimizer *o, int64_t step)
{
    for (int64_t i = 0; i < o->pieces; i++) {
        if (!o->piece[i].norms.bad)
            continue;
        const struct ck_param *p = &o->param[o->piece[i].param];
        int64_t bad = 0;
        for (int64_t j = i; j < o->pieces && o->piece[j].param == o->piece[i].param; j++)
            bad += o->piece[j].norms.bad;
        return ck_fail(COKE_ENUMERIC,
                       "step %lld: gradient of %s is not finite (%lld of %lld values)",
                       (long long)step, p->name, (long long)bad, (long long)p->size);
    }
    return COKE_OK;
}

/* Computes LARS's factors from the pieces' sums, added in order. */
static void set_trust(struct ck_optimizer *o)
{
    for (int64_t i = 0; i < o->pieces;) {
        int param = o->piece[i].param;
        double square = 0, change = 0;
        for (; i < o->pieces && o->piece[i].param == param; i++) {
            square += o->piece[i].norms.square;
            change += o->piece[i].norms.change;
        }
        int usual = o->rule[param].scaled && square > 0 && change > 0;
        double trust = usual ? o->o.trust * sqrt(square) / sqrt(change) : 1;
        float rate = rate_of(o, &o->rule[param]);
        if (usual && o->o.trust_clip) /* the rate times the factor stays below the rate */
            trust = rate > 0 ? fmin(trust / (double)rate, 1) : 1;
        /* An infinite factor would turn the zeros of a tiny gradient into NaN. */
        o->rule[param].trust = trust < FLT_MAX ? (float)trust : FLT_MAX;
    }
}

/* With the bias corrections of update number o->updates. */
static struct ck_adam_rule adam_of(const struct ck_optimizer *o, const struct ck_update_rule *u)
{
    double t = (double)o->updates, first = 1 - pow(o->o.momentum, t);
    double second = 1 - pow(o->o.second_momentum, t);
    int decoupled = o->o.kind == CK_ADAMW;
    return (struct ck_adam_rule){.scale = u->scale,
                                 .decay = decoupled ? 0 : u->decay,
                                 .shrink = decoupled ? 1 - u->rate * u->decay : 1,
                                 .keep = u->keep,
                                 .keep_second = (float)o->o.second_momentum,
                                 .rate = (float)((double)u->rate / first),
                                 .second_scale = (float)(1 / sqrt(second)),
                                 .eps = (float)adam_eps};
}

/* Pieces are disjoint, so workers need no synchronization. */
static void move_piece(void *arg, int64_t index, int worker)
{
    const struct ck_optimizer *o = arg;
    const struct piece *c = &o->piece[index];
    const struct rule *r = &o->rule[c->param];
    const struct ck_param *p = &o->param[c->param];
    struct ck_update_rule u = update_of(o, r);
    (void)worker;
    if (r->second) {
        struct ck_adam_rule a = adam_of(o, &u);
        ck_adam_move(&a, c->n, p->grad + c->from, p->value + c->from, r->momentum + c->from,
                     r->second + c->from);
        return;
    }
    ck_update_move(&u, c->n, p->grad + c->from, p->value + c->from, r->momentum + c->from);
}

int ck_optimizer_step(struct ck_optimizer *o, double rate, double grad_scale, int64_t step)
{
    if (!(rate >= 0 && isfinite(rate) && isfinite(grad_scale)))
        return ck_fail(COKE_EUSAGE, "step %lld: invalid learning rate %g or gradient scale %g",
                       (long long)step, rate, grad_scale);
    o->rate = (float)rate;
    o->grad_scale = (float)grad_scale;
    clip_gradients(o);
    ck_parallel(o->pieces, measure_piece, o);
    CK_RETURN_IF(check_gradients(o, step));
    o->updates++;
    set_trust(o);
    ck_parallel(o->pieces, move_piece, o);
    for (int i = 0; i < o->n; i++)
        o->param[i].version += is_learned(&o->param[i]) ? 1 : 0;
    return COKE_OK;
}

/* ---- state ---- */

enum { TENSOR_NAME = CK_PARAM_NAME + sizeof PREFIX + sizeof SECOND };

static void tensor_name(char name[TENSOR_NAME], const struct ck_param *p, int second)
{
    snprintf(name, TENSOR_NAME, "%s%s%s", PREFIX, second ? SECOND : "", p->name);
}

int ck_optimizer_save(const struct ck_optimizer *o, struct ck_state *s)
{
    char name[TENSOR_NAME];
    for (int i = 0; i < o->n; i++) {
        const struct ck_param *p = &o->param[i];
        if (!is_learned(p))
            continue;
        tensor_name(name, p, 0);
        CK_RETURN_IF(ck_state_add(s, name, CK_F32, p->ndim, p->shape, o->rule[i].momentum));
        tensor_name(name, p, 1);
        if (o->rule[i].second)
            CK_RETURN_IF(ck_state_add(s, name, CK_F32, p->ndim, p->shape, o->rule[i].second));
    }
    return is_adam(o) ? ck_state_add(s, UPDATES, CK_I64, 0, NULL, &o->updates) : COKE_OK;
}

static int is_known(const struct ck_optimizer *o, const char *name)
{
    if (is_adam(o) && strcmp(name, UPDATES + sizeof PREFIX - 1) == 0)
        return 1;
    if (is_adam(o) && strncmp(name, SECOND, sizeof SECOND - 1) == 0)
        name += sizeof SECOND - 1;
    for (int i = 0; i < o->n; i++)
        if (is_learned(&o->param[i]) && strcmp(o->param[i].name, name) == 0)
            return 1;
    return 0;
}

/* Reads into a fresh array and swaps it in at the end, so that a failure changes nothing. */
int ck_optimizer_load(struct ck_optimizer *o, const struct ck_state *s)
{
    int rc = COKE_OK;
    char name[TENSOR_NAME];
    int64_t updates = o->updates;
    float *old = NULL, *fresh = ck_alloc_array((size_t)o->moments, sizeof *fresh);
    if (!fresh)
        return COKE_ENOMEM;
    for (int i = 0; i < s->ntensors; i++)
        if (strncmp(s->tensor[i].name, PREFIX, sizeof PREFIX - 1) == 0 &&
            !is_known(o, s->tensor[i].name + sizeof PREFIX - 1))
            CK_FAIL(COKE_EFORMAT, "tensor '%s' belongs to no parameter", s->tensor[i].name);
    for (int i = 0; i < o->n; i++) {
        const struct ck_param *p = &o->param[i];
        if (!is_learned(p))
            continue;
        float *at = fresh + (o->rule[i].momentum - o->momentum);
        tensor_name(name, p, 0);
        CK_TRY(ck_state_copy(s, name, CK_F32, p->ndim, p->shape, at));
        tensor_name(name, p, 1);
        if (o->rule[i].second)
            CK_TRY(ck_state_copy(s, name, CK_F32, p->ndim, p->shape, at + o->total));
    }
    if (is_adam(o))
        CK_TRY(ck_state_copy(s, UPDATES, CK_I64, 0, NULL, &updates));
    o->updates = updates;
    old = o->momentum;
    o->momentum = fresh;
    fresh = NULL;
    point_to_momentum(o);
done:
    ck_free(old);
    ck_free(fresh);
    return rc;
}
