/* encoder_file.h - encoders from and to safetensors files, and out of checkpoints. */
#ifndef CK_ENCODER_FILE_H
#define CK_ENCODER_FILE_H

#include "nn/encoder.h"

/* path: an encoder, or a checkpoint, whose encoder is taken. */
int ck_encoder_open(struct coke_encoder **out, const char *path);
int ck_encoder_write(const struct coke_encoder *e, const char *path, int force);
/* All weights or none; names that begin with `ignore` (NULL = none) are left alone. */
int ck_encoder_load_weights(struct coke_encoder *e, const char *path, const char *ignore);

#endif
