/* convert.h - shapes and element types of arrays in files.
 *
 * Pure functions: no state, safe from any thread. All file formats here are little-endian. */
#ifndef CK_CONVERT_H
#define CK_CONVERT_H

#include "core/state.h"

/* Computes the number of elements and of bytes. Returns 0 if a length is negative or a product
 * overflows 63 bits; the readers call it before they allocate anything. */
int ck_shape_size(enum ck_dtype t, int ndim, const int64_t *shape, int64_t *elements,
                  int64_t *bytes);

enum { CK_SHAPE_TEXT = CK_MAX_DIMS * 24 };
/* Writes "1000 x 128"; an array without dimensions is "scalar". */
void ck_shape_text(int ndim, const int64_t *shape, char text[CK_SHAPE_TEXT]);

/* Converts n elements at src (any alignment) to f32: rounds integers beyond 2^24, and doubles,
 * to the nearest; doubles beyond 3.4e38 become infinite. */
void ck_convert_f32(enum ck_dtype t, const void *src, int64_t n, float *out);
/* The same to f64; integers beyond 2^53 are rounded. */
void ck_convert_f64(enum ck_dtype t, const void *src, int64_t n, double *out);

#endif
