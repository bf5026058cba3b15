/* kernels_pixels_simd.h - the pixel arithmetic on vectors, written once.
 *
 * Included by one file per instruction set, which first defines INLINE; vi, BYTES bytes; vf,
 * LANES floats; and the operations. Their suffixes give the element type: b, w, d for 8, 16 and
 * 32 bits, f for floats. "Lanes" of vi are the 128-bit parts that byte and word instructions do
 * not cross. */
#include "kernels/pixels.h"

#include <string.h>

enum { WORDS = BYTES / 2, LANES = BYTES / 4, ROWS = BYTES / 16 };

/* ---- bytes to floats and back ----
 *
 * A vector of bytes becomes four of 32 bits, in an order that only narrow() needs to know. */

struct wide {
    vi part[4];
};

INLINE struct wide widen(vi v)
{
    vi low = unpack_low_b(v, zero()), high = unpack_high_b(v, zero());
    return (struct wide){{unpack_low_w(low, zero()), unpack_high_w(low, zero()),
                          unpack_low_w(high, zero()), unpack_high_w(high, zero())}};
}

/* Clips to 0..255. */
INLINE vi narrow(struct wide v)
{
    return pack_to_b(pack_to_w(v.part[0], v.part[1]), pack_to_w(v.part[2], v.part[3]));
}

/* Larger factors may produce values beyond 32 bits; the reference handles them. */
#define MAX_FACTOR 1e6f

INLINE int too_large(float factor)
{
    return !(factor <= MAX_FACTOR && factor >= -MAX_FACTOR);
}

/* Exact: all sums are below 2^24. */
INLINE vi gray_part(vi r, vi g, vi b)
{
    vf sum = fma_f(to_f(r), all_f(19595), all_f(32768));
    sum = fma_f(to_f(b), all_f(7471), fma_f(to_f(g), all_f(38470), sum));
    return to_d(mul_f(sum, all_f(1.0f / 65536)));
}

INLINE vi gray_vector(const uint8_t *r, const uint8_t *g, const uint8_t *b)
{
    struct wide wr = widen(load(r)), wg = widen(load(g)), wb = widen(load(b)), level;
    for (int i = 0; i < 4; i++)
        level.part[i] = gray_part(wr.part[i], wg.part[i], wb.part[i]);
    return narrow(level);
}

/* ---- levels ---- */

/* Puts bytes into the low bits of the float 2^23: floats without a conversion. */
INLINE struct wide widen_onto_2_23(vi v)
{
    vi low = unpack_low_b(v, zero()), high = unpack_high_b(v, zero()), top = all_w(0x4b00);
    return (struct wide){{unpack_low_w(low, top), unpack_high_w(low, top),
                          unpack_low_w(high, top), unpack_high_w(high, top)}};
}

static void blend_level(uint8_t *v, int64_t n, float level, float factor)
{
    if (too_large(factor)) {
        ck_pixels_ref.blend_level(v, n, level, factor);
        return;
    }
    vf from = all_f(level), by = all_f(factor), base = all_f(level + (1 << 23));
    for (int64_t i = 0; i < n; i += BYTES) {
        struct wide w = widen_onto_2_23(load(v + i));
        for (int k = 0; k < 4; k++) {
            vf above = sub_f(as_f(w.part[k]), base); /* exact, because level is an integer */
            w.part[k] = to_d(add_f(from, mul_f(by, above)));
        }
        store(v + i, narrow(w));
    }
}

/* x >= threshold exactly where max(x, threshold) = x: there is no unsigned comparison of
 * bytes. */
static void solarize(uint8_t *v, int64_t n, int threshold)
{
    if (threshold > 255)
        return;
    vi from = all_b(threshold), ones = all_b(255);
    for (int64_t i = 0; i < n; i += BYTES) {
        vi x = load(v + i);
        store(v + i, choose_b(equal_b(max_b(x, from), x), sub_b(ones, x), x));
    }
}

/* Applies `block` to blocks of BYTES pixels of three planes. Copies the last, partial block to
 * the stack and back, because nothing may be written past the end. */
typedef void block_fn(uint8_t *r, uint8_t *g, uint8_t *b, float x);

INLINE void each_block(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n, block_fn *block, float x)
{
    int64_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        block(r + i, g + i, b + i, x);
    if (i == n)
        return;
    uint8_t *plane[3] = {r + i, g + i, b + i}, part[3][BYTES] = {{0}};
    for (int c = 0; c < 3; c++)
        memcpy(part[c], plane[c], (size_t)(n - i));
    block(part[0], part[1], part[2], x);
    for (int c = 0; c < 3; c++)
        memcpy(plane[c], part[c], (size_t)(n - i));
}

INLINE vi blend_part(vf level, vf by, vi v)
{
    return to_d(add_f(level, mul_f(by, sub_f(to_f(v), level))));
}

