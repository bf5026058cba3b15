/* run_heads.h - the clusterings of a run as plain arrays, for readers of its files. */
#ifndef CK_RUN_HEADS_H
#define CK_RUN_HEADS_H

#include "train/run_files.h"

struct ck_run_head {
    int64_t n, k;
    int dim;
    int32_t *label;    /* [n] -1 = none */
    float *center;     /* [k][dim] of the last epoch */
    float *dual;       /* [k] */
    int64_t *min_size; /* [k] */
};

/* Copies head h < r->heads; ck_run_head_release also after a failure. */
int ck_run_head_init(struct ck_run_head *out, const struct ck_run *r, int h);
void ck_run_head_release(struct ck_run_head *h);

#endif
