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
    int64_t usable; /* rows that are not bad */
    int64_t batch;  /* rows per batch */
    int64_t early;  /* rows of the first epoch that form an epoch of their own; 0 = none */
    enum ck_shuffle shuffle;
    /* one batch, buffers reused */
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

/* Reports progress through the callbacks; COKE_ESTOPPED if the caller asks to stop. */
int ck_job_report(const struct ck_job *j, const char *phase, int64_t epoch, int64_t epochs,
                  int64_t done, int64_t total, double objective);

/* ---- job_share.c ---- */

/* Several processes: fails unless all have the same options and rows, and can divide them. */
int ck_job_agree(struct ck_job *j);
/* After an epoch: fails unless all hold the same centers, duals and labels. */
int ck_job_compare(struct ck_job *j, int64_t epoch);

/* ---- job_end.c ---- */

/* Copies centers [k][ld] to [k][dim]; from and to may be the same memory. */
void ck_job_compact(const float *from, int64_t k, int ld, int dim, float *to);
/* Final scan and repair of head h with its last centers; fills its summary, sizes and
 * prices. */
int ck_job_finish_head(struct ck_job *j, int h);
/* The same for a one-pass stream, which is consumed by then: keeps the labels that the epoch
 * assigned. */
int ck_job_finish_stream(struct ck_job *j, int h);

#endif
