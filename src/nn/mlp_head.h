/* mlp_head.h - what stands on a backbone: projection and prediction MLPs, or one linear layer.
 */
#ifndef CK_MLP_HEAD_H
#define CK_MLP_HEAD_H

#include "nn/net.h"

enum ck_head { CK_HEAD_NONE, CK_HEAD_LINEAR, CK_HEAD_MLP2, CK_HEAD_MLP3 };

/* All return the last node, or a status. Names: prefix.0, prefix.1, ... numbered as PyTorch's
 * Sequential does, activations included; the linear layer is prefix itself. */

/* mlp3: Linear-BN-ReLU-Linear-BN-ReLU-Linear-BN; mlp2: Linear-ReLU-Linear. */
int ck_projection_build(struct ck_net *net, const char *prefix, int in, enum ck_head head,
                        int64_t hidden, int64_t out);
/* Linear-BN-ReLU-Linear. */
int ck_prediction_build(struct ck_net *net, const char *prefix, int in, int64_t hidden);

#endif
