/* numbers.h - a list of numbers: one a line, or a one-dimensional .npy. */
#ifndef CK_NUMBERS_H
#define CK_NUMBERS_H

#include <stdint.h>

/* *out [*n] is for the caller to ck_free. At least one number, all finite. */
int ck_numbers_load(const char *path, double **out, int64_t *n);
/* The same for whole numbers from 0 on. */
int ck_counts_load(const char *path, int64_t **out, int64_t *n);

#endif
