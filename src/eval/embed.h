/* embed.h - features of a whole data set, written to a file or to memory. */
#ifndef CK_EMBED_H
#define CK_EMBED_H

#include "eval/features.h"

/* What to compute; everything is borrowed. */
struct ck_embed_job {
    struct ck_features *features;
    enum coke_output output; /* COKE_OUTPUT_FEATURES or COKE_OUTPUT_PROJ */
    int64_t n;               /* the first n images */
    int dim;                 /* of the output */
    int skip;                /* unreadable images become 0; else they are an error */
    const struct coke_callbacks *callbacks; /* NULL = none */
    const char *phase;
};

/* Writes x [n][dim] and bad [n] (may be NULL). *nbad: number of unreadable images.
 * COKE_ESTOPPED if the progress callback asks to stop. */
int ck_embed_memory(const struct ck_embed_job *job, float *x, uint8_t *bad, int64_t *nbad);
/* Writes a .npy of f32 [n][dim] in pieces: memory does not grow with n. */
int ck_embed_file(const struct ck_embed_job *job, const char *path, int force, int64_t *nbad);

#endif
