/* health.h - warns when a training goes wrong: what was measured and which options to try. */
#ifndef CK_HEALTH_H
#define CK_HEALTH_H

#include "train/journal.h"

/* Kinds of warnings, each given once per training. docs/training.md has a table of them. */
enum ck_alarm {
    CK_ALARM_GIANT,
    CK_ALARM_EMPTY,
    CK_ALARM_CONSTANT,
    CK_ALARM_DUPLICATES,
    CK_ALARM_DUALS,
    CK_ALARM_CHANCE,
    CK_ALARM_STILL,
    CK_ALARMS
};
/* "giant", ... as in metrics.jsonl. */
const char *ck_alarm_name(enum ck_alarm a);

/* Epochs in a row in which a head looked bad. */
struct ck_head_streaks {
    int giant, empty, duplicates, duals, chance;
    double right, guess; /* fractions of recent predictions: right, and right by luck */
    int64_t seen;        /* epochs in these averages */
};

struct ck_health_facts;

/* What was seen so far; a zeroed struct is the start. Not saved: after a resume
 * ck_health_replay restores it from the metrics. */
struct ck_health {
    int given;    /* bits of enum ck_alarm */
    int up, down; /* bits of options that the user was told to change */
    struct ck_head_streaks head[COKE_MAX_HEADS];
    int constant, still;                 /* streaks; still: of evaluations */
    int64_t still_since;                 /* epoch */
    double min_loss[COKE_MAX_HEADS];     /* so far; 0 = none yet */
    double max_loss;                     /* of all heads together, after epoch 0 */
    const struct ck_health_facts *facts; /* borrowed during a check */
    double stuck[COKE_MAX_HEADS];        /* loss when its streak of chance began */
    int learned;           /* the last k-NN was above that of the random network */
    double random, pixels; /* k-NN of epoch 0; 0 = not known */
};

/* Of the run, for ck_health_check. */
struct ck_health_facts {
    int64_t warmup; /* its last epoch: before, predictions at chance are normal */
    int64_t epochs;
    int views;
    int64_t steps;                    /* per epoch */
    const struct ck_train_options *o; /* borrowed */
};

/* Checks an epoch and puts the new warnings into r->warnings. */
void ck_health_check(struct ck_health *w, struct ck_epoch_report *r,
                     const struct ck_health_facts *facts);
/* Brings *w to where it was after the epochs in metrics.jsonl. */
int ck_health_replay(struct ck_health *w, const char *metrics,
                     const struct ck_health_facts *facts);

#endif
