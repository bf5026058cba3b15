/* optimizer.c - LARS and SGD with momentum.
 *
 * A step sweeps over the parameters twice, both times in pieces on the OpenMP team: first norms
 * and a check of the gradients, then, only if all are finite, the update. Pieces are fixed and
 * disjoint, so that results do not depend on the number of threads. */
#include "nn/optimizer.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char PREFIX[] = "momentum.";

enum {
    CHUNK = 1 << 14, /* values per piece, for any number of threads */
    LANES = 4,
};

/* A piece of a parameter, and what the first sweep found there. */
struct piece {
    int param;
    int64_t from, n;
    double square, change; /* sums of p^2 and dp^2 */
    int64_t bad;           /* number of gradients that are not finite */
};

/* How the second sweep updates a parameter. */
struct rule {
    float *momentum; /* [size] */
    float multiple;  /* multiplies the learning rate */
    float decay;
    float trust; /* LARS's factor in this step; 1 otherwise */
    int scaled;  /* whether it has such a factor */
};

struct ck_optimizer {
    struct ck_optimizer_options o;
    /* [n], borrowed */
    struct ck_param *param;
    int n;
    struct rule *rule; /* [n] */
    float *momentum;   /* of all parameters, concatenated; owned */
    int64_t total;
    struct piece *piece;
    int64_t pieces;
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
    return COKE_OK;
}

static int64_t pieces_of(const struct ck_param *p)
{
    return p->grad ? (p->size + CHUNK - 1) / CHUNK : 0;
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
        if (o->param[i].grad) {
            o->rule[i].momentum = at;
            at += o->param[i].size;
        }
}

static void set_rules(struct ck_optimizer *o)
{
    for (int i = 0; i < o->n; i++) {
        struct rule *r = &o->rule[i];
        r->multiple = r->trust = 1;
        r->scaled = o->o.kind == CK_LARS && o->param[i].ndim >= 2;
        r->decay = o->o.kind == CK_SGD || r->scaled ? (float)o->o.weight_decay : 0;
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
        o->total += param[i].grad ? param[i].size : 0;
    }
    o->rule = ck_calloc_array((size_t)n, sizeof *o->rule);
    o->momentum = ck_calloc_array((size_t)o->total, sizeof *o->momentum);
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
        if (strcmp(o->param[i].name, name) == 0 && o->param[i].grad) {
            o->rule[i].multiple = (float)multiple;
            return COKE_OK;
        }
    return ck_fail(COKE_EUSAGE, "no parameter %s to learn", name);
}

/* ---- a step ---- */

/* NaN or infinity: all exponent bits are set. */
static int is_bad(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7f800000u) == 0x7f800000u;
}

static void clear_piece(void *arg, int64_t index, int worker)
{
    const struct ck_optimizer *o = arg;
    const struct piece *c = &o->piece[index];
    (void)worker;
    memset(o->param[c->param].grad + c->from, 0, (size_t)c->n * sizeof(float));
}

void ck_optimizer_zero_grads(struct ck_optimizer *o)
{
    ck_parallel(o->pieces, clear_piece, o);
}

/* Gradient with weight decay; both sweeps must compute the same bits. */
static inline float change_of(float p, float grad, float grad_scale, float decay)
{
    return grad * grad_scale + decay * p;
}

/* Sums of p^2 and dp^2; four independent ones of each hide the latency of the additions. */
static void measure(const float *p, const float *g, int64_t n, float scale, float decay,
                    struct piece *c)
{
    double square[LANES] = {0}, change[LANES] = {0};
    for (int64_t i = 0; i < n; i += LANES)
        for (int64_t l = 0; l < LANES && i + l < n; l++) {
            double dp = (double)change_of(p[i + l], g[i + l], scale, decay);
            square[l] += (double)p[i + l] * (double)p[i + l];
            change[l] += dp * dp;
        }
    c->square = (square[0] + square[1]) + (square[2] + square[3]);
    c->change = (change[0] + change[1]) + (change[2] + change[3]);
}

static void measure_piece(void *arg, int64_t index, int worker)
{
    struct ck_optimizer *o = arg;
    struct piece *c = &o->piece[index];
    const struct rule *r = &o->rule[c->param];
    const float *g = o->param[c->param].grad + c->from;
    (void)worker;
    c->bad = 0;
    for (int64_t i = 0; i < c->n; i++)
        c->bad += is_bad(g[i]);
    if (r->scaled)
        measure(o->param[c->param].value + c->from, g, c->n, o->grad_scale, r->decay, c);
}

