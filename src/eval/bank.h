/* bank.h - features and classes of all images of a data set, in memory. */
#ifndef CK_BANK_H
#define CK_BANK_H

#include "eval/embed.h"

struct ck_bank {
    int64_t n, known, bad; /* images, those with a class, unreadable ones */
    int dim;
    float *x;       /* [n][dim]; 0 for unreadable images */
    int32_t *label; /* [n]; -1 = unknown or unreadable */
};

/* Takes features, output, skip, callbacks and phase of the job; sets the rest itself. Labels
 * are class numbers of classes_of. A bank without any known class is an error. Releases *b on
 * failure. */
int ck_bank_init(struct ck_bank *b, const struct ck_embed_job *job, struct coke_dataset *d,
                 const struct coke_dataset *classes_of);
void ck_bank_release(struct ck_bank *b);

#endif
