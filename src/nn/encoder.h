/* encoder.h - a backbone with projector and predictor: maps images to features, projections and
 * predictions. */
#ifndef CK_ENCODER_H
#define CK_ENCODER_H

#include "coke/types.h"
#include "nn/net.h"
#include "nn/nn_options.h"

struct coke_encoder {
    struct ck_encoder_options o;
    struct ck_net net;
    int node[CK_OUTPUTS]; /* indexed by enum coke_output; -1 = not present */
};

/* Builds and initialises the network. On failure e is released. */
int ck_encoder_init(struct coke_encoder *e, const struct ck_encoder_options *o);
void ck_encoder_release(struct coke_encoder *e);

/* The same on the heap. */
int ck_encoder_new(struct coke_encoder **out, const struct ck_encoder_options *o);
void ck_encoder_free(struct coke_encoder *e);

/* A parameter or running statistic by name, or NULL. */
const struct ck_param *ck_encoder_find(const struct coke_encoder *e, const char *name);
/* Call it after changing weights from outside: plans read them again. */
void ck_encoder_touch(struct coke_encoder *e);

/* Adds weights, running statistics and, as metadata, the options. `s` borrows from e. */
int ck_encoder_save(const struct coke_encoder *e, struct ck_state *s);
int ck_encoder_save_options(const struct ck_encoder_options *o, struct ck_state *s);
/* Reads the options from a state's metadata; COKE_EFORMAT if it has none. Options that were added
 * after the state was saved have their defaults. */
int ck_encoder_options_from(struct ck_encoder_options *o, const struct ck_state *s,
                            const char *source);

#endif
