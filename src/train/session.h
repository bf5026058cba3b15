/* session.h - everything a training owns, built once and put together in step.c. */
#ifndef CK_SESSION_H
#define CK_SESSION_H

#include "data/fetch.h"
#include "nn/encoder.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/plan.h"
#include "nn/schedule.h"
#include "train/heads.h"
#include "train/ranks.h"

/* The network compiled for one number of images, a plan for each view. */
struct ck_passes {
    int64_t n; /* 0 = free */
    int64_t used;
    struct ck_plan *plan[COKE_MAX_VIEWS];
};

enum { CK_PASSES = 4 };

struct ck_session {
    struct ck_train_options o;
    struct coke_dataset *data; /* borrowed */
    struct ck_ranks ranks;
    struct coke_loader *loader;
    struct coke_encoder encoder;
    int encoder_ready;
    struct ck_optimizer *optim;
    struct ck_schedule sched;
    struct ck_heads heads;
    struct ck_loss *loss;
    int views, large; /* large: the first one or two, which also cluster */
    int dim;
    int64_t most;  /* images of a batch, at most, */
    int64_t share; /* and of this process's part of it */
    int64_t steps; /* an epoch */
    int64_t clock; /* counts uses of passes */
    struct ck_passes passes[CK_PASSES];
    float *proj, *pred;           /* [views][n][dim] */
    float *grad_proj, *grad_pred; /* the same */
    float *features;              /* [n][dim] what is clustered: of the whole batch */
    int64_t *ids;                 /* [n] the images of the whole batch */
    double *feature_sum;          /* [dim] of this epoch */
    float *blank;                 /* an image for processes that have none; NULL = alone */
};

/* What a step did. */
struct ck_step {
    int64_t epoch, step, images; /* of all processes */
    double rate, loss;
};

int ck_session_init(struct ck_session *s, struct coke_dataset *data,
                    const struct ck_train_options *o);
void ck_session_release(struct ck_session *s);

/* The plans for batches of n images; those not used for longest make room. */
int ck_session_passes(struct ck_session *s, const struct coke_batch *b, int64_t n,
                      struct ck_passes **out);

/* The same on all processes, as long as nothing goes wrong. */
uint64_t ck_session_hash(const struct ck_session *s);

/* step.c: one batch. */
int ck_session_step(struct ck_session *s, const struct coke_batch *b, struct ck_step *out);

#endif
