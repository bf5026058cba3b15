/* kernels_pixels_ref.c - defines the pixel arithmetic: Pillow 9.4's rounding, step by step. */
#include "kernels/pixels.h"

#include <math.h>
#include <string.h>

/* ---- levels ---- */

/* Pillow's fixed-point L24: weights .299, .587 and .114 in units of 2^-16, rounded. */
static int gray_level(int r, int g, int b)
{
    return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
}

/* Clips before it truncates, as Pillow's Image.blend does. */
static uint8_t blend(float from, float factor, int v)
{
    float x = from + factor * ((float)v - from);
    return x <= 0 ? 0 : x >= 255 ? 255 : (uint8_t)x;
}

static void blend_level(uint8_t *v, int64_t n, float level, float factor)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = blend(level, factor, v[i]);
}

static void blend_gray(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n, float factor)
{
    for (int64_t i = 0; i < n; i++) {
        float level = (float)gray_level(r[i], g[i], b[i]);
        r[i] = blend(level, factor, r[i]);
        g[i] = blend(level, factor, g[i]);
        b[i] = blend(level, factor, b[i]);
    }
}

static void gray(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        r[i] = g[i] = b[i] = (uint8_t)gray_level(r[i], g[i], b[i]);
}

static uint64_t gray_sum(const uint8_t *r, const uint8_t *g, const uint8_t *b, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (uint64_t)gray_level(r[i], g[i], b[i]);
    return sum;
}

static void solarize(uint8_t *v, int64_t n, int threshold)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = v[i] < threshold ? v[i] : (uint8_t)(255 - v[i]);
}

static void normalize(const uint8_t *v, int64_t n, int flip, float mean, float std, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = ((float)v[flip ? n - 1 - i : i] / 255.0f - mean) / std;
}

/* ---- hue ---- */

