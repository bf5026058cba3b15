/* kernels_pixels_lines_simd.h - resampling and blur on vectors, written once. Included after
 * kernels_pixels_simd.h, whose operations it uses. */
#include "kernels/pixels.h"

#include <string.h>

/* ---- resampling ----
 *
 * Multiplies words and adds pairs of products: pixels have 8 bits, weights 23, in two parts. */

struct sums {
    vi low, high;
};

/* Starts at one half, so that the final shift rounds. */
INLINE struct sums no_sums(void)
{
    return (struct sums){all_d(1 << (CK_WEIGHT_BITS - 1)), zero()};
}

/* Adds pairs of words, `pixels`, weighted by low and high. */
INLINE struct sums add_pair(struct sums s, vi pixels, const int16_t *low, const int16_t *high)
{
    s.low = add_d(s.low, dot_w(pixels, all_pairs(low)));
    s.high = add_d(s.high, dot_w(pixels, all_pairs(high)));
    return s;
}

INLINE vi level_of(struct sums s)
{
    return shift_right_d(add_d(s.low, shift_left_d(s.high, CK_WEIGHT_SPLIT)), CK_WEIGHT_BITS);
}

/* One output pixel of ROWS rows, four channels per 128-bit lane. pairs[0] and [1] shuffle
 * pixels 0 and 1, and 2 and 3, of 16 bytes into pairs of words. */
INLINE vi across_pixel(const uint8_t *const *row, int64_t at, int size, const vi pairs[2],
                       const int16_t *low, const int16_t *high, int taps)
{
    struct sums s = no_sums();
    int k = 0;
    for (; k + 4 <= taps; k += 4, at += 4 * size) {
        vi v = load_rows(row, at);
        s = add_pair(s, shuffle_b(v, pairs[0]), low + k, high + k);
        s = add_pair(s, shuffle_b(v, pairs[1]), low + k + 2, high + k + 2);
    }
    if (k < taps)
        s = add_pair(s, shuffle_b(load_rows(row, at), pairs[0]), low + k, high + k);
    return level_of(s);
}

INLINE void across_rows(const struct ck_taps *t, const uint8_t *const *row, int size, int taps,
                        uint8_t *const *out)
{
    int8_t order[2][16];
    for (int i = 0; i < 16; i++) {
        int channel = i / 4, second = i / 2 % 2, none = i % 2 || channel >= size;
        order[0][i] = (int8_t)(none ? -1 : channel + second * size);
        order[1][i] = (int8_t)(none ? -1 : channel + (second + 2) * size);
    }
    const vi pairs[2] = {all_lanes(order[0]), all_lanes(order[1])};
    for (int32_t x = 0; x < t->out; x += 4) {
        struct wide v; /* past the end the rows have room: repeats the last pixel */
        for (int i = 0; i < 4; i++) {
            int32_t at = x + i < t->out ? x + i : t->out - 1;
            v.part[i] =
                across_pixel(row, (int64_t)t->first[at] * size, size, pairs,
                             t->low + (int64_t)at * taps, t->high + (int64_t)at * taps, taps);
        }
        store_rows(out, (int64_t)x * CK_QUAD, narrow(v));
    }
}

static void resize_across(const struct ck_taps *t, const uint8_t *in, int64_t stride, int size,
                          int32_t rows, uint8_t *out, int64_t out_stride)
{
    for (int32_t y = 0; y < rows; y += ROWS) {
        const uint8_t *from[ROWS];
        uint8_t *to[ROWS];
        for (int i = 0; i < ROWS; i++) { /* repeat the last row */
            int32_t at = y + i < rows ? y + i : rows - 1;
            from[i] = in + at * stride;
            to[i] = out + at * out_stride;
        }
        if (t->taps == 2)
            across_rows(t, from, size, 2, to);
        else if (t->taps == 4)
            across_rows(t, from, size, 4, to);
        else
            across_rows(t, from, size, t->taps, to);
    }
}

