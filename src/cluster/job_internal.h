/* job_internal.h - a clustering under way, between job.c, job_share.c and job_end.c. */
#ifndef CK_JOB_INTERNAL_H
#define CK_JOB_INTERNAL_H

#include "cluster/job.h"
#include "cluster/kmeans_internal.h"
#include "cluster/multihead.h"
#include "cluster/order.h"
#include "cluster/start.h"

struct ck_job {
    struct coke_cluster *c;
    const struct coke_cluster_input *input;
    const struct coke_cluster *from; /* a fit on other rows: only labels are made; or NULL */
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

/* One whole clustering. from: NULL, or the result on other rows, whose centers and prices are
 * kept: there are no epochs then. */
int ck_job_run(struct coke_cluster **out, const struct coke_cluster_input *input,
               const struct ck_cluster_options *options, const struct coke_callbacks *callbacks,
               const struct ck_share *share, const struct coke_cluster *from);

/* ---- job_from.c ---- */

/* Before any reading: do centers and model of the input fit the rows? Sets k to that of the
 * model if it is not given. */
int ck_job_check_from(const struct coke_cluster_input *in, struct ck_ints *k);
/* Starts of a head: one if its centers are given. */
int64_t ck_job_most_starts(const struct ck_job *j, int64_t starts);
/* Widens the scan's frame to given centers that are farther away than the rows. */
int ck_job_cover_centers(struct ck_job *j);
/* center [k][ld], out: the given ones, or by `how`. */
int ck_job_centers(const struct ck_job *j, int h, enum ck_init how, uint64_t seed,
                   float *center);
/* *low and *high [k]: bounds that the model brings, to be freed with ck_free; else NULL. */
int ck_job_sizes(const struct ck_job *j, int64_t **low, int64_t **high);
/* After ck_kmeans_new: duals of the model, and the weight of the given centers. */
void ck_job_start_head(struct ck_job *j, int h);

/* ---- job_levels.c ---- */

/* Before any reading: can this input be clustered in two levels, if that is asked for? */
int ck_job_check_levels(const struct ck_job *j);
/* Levels of head h: 1 = flat, 2 = by a tree; and the most that any head has. */
int ck_job_levels(const struct ck_job *j, int h);
int ck_job_most_levels(const struct ck_job *j);
/* Of a head of two levels: first centers [k][ld], its tree, the lead of the best center. */
int ck_job_start_tree(struct ck_job *j, int h, uint64_t seed, float *center,
                      struct ck_tree **tree, double *gap);
/* Of a head of two levels: final scan and repair, and what the summary has of them. */
int ck_job_finish_tree(struct ck_job *j, int h, int bounded);

/* ---- job_share.c ---- */

/* Several processes: fails unless all have the same options and rows, and can divide them. */
int ck_job_agree(struct ck_job *j);
/* After an epoch: fails unless all hold the same centers, duals and labels. */
int ck_job_compare(struct ck_job *j, int64_t epoch);

/* ---- job_end.c ---- */

/* Final scan and repair of head h with its last centers; fills its summary, sizes and
 * prices. */
int ck_job_finish_head(struct ck_job *j, int h);
/* The same for a one-pass stream, which is consumed by then: keeps the labels that the epoch
 * assigned. */
int ck_job_finish_stream(struct ck_job *j, int h);

#endif
