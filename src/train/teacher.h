/* teacher.h - a second encoder that follows the trained one as a moving average: what BYOL calls
 * the target network, MoCo the key encoder and DINO the teacher.
 *
 * It has backbone and projector, no predictor. Its parameters are averages; its running statistics
 * are its own, of the batches that it sees. */
#ifndef CK_TEACHER_H
#define CK_TEACHER_H

#include "train/session.h"

struct ck_teacher {
    struct coke_encoder encoder;
    int ready; /* encoder must be released */
    struct ck_plan_cache plans;
    int views;   /* the first ones: those that it alone sees, or else all large ones */
    float *proj; /* [views][part][dim] its projections, with length 1 */
};

/* A copy of the session's encoder. Release it in any case. */
int ck_teacher_init(struct ck_teacher *t, const struct ck_session *s);
void ck_teacher_release(struct ck_teacher *t);
/* Becomes a copy of the session's encoder. */
void ck_teacher_copy(struct ck_teacher *t, const struct ck_session *s);

/* Runs forward on its views of a part. Collective. */
int ck_teacher_run(struct ck_teacher *t, struct ck_session *s, const struct coke_batch *b,
                   struct ck_part part);
/* Follows the encoder after its step in batch b. The tau that it returns depends on the step
 * (options momentum-start, momentum-end). */
double ck_teacher_follow(struct ck_teacher *t, const struct ck_session *s,
                         const struct coke_batch *b);

/* ---- functions of the rows of methods whose s->own begins with a teacher ---- */

int ck_taught_state(const struct ck_session *s, struct ck_state *out);
int ck_taught_loaded(struct ck_session *s);
int ck_taught_begin_run(struct ck_session *s, const struct coke_callbacks *messages);
int ck_taught_after_step(struct ck_session *s, const struct coke_batch *b);

#endif
