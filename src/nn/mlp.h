/* mlp.h - the projector and predictor on top of a backbone: MLPs, or a single linear layer. */
#ifndef CK_MLP_H
#define CK_MLP_H

#include "nn/net.h"
#include "nn/nn_options.h"

/* Words of option projector, which stand for layers: linear: dim; mlp2: hidden-relu-dim; mlp2bn:
 * hidden-bn-relu-dim; mlp3: hidden-bn-relu-hidden-bn-relu-dim-bn. */
enum ck_projector {
    CK_PROJECTOR_NONE,
    CK_PROJECTOR_LINEAR,
    CK_PROJECTOR_MLP2,
    CK_PROJECTOR_MLP2BN,
    CK_PROJECTOR_MLP3
};
/* Words of option predictor; on: hidden-bn-relu-dim. */
enum ck_predictor { CK_PREDICTOR_OFF, CK_PREDICTOR_ON };

/* Are there any? */
int ck_has_projector(const struct ck_encoder_options *o);
int ck_has_predictor(const struct ck_encoder_options *o);
/* The dimension of the projections: the last width of the projector's layers, else option dim. */
int64_t ck_projector_dim(const struct ck_encoder_options *o);

/* Their layers for features of `in` values; n = 0 where there is none. */
struct ck_layers ck_projector_layers(const struct ck_encoder_options *o, int64_t in);
struct ck_layers ck_predictor_layers(const struct ck_encoder_options *o, int64_t in);
/* Do the widths agree with each other and with dim and hidden? */
int ck_mlp_check(const struct ck_encoder_options *o);

/* Returns the last node, or a status. Names: prefix.0, prefix.1, ..., numbered as in PyTorch's
 * Sequential, including activations; a single linear layer is named prefix. */
int ck_mlp_build(struct ck_net *net, const char *prefix, int in,
                 const struct ck_layers *layers);

#endif
