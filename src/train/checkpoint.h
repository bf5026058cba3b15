/* checkpoint.h - a training on disk: everything that a later process needs to go on as if
 * nothing had happened. */
#ifndef CK_CHECKPOINT_H
#define CK_CHECKPOINT_H

#include "train/session.h"

/* Where a training stands: this many steps of this epoch are done. */
struct ck_position {
    int64_t epoch, step;
    int64_t metrics_bytes; /* length of metrics.jsonl */
    double best;           /* what best.safetensors reached; -1e300 = none yet */
    double loss_sum;       /* of this epoch so far */
    double last_loss;      /* of the epoch before */
    int64_t images;
};

/* Whole or not at all; an older file of that name is replaced. */
int ck_checkpoint_write(const char *path, const struct ck_session *s,
                        const struct ck_position *at);

/* What images the encoder takes, as metadata: image.mean and image.std, a number a channel, of
 * pixels between 0 and 1; image.size. */
int ck_checkpoint_add_images(struct ck_state *state, const struct ck_session *s);

/* Continues from it. Another data set, other options, threads or versions are errors in words;
 * anyway: of these only what makes it impossible. What differs then goes to say. */
int ck_checkpoint_read(const char *path, struct ck_session *s, struct ck_position *at,
                       int anyway, const struct coke_callbacks *cb);

/* Parts of a checkpoint, for those who want no training from it. */
int ck_checkpoint_is(const struct ck_state *s);
int ck_checkpoint_options(const struct ck_state *s, struct ck_train_options *o,
                          const char *path);
/* The tensors of the network are those that belong to no one else. */
int ck_checkpoint_encoder(const struct ck_state *all, struct ck_net *net, const char *path);

#endif