INLINE void blend_gray_block(uint8_t *r, uint8_t *g, uint8_t *b, float factor)
{
    struct wide wr = widen(load(r)), wg = widen(load(g)), wb = widen(load(b));
    vf by = all_f(factor);
    for (int i = 0; i < 4; i++) {
        vf level = to_f(gray_part(wr.part[i], wg.part[i], wb.part[i]));
        wr.part[i] = blend_part(level, by, wr.part[i]);
        wg.part[i] = blend_part(level, by, wg.part[i]);
        wb.part[i] = blend_part(level, by, wb.part[i]);
    }
    store(r, narrow(wr));
    store(g, narrow(wg));
    store(b, narrow(wb));
}

static void blend_gray(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n, float factor)
{
    if (too_large(factor))
        ck_pixels_ref.blend_gray(r, g, b, n, factor);
    else
        each_block(r, g, b, n, blend_gray_block, factor);
}

INLINE void gray_block(uint8_t *r, uint8_t *g, uint8_t *b, float unused)
{
    (void)unused;
    vi level = gray_vector(r, g, b);
    store(r, level);
    store(g, level);
    store(b, level);
}

static void gray(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n)
{
    each_block(r, g, b, n, gray_block, 0);
}

/* Integer sums: independent of the vectors' width. */
static uint64_t gray_sum(const uint8_t *r, const uint8_t *g, const uint8_t *b, int64_t n)
{
    int64_t i = 0;
    vi sum = zero();
    for (; i + BYTES <= n; i += BYTES)
        sum = add_q(sum, sum_b(gray_vector(r + i, g + i, b + i)));
    uint64_t part[BYTES / 8], total = 0;
    store((uint8_t *)part, sum);
    for (int k = 0; k < BYTES / 8; k++)
        total += part[k];
    return total + ck_pixels_ref.gray_sum(r + i, g + i, b + i, n - i);
}

/* v / by from v * (1 / by), corrected by the remainder: one correction is within one unit in
 * the last place, two give v / by correctly rounded (Markstein). */
INLINE vf divide(vf v, vf by, vf inverse, int corrections)
{
    vf q = mul_f(v, inverse);
    for (int i = 0; i < corrections; i++)
        q = fma_f(fnma_f(q, by, v), inverse, q);
    return q;
}

INLINE void normalize_line(const uint8_t *v, int64_t n, int flip, float mean, float std,
                           float *out)
{
    vf m = all_f(mean), s = all_f(std), inverse = all_f(1 / std);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t at = i + LANES <= n ? i : n - LANES; /* the last vector overlaps */
        vf x = to_f(load_levels(v + (flip ? n - LANES - at : at), flip));
        /* One correction suffices for 0..255 by 255: test_pixels.c checks all of them. */
        x = divide(x, all_f(255), all_f(1.0f / 255), 1);
        store_f(out + at, divide(sub_f(x, m), s, inverse, 2));
    }
}

static void normalize(const uint8_t *v, int64_t n, int flip, float mean, float std, float *out)
{
    /* Outside this range remainders may overflow or underflow f32. */
    if (n < LANES || !(std > 1e-6f && std < 1e6f))
        ck_pixels_ref.normalize(v, n, flip, mean, std, out);
    else if (flip)
        normalize_line(v, n, 1, mean, std, out);
    else
        normalize_line(v, n, 0, mean, std, out);
}

/* ---- hue ----
 *
 * Reproduces Pillow's truncations without its detours through f64: checked against it for all
 * 2^24 colours (test_pixels.c checks some). */

struct levels {
    vi high, low, mid;
};

INLINE struct levels sort_levels(vi r, vi g, vi b)
{
    vi more = max_b(r, g), less = min_b(r, g);
    return (struct levels){max_b(more, b), min_b(less, b), max_b(less, min_b(more, b))};
}

/* Hue in sixths of a turn is base + or - (high - mid) / range. base may be -1 (between magenta
 * and red), so it is returned plus 1; minus is 255 or 0. If two channels are maximal, red takes
 * precedence, then green. */
INLINE void find_sector(vi r, vi g, struct levels l, vi *base_and_1, vi *minus)
{
    vi yes = all_b(255), no = zero();
    vmask red = equal_b(r, l.high), green = equal_b(g, l.high);
    vmask low_red = equal_b(r, l.low), low_green = equal_b(g, l.low);
    vi if_red = choose_b(low_green, no, all_b(2));
    vi if_green = choose_b(low_red, all_b(4), all_b(2));
    vi if_blue = choose_b(low_red, all_b(4), all_b(6));
    *base_and_1 = choose_b(red, if_red, choose_b(green, if_green, if_blue));
    vi minus_red = choose_b(low_green, no, yes), minus_green = choose_b(low_red, yes, no);
    vi minus_blue = choose_b(low_red, no, yes);
    *minus = choose_b(red, minus_red, choose_b(green, minus_green, minus_blue));
}

