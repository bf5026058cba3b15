/* numbers.h - a list of numbers: one a line, or a one-dimensional .npy. */
#ifndef CK_NUMBERS_H
#define CK_NUMBERS_H

#include <stdint.h>

/* *out [*n] is for the caller to ck_free. At least one number, all finite. */
int ck_numbers_load(const char *path, double **out, int64_t *n);

#endif
