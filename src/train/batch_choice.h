/* batch_choice.h - chooses batch and accumulate from the number of images and the memory, and the
 * precision by a measurement. */
#ifndef CK_BATCH_CHOICE_H
#define CK_BATCH_CHOICE_H

#include "core/memory_left.h"
#include "data/fetch.h"
#include "train/train_options.h"

struct coke_callbacks;

/* What the choice depends on besides the options. */
struct ck_batch_facts {
    int64_t images;
    int processes;
    struct ck_memory_left memory; /* of each process */
    /* Bytes that a process takes for these options, whose batch and accumulate are set. */
    int (*measure)(void *arg, const struct ck_train_options *o, int64_t *bytes);
    void *arg;
};

/* Fills batch and accumulate where they are 0 (auto). Values that the user has set stay; what
 * cannot fit is COKE_EUSAGE with the option's name. *bytes: what the training takes. */
int ck_batch_choose(struct ck_train_options *o, const struct ck_batch_facts *facts,
                    int64_t *bytes);

/* The same for a data set and this process's group, and the precision. run: the folder of a run to resume, whose
 * choice stays, or NULL. Says the choice. Collective. */
int ck_batch_resolve(struct ck_train_options *o, struct coke_dataset *data, const char *run,
                     const struct coke_callbacks *cb);

#endif