/* base_and_1 comes from widen_onto_2_23(). */
INLINE vi hue_part(vi from_mid, vi range, vi base_and_1, vi minus)
{
    vf x = negate_if(div_f(to_f(from_mid), to_f(range)), minus);
    vf sixths = add_f(sub_f(as_f(base_and_1), all_f((1 << 23) + 1)), x);
    vf sixth = all_f(1.0f / 6);
    vf turn = divide(sixths, all_f(6), sixth, 1);
    turn = choose_if_negative(sixths, fma_f(sixths, sixth, all_f(1)), turn);
    return to_d(mul_f(turn, all_f(255)));
}

/* floor(255 range / high), as Pillow's truncation gives it. A quotient that is not an integer
 * is at least 1/255 below the next, so that 22 bits of 1 / high, and 1/512 on top, decide; that
 * is cheaper than a second division. */
INLINE vi saturation_part(vi range, vi high)
{
    vf by = to_f(high), inverse = about_inverse_f(by);
    inverse = fma_f(inverse, fnma_f(by, inverse, all_f(1)), inverse);
    return to_d(fma_f(mul_f(to_f(range), all_f(255)), inverse, all_f(1.0f / 512)));
}

/* Returns the hue, and the saturation in *saturation. */
INLINE vi hue_vector(vi r, vi g, struct levels l, vi *saturation)
{
    vi base_and_1, minus, range = sub_b(l.high, l.low);
    find_sector(r, g, l, &base_and_1, &minus);
    vmask none = equal_b(range, zero()); /* grey: the hue is irrelevant */
    struct wide w_range = widen(max_b(range, all_b(1))), w_mid = widen(sub_b(l.high, l.mid));
    struct wide w_base = widen_onto_2_23(base_and_1), w_minus = widen(minus);
    struct wide w_high = widen(max_b(l.high, all_b(1))), h, s;
    for (int i = 0; i < 4; i++) {
        h.part[i] = hue_part(w_mid.part[i], w_range.part[i], w_base.part[i], w_minus.part[i]);
        s.part[i] = saturation_part(w_range.part[i], w_high.part[i]);
    }
    *saturation = choose_b(none, zero(), narrow(s));
    return narrow(h);
}

/* A channel is value * (1 - saturation / 255 * fade / 85): in integers, for which rounding
 * never meets a tie. */
enum { SIXTH = 85, WHOLE = 255 * SIXTH };

INLINE vi fade_within(vi fade)
{
    return min_w(max_w(fade, zero()), all_w(SIXTH));
}

INLINE vi faded_level(vi value, vi kept)
{
    vf x = to_f(dot_w(value, kept));
    return to_d(fma_f(x, all_f(1.0f / WHOLE), all_f(0.5f)));
}

/* fade [2], saturation [2]: words of the low and the high halves of the 128-bit lanes. */
INLINE vi faded(const vi fade[2], const vi saturation[2], struct wide value)
{
    struct wide level;
    for (int i = 0; i < 2; i++) {
        vi kept = sub_w(all_w(WHOLE), mul_w(saturation[i], fade_within(fade[i])));
        level.part[2 * i] = faded_level(value.part[2 * i], unpack_low_w(kept, zero()));
        level.part[2 * i + 1] = faded_level(value.part[2 * i + 1], unpack_high_w(kept, zero()));
    }
    return narrow(level);
}

INLINE void hue_block(uint8_t *r, uint8_t *g, uint8_t *b, float shift)
{
    vi saturation, s[2], red[2], green[2], blue[2];
    struct levels l = sort_levels(load(r), load(g), load(b));
    vi hue_and_shift = add_b(hue_vector(load(r), load(g), l, &saturation), all_b((int)shift));
    for (int i = 0; i < 2; i++) {
        s[i] = i ? unpack_high_b(saturation, zero()) : unpack_low_b(saturation, zero());
        vi h = i ? unpack_high_b(hue_and_shift, zero()) : unpack_low_b(hue_and_shift, zero());
        h = add_w(h, h); /* now SIXTH per sixth of a turn */
        red[i] = min_w(sub_w(h, all_w(SIXTH)), sub_w(all_w(5 * SIXTH), h));
        green[i] = max_w(sub_w(all_w(SIXTH), h), sub_w(h, all_w(3 * SIXTH)));
        blue[i] = max_w(sub_w(all_w(3 * SIXTH), h), sub_w(h, all_w(5 * SIXTH)));
    }
    struct wide value = widen(l.high);
    store(r, faded(red, s, value));
    store(g, faded(green, s, value));
    store(b, faded(blue, s, value));
}

static void hue(uint8_t *r, uint8_t *g, uint8_t *b, int64_t n, int shift)
{
    each_block(r, g, b, n, hue_block, (float)shift);
}
