/* first_choice.h - the settings of a training whose user has named the images alone. */
#ifndef CK_FIRST_CHOICE_H
#define CK_FIRST_CHOICE_H

#include "core/callbacks.h"
#include "data/dataset.h"
#include "train/train_options.h"

/* What the choices follow from. */
struct ck_first_facts {
    int64_t images;
    int32_t side; /* the shorter one of a typical image */
};

/* Without k, all options of method coke that have their defaults are chosen for few images, short
 * trainings and a CPU, by the number and size of the images alone: the same for every process
 * and when the run is resumed. Says what was chosen. With k, and for other methods, nothing. */
int ck_first_choose(struct ck_train_options *o, struct coke_dataset *d,
                    const struct coke_callbacks *cb);
/* The same for known facts, without the images. */
int ck_first_choose_for(struct ck_train_options *o, const struct ck_first_facts *facts,
                        const struct coke_callbacks *cb);

#endif
