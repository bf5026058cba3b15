/* mlp.h - the projector and predictor on top of a backbone: MLPs, or a single linear layer. */
#ifndef CK_MLP_H
#define CK_MLP_H

#include "nn/net.h"

enum ck_projector {
    CK_PROJECTOR_NONE,
    CK_PROJECTOR_LINEAR,
    CK_PROJECTOR_MLP2,
    CK_PROJECTOR_MLP2BN,
    CK_PROJECTOR_MLP3
};

/* Both return the last node, or a status. Names: prefix.0, prefix.1, ..., numbered as in
 * PyTorch's Sequential, including activations; a single linear layer is named prefix. */

/* mlp3: Linear-BN-ReLU-Linear-BN-ReLU-Linear-BN; mlp2: Linear-ReLU-Linear; mlp2bn:
 * Linear-BN-ReLU-Linear. */
int ck_projection_build(struct ck_net *net, const char *prefix, int in,
                        enum ck_projector projector, int64_t hidden, int64_t out);
/* Linear-BN-ReLU-Linear. */
int ck_prediction_build(struct ck_net *net, const char *prefix, int in, int64_t hidden);

#endif
