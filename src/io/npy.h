/* npy.h - NumPy's .npy arrays: parses headers from memory or a pipe, writes files. */
#ifndef CK_NPY_H
#define CK_NPY_H

#include "core/state.h"
#include "io/file.h"

/* Bytes: the longest header that is accepted, and the part of it that tells its length. */
enum { CK_NPY_HEADER_MAX = 1 << 20, CK_NPY_MAGIC = 12 };

struct ck_npy {
    int version;
    enum ck_dtype dtype; /* little-endian */
    int fortran;         /* two or more dimensions, of which the first varies fastest */
    int ndim;
    int64_t shape[CK_MAX_DIMS];
    size_t offset; /* of the data in the file */
    int64_t elements, bytes;
};

int ck_npy_is_magic(const unsigned char *data, size_t size);
const char *ck_npy_dtype(enum ck_dtype t); /* "f4" */

/* Parses a whole file in memory: the header, and that exactly as many bytes follow as it says.
 * name is for messages. */
int ck_npy_parse(struct ck_npy *out, const char *name, const unsigned char *data, size_t size);

/* Reads the header from a pipe; the caller frees *head [out->offset] with ck_free. fd then
 * stands at the first byte of the data. */
int ck_npy_read_header(struct ck_npy *out, const char *name, int fd, unsigned char **head);

/* Parses the header at the beginning of data [size]; what follows it may be absent. */
int ck_npy_parse_header(struct ck_npy *out, const char *name, const unsigned char *data,
                        size_t size);
/* *end = length of the header, from the file's first CK_NPY_MAGIC bytes (or all, if it is
 * shorter). */
int ck_npy_header_size(const char *name, const unsigned char *data, size_t size, size_t *end);
/* COKE_EFORMAT if the array is in Fortran order, for readers that need the other one. */
int ck_npy_check_order(const struct ck_npy *a, const char *name);

/* Fails with COKE_EFORMAT and a message that compares the expected size with `got` bytes. */
int ck_npy_fail_size(const struct ck_npy *a, const char *name, int64_t got);

/* data NULL: writes only the header; the caller writes the elements to w, piece by piece. */
int ck_npy_write_to(struct ck_writer *w, enum ck_dtype t, int ndim, const int64_t *shape,
                    const void *data);
int ck_npy_write(const char *path, enum ck_dtype t, int ndim, const int64_t *shape,
                 const void *data, int force);
/* The same with its checksum beside it (io/sums.h), for a file that is in no list of a folder. */
int ck_npy_write_single(const char *path, enum ck_dtype t, int ndim, const int64_t *shape,
                        const void *data, int force);

#endif
