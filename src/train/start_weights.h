/* start_weights.h - a training that starts from the weights of another encoder. */
#ifndef CK_START_WEIGHTS_H
#define CK_START_WEIGHTS_H

#include "train/session.h"

/* Replaces the weights of the session's encoder by those in `path`: a run folder, a checkpoint,
 * an encoder, or a file that coke import takes. The backbones must agree; projector and
 * predictor are taken where name and shape agree, otherwise they keep their random weights.
 * Says what was taken. Every rank reads the file itself. */
int ck_session_start_from(struct ck_session *s, const char *path,
                          const struct coke_callbacks *messages);

#endif
