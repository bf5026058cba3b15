/* convert.h - shapes and element types of arrays in files. */
#ifndef CK_CONVERT_H
#define CK_CONVERT_H

#include "core/state.h"

/* Elements and bytes of an array; 0 = a length is negative, or it is beyond 63 bits. */
int ck_shape_size(enum ck_dtype t, int ndim, const int64_t *shape, int64_t *elements,
                  int64_t *bytes);

enum { CK_SHAPE_TEXT = CK_MAX_DIMS * 24 };
/* "1000 x 128"; one element without dimensions is "scalar". */
void ck_shape_text(int ndim, const int64_t *shape, char text[CK_SHAPE_TEXT]);

int ck_convert_is_row(enum ck_dtype t); /* F32 F16 F64 U8 I8: what rows may be made of */

/* n elements at src (any alignment) as f32; t is one of the above, or BF16. */
void ck_convert_f32(enum ck_dtype t, const void *src, int64_t n, float *out);
/* The same as f64, from any type but BF16. */
void ck_convert_f64(enum ck_dtype t, const void *src, int64_t n, double *out);

#endif
