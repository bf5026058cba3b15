/* vecs.h - .fvecs and .bvecs: per record an int32 dimension d and d elements. */
#ifndef CK_VECS_H
#define CK_VECS_H

#include "core/state.h"

struct ck_vecs {
    enum ck_dtype dtype;
    int32_t dim;
    int64_t n;
    size_t stride; /* bytes per record, 4 + dim elements */
};

/* Tests the extension of path, ignoring case; *dtype becomes F32 or U8. */
int ck_vecs_is_name(const char *path, enum ck_dtype *dtype);

/* Validates the first and the last record, and that the size is a whole number of records.
 * The records between them are checked when they are read: a full scan would read the whole
 * file. */
int ck_vecs_parse(struct ck_vecs *out, const char *name, enum ck_dtype dtype,
                  const unsigned char *data, size_t size);

/* *row points to the elements of record i, after its d has been checked. */
int ck_vecs_row(const struct ck_vecs *v, const char *name, const unsigned char *data, int64_t i,
                const unsigned char **row);

#endif
