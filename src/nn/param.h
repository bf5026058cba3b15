/* param.h - named f32 tensors: learned parameters and running statistics. */
#ifndef CK_PARAM_H
#define CK_PARAM_H

#include <stdint.h>

enum { CK_PARAM_NAME = 64 };

/* Owned by a network; optimizers, plans and states borrow it. Not synchronised. */
struct ck_param {
    char name[CK_PARAM_NAME]; /* "layer1.0.conv1.weight" */
    int ndim;
    int64_t shape[4]; /* as in PyTorch: OIHW, [out][in], [c] */
    int64_t size;     /* product of shape */
    float *value;     /* [size], C order */
    float *grad;      /* [size], summed over the plans of a step; NULL for running statistics */
    int fixed;        /* a constant of a layer: neither learned nor saved */
    uint64_t
        version; /* incremented with each change of value; tells copies that they are stale */
};

#endif
