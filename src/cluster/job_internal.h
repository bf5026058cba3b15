/* job_internal.h - a clustering under way, between job.c, job_share.c and job_end.c. */
#ifndef CK_JOB_INTERNAL_H
#define CK_JOB_INTERNAL_H

#include "cluster/job.h"
#include "cluster/kmeans_internal.h"
#include "cluster/multihead.h"
#include "cluster/order.h"

struct ck_job {
    struct coke_cluster *c;
    const struct coke_cluster_input *input;
    const struct coke_callbacks *cb;
    int64_t usable;
    int64_t batch;
    int64_t early; /* rows of the first epoch that are an epoch of their own; 0 = none */
    enum ck_shuffle shuffle;
    /* one batch */
    struct ck_order order;
    int64_t *id;      /* [batch] */
    float *x;         /* [batch + tile][ld] */
    int32_t *label;   /* [heads][n] */
    float *score;     /* [heads][n] */
    int64_t first, n; /* positions of the batch; rows in it */
    struct ck_share share;
    /* one epoch */
    double objective[COKE_MAX_HEADS];
    int64_t same_as_last, pairs; /* neighbours in the stream with the same label (head 0) */
};

/* Tells the caller how far it is; fails where the caller wants to stop. */
int ck_job_report(const struct ck_job *j, const char *phase, int64_t epoch, int64_t epochs,
                  int64_t done, int64_t total, double objective);

/* ---- job_share.c ---- */

/* Several processes: fails unless all have the same options and rows, and can share them. */
int ck_job_agree(struct ck_job *j);
/* After an epoch: fails unless all hold the same centers, duals and labels. */
int ck_job_compare(struct ck_job *j, int64_t epoch);

/* ---- job_end.c ---- */

/* center [k][ld] to [k][dim]; may be the same place. */
void ck_job_compact(const float *from, int64_t k, int ld, int dim, float *to);
int ck_job_finish_head(struct ck_job *j, int h);
/* A stream is gone when the epoch is over: its labels are those it got in passing. */
int ck_job_finish_stream(struct ck_job *j, int h);

#endif
