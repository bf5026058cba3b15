/* mlp.c - builds the projector and the predictor.
 *
 * Errors need no checks here: adding to a failed node returns its status (net.h). */
#include "nn/mlp.h"

#include <stdio.h>

static int linear(struct ck_net *net, const char *prefix, int i, int in, int64_t out)
{
    char name[CK_NET_NAME + 16];
    snprintf(name, sizeof name, "%s.%d", prefix, i);
    return ck_net_linear(net, name, in, out);
}

static int norm(struct ck_net *net, const char *prefix, int i, int in)
{
    char name[CK_NET_NAME + 16];
    snprintf(name, sizeof name, "%s.%d", prefix, i);
    return ck_net_norm(net, name, in);
}

int ck_projection_build(struct ck_net *net, const char *prefix, int in,
                        enum ck_projector projector, int64_t hidden, int64_t out)
{
    if (projector == CK_PROJECTOR_NONE)
        return in;
    if (projector == CK_PROJECTOR_LINEAR)
        return ck_net_linear(net, prefix, in, out);
    int x = linear(net, prefix, 0, in, hidden);
    if (projector == CK_PROJECTOR_MLP2)
        return linear(net, prefix, 2, ck_net_relu(net, x), out);
    x = ck_net_relu(net, norm(net, prefix, 1, x));
    if (projector == CK_PROJECTOR_MLP2BN)
        return linear(net, prefix, 3, x, out);
    x = ck_net_relu(net, norm(net, prefix, 4, linear(net, prefix, 3, x, hidden)));
    return norm(net, prefix, 7, linear(net, prefix, 6, x, out));
}

/* Maps to as many values as it reads: predictions are compared with the same centers. */
int ck_prediction_build(struct ck_net *net, const char *prefix, int in, int64_t hidden)
{
    if (in < 0)
        return in;
    int64_t out = net->node[in].channels;
    int x = norm(net, prefix, 1, linear(net, prefix, 0, in, hidden));
    return linear(net, prefix, 3, ck_net_relu(net, x), out);
}
