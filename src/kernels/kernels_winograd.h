/* kernels_winograd.h - the interface between winograd*.c and an instruction set.
 *
 * One convolution y = A'[(G g G') . (B' d B)]A of a 6x6 tile d and a 3x3 kernel g, with the
 * matrices for the points 0, +-a, +-b and infinity.
 *
 * With stride 2 a kernel has, in one dimension, a tap for even pixels and two for odd ones. Odd
 * pixels are transformed, with the points +-c, +-d and infinity, even ones taken as they are: 4
 * outputs are 5 + 4 products, in 2 dimensions 81. These are the slots of a tile; the products of
 * even pixels share a weight, so that there are 6x6 transformed weights, as with stride 1.
 *
 * All functions handle a block of CK_WINO_BLOCK channels, one per lane; a transformed block is a
 * row of that many floats per slot or point, `stride` floats apart. Each runs on the thread that
 * calls it.
 *
 * Every version returns the same bits: lanes do not mix, and products are summed by fma in the
 * order of k, starting from the old contents or 0. */
#ifndef CK_KERNELS_WINOGRAD_H
#define CK_KERNELS_WINOGRAD_H

#include "kernels/winograd.h"

enum {
    CK_WINO_BLOCK = 16,
    CK_WINO_IN = 9,   /* largest side of an input tile */
    CK_WINO_OUT = 4,  /* side of an output tile of a forward pass */
    CK_WINO_SIDE = 6, /* points in one dimension */
    CK_WINO_TAPS = 3,
    CK_WINO_POINTS = CK_WINO_SIDE * CK_WINO_SIDE,
};

/* Stride 1; stride 2, forward; stride 2, from the gradient of the output to that of the input. */
enum ck_wino_form { CK_WINO_SAME, CK_WINO_DOWN, CK_WINO_UP, CK_WINO_FORMS };

/* The part of a tile inside the image: pixels first..end - 1 of each row; the others count as
 * zeros. */
struct ck_wino_tile {
    const float *row[CK_WINO_IN]; /* [end - first][16] */
    int first, end;
};

/* c [rows][width] = or += a b, with b [k][width]. k is divided into blocks of 16: a is [k /
 * 16][rows][16], its blocks a_stride apart. */
struct ck_wino_product {
    int rows, width; /* at most ck_wino_kernels.rows and .width */
    int64_t k, a_stride;
    const float *a, *b;
    int accumulate;
    float *c;
    const float *ahead; /* k cache lines to prefetch; or NULL */
};

/* c [16][width] = or += a' b, with a [k][16] and b [k][width]; rows of c are c_row apart. */
struct ck_wino_outer {
    int64_t k;
    int width, accumulate;
    const float *a, *b;
    float *c;
    int64_t c_row;
    const float *ahead[2]; /* k cache lines each to prefetch; or NULL */
};

/* One version: constant, shared by all threads. No two arrays may overlap. */
struct ck_wino_kernels {
    const char *name;
    int width;   /* maximum columns of a product: 16 to 64 */
    int rows[4]; /* maximum rows of products of up to 16, 32, 48, 64 columns */

    /* B' d B; [1] bypasses the caches and requires v and stride aligned to 64 bytes. */
    void (*input[CK_WINO_FORMS][2])(const struct ck_wino_tile *d, float *v, int64_t stride);
    /* A' m A; stores the first rows x cols pixels at y, its rows y_stride apart; bypasses the
     * caches if `stream`, which requires y aligned to 64 bytes. */
    void (*output[CK_WINO_FORMS])(const float *m, int64_t stride, float *y, int64_t y_stride,
                                  int rows, int cols, int stream);
    /* The following are indexed by stride 2 first. G g G'; the taps of g [3][3], blocks of 16
     * floats, are tap_stride apart. */
    void (*weights[2][2])(const float *g, int64_t tap_stride, float *u, int64_t stride);
    /* A dy A', from the first four rows of the tile; [.][1] as above. */
    void (*output_grad[2][2])(const struct ck_wino_tile *dy, float *m, int64_t stride);
    /* G' u G, summed over `parts` arrays part_stride apart; dg [3][3][16]. */
    void (*weights_grad[2])(const float *u, int64_t stride, int parts, int64_t part_stride,
                            float *dg);

    void (*product)(const struct ck_wino_product *p);
    void (*outer)(const struct ck_wino_outer *o);

    /* to [cols][16] = from' [rows][cols], rows of `from` ld apart; zeros for rows >= `rows`. */
    void (*gather)(const float *from, int64_t ld, int rows, int cols, float *to);
    /* to [rows][cols] = or += from' [cols][16], rows of `to` ld apart. */
    void (*scatter)(const float *from, int rows, int cols, int accumulate, float *to,
                    int64_t ld);
};

/* The version that matches ck_kernels(), or the forced one. Only tests and benchmarks force one
 * (NULL = stop forcing), while no other thread computes. */
const struct ck_wino_kernels *ck_wino_kernels(void);
void ck_wino_kernels_force(const struct ck_wino_kernels *version);
/* The version that matches ck_kernels_named(name); NULL if it does not run on this CPU. */
const struct ck_wino_kernels *ck_wino_kernels_named(const char *name);

extern const struct ck_wino_kernels ck_wino_kernels_ref;
extern const struct ck_wino_kernels ck_wino_kernels_avx2;
extern const struct ck_wino_kernels ck_wino_kernels_avx512;

/* Used by versions that have nothing faster. */
void ck_wino_gather_ref(const float *from, int64_t ld, int rows, int cols, float *to);
void ck_wino_scatter_ref(const float *from, int rows, int cols, int accumulate, float *to,
                         int64_t ld);

#endif