struct hsv {
    int hue, saturation, value; /* 0..255 each */
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* f32 and f64 mix exactly as in Pillow: that decides where the truncations fall. */
static struct hsv to_hsv(int r, int g, int b)
{
    int high = larger(r, larger(g, b)), low = smaller(r, smaller(g, b));
    if (high == low)
        return (struct hsv){0, 0, high};
    float range = (float)(high - low);
    float from_r = (float)(high - r) / range, from_g = (float)(high - g) / range,
          from_b = (float)(high - b) / range;
    float sixths = r == high   ? from_b - from_g
                   : g == high ? (float)(2.0 + (double)from_r - (double)from_b)
                               : (float)(4.0 + (double)from_g - (double)from_r);
    float turn = (float)fmod((double)sixths / 6.0 + 1.0, 1.0);
    float saturation = range / (float)high;
    return (struct hsv){(int)((double)turn * 255.0), (int)((double)saturation * 255.0), high};
}

static void from_hsv(struct hsv c, uint8_t *r, uint8_t *g, uint8_t *b)
{
    double sixths = (double)c.hue * 6.0 / 255.0;
    int sector = (int)floor(sixths);
    float part = (float)(sixths - sector);
    float saturation = (float)(c.saturation / 255.0);
    float faded = saturation * part; /* in f32, unlike the rest */
    double value = c.value;
    uint8_t v = (uint8_t)c.value;
    uint8_t p = (uint8_t)round(value * (1.0 - (double)saturation));
    uint8_t q = (uint8_t)round(value * (1.0 - (double)faded));
    uint8_t t = (uint8_t)round(value * (1.0 - (double)saturation * (1.0 - (double)part)));
    const uint8_t rgb[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                               {p, q, v}, {t, p, v}, {v, p, q}};
    *r = rgb[sector % 6][0];
    *g = rgb[sector % 6][1];
    *b = rgb[sector % 6][2];
}

static void hue(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n, int shift)
{
    for (int64_t i = 0; i < n; i++) {
        struct hsv c = to_hsv(r[i], g[i], b[i]);
        c.hue = (c.hue + shift) & 255;
        from_hsv(c, r + i, g + i, b + i);
    }
}

/* ---- resampling ---- */

/* The sum of weighted pixels `step` bytes apart, rounded and clipped. */
static uint8_t resample(const struct ck_taps *t, int32_t i, const uint8_t *in, int64_t step)
{
    int32_t sum = 1 << (CK_WEIGHT_BITS - 1);
    const int16_t *low = t->low + (int64_t)i * t->taps, *high = t->high + (int64_t)i * t->taps;
    int32_t count = smaller(t->taps, t->in - t->first[i]);
    in += t->first[i] * step;
    for (int32_t k = 0; k < count; k++, in += step)
        sum += *in * (high[k] * (1 << CK_WEIGHT_SPLIT) + low[k]);
    int32_t level = sum >> CK_WEIGHT_BITS;
    return level < 0 ? 0 : level > 255 ? 255 : (uint8_t)level;
}

static void resize_across(const struct ck_taps *t, const uint8_t *in, int64_t stride, int size,
                          int32_t rows, uint8_t *out, int64_t out_stride)
{
    for (int32_t y = 0; y < rows; y++, in += stride, out += out_stride)
        for (int32_t x = 0; x < t->out; x++)
            for (int c = 0; c < CK_QUAD; c++)
                out[x * CK_QUAD + c] = c < size ? resample(t, x, in + c, size) : 0;
}

static void resize_down(const struct ck_taps *t, const uint8_t *in, int64_t stride,
                        int32_t width, int channels, uint8_t *out)
{
    for (int c = 0; c < channels; c++)
        for (int32_t y = 0; y < t->out; y++)
            for (int32_t x = 0; x < width; x++)
                *out++ = resample(t, y, in + (int64_t)x * CK_QUAD + c, stride);
}

/* ---- blur ---- */

static int32_t inside(int64_t i, int32_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : (int32_t)i;
}

/* One box filter: out [n] from n pixels `step` bytes apart. A running sum moves along the
 * line. */
static void box_round(const uint8_t *in, int64_t step, int32_t n,
                      const struct ck_box_weights *box, uint8_t *out)
{
    int64_t radius = box->radius;
    /* The box around the pixel before the first. */
    uint32_t sum = (uint32_t)(radius + 1) * in[0];
    for (int64_t i = 0; i < radius && i < n; i++)
        sum += in[i * step];
    if (radius > n)
        sum += (uint32_t)(radius - n) * in[(n - 1) * step];
    for (int32_t i = 0; i < n; i++) {
        uint32_t before = in[inside(i - radius - 1, n) * step];
        uint32_t after = in[inside(i + radius + 1, n) * step];
        sum += in[inside(i + radius, n) * step] - before;
        uint32_t level = sum * box->inner + (before + after) * box->outer;
        out[i] = (uint8_t)((level + (1u << 23)) >> 24);
    }
}

/* Rounds to 8 bits after each filter, as Pillow does. `work` holds one line of n bytes. */
static void blur_line(uint8_t *v, int64_t step, int32_t n, const struct ck_box_weights *box,
                      uint8_t *work)
{
    for (int round = 0; round < CK_BLUR_ROUNDS; round++) {
        box_round(v, step, n, box, work);
        for (int32_t i = 0; i < n; i++)
            v[i * step] = work[i];
    }
}

static void blur_across(uint8_t *v, int64_t stride, int lines, int32_t n,
                        const struct ck_box_weights *box, uint16_t *work)
{
    for (int line = 0; line < lines; line++)
        blur_line(v + line * stride, 1, n, box, (uint8_t *)work);
}

static void blur_down(uint8_t *v, int64_t stride, int lines, int32_t n,
                      const struct ck_box_weights *box, uint16_t *work)
{
    for (int line = 0; line < lines; line++)
        blur_line(v + line, stride, n, box, (uint8_t *)work);
}

const struct ck_pixels ck_pixels_ref = CK_PIXELS;
