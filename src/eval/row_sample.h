/* row_sample.h - a random sample of rows, and its vectors from the user's files. */
#ifndef CK_ROW_SAMPLE_H
#define CK_ROW_SAMPLE_H

#include "io/rows_options.h"

#include <stdint.h>

/* Zeroed = empty; owns its arrays. */
struct ck_row_sample {
    int64_t n;    /* rows in it */
    int64_t *row; /* [n] row numbers, ascending */
    float *x;     /* [n][dim], or NULL */
};

/* All of `rows` rows, or `most` of them drawn without replacement by a fixed seed. */
int ck_row_sample_choose(struct ck_row_sample *s, int64_t rows, int64_t most);
void ck_row_sample_release(struct ck_row_sample *s);

/* What the vectors must be like: those that the clustering `source` was made of. */
struct ck_row_files {
    const char *const *path; /* [paths] */
    int paths;
    const char *source;
    int64_t rows;
    int32_t dim;
    int unit; /* divide each row by its length; one that is zero or not finite becomes zero */
    const struct ck_rows_options *options; /* how the files are read; NULL = defaults */
};

/* Reads s->x. Files of other rows are COKE_EUSAGE. */
int ck_row_sample_read(struct ck_row_sample *s, const struct ck_row_files *f);

#endif
