/* checkpoint.h - a training on disk: everything a later process needs to resume to the same
 * bytes as an uninterrupted run.
 *
 * A checkpoint is a safetensors file. Tensors: the network, the optimizer ("momentum.*"), the
 * clusterings ("headH.*"), "image_ids", "image_content" and "feature_sum". Metadata: the
 * position, all options, and the versions and thread count that the bytes depend on. */
#ifndef CK_CHECKPOINT_H
#define CK_CHECKPOINT_H

#include "train/session.h"

/* How far a training is: `step` steps of epoch `epoch` are done. */
struct ck_position {
    int64_t epoch, step;
    int64_t metrics_bytes; /* length of metrics.jsonl */
    double best;           /* score of best.safetensors; -HUGE_VAL = none yet */
    double loss_sum;       /* over the images of this epoch so far */
    double last_loss;      /* mean of the epoch before */
    int64_t images;        /* of this epoch so far, of all ranks */
};

/* Writes atomically, replacing an older file of that name. */
int ck_checkpoint_write(const char *path, const struct ck_session *s,
                        const struct ck_position *at);

/* Adds as metadata which images the encoder takes: image.mean and image.std, one number per
 * channel for pixels in 0..1, and image.size. */
int ck_checkpoint_add_images(struct ck_state *state, const struct ck_session *s);

/* Is the file a whole checkpoint? Reads it and compares all checksums. */
int ck_checkpoint_verify(const char *path);

/* Loads a checkpoint into *s and *at and moves the loader to its next batch. Fails with a
 * message that names the difference if the data set, options, thread or process count or
 * versions differ. With `anyway` only incompatible differences fail (other images, other
 * shapes); the rest are reported through cb, which may be NULL. After a failure *s may be
 * half loaded and can only be released. */
int ck_checkpoint_read(const char *path, struct ck_session *s, struct ck_position *at,
                       int anyway, const struct coke_callbacks *cb);

/* Parts of a checkpoint that was read, for callers that do not resume the training. */
int ck_checkpoint_is(const struct ck_state *s);
int ck_checkpoint_options(const struct ck_state *s, struct ck_train_options *o,
                          const char *path);
/* Loads the network: the averaged weights if there are any, else those that were trained. */
int ck_checkpoint_encoder(const struct ck_state *all, struct ck_net *net, const char *path);

#endif
