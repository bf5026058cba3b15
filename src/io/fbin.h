/* fbin.h - .fbin, .f16bin, .u8bin and .i8bin: u32 rows, u32 columns, then the rows. */
#ifndef CK_FBIN_H
#define CK_FBIN_H

#include "io/vecs.h"

enum { CK_FBIN_HEAD = 8 }; /* bytes before the first row */

/* Tests the extension of path, ignoring case; *dtype becomes F32, F16, U8 or I8. */
int ck_fbin_is_name(const char *path, enum ck_dtype *dtype);

/* Validates the header against the size of the file, of which only the header is touched. */
int ck_fbin_parse(struct ck_vecs *out, const char *name, enum ck_dtype dtype,
                  const unsigned char *data, size_t size);

#endif
