/* raw_rows.h - rows without a header: the user says type, columns and where they begin. */
#ifndef CK_RAW_ROWS_H
#define CK_RAW_ROWS_H

#include "io/vecs.h"

struct ck_raw {
    enum ck_dtype dtype;
    int32_t dim;
    int64_t offset; /* bytes before the first row */
};

/* "f16": the type as the option names it. */
const char *ck_raw_type(enum ck_dtype t);

/* Parses TYPE:COLUMNS or TYPE:COLUMNS:OFFSET; COKE_EUSAGE otherwise. */
int ck_raw_parse(struct ck_raw *out, const char *text);

/* The rows of a file of `size` bytes; COKE_EFORMAT unless it has a whole number of them, at least
 * one. */
int ck_raw_view(struct ck_vecs *out, const struct ck_raw *raw, const char *name, size_t size);

#endif
