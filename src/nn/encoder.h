/* encoder.h - a backbone with its head: images in, features, projections and predictions out.
 */
#ifndef CK_ENCODER_H
#define CK_ENCODER_H

#include "coke/types.h"
#include "nn/net.h"
#include "nn/nn_options.h"

struct coke_encoder {
    struct ck_encoder_options o;
    struct ck_net net;
    int node[CK_OUTPUTS]; /* by enum coke_output; -1 = this encoder has none */
};

int ck_encoder_init(struct coke_encoder *e, const struct ck_encoder_options *o);
void ck_encoder_release(struct coke_encoder *e);

int ck_encoder_new(struct coke_encoder **out, const struct ck_encoder_options *o);
void ck_encoder_free(struct coke_encoder *e);

/* A parameter or running statistic by name, or NULL. */
const struct ck_param *ck_encoder_find(const struct coke_encoder *e, const char *name);
/* The weights were changed from outside: plans read them again. */
void ck_encoder_touch(struct coke_encoder *e);

/* Weights, running statistics and, in the metadata, the options. `s` borrows from e. */
int ck_encoder_save(const struct coke_encoder *e, struct ck_state *s);
int ck_encoder_save_options(const struct ck_encoder_options *o, struct ck_state *s);
/* The options that a state's metadata name; COKE_EFORMAT if it has none. */
int ck_encoder_options_from(struct ck_encoder_options *o, const struct ck_state *s,
                            const char *source);

#endif
