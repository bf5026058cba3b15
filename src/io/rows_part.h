/* rows_part.h - one array of rows in one file: finds it, whatever the format, and makes its rows
 * readable. */
#ifndef CK_ROWS_PART_H
#define CK_ROWS_PART_H

#include "io/npy.h"
#include "io/raw_rows.h"
#include "io/spool.h"
#include "io/vecs.h"

enum ck_row_format {
    CK_FORMAT_FOREIGN,
    CK_FORMAT_NPY,
    CK_FORMAT_VECS,
    CK_FORMAT_FBIN,
    CK_FORMAT_RAW,
    CK_FORMAT_NPZ,
    CK_FORMAT_SAFETENSORS,
    CK_FORMAT_HDF5,
};

/* How the elements lie at `data`. */
enum ck_layout {
    CK_LAYOUT_ROWS,
    CK_LAYOUT_RECORDS, /* rows with their length before them: .fvecs */
    CK_LAYOUT_COLUMNS, /* Fortran order */
    CK_LAYOUT_SOURCE   /* not at `data`, but to be had from `source` */
};

/* Compressed or scattered elements, in order. Zeroed = none. */
struct ck_part_source {
    void *from;
    int64_t unit; /* bytes are pulled in multiples of it, but for the last time */
    int columns;  /* they come in Fortran order */
    int (*pull)(void *from, const char *name, void *out, size_t bytes);
    int (*end)(void *from, const char *name); /* after the last byte: checksums; or NULL */
    void (*free)(void *from);
};

/* Owns name, path, map and source; zeroed = empty. */
struct ck_part {
    char *name;        /* for messages: as the user named it */
    char *path;        /* of the file */
    const char *array; /* that was named within the file, or NULL; within name */
    struct ck_map map;
    enum ck_row_format format;
    enum ck_layout layout;
    const unsigned char *data; /* first row, record or column */
    enum ck_dtype dtype;
    struct ck_vecs vecs; /* dim, n and stride of all formats */
    struct ck_part_source source;
    int64_t first; /* number of its first row among the rows of all files */
};

/* Sets name, path and array. */
int ck_part_name(struct ck_part *p, const char *name);
/* Detects the format of p->map by its content and p->path, validates it, and fills everything but
 * `first`. raw NULL: the file has a format. */
int ck_part_parse(struct ck_part *p, const struct ck_raw *raw);
/* Copies what is not in rows to a temporary file, which replaces the map. */
int ck_part_settle(struct ck_part *p, struct ck_spooled *all);
void ck_part_release(struct ck_part *p);

/* Converts one row of any layout but CK_LAYOUT_SOURCE to f32. Touches the map: in ck_guard_call
 * only. */
int ck_part_row(const struct ck_part *p, int64_t row, float *out);
/* One element as it is stored. */
double ck_part_value(const struct ck_part *p, int64_t row, int32_t column);

/* ---- for the readers of formats ---- */

/* The format by content and path, once the file is mapped; no error. */
int ck_part_detect(struct ck_part *p);
/* Checks that an array can be rows: two dimensions, at least one row and column. */
int ck_rows_check_shape(const char *name, int ndim, const int64_t *shape);
/* Takes an array whose elements begin at data (NULL for a source) and whose shape was checked. */
void ck_part_take(struct ck_part *p, enum ck_dtype dtype, const int64_t shape[2], int fortran,
                  const unsigned char *data);
int ck_part_parse_npz(struct ck_part *p);
int ck_part_parse_safetensors(struct ck_part *p);
int ck_part_parse_hdf5(struct ck_part *p);
/* COKE_EFORMAT, with the line that converts the file where one is known. */
int ck_part_fail_foreign(const struct ck_part *p);

/* Calls visit for each array of a file that may have several, whatever its shape. */
typedef void ck_array_visit(void *arg, const char *name, const char *dtype, int ndim,
                            const int64_t *shape);
int ck_npz_visit(struct ck_part *p, ck_array_visit *visit, void *arg);
int ck_hdf5_visit(struct ck_part *p, ck_array_visit *visit, void *arg);

#endif
