/* arena.h - lays out buffers with known lifetimes in one block of memory. */
#ifndef CK_ARENA_H
#define CK_ARENA_H

#include <stddef.h>

/* One buffer. The caller owns the array; `offset` is the result. */
struct ck_span {
    size_t bytes;
    int first, last; /* steps in which it is live, both inclusive */
    size_t offset;   /* multiple of 64 */
};

/* Sets the offsets such that spans that are live at the same time do not overlap; returns the
 * size of the block, or 0 with the error set if memory is short. */
size_t ck_arena_lay_out(struct ck_span *span, int n);

#endif