/* BYTES bytes of output line y, from column `at` on. */
INLINE vi down_vector(const struct ck_taps *t, int32_t y, const uint8_t *in, int64_t stride,
                      int64_t at)
{
    const int16_t *low = t->low + (int64_t)y * t->taps, *high = t->high + (int64_t)y * t->taps;
    struct sums s[4] = {no_sums(), no_sums(), no_sums(), no_sums()};
    const uint8_t *line = in + t->first[y] * stride + at;
    for (int32_t k = 0; k < t->taps; k += 2, line += 2 * stride) {
        int alone = t->first[y] + k + 1 >= t->in; /* no second line: weight 0 */
        vi a = load(line), b = load(alone ? line : line + stride);
        vi ab_low = unpack_low_b(a, b), ab_high = unpack_high_b(a, b);
        s[0] = add_pair(s[0], unpack_low_b(ab_low, zero()), low + k, high + k);
        s[1] = add_pair(s[1], unpack_high_b(ab_low, zero()), low + k, high + k);
        s[2] = add_pair(s[2], unpack_low_b(ab_high, zero()), low + k, high + k);
        s[3] = add_pair(s[3], unpack_high_b(ab_high, zero()), low + k, high + k);
    }
    return narrow(
        (struct wide){{level_of(s[0]), level_of(s[1]), level_of(s[2]), level_of(s[3])}});
}

static void resize_down(const struct ck_taps *t, const uint8_t *in, int64_t stride,
                        int32_t width, int channels, uint8_t *out)
{
    int64_t plane = (int64_t)width * t->out;
    for (int32_t y = 0; y < t->out; y++, out += width)
        for (int32_t x = 0; x < width; x += LANES) {
            uint8_t level[CK_QUAD][LANES]; /* transposed from quads to planes */
            store(level[0], planes_of_quads(down_vector(t, y, in, stride, x * CK_QUAD)));
            int32_t n = width - x < LANES ? width - x : LANES;
            for (int c = 0; c < channels; c++)
                if (n == LANES)
                    memcpy(out + c * plane + x, level[c], LANES);
                else
                    memcpy(out + c * plane + x, level[c], (size_t)n);
        }
}

/* ---- blur ----
 *
 * Keeps a strip of lines side by side as words [n][CK_STRIP], so that vectors of running sums
 * advance along the lines. */

enum { BLOCK = 16, MAX_RADIUS = 63 }; /* larger sums need more than 15 bits */

/* Pairs of words (weight of the sum, weight of the two ends), low and high parts. */
struct box_pairs {
    vi low, high;
};

/* The weighted sum in two parts, so that each fits 32 bits: the low part is rounded and carried
 * into the high one. */
INLINE vi box_levels(vi sums_and_ends, struct box_pairs w)
{
    vi low = shift_right_d(add_d(dot_w(sums_and_ends, w.low), all_d(1 << 23)), 15);
    return shift_right_d(add_d(dot_w(sums_and_ends, w.high), low), 9);
}

/* One box filter along WORDS lines. */
INLINE void box_round(const uint16_t *in, uint16_t *out, int32_t n, int32_t radius,
                      struct box_pairs w)
{
    vi sum = mul_w(load_w(in), all_w(radius + 1));
    for (int32_t i = 0; i < radius; i++)
        sum = add_w(sum, load_w(in + (i < n ? i : n - 1) * CK_STRIP));
    vi entering = load_w(in + (radius < n ? radius : n - 1) * CK_STRIP);
    for (int32_t i = 0; i < n; i++, out += CK_STRIP) {
        int32_t left = i - radius - 1, right = i + radius + 1;
        vi before = load_w(in + (left > 0 ? left : 0) * CK_STRIP);
        vi after = load_w(in + (right < n ? right : n - 1) * CK_STRIP);
        sum = add_w(sum, sub_w(entering, before));
        entering = after;
        vi ends = add_w(before, after);
        store_w(out, pack_to_w(box_levels(unpack_low_w(sum, ends), w),
                               box_levels(unpack_high_w(sum, ends), w)));
    }
}

/* Applies CK_BLUR_ROUNDS = 3 filters, alternating between the two halves of the scratch;
 * returns the half that holds the result. */
