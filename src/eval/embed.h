/* embed.h - features of a whole data set, to a file or into memory. */
#ifndef CK_EMBED_H
#define CK_EMBED_H

#include "eval/features.h"

/* Which of the data set's images, and who is told. */
struct ck_embed_job {
    struct ck_features *features;
    enum coke_output output; /* COKE_OUTPUT_FEATURES or COKE_OUTPUT_PROJ */
    int64_t n;               /* the first n images */
    int dim;                 /* of the output */
    int skip;                /* images that cannot be read are 0; else an error */
    const struct coke_callbacks *callbacks; /* NULL = none */
    const char *phase;
};

/* x [n][dim]; bad [n] may be NULL. *nbad: images that could not be read. */
int ck_embed_memory(const struct ck_embed_job *job, float *x, uint8_t *bad, int64_t *nbad);
/* A .npy of f32 [n][dim], piece by piece. */
int ck_embed_file(const struct ck_embed_job *job, const char *path, int force, int64_t *nbad);

#endif
