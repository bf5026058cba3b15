/* encoder.c - builds encoders from their options, and saves the options with them. */
#include "nn/encoder.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "nn/mlp.h"
#include "nn/resnet.h"

#include <stdio.h>
#include <string.h>

static int build(struct coke_encoder *e)
{
    const struct ck_encoder_options *o = &e->o;
    struct ck_resnet_options r = {(enum ck_arch)o->arch, (enum ck_stem)o->stem, o->width,
                                  o->channels};
    int features = ck_resnet_build(&e->net, &r), raw, last;
    if (features < 0)
        return features;
    ck_net_tap(&e->net, features, "avgpool");
    e->node[COKE_OUTPUT_FEATURES] = last = features;
    if (!ck_has_projector(o))
        return last;
    int64_t width = e->net.node[features].channels;
    struct ck_layers projector = ck_projector_layers(o, width),
                     predictor = ck_predictor_layers(o, width);
    raw = ck_mlp_build(&e->net, "fc", features, &projector);
    e->node[COKE_OUTPUT_LOGITS] = raw;
    e->node[COKE_OUTPUT_PROJ] = last = ck_net_unit(&e->net, raw);
    if (predictor.n > 0 && last >= 0)
        e->node[COKE_OUTPUT_PRED] = last =
            ck_net_unit(&e->net, ck_mlp_build(&e->net, "predictor", raw, &predictor));
    return last;
}

/* Sets the scale of every block's last batch norm to 0, so that blocks start as identities. */
static void zero_residuals(struct ck_net *net, enum ck_arch arch)
{
    const char *last = arch == CK_RESNET50 ? ".bn3.weight" : ".bn2.weight";
    for (int i = 0; i < net->nparams; i++) {
        struct ck_param *p = &net->param[i];
        if (strncmp(p->name, "layer", 5) == 0 && strstr(p->name, last))
            memset(p->value, 0, (size_t)p->size * sizeof *p->value);
    }
}

int ck_encoder_init(struct coke_encoder *e, const struct ck_encoder_options *o)
{
    int rc = COKE_OK;
    memset(e, 0, sizeof *e);
    for (int i = 0; i < CK_OUTPUTS; i++)
        e->node[i] = -1;
    CK_TRY(ck_options_check(ck_encoder_option_table(), o));
    CK_TRY(ck_mlp_check(o));
    e->o = *o;
    e->o.dim = ck_projector_dim(o);
    int last = build(e);
    if (last < 0) {
        rc = last;
        goto done;
    }
    ck_net_init(&e->net, (uint64_t)o->seed);
    if (o->zero_residual)
        zero_residuals(&e->net, (enum ck_arch)o->arch);
done:
    if (rc)
        ck_encoder_release(e);
    return rc;
}

void ck_encoder_release(struct coke_encoder *e)
{
    ck_net_release(&e->net);
}

/* ---- files: the options are stored as metadata "encoder.NAME" ---- */

#define PREFIX "encoder."

int ck_encoder_save_options(const struct ck_encoder_options *o, struct ck_state *s)
{
    const struct ck_option_table *t = ck_encoder_option_table();
    for (int i = 0; i < t->n; i++) {
        char key[64], value[CK_LAYERS_TEXT];
        snprintf(key, sizeof key, PREFIX "%s", t->row[i].name);
        CK_RETURN_IF(ck_options_get(t, o, t->row[i].name, value, sizeof value));
        CK_RETURN_IF(ck_state_add_meta(s, key, value));
    }
    return COKE_OK;
}

int ck_encoder_save(const struct coke_encoder *e, struct ck_state *s)
{
    int rc = ck_encoder_save_options(&e->o, s);
    return rc ? rc : ck_net_save(&e->net, s);
}

int ck_encoder_options_from(struct ck_encoder_options *o, const struct ck_state *s,
                            const char *source)
{
    int found = ck_options_from_meta(ck_encoder_option_table(), o, s, PREFIX);
    if (found < 0)
        return ck_fail_prefix(COKE_EFORMAT, "%s: ", source);
    if (found == 0)
        return ck_fail(COKE_EFORMAT,
                       "%s: its metadata has no options " PREFIX "*; it was not saved as an "
                       "encoder; import weights of other programs first",
                       source);
    return COKE_OK;
}

/* ---- on the heap, and by name ---- */

int ck_encoder_new(struct coke_encoder **out, const struct ck_encoder_options *options)
{
    struct coke_encoder *e = ck_alloc_array(1, sizeof *e);
    *out = NULL;
    if (!e)
        return COKE_ENOMEM;
    int rc = ck_encoder_init(e, options);
    if (rc)
        ck_free(e);
    else
        *out = e;
    return rc;
}

void ck_encoder_free(struct coke_encoder *e)
{
    if (e)
        ck_encoder_release(e);
    ck_free(e);
}

const struct ck_param *ck_encoder_find(const struct coke_encoder *e, const char *name)
{
    for (int i = 0; i < e->net.nparams; i++)
        if (strcmp(e->net.param[i].name, name) == 0)
            return &e->net.param[i];
    for (int i = 0; i < e->net.nbuffers; i++)
        if (strcmp(e->net.buffer[i].name, name) == 0)
            return &e->net.buffer[i];
    return NULL;
}

void ck_encoder_touch(struct coke_encoder *e)
{
    for (int i = 0; i < e->net.nparams; i++)
        e->net.param[i].version++;
}
