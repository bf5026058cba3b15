/* encoder_optimizer.c - the optimizer of an encoder's weights, which counts its steps. */
#include "nn/encoder_optimizer.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"

int ck_encoder_optimizer_new(struct coke_optimizer **out, struct coke_encoder *e,
                             const struct ck_optimizer_options *options)
{
    *out = NULL;
    CK_RETURN_IF(ck_options_check(ck_optimizer_option_table(), options));
    struct coke_optimizer *p = ck_calloc_array(1, sizeof *p);
    if (!p)
        return COKE_ENOMEM;
    int rc = ck_optimizer_new(&p->optim, e->net.param, e->net.nparams, options);
    if (rc)
        ck_free(p);
    else
        *out = p;
    return rc;
}

void ck_encoder_optimizer_free(struct coke_optimizer *o)
{
    if (o)
        ck_optimizer_free(o->optim);
    ck_free(o);
}

int ck_encoder_optimizer_step(struct coke_optimizer *o, double rate)
{
    int rc = ck_optimizer_step(o->optim, rate, 1, o->step + 1);
    if (!rc)
        o->step++;
    return rc;
}
