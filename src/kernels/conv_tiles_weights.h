/* conv_tiles_weights.h - the gradient of the weights of bf16 convolutions as products of tiles,
 * summed in f32 over images and pixels.
 *
 * Images are [n][cb][h * w][block] bf16 as in conv_tiles.h; padding channels of either may hold any
 * finite numbers. The gradient is the parameter's, f32 [oc][ic][kernel][kernel].
 *
 * Sums are cut by the shape only: results have the same bytes for any number of threads, and on
 * the matrix unit and its emulation. Arrays of images must be aligned to 64 bytes. Nothing
 * allocates or fails; nothing may overlap. */
#ifndef CK_CONV_TILES_WEIGHTS_H
#define CK_CONV_TILES_WEIGHTS_H

#include "kernels/conv_tiles.h"

/* One gradient, compiled: constant, shared by all threads.
 *
 * Two operands are packed per group of images: the lines (channels of the gradient dy; of the
 * input x if `swapped`) with 32 pixels side by side, and the columns (the channels of the other
 * one, once per view) in pairs of pixels. A view is the input at one place of the kernel's
 * columns and one of the rows modulo the stride; a tap is a view and a number of rows. */
struct ck_tiles_gradient {
    struct ck_tiles_shape s;
    int swapped, stem;
    int64_t h, w;           /* outputs, as rows of pixels */
    int64_t above, below;   /* rows that taps reach beyond those of the outputs */
    int64_t rows, pitch;    /* rows per image, with the gap to the next; pixels per row, even */
    int64_t images;         /* per bundle; bundles have whole steps of 32 pixels */
    int64_t steps, span;    /* steps per bundle; pixels of a view of a bundle */
    int64_t bundles, group; /* in all; per group */
    int64_t parts;          /* with sums of their own; 0: workers take blocks of columns */
    int64_t line_blocks, column_blocks; /* of 32 channels */
    int64_t lines, columns; /* channels in use; a stem's are 4 per column of the kernel */
    int64_t views, taps;
    int64_t compact; /* bytes of a stem's image with 4 channels */
};

/* Whether such a gradient exists here; fills *g. */
int ck_tiles_gradient_init(struct ck_tiles_gradient *g, const struct ck_tiles_shape *s);
/* Bytes of scratch that a run needs for teams of up to `threads`; aligned to 64 bytes. */
size_t ck_tiles_gradient_scratch(const struct ck_tiles_gradient *g, int threads);
/* dw = gradient of the weights from input x and gradient dy of the output, or dw += it if
 * `accumulate`. */
void ck_tiles_gradient_run(const struct ck_tiles_gradient *g, const void *x, const void *dy,
                           int accumulate, float *dw, void *scratch);

#endif
