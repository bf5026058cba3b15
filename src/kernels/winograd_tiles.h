/* winograd_tiles.h - the positions of tiles in images [n][cb][h][w][16], and loops that transform
 * them. Private to winograd*.c. */
#ifndef CK_WINOGRAD_TILES_H
#define CK_WINOGRAD_TILES_H

#include "kernels/kernels_winograd.h"

/* Images of the input or the output. Tile (i, j) has `size` x `size` pixels from
 * (i * step - before, j * step - before) on. */
struct ck_wino_plane {
    int64_t h, w;
    int step, before, size;
};

/* Tiles are numbered row by row, image by image; those at the border may extend beyond it: short
 * ones, which need fewer slots. A sorted grid divides the tiles of some images, a group, into four
 * segments, so that those which need a slot are neighbors: short rows of full columns, full rows of
 * full columns, full rows of short columns, and what is short in both. */
struct ck_wino_grid {
    enum ck_wino_form form;
    struct ck_wino_plane in, out;
    int64_t rows, cols;           /* of tiles, in an image */
    int64_t full_rows, full_cols; /* in the second segment; unsorted: all */
    int skip_rows, skip_cols;     /* bits of the slots that short ones do not need; unsorted: 0 */
    int64_t tiles;                /* in all images */
    int side;           /* slots in one dimension */
    int slots;
};

enum { CK_WINO_SEGMENTS = 4 };

struct ck_wino_grid ck_wino_grid(const struct ck_wino_shape *s, enum ck_wino_form form);
/* Sorts the tiles of a grid, whose groups must be whole images from now on; 0: it has no short
 * ones. */
int ck_wino_sort(struct ck_wino_grid *g);
/* The first tiles of the segments in a group of so many tiles, and the end of the last. */
struct ck_wino_cut {
    int64_t start[CK_WINO_SEGMENTS + 1];
};

struct ck_wino_cut ck_wino_cut(const struct ck_wino_grid *g, int64_t tiles);

/* The segments that need a slot: *first..*end - 1. */
static inline void ck_wino_used(const struct ck_wino_grid *g, int64_t slot, int *first, int *end)
{
    *first = 0;
    *end = CK_WINO_SEGMENTS;
    if (!(g->skip_rows | g->skip_cols))
        return;
    int full_rows = g->skip_rows >> slot / g->side & 1,
        full_cols = g->skip_cols >> slot % g->side & 1;
    *first = full_rows;
    *end = full_cols ? 2 : full_rows ? 3 : 4;
}

/* Slots that have the weights of a point: those of even pixels, with stride 2, share them. */
static inline int ck_wino_copies(const struct ck_wino_grid *g, int64_t point)
{
    int shared = g->side - CK_WINO_SIDE + 1;
    return (point / CK_WINO_SIDE == CK_WINO_SIDE - 1 ? shared : 1) *
           (point % CK_WINO_SIDE == CK_WINO_SIDE - 1 ? shared : 1);
}

/* The i-th of them. */
static inline int64_t ck_wino_slot(const struct ck_wino_grid *g, int64_t point, int i)
{
    int cols = point % CK_WINO_SIDE == CK_WINO_SIDE - 1 ? g->side - CK_WINO_SIDE + 1 : 1;
    return (point / CK_WINO_SIDE + i / cols) * g->side + point % CK_WINO_SIDE + i % cols;
}

static inline int64_t ck_wino_point(const struct ck_wino_grid *g, int64_t slot)
{
    int64_t row = slot / g->side, col = slot % g->side, last = CK_WINO_SIDE - 1;
    return (row < last ? row : last) * CK_WINO_SIDE + (col < last ? col : last);
}

static inline int64_t ck_wino_blocks(int64_t channels)
{
    return (channels + CK_WINO_BLOCK - 1) / CK_WINO_BLOCK;
}

/* A group: the grid's tiles start..start + tiles - 1. */
struct ck_wino_group {
    int64_t start, tiles;
};

/* Channel block `block` of `blocks`, of the tiles first..first + count - 1 of a group. */
struct ck_wino_range {
    struct ck_wino_group group;
    int64_t block, blocks, first, count;
    int stream; /* bypass the caches: the output must be aligned to 64 bytes */
};

/* Transforms inputs: v [count][16] for each slot, the slots `stride` floats apart. Those of
 * output gradients have rows m_row floats apart. */
void ck_wino_inputs(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                    const struct ck_wino_range *r, const float *x, float *v, int64_t stride);
void ck_wino_output_grads(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                          const struct ck_wino_range *r, const float *dy, float *m,
                          int64_t m_row, int64_t stride);
/* Transforms m, of the same layout, back into outputs. */
void ck_wino_outputs(const struct ck_wino_kernels *kn, const struct ck_wino_grid *g,
                     const struct ck_wino_range *r, const float *m, int64_t m_row,
                     int64_t stride, float *y);

/* Iterates over the pixels of tiles that will be needed later, in pieces to prefetch during
 * other work. */
struct ck_wino_ahead {
    const struct ck_wino_grid *g;
    const struct ck_wino_plane *plane; /* of x */
    const float *x;
    int64_t blocks, first, end; /* tiles */
    int64_t image, block;       /* next */
    const float *at, *stop;     /* current piece */
    const float *then;          /* a second array of images, after x; or NULL */
};

struct ck_wino_ahead ck_wino_ahead(const struct ck_wino_grid *g,
                                   const struct ck_wino_plane *plane, const float *x,
                                   int64_t blocks, int64_t first, int64_t count);
/* The next `lines` lines of 16 floats (a few may lie past what is needed); NULL at the end. */
const float *ck_wino_ahead_next(struct ck_wino_ahead *a, int64_t lines);

/* ck_wino_scratch for the gradient of the weights. */
size_t ck_wino_weights_scratch(const struct ck_wino_shape *s, int threads);

#endif
