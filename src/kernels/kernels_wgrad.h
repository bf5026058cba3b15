/* kernels_wgrad.h - the interface between conv_tiles_weights.c and an instruction set. */
#ifndef CK_KERNELS_WGRAD_H
#define CK_KERNELS_WGRAD_H

#include "kernels/kernels_conv_tiles.h"

/* Elements of a tile of bf16, and of one of sums. */
enum { CK_WGRAD_TILE = 512, CK_WGRAD_SUMS = 256 };

/* Pixels of 32 channels, or of 16 where only the first half is read: pixel i is at base + at[i],
 * or 0 if at[i] < 0. */
struct ck_wgrad_pixels {
    const unsigned char *base;
    const int32_t *at;
    int64_t n;
};

/* sum[j][i] (+)= the sum over bundles and steps of line tile i times column tile j. */
struct ck_wgrad_panel {
    const uint16_t *a;    /* [bundle][steps][2][16][32] */
    const uint16_t *b[4]; /* [bundle][steps][16][16][2] */
    int lines, columns;   /* tiles: 1 and 1..4, or 2 and 1..2 */
    int64_t steps, bundles;
    int64_t a_bundle, b_bundle; /* elements from one bundle to the next */
    int resume;                 /* start from the old sums */
    float *sum;                 /* [columns][lines][16][16] */
};

/* One version: constant, shared by all threads. */
struct ck_wgrad_kernels {
    /* Before and after the panels of a worker's item. */
    void (*begin)(void);
    void (*end)(void);
    /* low, high [n / 2][16][2]: pairs of pixels, the channels in the order of ck_wgrad_channel;
     * n even. Without `high` only the first 16 channels. */
    void (*pairs)(const struct ck_wgrad_pixels *p, uint16_t *low, uint16_t *high);
    /* out [n / 32][2][16][32]: 32 pixels of each channel; n a multiple of 32. Fills only the
     * first of each two tiles if `tiles` is 1. */
    void (*lines)(const struct ck_wgrad_pixels *p, int tiles, uint16_t *out);
    void (*panel)(const struct ck_wgrad_panel *p);
};

extern const struct ck_wgrad_kernels ck_wgrad_kernels_amx;
extern const struct ck_wgrad_kernels ck_wgrad_kernels_bf16;
extern const struct ck_wgrad_kernels ck_wgrad_kernels_emulated;

/* The version that matches ck_tile_kernels(); NULL if there is none. */
const struct ck_wgrad_kernels *ck_wgrad_kernels(void);

/* The channel of a block that column i of a tile has, where `halves` tiles are in use: an order in
 * which AVX-512 interleaves vectors at once. */
static inline int64_t ck_wgrad_channel(int halves, int half, int i)
{
    return halves == 1 ? i : i / 4 * 8 + half * 4 + i % 4;
}

/* A pixel outside the image. */
static const unsigned char ck_wgrad_zero[64] __attribute__((aligned(64)));

static inline const unsigned char *ck_wgrad_pixel(const struct ck_wgrad_pixels *p, int64_t i)
{
    return p->at[i] < 0 ? ck_wgrad_zero : p->base + p->at[i];
}

#endif
