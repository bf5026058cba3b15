/* averaged.h - the moving average of a training's weights (option ema), which is evaluated and
 * saved as its encoder. An extension: the paper has none. */
#ifndef CK_AVERAGED_H
#define CK_AVERAGED_H

#include "train/session.h"

/* Makes the second set of weights, if the options ask for it. After the encoder. */
int ck_averaged_init(struct ck_session *s);
void ck_averaged_release(struct ck_session *s);
/* After every step, by all ranks alike. In an epoch that trains nothing it copies the weights. */
void ck_averaged_update(struct ck_session *s, int64_t epoch, int64_t step);
/* The encoder that is evaluated and used: the average if there is one. */
struct coke_encoder *ck_averaged_encoder(struct ck_session *s);

/* Tensors "ema.NAME" of a checkpoint, borrowed from s, and back. */
int ck_averaged_save(const struct ck_session *s, struct ck_state *out);
int ck_averaged_load(struct ck_session *s, const struct ck_state *from, const char *path);
int ck_averaged_owns(const char *tensor); /* is it one of these? */
/* Loads them into a network; *found is 0 where the state has none. */
int ck_averaged_read(const struct ck_state *from, struct ck_net *net, const char *path,
                     int *found);

#endif
