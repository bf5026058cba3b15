/* kernels_conv_tiles.h - the interface between conv_tiles.c and an instruction set. */
#ifndef CK_KERNELS_CONV_TILES_H
#define CK_KERNELS_CONV_TILES_H

#include "kernels/conv_tiles.h"

/* 16 output pixels: where their inputs begin, and where the results go. Rows outside [from, to)
 * are computed in vain: a tile that would reach over the end begins earlier. */
struct ck_tile {
    const unsigned char *a;
    uint16_t *out; /* of row 0, a block of channels per row; not written outside [from, to) */
    int from, to;
    int image; /* of the chunk */
};

/* f32 sums per channel of x - pivot and (x - pivot)^2 over the pixels of an image; the pivot is
 * the first row's value. */
struct ck_tile_moments {
    float pivot[CK_TILE_CHANNELS], dev[CK_TILE_CHANNELS], square[CK_TILE_CHANNELS];
    int64_t rows; /* 0: the pivot is not set yet */
};

/* Those of a tile's image, of the panel's; NULL = not wanted. */
static inline struct ck_tile_moments *ck_moments_of(struct ck_tile_moments *panel,
                                                    const struct ck_tile *t)
{
    return panel ? panel + t->image : NULL;
}

/* Some tiles times one block of 32 output channels. */
struct ck_tile_panel {
    const struct ck_tile *tile;
    int64_t tiles;
    int64_t pixel;     /* bytes from one pixel to the next in `a` */
    const int64_t *at; /* [steps] bytes from tile.a to the pixels of a step */
    int64_t steps;     /* >= 1 */
    const uint16_t *b; /* [steps][2][16][16][2] */
    int pairs;         /* of sources per pixel and step: 16, or 8 */
    int halves;        /* 16 outputs each: 2, or 1 */
    int64_t out;       /* elements to add to tile.out */
    struct ck_tile_moments *moments; /* one per image of the chunk; NULL = not wanted */
};

/* One version: constant, shared by all threads. */
struct ck_tile_kernels {
    const char *name;
    /* Before and after the panels of a chunk, on the thread that runs it; they all have so many
     * pairs. */
    void (*begin)(int pairs);
    void (*end)(void);
    void (*panel)(const struct ck_tile_panel *p);
    /* The tile [16 pairs][16][2] of w[i * from + j * to], i < 32 sources, j < 16 outputs, rounded
     * to nearest even. */
    void (*pack)(const float *w, int64_t from, int64_t to, uint16_t *tile);
    /* Copies n pixels of `bytes` (64, or 32), so many bytes apart. */
    void (*pixels)(int64_t n, int64_t bytes, const void *src, int64_t from, void *dst,
                   int64_t to);
};

extern const struct ck_tile_kernels ck_tile_kernels_amx;
extern const struct ck_tile_kernels ck_tile_kernels_bf16;
extern const struct ck_tile_kernels ck_tile_kernels_emulated;

/* The version in use; NULL = none. Tests force one (NULL = stop forcing). */
const struct ck_tile_kernels *ck_tile_kernels(void);
void ck_tile_kernels_force(const struct ck_tile_kernels *version);

#endif
