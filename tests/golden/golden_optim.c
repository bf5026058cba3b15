/* golden_optim.c - recorded steps of the optimiser, and recorded learning rates. */
#include "coke.h"
#include "golden_data.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parameters and momentum: a few roundings of numbers of size 1; factors: none but the last
 * digit's. */
static const double VALUE = 5e-7, RATE = 1e-15;

enum { PARAMS = 16 };

struct replay {
    const struct golden_case *c;
    struct golden_report *r;
    int n;
    int64_t steps;
    struct ck_param param[PARAMS];
    struct ck_optimizer *o;
};

/* ---- optimisers ---- */

static int read_param(struct replay *p, const struct golden_array *init)
{
    struct ck_param *q = &p->param[p->n++];
    snprintf(q->name, sizeof q->name, "p%d", p->n - 1);
    q->ndim = init->ndim;
    q->size = init->n;
    if (init->ndim > 4)
        return golden_refuse(p->r, "%s has %d dimensions", q->name, init->ndim);
    for (int d = 0; d < init->ndim; d++)
        q->shape[d] = init->shape[d];
    q->value = malloc((size_t)q->size * sizeof(float));
    q->grad = malloc((size_t)q->size * sizeof(float));
    memcpy(q->value, init->f, (size_t)q->size * sizeof(float));
    const char *const parts[] = {"grad", "after", "mom"};
    for (int i = 0; i < 3; i++) {
        const struct golden_array *a = golden_array(p->c, "%s_%s", q->name, parts[i]);
        if (!a || a->n != p->steps * q->size)
            return golden_refuse(p->r, "%s_%s is missing or of another size", q->name,
                                 parts[i]);
    }
    return 0;
}

/* Recordings of LARS do not name it. */
static int32_t kind_of(const char *word)
{
    static const char *const words[] = {
        [CK_SGD] = "sgd", [CK_ADAM] = "adam", [CK_ADAMW] = "adamw"};
    for (int32_t i = CK_SGD; i <= CK_ADAMW; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return CK_LARS;
}

static int begin(struct replay *p)
{
    struct ck_optimizer_options o = ck_optimizer_options_default();
    const struct golden_array *init;
    p->steps = golden_array(p->c, "lr")->n;
    for (int i = 0; i < PARAMS && (init = golden_array(p->c, "p%d_init", i)); i++)
        if (read_param(p, init))
            return -1;
    o.kind = kind_of(golden_word(p->c, "optimizer"));
    o.second_momentum = golden_number(p->c, "second_momentum", o.second_momentum);
    o.clip = golden_number(p->c, "clip", 0);
    o.momentum = golden_number(p->c, "momentum", 0);
    o.weight_decay = golden_number(p->c, "weight_decay", 0);
    o.trust = golden_number(p->c, "trust_coefficient", o.trust);
    int rc = ck_optimizer_new(&p->o, p->param, p->n, &o);
    for (int i = 0; !rc && i < p->n; i++)
        rc = ck_optimizer_set_rate(p->o, p->param[i].name, golden_real(p->c, "rates", i, 1));
    return rc ? golden_refuse(p->r, "optimiser (%s)", coke_last_error()) : 0;
}

static int compare(struct replay *p, const struct ck_param *q, const char *part, int64_t step,
                   const float *got)
{
    char text[96];
    const struct golden_array *want = golden_array(p->c, "%s_%s", q->name, part);
    snprintf(text, sizeof text, "%s_%s, step %d", q->name, part, (int)step);
    return golden_close(p->r, text, got, want->f + step * q->size, q->size, VALUE);
}

static int compare_moment(struct replay *p, const struct ck_param *q, const char *part,
                          const char *prefix, const struct ck_state *s, int64_t step)
{
    char name[CK_PARAM_NAME + 32];
    snprintf(name, sizeof name, "%s%s", prefix, q->name);
    const struct ck_tensor *t = ck_state_find(s, name);
    return t ? compare(p, q, part, step, t->data)
             : golden_refuse(p->r, "the optimiser saves no %s", name);
}

static int compare_step(struct replay *p, int64_t step)
{
    struct ck_state s = {0};
    int rc = ck_optimizer_save(p->o, &s);
    for (int i = 0; !rc && i < p->n; i++) {
        const struct ck_param *q = &p->param[i];
        rc = compare(p, q, "after", step, q->value);
        if (!rc)
            rc = compare_moment(p, q, "mom", "momentum.", &s, step);
        if (!rc && golden_array(p->c, "%s_second", q->name))
            rc = compare_moment(p, q, "second", "momentum.second.", &s, step);
    }
    ck_state_release(&s);
    return rc;
}

static int run_step(struct replay *p, int64_t step)
{
    const struct golden_array *lr = golden_array(p->c, "lr");
    for (int i = 0; i < p->n; i++) {
        struct ck_param *q = &p->param[i];
        const struct golden_array *grad = golden_array(p->c, "%s_grad", q->name);
        memcpy(q->grad, grad->f + step * q->size, (size_t)q->size * sizeof(float));
    }
    if (golden_real(p->c, "decay_per_step", (int)step, -1) >= 0)
        ck_optimizer_set_decay(p->o, golden_real(p->c, "decay_per_step", (int)step, 0));
    double rate = lr->d ? lr->d[step] : (double)lr->f[step];
    if (ck_optimizer_step(p->o, rate, 1, step))
        return golden_refuse(p->r, "step %d (%s)", (int)step, coke_last_error());
    return compare_step(p, step);
}

int golden_check_optim(const struct golden_case *c, struct golden_report *r)
{
    struct replay p = {.c = c, .r = r};
    memset(r, 0, sizeof *r);
    int rc = begin(&p);
    for (int64_t step = 0; !rc && step < p.steps; step++)
        rc = run_step(&p, step);
    ck_optimizer_free(p.o);
    for (int i = 0; i < p.n; i++) {
        free(p.param[i].value);
        free(p.param[i].grad);
    }
    return rc;
}

/* ---- learning rates ---- */

static int check_rates(const struct golden_case *c, struct golden_report *r, const char *name,
                       int64_t epochs, int64_t steps, double rate)
{
    struct ck_schedule s;
    const struct golden_array *want = golden_array(c, "%s", name);
    int64_t warmup = (int64_t)golden_number(c, "warmup_epochs", 11) - 1;
    if (!want || !want->d || want->n != epochs * steps)
        return golden_refuse(r, "%s is missing, of another size or not float64", name);
    if (ck_schedule_init(&s, rate, epochs, warmup, steps))
        return golden_refuse(r, "%s (%s)", name, coke_last_error());
    double *got = malloc((size_t)want->n * sizeof *got);
    for (int64_t i = 0; i < want->n; i++)
        got[i] = ck_schedule_rate(&s, i / steps, i % steps);
    int rc = golden_close_f64(r, name, got, want->d, want->n, RATE);
    free(got);
    return rc;
}

int golden_check_sched(const struct golden_case *c, struct golden_report *r)
{
    memset(r, 0, sizeof *r);
    if (check_rates(c, r, "lr", (int64_t)golden_number(c, "epochs", 0),
                    (int64_t)golden_number(c, "num_iter", 0), golden_number(c, "lr", 0)))
        return -1;
    if (!golden_array(c, "lr_second"))
        return 0;
    return check_rates(c, r, "lr_second", golden_item(c, "second", 0),
                       golden_item(c, "second", 1), golden_real(c, "second", 2, 0));
}
