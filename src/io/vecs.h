/* vecs.h - .fvecs and .bvecs: records of an int32 dimension d and d elements. */
#ifndef CK_VECS_H
#define CK_VECS_H

#include "core/state.h"

struct ck_vecs {
    enum ck_dtype dtype;
    int32_t dim;
    int64_t n;
    size_t stride; /* bytes of a record, 4 + dim elements */
};

/* By the extension of path, in any case; *dtype F32 or U8. */
int ck_vecs_is_name(const char *path, enum ck_dtype *dtype);

/* Checks the first and the last record and that the size is a whole number of records. */
int ck_vecs_parse(struct ck_vecs *out, const char *name, enum ck_dtype dtype,
                  const unsigned char *data, size_t size);

/* *row is the elements of record i, whose d has been checked. */
int ck_vecs_row(const struct ck_vecs *v, const char *name, const unsigned char *data, int64_t i,
                const unsigned char **row);

#endif