static int check_gradients(const struct ck_optimizer *o, int64_t step)
{
    for (int64_t i = 0; i < o->pieces; i++) {
        if (!o->piece[i].bad)
            continue;
        const struct ck_param *p = &o->param[o->piece[i].param];
        int64_t bad = 0;
        for (int64_t j = i; j < o->pieces && o->piece[j].param == o->piece[i].param; j++)
            bad += o->piece[j].bad;
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
            square += o->piece[i].square;
            change += o->piece[i].change;
        }
        int usual = o->rule[param].scaled && square > 0 && change > 0;
        double trust = usual ? o->o.trust * sqrt(square) / sqrt(change) : 1;
        /* An infinite factor would turn the zeros of a tiny gradient into NaN. */
        o->rule[param].trust = trust < FLT_MAX ? (float)trust : FLT_MAX;
    }
}

/* The update. Pieces are disjoint; change_of reads p before it changes. */
static void move_piece(void *arg, int64_t index, int worker)
{
    const struct ck_optimizer *o = arg;
    const struct piece *c = &o->piece[index];
    const struct rule *r = &o->rule[c->param];
    float *restrict p = o->param[c->param].value + c->from;
    float *restrict m = r->momentum + c->from;
    const float *restrict g = o->param[c->param].grad + c->from;
    float scale = o->grad_scale, decay = r->decay, trust = r->trust;
    float rate = o->rate * r->multiple, momentum = (float)o->o.momentum;
    (void)worker;
    for (int64_t i = 0; i < c->n; i++) {
        m[i] = momentum * m[i] + change_of(p[i], g[i], scale, decay) * trust;
        p[i] -= rate * m[i];
    }
}

int ck_optimizer_step(struct ck_optimizer *o, double rate, double grad_scale, int64_t step)
{
    if (!(rate >= 0 && isfinite(rate) && isfinite(grad_scale)))
        return ck_fail(COKE_EUSAGE, "step %lld: invalid learning rate %g or gradient scale %g",
                       (long long)step, rate, grad_scale);
    o->rate = (float)rate;
    o->grad_scale = (float)grad_scale;
    ck_parallel(o->pieces, measure_piece, o);
    CK_RETURN_IF(check_gradients(o, step));
    set_trust(o);
    ck_parallel(o->pieces, move_piece, o);
    for (int i = 0; i < o->n; i++)
        o->param[i].version += o->param[i].grad != NULL;
    return COKE_OK;
}

/* ---- state ---- */

enum { TENSOR_NAME = CK_PARAM_NAME + sizeof PREFIX };

static void tensor_name(char name[TENSOR_NAME], const struct ck_param *p)
{
    snprintf(name, TENSOR_NAME, "%s%s", PREFIX, p->name);
}

int ck_optimizer_save(const struct ck_optimizer *o, struct ck_state *s)
{
    char name[TENSOR_NAME];
    for (int i = 0; i < o->n; i++) {
        const struct ck_param *p = &o->param[i];
        if (!p->grad)
            continue;
        tensor_name(name, p);
        CK_RETURN_IF(ck_state_add(s, name, CK_F32, p->ndim, p->shape, o->rule[i].momentum));
    }
    return COKE_OK;
}

static int is_known(const struct ck_optimizer *o, const char *name)
{
    for (int i = 0; i < o->n; i++)
        if (o->param[i].grad && strcmp(o->param[i].name, name) == 0)
            return 1;
    return 0;
}

/* Reads into a fresh array and swaps it in at the end, so that a failure changes nothing. */
int ck_optimizer_load(struct ck_optimizer *o, const struct ck_state *s)
{
    int rc = COKE_OK;
    char name[TENSOR_NAME];
    float *old = NULL, *fresh = ck_alloc_array((size_t)o->total, sizeof *fresh);
    if (!fresh)
        return COKE_ENOMEM;
    for (int i = 0; i < s->ntensors; i++)
        if (strncmp(s->tensor[i].name, PREFIX, sizeof PREFIX - 1) == 0 &&
            !is_known(o, s->tensor[i].name + sizeof PREFIX - 1))
            CK_FAIL(COKE_EFORMAT, "tensor '%s' belongs to no parameter", s->tensor[i].name);
    for (int i = 0; i < o->n; i++) {
        const struct ck_param *p = &o->param[i];
        if (!p->grad)
            continue;
        tensor_name(name, p);
        CK_TRY(ck_state_copy(s, name, CK_F32, p->ndim, p->shape,
                             fresh + (o->rule[i].momentum - o->momentum)));
    }
    old = o->momentum;
    o->momentum = fresh;
    fresh = NULL;
    point_to_momentum(o);
done:
    ck_free(old);
    ck_free(fresh);
    return rc;
}
