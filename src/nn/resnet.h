/* resnet.h - residual networks with torchvision's names. */
#ifndef CK_RESNET_H
#define CK_RESNET_H

#include "nn/net.h"

enum ck_arch { CK_RESNET18, CK_RESNET34, CK_RESNET50 };
enum ck_stem { CK_STEM_IMAGENET, CK_STEM_CIFAR, CK_STEM_STL };

struct ck_resnet_options {
    enum ck_arch arch;
    enum ck_stem stem;
    double width;     /* factor on the channels of all layers */
    int64_t channels; /* channels of the images */
};

/* Appends input, stem and blocks, with taps bn1, maxpool (the stem's output) and layer1..4;
 * returns the node of the pooled features, or a status. */
int ck_resnet_build(struct ck_net *net, const struct ck_resnet_options *o);

#endif
