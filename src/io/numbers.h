/* numbers.h - a list of numbers: one per line, or a one-dimensional .npy; from a file or pipe. */
#ifndef CK_NUMBERS_H
#define CK_NUMBERS_H

#include <stdint.h>

/* The caller frees *out [*n] with ck_free; NULL on failure. At least one number, all finite. In
 * text files '#' starts a comment. */
int ck_numbers_load(const char *path, double **out, int64_t *n);
/* The same for whole numbers from 0 on. */
int ck_counts_load(const char *path, int64_t **out, int64_t *n);

#endif
