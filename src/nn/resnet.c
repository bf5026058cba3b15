/* resnet.c - residual networks with torchvision's names. */
#include "nn/resnet.h"
#include "core/error.h"

#include <math.h>
#include <stdio.h>

struct arch_row {
    int blocks[4];
    int bottleneck; /* three convolutions per block, the last 4 times as wide */
};

static const struct arch_row archs[] = {
    [CK_RESNET18] = {{2, 2, 2, 2}, 0},
    [CK_RESNET34] = {{3, 4, 6, 3}, 0},
    [CK_RESNET50] = {{3, 4, 6, 3}, 1},
};

/* Adds convolution and batch norm number i of a block. */
static int conv_norm(struct ck_net *net, const char *block, int i, int in, int64_t out,
                     int64_t kernel, int64_t stride)
{
    char conv[CK_NET_NAME + 16], norm[CK_NET_NAME + 16];
    snprintf(conv, sizeof conv, "%s.conv%d", block, i);
    snprintf(norm, sizeof norm, "%s.bn%d", block, i);
    return ck_net_norm(net, norm, ck_net_conv(net, conv, in, out, kernel, stride, kernel / 2));
}

/* The identity, or a 1x1 convolution and batch norm where the shape changes. */
static int shortcut(struct ck_net *net, const char *block, int in, int64_t out, int64_t stride)
{
    char conv[CK_NET_NAME + 16], norm[CK_NET_NAME + 16];
    if (in < 0 || (stride == 1 && net->node[in].channels == out))
        return in;
    snprintf(conv, sizeof conv, "%s.downsample.0", block);
    snprintf(norm, sizeof norm, "%s.downsample.1", block);
    return ck_net_norm(net, norm, ck_net_conv(net, conv, in, out, 1, stride, 0));
}

/* The stride is in the 3x3 convolution, as in torchvision (ResNet v1.5). */
static int add_block(struct ck_net *net, const char *block, int in, int64_t planes,
                     int64_t stride, int bottleneck)
{
    int x = in;
    int64_t out = bottleneck ? 4 * planes : planes;
    if (bottleneck) {
        x = ck_net_relu(net, conv_norm(net, block, 1, x, planes, 1, 1));
        x = ck_net_relu(net, conv_norm(net, block, 2, x, planes, 3, stride));
        x = conv_norm(net, block, 3, x, out, 1, 1);
    } else {
        x = ck_net_relu(net, conv_norm(net, block, 1, x, planes, 3, stride));
        x = conv_norm(net, block, 2, x, planes, 3, 1);
    }
    return ck_net_relu(net, ck_net_add(net, x, shortcut(net, block, in, out, stride)));
}

/* Names the output of the stem "maxpool" even without a pooling, so that taps have one name. */
static int add_stem(struct ck_net *net, const struct ck_resnet_options *o, int64_t planes)
{
    int large = o->stem == CK_STEM_IMAGENET;
    int x = ck_net_input(net, o->channels);
    x = ck_net_conv(net, "conv1", x, planes, large ? 7 : 3, large ? 2 : 1, large ? 3 : 1);
    x = ck_net_relu(net, ck_net_norm(net, "bn1", x));
    if (o->stem != CK_STEM_CIFAR)
        x = ck_net_max_pool(net, x, large ? 3 : 2, 2, 1);
    ck_net_tap(net, x, "maxpool");
    return x;
}

int ck_resnet_build(struct ck_net *net, const struct ck_resnet_options *o)
{
    const struct arch_row *a = &archs[o->arch];
    int64_t planes = llround(64 * o->width);
    if (!(o->width > 0) || planes < 1 || o->width > 16)
        return ck_fail(COKE_EUSAGE, "width %g: the factor must be between 1/64 and 16",
                       o->width);
    int x = add_stem(net, o, planes);
    for (int stage = 0; stage < 4; stage++) {
        char name[CK_NET_NAME];
        for (int b = 0; b < a->blocks[stage]; b++) {
            snprintf(name, sizeof name, "layer%d.%d", stage + 1, b);
            x = add_block(net, name, x, planes << stage, stage && !b ? 2 : 1, a->bottleneck);
        }
        snprintf(name, sizeof name, "layer%d", stage + 1);
        ck_net_tap(net, x, name);
    }
    return ck_net_mean(net, x);
}
