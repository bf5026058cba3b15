/* idx.h - IDX arrays of bytes (the format of MNIST), plain or gzipped. */
#ifndef CK_IDX_H
#define CK_IDX_H

#include "io/stream.h"

enum { CK_IDX_DIMS = 4 };

struct ck_idx {
    int ndim;
    int64_t shape[CK_IDX_DIMS];
    int64_t bytes;
    unsigned char *data; /* [bytes], owned */
};

/* Reads a whole array; only u8 elements are supported. Allocates no more than the size of the
 * file can justify. Data shorter or longer than the header says are COKE_EFORMAT. On failure
 * *out is zeroed. ck_idx_read leaves the stream open. */
int ck_idx_load(struct ck_idx *out, const char *path);
int ck_idx_read(struct ck_idx *out, struct ck_stream *s);
void ck_idx_release(struct ck_idx *a);

#endif