INLINE uint16_t *box_rounds(uint16_t *strip, int32_t n, const struct ck_box_weights *box)
{
    uint32_t mask = (1u << 15) - 1;
    struct box_pairs w = {
        all_d((int32_t)((box->inner & mask) | (box->outer & mask) << 16)),
        all_d((int32_t)((box->inner >> 15) | (box->outer >> 15) << 16)),
    };
    uint16_t *other = strip + ck_blur_work(n) / 2;
    for (int lane = 0; lane < CK_STRIP; lane += WORDS) {
        box_round(strip + lane, other + lane, n, box->radius, w);
        box_round(other + lane, strip + lane, n, box->radius, w);
        box_round(strip + lane, other + lane, n, box->radius, w);
    }
    return other;
}

/* Other radii and weights go to the reference version. */
static int fits(const struct ck_box_weights *box)
{
    return box->radius <= MAX_RADIUS && box->outer < 1 << 24;
}

static void blur_down(uint8_t *v, int64_t stride, int lines, int32_t n,
                      const struct ck_box_weights *box, uint16_t *work)
{
    if (!fits(box)) {
        ck_pixels_ref.blur_down(v, stride, lines, n, box, work);
        return;
    }
    for (int32_t i = 0; i < n; i++)
        widen_strip(v + i * stride, work + i * CK_STRIP);
    uint16_t *strip = box_rounds(work, n, box);
    for (int32_t i = 0; i < n; i++) {
        __m256i level = narrow_strip(strip + i * CK_STRIP);
        uint8_t part[CK_STRIP];
        if (lines == CK_STRIP) {
            _mm256_storeu_si256((__m256i *)(v + i * stride), level);
            continue;
        }
        _mm256_storeu_si256((__m256i *)part, level);
        memcpy(v + i * stride, part, (size_t)lines);
    }
}

/* Transposes two 16 x 16 blocks of bytes, one in each half of the vectors. */
INLINE void transpose(__m256i v[BLOCK])
{
    __m256i w[BLOCK];
#define ROUND(from, to)                                                                        \
    for (int i = 0; i < BLOCK / 2; i++) {                                                      \
        to[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + BLOCK / 2]);                        \
        to[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + BLOCK / 2]);                    \
    }
    ROUND(v, w)
    ROUND(w, v)
    ROUND(v, w)
    ROUND(w, v)
#undef ROUND
}

INLINE __m256i load_two(const uint8_t *low, const uint8_t *high)
{
    __m128i a = _mm_loadu_si128((const __m128i *)low),
            b = _mm_loadu_si128((const __m128i *)high);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

/* Loads 16 columns of up to 32 rows, transposed; rows beyond the last repeat it. */
INLINE void load_columns(const uint8_t *v, int64_t stride, int lines, uint16_t *strip)
{
    __m256i block[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        int low = i < lines ? i : lines - 1, high = i + BLOCK < lines ? i + BLOCK : lines - 1;
        block[i] = load_two(v + low * stride, v + high * stride);
    }
    transpose(block);
    for (int i = 0; i < BLOCK; i++)
        widen_levels(block[i], strip + i * CK_STRIP);
}

/* The inverse of load_columns; writes neither rows nor columns past the end. */
INLINE void store_columns(const uint16_t *strip, uint8_t *v, int64_t stride, int lines,
                          int32_t columns)
{
    __m256i block[BLOCK];
    uint8_t part[2][BLOCK];
    for (int i = 0; i < BLOCK; i++)
        block[i] = narrow_strip(strip + i * CK_STRIP);
    transpose(block);
    for (int i = 0; i < BLOCK; i++) {
        _mm256_storeu_si256((__m256i *)part[0], block[i]);
        size_t size = (size_t)(columns < BLOCK ? columns : BLOCK);
        if (i < lines)
            memcpy(v + i * stride, part[0], size);
        if (i + BLOCK < lines)
            memcpy(v + (i + BLOCK) * stride, part[1], size);
    }
}

static void blur_across(uint8_t *v, int64_t stride, int lines, int32_t n,
                        const struct ck_box_weights *box, uint16_t *work)
{
    if (!fits(box)) {
        ck_pixels_ref.blur_across(v, stride, lines, n, box, work);
        return;
    }
    for (int32_t x = 0; x < n; x += BLOCK)
        load_columns(v + x, stride, lines, work + x * CK_STRIP);
    uint16_t *strip = box_rounds(work, n, box);
    for (int32_t x = 0; x < n; x += BLOCK)
        store_columns(strip + x * CK_STRIP, v + x, stride, lines, n - x);
}
