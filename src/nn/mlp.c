/* mlp.c - the layers of projector and predictor: from options to nodes of a network. */
#include "nn/mlp.h"
#include "core/error.h"

#include <stdio.h>

/* ---- from options to layers ---- */

static const int64_t usual_dim = 128;

int ck_has_projector(const struct ck_encoder_options *o)
{
    return o->projector.n > 0 || o->projector.word != CK_PROJECTOR_NONE;
}

int ck_has_predictor(const struct ck_encoder_options *o)
{
    return o->predictor.n > 0 || o->predictor.word != CK_PREDICTOR_OFF;
}

int64_t ck_projector_dim(const struct ck_encoder_options *o)
{
    if (o->projector.n > 0)
        return ck_layers_out(&o->projector);
    return o->dim > 0 ? o->dim : usual_dim;
}

static void add(struct ck_layers *l, int64_t width, const char *codes)
{
    l->v[l->n++] = (int32_t)width;
    for (; *codes; codes++)
        l->v[l->n++] = *codes == 'b' ? CK_LAYER_CODE_BN : CK_LAYER_CODE_RELU;
}

static int64_t hidden_of(const struct ck_encoder_options *o, int64_t in)
{
    return o->hidden ? o->hidden : in;
}

struct ck_layers ck_projector_layers(const struct ck_encoder_options *o, int64_t in)
{
    struct ck_layers l = {.n = 0};
    int64_t hidden = hidden_of(o, in), dim = ck_projector_dim(o);
    int32_t word = o->projector.word;
    if (o->projector.n > 0)
        return o->projector;
    if (word == CK_PROJECTOR_MLP2)
        add(&l, hidden, "r");
    if (word == CK_PROJECTOR_MLP2BN || word == CK_PROJECTOR_MLP3)
        add(&l, hidden, "br");
    if (word == CK_PROJECTOR_MLP3)
        add(&l, hidden, "br");
    if (word != CK_PROJECTOR_NONE)
        add(&l, dim, word == CK_PROJECTOR_MLP3 ? "b" : "");
    return l;
}

/* Maps to as many values as it reads: predictions are compared with projections. */
struct ck_layers ck_predictor_layers(const struct ck_encoder_options *o, int64_t in)
{
    struct ck_layers l = {.n = 0};
    if (o->predictor.n > 0 || o->predictor.word == CK_PREDICTOR_OFF)
        return o->predictor;
    add(&l, hidden_of(o, in), "br");
    add(&l, ck_projector_dim(o), "");
    return l;
}

int ck_mlp_check(const struct ck_encoder_options *o)
{
    long long dim = (long long)ck_projector_dim(o);
    if (o->projector.n > 0 && o->dim > 0 && o->dim != dim)
        return ck_fail(COKE_EUSAGE, "dim: %lld, but the projector's last width is %lld",
                       (long long)o->dim, dim);
    if (!ck_has_predictor(o))
        return COKE_OK;
    if (!ck_has_projector(o))
        return ck_fail(COKE_EUSAGE,
                       "predictor: there is no projection to predict from (projector none)");
    if (o->predictor.n > 0 && ck_layers_out(&o->predictor) != dim)
        return ck_fail(COKE_EUSAGE,
                       "predictor: its last width is %lld, but projections, which it predicts, "
                       "have %lld values",
                       (long long)ck_layers_out(&o->predictor), dim);
    return COKE_OK;
}

/* ---- from layers to nodes ---- */

/* Errors need no check: adding to a failed node returns its status (net.h). */
static int add_layer(struct ck_net *net, const char *name, int x, int32_t layer)
{
    if (layer > 0)
        return ck_net_linear(net, name, x, layer);
    if (layer == CK_LAYER_CODE_BN)
        return ck_net_norm(net, name, x);
    if (layer == CK_LAYER_CODE_BN0)
        return ck_net_norm_plain(net, name, x);
    return layer == CK_LAYER_CODE_RELU ? ck_net_relu(net, x) : ck_net_gelu(net, x);
}

int ck_mlp_build(struct ck_net *net, const char *prefix, int in, const struct ck_layers *layers)
{
    char name[CK_NET_NAME + 16];
    if (layers->n == 1)
        return add_layer(net, prefix, in, layers->v[0]);
    for (int i = 0; i < layers->n; i++) {
        snprintf(name, sizeof name, "%s.%d", prefix, i);
        in = add_layer(net, name, in, layers->v[i]);
    }
    return in;
}
