/* batch_loss.h - what methods share whose loss compares all images of the batch of all ranks:
 * every rank gathers the outputs, computes the whole loss and keeps the gradients of its own
 * images. */
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

/* scratch: doubles that the loss needs for the largest batch. */
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

#endif
