/* job_run.h - between job.c, job_share.c and job_end.c: a clustering that is under way. */
#ifndef CK_JOB_RUN_H
#define CK_JOB_RUN_H

#include "cluster/job.h"
#include "cluster/order.h"
#include "dist/group.h"

#include "core/first_error.h"
#include <stdatomic.h>

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
    int32_t *label;   /* [heads][batch] */
    float *score;     /* [heads][batch] */
    int64_t first, n; /* positions of the batch; rows in it */
    int block;
    /* of several processes, what this one does */
    struct ck_group *group;
    int rank, size;
    int64_t from, to;            /* rows of the batch that it labels */
    int64_t *bytes;              /* [size] */
    int64_t *sum;                /* [most k][ld]; NULL = alone */
    struct ck_first_error error; /* of the team that labels a batch */
    /* one epoch */
    double objective[COKE_MAX_HEADS];
    int64_t same_as_last, pairs; /* neighbours in the stream with the same label (head 0) */
};

/* Tells the caller how far it is; fails where the caller wants to stop. */
int ck_job_report(const struct ck_job *j, const char *phase, int64_t epoch, int64_t epochs,
                  int64_t done, int64_t total, double objective);

/* ---- job_share.c ---- */

/* Several processes: do they mean the same, and what they need to share it. */
int ck_job_prepare_sharing(struct ck_job *j, int64_t most_k);
/* The first of n rows that process `rank` labels. */
int64_t ck_job_share_start(int64_t n, int rank, int size);
/* Labels and scores of all rows of the batch, and what moves the centers, on all processes. */
int ck_job_exchange(struct ck_job *j);
/* Sums of the rows by cluster are exchanged, not the rows: whatever is shorter. */
int ck_job_prefers_sums(const struct ck_job *j);
int ck_job_apply_sums(struct ck_job *j, int head);
/* After an epoch: all hold the same centers, duals and labels, or it fails. */
int ck_job_compare(struct ck_job *j, int64_t epoch);

/* ---- job_end.c ---- */

/* center [k][ld] to [k][dim]; may be the same place. */
void ck_job_compact(const float *from, int64_t k, int ld, int dim, float *to);
int ck_job_finish_head(struct ck_job *j, int h);
/* A stream is gone when the epoch is over: its labels are those it got in passing. */
int ck_job_finish_stream(struct ck_job *j, int h);

#endif
