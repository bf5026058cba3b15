/* batch_loss.h - from the outputs of a step to a loss in double, and its gradients back.
 *
 * ck_batch_loss: the loss compares all images of the batch of all ranks; every rank gathers the
 * outputs, computes the whole loss and keeps the gradients of its own images. ck_part_loss: the
 * loss is a mean over images; every rank computes that of its own, part by part. */
#ifndef CK_BATCH_LOSS_H
#define CK_BATCH_LOSS_H

#include "train/session.h"

/* Owned by the session (s->own). Arrays are [views][total][dim] for the batch of all ranks. */
struct ck_batch_loss {
    double *proj, *pred; /* pred NULL = no predictor */
    double *grad;
    double *scratch;
    float *gathered; /* [max_batch][dim] */
    void *extra;     /* what else the method keeps; it frees it */
};

/* scratch: doubles that the loss needs for the largest batch. s->own begins with *l. */
int ck_batch_loss_make(struct ck_batch_loss *l, const struct ck_session *s, int64_t scratch);
void ck_batch_loss_drop(struct ck_batch_loss *l);
/* The same for methods whose s->own is nothing more. */
int ck_batch_loss_init(struct ck_session *s, int64_t scratch);
void ck_batch_loss_release(struct ck_session *s);
/* Why batches cannot be split: a row's whole_batch. */
const char *ck_batch_loss_whole(const struct ck_train_options *o);
/* Refuses batches of one image, of which there are no variances: a row's check. */
int ck_batch_loss_check_two(const struct ck_train_options *o);

/* Fills proj and pred with the outputs of all ranks. Collective. */
int ck_batch_loss_gather(struct ck_session *s, struct ck_part part);
/* Takes the loss of the whole batch, and its gradients for the images of this rank: of the
 * projections or the predictions. The others have none. */
int ck_batch_loss_take(struct ck_session *s, struct ck_part part, double loss, int of_pred,
                       double *sums);

/* The part's loss, a mean over its images, and the gradients of that, [views][part.n][dim]: of the
 * projections or the predictions. */
int ck_part_loss_take(struct ck_session *s, struct ck_part part, double loss,
                      const double *grad, int of_pred, double *sums);
/* A copy of n values in double. */
void ck_part_loss_widen(const float *from, int64_t n, double *to);

#endif
