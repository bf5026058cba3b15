/* pixels.h - arithmetic on 8-bit pixels, one version per instruction set.
 *
 * kernels_pixels_ref.c defines the results, which are Pillow's; every version returns the same
 * bytes. Pixels come from ck_image and ck_planes, whose allocations extend CK_IMAGE_SLACK bytes
 * past the last pixel: up to that many may be read and, where a function says so, written.
 *
 * The functions are pure and single-threaded. The loader's threads call them concurrently, each
 * on images of its own. */
#ifndef CK_PIXELS_H
#define CK_PIXELS_H

#include <stdint.h>

enum {
    CK_PIXEL_SLACK = 64,  /* bytes past the last pixel that may be touched */
    CK_QUAD = 4,          /* channels resampled together */
    CK_WEIGHT_BITS = 22,  /* a weight of 1 is 1 << 22 */
    CK_WEIGHT_SPLIT = 15, /* bits in the low part of a weight */
    CK_STRIP = 32,        /* lines blurred together */
    CK_BLUR_ROUNDS = 3,
};

/* How a line of `in` pixels is resampled to `out`: output i is a weighted sum of `taps`
 * consecutive pixels from first[i] on; taps beyond the end have weight 0. A weight is high <<
 * 15
 *
 *  low. image/resize.c owns the arrays. */
struct ck_taps {
    int32_t in, out, taps; /* taps is even */
    int32_t *first;        /* [out] */
    int16_t *low, *high;   /* [out][taps] */
};

/* A box of 2 radius + 1 pixels of weight `inner` and one of weight `outer` at either end, in
 * units of 2^-24. Lines are extended by their first and last pixels. */
struct ck_box_weights {
    int32_t radius;
    uint32_t inner, outer;
};

struct ck_pixels {
    /* v = level + factor * (v - level) in f32, clipped and truncated, for v [n]. May write up
     * to CK_PIXEL_SLACK bytes more. */
    void (*blend_level)(uint8_t *v, int64_t n, float level, float factor);
    /* The same towards each pixel's own grey level. r, g, b [n]. */
    void (*blend_gray)(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n, float factor);
    /* r = g = b = the grey level. */
    void (*gray)(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n);
    /* Sum of the grey levels. r, g and b may be the same. */
    uint64_t (*gray_sum)(const uint8_t *r, const uint8_t *g, const uint8_t *b, int64_t n);
    /* Adds shift (0..255) to the hue, modulo 256. */
    void (*hue)(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n, int shift);
    /* v = v < threshold ? v : 255 - v, threshold 0..256. May write as far as blend_level. */
    void (*solarize)(uint8_t *v, int64_t n, int threshold);
    /* out[i] = (v[i] / 255 - mean) / std; with `flip` from v[n - 1 - i]. */
    void (*normalize)(const uint8_t *v, int64_t n, int flip, float mean, float std, float *out);

    /* Resamples lines of pixels of `size` bytes (3 or 4), `stride` bytes apart, to lines of
     * quads (the fourth of three channels is 0), out_stride (a multiple of CK_PIXEL_SLACK)
     * bytes apart. */
    void (*resize_across)(const struct ck_taps *t, const uint8_t *in, int64_t stride, int size,
                          int32_t rows, uint8_t *out, int64_t out_stride);
    /* Resamples t->in lines of `width` quads to t->out lines; stores the first `channels`
     * channels as planes out [channels][t->out][width]. */
    void (*resize_down)(const struct ck_taps *t, const uint8_t *in, int64_t stride,
                        int32_t width, int channels, uint8_t *out);

    /* Three box filters in a row along lines of n pixels, for `lines` <= CK_STRIP of them. work
     * [ck_blur_work(n)] is scratch aligned to 64 bytes. blur_across: a line is a row, lines are
     * `stride` bytes apart; blur_down: a line is a column, its pixels are `stride` bytes
     * apart. */
    void (*blur_across)(uint8_t *v, int64_t stride, int lines, int32_t n,
                        const struct ck_box_weights *box, uint16_t *work);
    void (*blur_down)(uint8_t *v, int64_t stride, int lines, int32_t n,
                      const struct ck_box_weights *box, uint16_t *work);
};

/* Elements of scratch for a blur along n pixels: two strips, rounded up to whole blocks. */
static inline int64_t ck_blur_work(int32_t n)
{
    return 2 * ((int64_t)n + CK_STRIP) * CK_STRIP;
}

/* The version that matches ck_kernels(), or the kernels of this name (NULL: they do not run on
 * this CPU). */
const struct ck_pixels *ck_pixels(void);
const struct ck_pixels *ck_pixels_named(const char *name);

/* A version whose functions have the names of the members. */
#define CK_PIXELS                                                                              \
    {                                                                                          \
        .blend_level = blend_level, .blend_gray = blend_gray, .gray = gray,                    \
        .gray_sum = gray_sum, .hue = hue, .solarize = solarize, .normalize = normalize,        \
        .resize_across = resize_across, .resize_down = resize_down,                            \
        .blur_across = blur_across, .blur_down = blur_down,                                    \
    }

extern const struct ck_pixels ck_pixels_ref;
extern const struct ck_pixels ck_pixels_avx2;
extern const struct ck_pixels ck_pixels_avx512;

#endif
