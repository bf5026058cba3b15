/* session.h - everything a training owns, built once; step.c runs the batches.
 *
 * One thread drives a session, the one that called ck_session_init: it calls the loader, the
 * steps and the collectives of the group. Steps use the OpenMP team of the process, and the
 * loader has threads of its own. */
#ifndef CK_SESSION_H
#define CK_SESSION_H

#include "data/fetch.h"
#include "nn/encoder.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"
#include "train/heads.h"
#include "train/method.h"
#include "train/plan_cache.h"
#include "train/ranks.h"

struct ck_session {
    struct ck_train_options o;
    struct coke_dataset *data; /* borrowed: must outlive the session */
    struct ck_ranks ranks;
    struct coke_loader *loader;
    struct coke_encoder encoder;
    int encoder_ready;           /* encoder must be released */
    struct coke_encoder average; /* of option ema: train/averaged.h */
    int average_ready;
    struct ck_optimizer *optimizer;
    struct ck_schedule schedule;
    const struct ck_method *method;
    enum coke_output output; /* that the method's loss takes as projections */
    void *own;               /* state of the method; its row releases it */
    struct ck_heads heads;   /* of methods with clusters, else empty */
    struct ck_loss *loss;    /* of methods with clusters, else NULL */
    int skip;         /* first views, which the encoder does not run: for a teacher alone */
    int views, large; /* that it runs; large: the first ones, whose projections are clustered */
    int dim;
    int64_t max_batch; /* images of a batch of all ranks, at most */
    int64_t max_local; /* images of this process's part of a batch, at most */
    int64_t steps;     /* per epoch */
    struct ck_plan_cache plans;
    /* Buffers of a step. */
    float *proj, *pred;           /* [views][part][dim]; pred NULL = no predictor */
    float *grad_proj, *grad_pred; /* the same shapes */
    float *projections;           /* [max_batch][dim] one per image, of all ranks */
    int64_t *ids;                 /* [max_batch] images of the batch of all ranks */
    float *blank;        /* a zero image for ranks without images; NULL = one process */
    double *feature_sum; /* [dim] over this epoch; the loop resets it, checkpoints keep it */
    uint64_t *content;   /* [ck_content_count] hashes of images; NULL = not read yet */
};

/* What a step did. */
struct ck_step {
    int64_t epoch, step, images; /* images of all ranks */
    double rate, loss;           /* loss: mean over the images of all ranks */
};

/* Validates the options against the data and the group and builds all parts. The batch must be
 * chosen (train/batch_choice.h). Collective. Call ck_session_release in any case: after a failure *s holds what was built so far. */
int ck_session_init(struct ck_session *s, struct coke_dataset *data,
                    const struct ck_train_options *o);
void ck_session_release(struct ck_session *s);

/* Reads samples of the images into s->content, unless it has. */
int ck_session_read_content(struct ck_session *s);

/* The encoder's plans for n images of the sizes of b: ck_plan_cache_get. */
int ck_session_plans(struct ck_session *s, const struct coke_batch *b, int64_t n,
                     struct ck_plans **out);

/* Hash of the weights, running statistics, clusterings and the method's state, which must agree
 * on all ranks. */
int ck_session_hash(const struct ck_session *s, uint64_t *out);

/* Images that the encoder runs for a part: a rank without images runs a blank one. */
static inline int64_t ck_part_images(struct ck_part part)
{
    return part.n > 0 ? part.n : 1;
}

/* View v of all, for the part's images, or the blank image. */
const float *ck_session_view(const struct ck_session *s, const struct coke_batch *b,
                             struct ck_part part, int v);

/* step.c: runs one batch of the loader. Collective: every rank passes its part of the batch,
 * which may have no images. After a failure the session can only be released. */
int ck_session_step(struct ck_session *s, const struct coke_batch *b, struct ck_step *out);

#endif
