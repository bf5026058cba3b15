/* label_loss.h - the discrimination loss with one hard label per head and image. */
#ifndef CK_LABEL_LOSS_H
#define CK_LABEL_LOSS_H

#include "coke/types.h"
#include "nn/loss.h"

struct coke_loss {
    struct ck_loss *loss;
    struct ck_targets target[COKE_MAX_HEADS];
    double head_loss[COKE_MAX_HEADS];
    int heads;
    int64_t batch; /* instances of a step at most */
};

/* Allocates all memory of a step. *out is set only on success; free it with ck_label_loss_free. */
int ck_label_loss_new(struct coke_loss **out, const struct ck_loss_setup *o);
void ck_label_loss_free(struct coke_loss *l);
/* ck_loss_step with labels [heads][n] as targets. Borrows all arrays for the call. One thread at
 * a time per loss, which runs the team. */
int ck_label_loss_step(struct coke_loss *l, const struct coke_loss_input *in,
                       struct coke_loss_output *out);

#endif
