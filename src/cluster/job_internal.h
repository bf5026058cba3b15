/* job_internal.h - a clustering under way, between job.c, job_share.c, job_end.c and polish.c. */
#ifndef CK_JOB_INTERNAL_H
#define CK_JOB_INTERNAL_H

#include "cluster/batch_run.h"
#include "cluster/descent.h"
#include "cluster/job.h"
#include "cluster/kmeans_internal.h"
#include "cluster/order.h"
#include "cluster/start.h"

/* What one start of a head has found. Owned. */
struct ck_found {
    struct coke_kmeans *head;
    struct coke_head_summary summary;
    float *price, *center; /* price: in inner units */
    int64_t *size;
    double fit;
};

struct ck_job {
    struct coke_cluster *c;
    const struct coke_cluster_input *input;
    const struct coke_cluster *from; /* a fit on other rows: only labels are made; or NULL */
    const struct coke_callbacks *cb;
    int64_t usable; /* rows that are not bad */
    int64_t batch;  /* rows per batch */
    int64_t early;  /* rows of the first epoch that form an epoch of their own; 0 = none */
    enum ck_shuffle shuffle;
    int64_t starts[COKE_MAX_HEADS];       /* of each head, the best of which counts */
    int64_t start;                        /* the present one */
    struct ck_found best[COKE_MAX_HEADS]; /* of the starts before */
    int64_t redraw[COKE_MAX_HEADS];       /* centers that the next start changes */
    int failures[COKE_MAX_HEADS];         /* starts in succession that found nothing better */
    double fit[COKE_MAX_HEADS];           /* total score of the present one: more is better */
    int guided[COKE_MAX_HEADS];           /* ck_kmeans_guide is in effect */
    /* heads that have not converged in this start, in ascending order */
    int running, which[COKE_MAX_HEADS];
    struct coke_kmeans *head[COKE_MAX_HEADS]; /* [running] borrowed */
    /* one batch, buffers reused */
    struct ck_batch_scratch scratch;
    struct ck_order order;
    int64_t *id;      /* [batch] */
    float *x;         /* [batch + tile][ld] */
    int32_t *label;   /* [running][n] */
    float *score;     /* [running][n] */
    int64_t first, n; /* positions of the batch; rows in it */
    struct ck_share share;
    /* rounds of polish after the first report as one phase, through these callbacks */
    struct coke_callbacks polishing;
    const struct coke_callbacks *round; /* those of the present round */
    int64_t round_number;
    /* one epoch */
    double objective[COKE_MAX_HEADS]; /* by head, as all below */
    int64_t rows;                     /* visited in all epochs of all starts */
    int64_t same_as_last,
        pairs; /* neighbours in the stream with the same label (of the first head) */
};

/* The seed of a start of head h. */
uint64_t ck_job_seed(const struct ck_job *j, int h, int64_t start);
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
int ck_job_finish_tree(struct ck_job *j, int h, int bounded, double *weight);

/* ---- job_share.c ---- */

/* Several processes: fails unless all have the same options and rows, and can divide them. */
int ck_job_agree(struct ck_job *j);
/* After an epoch: fails unless all hold the same centers, duals and labels. */
int ck_job_compare(struct ck_job *j, int64_t epoch);

/* ---- job_end.c ---- */

/* Final scan, repair and polish of head h from its last centers; fills its summary, sizes and
 * prices. */
int ck_job_finish_head(struct ck_job *j, int h);
/* The same for a one-pass stream, which is consumed by then: keeps the labels that the epoch
 * assigned. */
int ck_job_finish_stream(struct ck_job *j, int h);
/* Prices of the result, from inner units to those of the data. */
void ck_job_scale_prices(struct coke_cluster *c, int h);

/* ---- restart.c ---- */

/* The best centers so far. Borrowed. */
struct ck_best {
    const float *center; /* [k][ld] */
    const int64_t *size; /* [k] */
};

/* center [k][ld], out: those of `from`, j->redraw[h] of them drawn anew. */
int ck_restart_centers(struct ck_job *j, int h, const struct ck_best *from, uint64_t seed,
                       float *center);
/* After the epochs: all starts of head h, by descents. Every process does the same. The best centers
 * become those of the head, with their sizes; *d, which the caller releases in any case, keeps rows
 * and prices. */
int ck_restart_in_memory(struct ck_job *j, int h, int bounded, struct ck_descent *d);

/* ---- polish.c ---- */

/* How many starts of head h, and how many rounds of polish each, as the options say or by an
 * estimate of the cost, which depends on sizes alone. */
int64_t ck_polish_starts(const struct ck_job *j, int h);
int64_t ck_polish_rounds(const struct ck_job *j, int h);
/* Are the rows of head h few enough for descents? Its starts then are part of its only one. */
int ck_polish_in_memory(const struct ck_job *j, int h);
int64_t ck_polish_most_rounds(const struct ck_job *j); /* of a descent */
/* Reports a round of a descent, of which there are j->c->summary[h].restarts before. */
int ck_polish_report(const struct ck_job *j, int h, int64_t round);
/* How centers of head h are drawn: never CK_INIT_AUTO. */
enum ck_init ck_polish_init(const struct ck_job *j, int h);
/* After a start of head h: have the last ones brought nothing, so that auto ends here? */
int ck_polish_gives_up(const struct ck_job *j, int h);
/* Sets the callbacks of the next round. */
void ck_polish_announce(struct ck_job *j, int h);
/* Moves the centers of head h to the means of its labels: one read of the rows. *fit: total
 * similarity to them. Collective if processes share the rows. */
int ck_polish_move(struct ck_job *j, int h, double *fit, int *moved);

#endif
