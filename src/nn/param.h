/* param.h - what a network learns, and what it keeps beside it: named f32 tensors. */
#ifndef CK_PARAM_H
#define CK_PARAM_H

#include <stdint.h>

enum { CK_PARAM_NAME = 64 };

struct ck_param {
    char name[CK_PARAM_NAME]; /* "layer1.0.conv1.weight" */
    int ndim;
    int64_t shape[4]; /* as PyTorch has it: OIHW, [out][in], [c] */
    int64_t size;     /* product of shape */
    float *value;     /* [size], C order */
    float *grad; /* [size], summed over the passes of a step; NULL for running statistics */
    uint64_t version; /* whoever changes value raises it; copies in other layouts compare it */
};

#endif
