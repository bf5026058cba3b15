/* winograd.h - f32 convolutions with 3x3 kernels and padding 1, on tiles of 4x4 outputs: with
 * stride 1 a quarter of the multiplications (Winograd's F(4x4, 3x3); Lavin and Gray, "Fast
 * algorithms for convolutional neural networks", 2016), with stride 2 nine sixteenths
 * (kernels_winograd.h).
 *
 * Images are [n][cb][h][w][16]: channel c = block * 16 + lane, the last block padded with
 * zeros. Weights and their gradient are plain [oc][ic][3][3], without padding. Outputs have
 * exact zeros in their padding channels.
 *
 * The error, relative and in the mean square: 4e-7 for sums over 16 channels, 7e-7 over 64,
 * 1.3e-6 over 256, 1.9e-6 over 512, two to three times that of a direct f32 convolution; below
 * 1e-6 for the gradient of the weights.
 *
 * Results have the same bytes for any number of threads and for every instruction set. Arrays
 * need no alignment; 64 bytes is fastest. Nothing allocates or fails; nothing may overlap. */
#ifndef CK_WINOGRAD_H
#define CK_WINOGRAD_H

#include <stddef.h>
#include <stdint.h>

struct ck_wino_shape {
    int64_t n, ic, oc, h, w; /* all >= 1; h, w: of the input */
    int halved; /* 0: stride 1, outputs of h x w; 1: stride 2, of (h + 1) / 2 x (w + 1) / 2 */
};

enum ck_wino_pass { CK_WINO_FORWARD, CK_WINO_DATA, CK_WINO_WEIGHTS, CK_WINO_PASSES };

/* Whether the instruction set in use has a fast version. The reference version works
 * everywhere, but direct convolution is faster. */
int ck_wino_is_fast(void);

/* Bytes of scratch that a run of the pass needs for teams of up to `threads`. The caller owns
 * it; its contents need not survive between calls, and two calls may not use it at once. */
size_t ck_wino_scratch(const struct ck_wino_shape *s, enum ck_wino_pass pass, int threads);

/* A callback that computes the input of the forward or data pass on demand, image by image: a
 * worker calls it for some images just before it reads them, so that they are still in its
 * second-level cache. Several workers call it at once, each for other images; each image is
 * produced exactly once. */
struct ck_wino_producer {
    void (*run)(void *arg, int64_t first, int64_t images);
    void *arg;
    const float *source; /* its largest input, in the layout of the pass's input: prefetched */
};

/* Whether the pass can use a producer: only if its work is divided by whole images. */
int ck_wino_takes_producer(const struct ck_wino_shape *s, enum ck_wino_pass pass);

/* y = convolution of x and w; producer NULL = x is already computed. */
void ck_wino_forward(const struct ck_wino_shape *s, const float *x, const float *w, float *y,
                     const struct ck_wino_producer *producer, void *scratch);
/* dx = gradient of x from that of y; producer NULL = dy is already computed. */
void ck_wino_data(const struct ck_wino_shape *s, const float *dy, const float *w, float *dx,
                  const struct ck_wino_producer *producer, void *scratch);
/* dw = gradient of w, or dw += it if `accumulate`. */
void ck_wino_weights(const struct ck_wino_shape *s, const float *x, const float *dy,
                     int accumulate, float *dw, void *scratch);

#endif
