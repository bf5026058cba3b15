/* conv_tiles.h - bf16 convolutions, forward and gradient of the input, as products of tiles: 16
 * pixels x 32 channels by 32 channels x 16 outputs, summed in f32.
 *
 * Images are [n][cb][h * w][ck_tiles_block] bf16: channel c = number of the block * its size + lane,
 * the last block padded with zeros; outputs have exact zeros there. Weights are packed by ck_tiles_pack from the f32
 * parameter [oc][ic][kernel][kernel].
 *
 * A pass is cut into chunks of whole images that depend on the shape only: results have the same
 * bytes for any number of threads. They are those of the matrix unit (amx_tiles.h), of its
 * emulation, bit for bit the same, or of AVX-512's bf16 products, whose sums round differently.
 * Arrays must be aligned to 64 bytes. Nothing allocates or fails; nothing may overlap. */
#ifndef CK_CONV_TILES_H
#define CK_CONV_TILES_H

#include <stddef.h>
#include <stdint.h>

enum { CK_TILE_CHANNELS = 32 };

/* Channels of a block: images of up to 16 channels have narrow blocks, which take half the
 * memory. */
static inline int64_t ck_tiles_block(int64_t channels)
{
    return channels > CK_TILE_CHANNELS / 2 ? CK_TILE_CHANNELS : CK_TILE_CHANNELS / 2;
}

/* A stem, with few channels, reads in each step a row of the kernel: 8 pixels of 4 channels. */
enum { CK_STEM_CHANNELS = 4, CK_STEM_PIXELS = 8 };

struct ck_tiles_shape {
    int64_t n, ic, ih, iw, oc, oh, ow; /* all >= 1 */
    int64_t kernel, stride, pad;       /* the same vertically and horizontally */
};

enum ck_tiles_pass { CK_TILES_FORWARD, CK_TILES_DATA };

/* The instructions that compute the products: "amx", "amx emulated", "avx512_bf16"; NULL if
 * there are none here. */
const char *ck_tiles_how(void);

enum { CK_TILES_KERNEL = 7, CK_TILES_TAPS = 49, CK_TILES_VIEWS = 14, CK_TILES_PARTS = 4 };

/* A rearranged copy of an image: pixel (r, c) is the source's (row + step r, column + step c). */
struct ck_tiles_view {
    int64_t row, column;
};

/* The outputs of one parity: all of them but in the gradient of a convolution with stride 2,
 * whose even and odd rows and columns have different taps. */
struct ck_tiles_part {
    int64_t h, w;        /* outputs */
    int64_t row, column; /* of the first in the output image; the next are `stride` apart */
    int64_t step;        /* source pixels from one output to the next */
    int64_t taps, views; /* taps 0: the outputs are 0 */
    int64_t rows_above;  /* rows of a view beyond those of the outputs */
    int64_t pitch;       /* pixels per row of a view */
    int64_t band;        /* rows of outputs that are computed from one set of views */
    int64_t b;           /* offset of its packed weights, in elements */
    int64_t steps;       /* products per output block: taps x source blocks */
    struct ck_tiles_view view[CK_TILES_VIEWS];
    int8_t tap_view[CK_TILES_TAPS]; /* the view a tap reads, */
    int8_t tap_row[CK_TILES_TAPS];  /* at this offset, */
    int8_t tap_column[CK_TILES_TAPS];
    int8_t tap_weight[CK_TILES_TAPS]; /* and its place in the kernel */
};

/* One pass, compiled: constant, shared by all threads. */
struct ck_tiles_conv {
    struct ck_tiles_shape s;
    enum ck_tiles_pass pass;
    int64_t sc, sh, sw;    /* source: blocks of channels, rows, columns */
    int64_t dc, dh, dw;    /* destination */
    int64_t from, to;      /* channels of a block of the source, of the destination */
    int64_t stride;        /* between the outputs of a part, in the destination */
    int64_t group, chunks; /* images per chunk */
    int stem; /* few channels: a step is one row of the kernel, 4 channels a pixel */
    int parts;
    struct ck_tiles_part part[CK_TILES_PARTS];
    size_t packed;  /* bytes of packed weights */
    size_t scratch; /* bytes per worker */
    size_t sums;    /* bytes for the sums of all chunks; forward only */
};

/* Whether such a convolution exists here; fills *c. */
int ck_tiles_init(struct ck_tiles_conv *c, const struct ck_tiles_shape *s,
                  enum ck_tiles_pass pass);
/* Bytes of scratch that a run needs for teams of up to `threads`; the caller owns it. */
size_t ck_tiles_scratch(const struct ck_tiles_conv *c, int threads);

/* Whether both have the same packed weights. */
int ck_tiles_packs_alike(const struct ck_tiles_conv *a, const struct ck_tiles_conv *b);
/* packed [c->packed bytes] from weights [oc][ic][kernel][kernel], rounded to nearest even. */
void ck_tiles_pack(const struct ck_tiles_conv *c, const float *weights, void *packed);

/* As struct ck_wino_producer: computes images of the source just before they are read. */
struct ck_tiles_producer {
    void (*run)(void *arg, int64_t first, int64_t images);
    void *arg;
};

/* Sums over images and pixels per output channel [dc * to], of the f32 results before they are
 * rounded; about a point of each chunk's values, so that they do not cancel. */
struct ck_tiles_sums {
    double *sum, *square;
};

/* dst = the convolution of src, or the gradient of its input from that of its output; producer
 * NULL = src is already computed; sums NULL = not wanted (forward only). */
void ck_tiles_run(const struct ck_tiles_conv *c, const void *src, const void *packed, void *dst,
                  const struct ck_tiles_producer *producer, const struct ck_tiles_sums *sums,
                  void *scratch);

/* Conversions between plain f32 images [n][channels][pixels] and ours. */
void ck_tiles_from_plain(int64_t n, int64_t channels, int64_t pixels, const float *plain,
                         void *images);
void ck_tiles_to_plain(int64_t n, int64_t channels, int64_t pixels, const void *images,
                       float *plain);

#endif
