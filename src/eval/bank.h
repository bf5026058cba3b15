/* bank.h - the features and classes of all images of a data set, in memory. */
#ifndef CK_BANK_H
#define CK_BANK_H

#include "eval/embed.h"

struct ck_bank {
    int64_t n, known, bad; /* images, those with a class, those that could not be read */
    int dim;
    float *x;       /* [n][dim]; 0 for those that could not be read */
    int32_t *label; /* [n]; -1 = unknown, or could not be read */
};

/* output, skip, callbacks and phase of the job; the rest is filled in. Labels are class numbers
 * of classes_of. A bank in which no class is known is an error. */
int ck_bank_init(struct ck_bank *b, const struct ck_embed_job *job, struct coke_dataset *d,
                 const struct coke_dataset *classes_of);
void ck_bank_release(struct ck_bank *b);

#endif
