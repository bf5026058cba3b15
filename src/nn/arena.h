/* arena.h - buffers with known lifetimes laid out in one block of memory. */
#ifndef CK_ARENA_H
#define CK_ARENA_H

#include <stddef.h>

struct ck_span {
    size_t bytes;
    int first, last; /* steps in which it is needed, both included */
    size_t offset;   /* result */
};

/* Sets the offsets, multiples of 64, such that spans whose lives overlap do not; returns the
 * size of the block, or 0 with the sentence set if memory is short. */
size_t ck_arena_lay_out(struct ck_span *span, int n);

#endif
