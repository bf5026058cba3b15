/* idx.h - IDX arrays of bytes (the format of MNIST), plain or gzipped. */
#ifndef CK_IDX_H
#define CK_IDX_H

#include "io/stream.h"

enum { CK_IDX_DIMS = 4 };

struct ck_idx {
    int ndim;
    int64_t shape[CK_IDX_DIMS];
    int64_t bytes;
    unsigned char *data; /* [bytes] */
};

/* Reads all of it. Only u8. Memory is asked for no more than the file can justify; data that
 * end before or go on after what the header promises are COKE_EFORMAT. */
int ck_idx_load(struct ck_idx *out, const char *path);
int ck_idx_read(struct ck_idx *out, struct ck_stream *s);
void ck_idx_release(struct ck_idx *a);

#endif
