/* kernels_vnni.c - AVX-512 with 8-bit dot products: screening in tiles of 8 rows x 48 centers.
 *
 * Screening yields upper bounds on scores; the caller (cluster/assign.c) computes exact f32
 * scores where a bound reaches its limit, so that the bounds need not have the same bits
 * everywhere. The f32 kernels are the AVX-512 ones. */
#include "kernels/kernels.h"

#include <immintrin.h>
#include <math.h>

enum { VECS = 3 };

/* Four bytes, at any address. */
typedef int32_t quad __attribute__((may_alias, aligned(1)));

/* Lengths are sums in f32: their relative error is far below 2^-12 for every supported
 * dimension (ld/16 + 8 roundings of 2^-24), so this factor rounds them up. */
static const float UP = 1.0f + 0x1p-12f;
/* Added to lengths whose square underflows f32. */
static const float TINY = 0x1p-60f;

/* Stores four groups of four bytes, `stride` apart. */
static inline void store4x4(uint8_t *q, int64_t stride, __m128i v)
{
    if (stride == 4) {
        _mm_storeu_si128((__m128i *)q, v);
        return;
    }
    *(quad *)(void *)q = _mm_extract_epi32(v, 0);
    *(quad *)(void *)(q + stride) = _mm_extract_epi32(v, 1);
    *(quad *)(void *)(q + 2 * stride) = _mm_extract_epi32(v, 2);
    *(quad *)(void *)(q + 3 * stride) = _mm_extract_epi32(v, 3);
}

float ck_range8_vnni(const float *v, const float *reference, int ld, float *norm)
{
    __m512 top = _mm512_setzero_ps(), norm2 = _mm512_setzero_ps();
    for (int j = 0; j < ld; j += 16) {
        __m512 y = _mm512_sub_ps(_mm512_loadu_ps(v + j), _mm512_loadu_ps(reference + j));
        top = _mm512_max_ps(top, _mm512_abs_ps(y));
        norm2 = _mm512_fmadd_ps(y, y, norm2);
    }
    *norm = sqrtf(_mm512_reduce_add_ps(norm2)) * UP + TINY;
    return _mm512_reduce_max_ps(top);
}

/* `inverse` is 0 for a vector that is (nearly) the reference itself, which avoids infinity. */
struct ck_rounded ck_round8_vnni(const float *v, const float *reference, int ld, float range,
                                 int offset, int64_t stride, uint8_t *q)
{
    struct ck_rounded r = {.scale = range / 127};
    __m512 scale = _mm512_set1_ps(r.scale);
    __m512 inverse = _mm512_set1_ps(range > 0x1p-100f ? 127 / range : 0);
    __m512 rest2 = _mm512_setzero_ps(), length2 = _mm512_setzero_ps();
    __m512i limit = _mm512_set1_epi32(127), sum = _mm512_setzero_si512();
    __m128i flip = _mm_set1_epi8(offset ? (char)0x80 : 0);
    for (int j = 0; j < ld; j += 16, q += 4 * stride) {
        __m512 y = _mm512_sub_ps(_mm512_loadu_ps(v + j), _mm512_loadu_ps(reference + j));
        __m512i i = _mm512_min_epi32(limit, _mm512_cvtps_epi32(_mm512_mul_ps(y, inverse)));
        i = _mm512_max_epi32(i, _mm512_sub_epi32(_mm512_setzero_si512(), limit));
        __m512 f = _mm512_cvtepi32_ps(i);
        __m512 rest = _mm512_fnmadd_ps(f, scale, y);
        rest2 = _mm512_fmadd_ps(rest, rest, rest2);
        length2 = _mm512_fmadd_ps(f, f, length2);
        sum = _mm512_add_epi32(sum, i);
        store4x4(q, stride, _mm_xor_si128(_mm512_cvtepi32_epi8(i), flip));
    }
    r.residue = sqrtf(_mm512_reduce_add_ps(rest2)) * UP + TINY;
    r.length = sqrtf(_mm512_reduce_add_ps(length2)) * r.scale * UP;
    r.sum = _mm512_reduce_add_epi32(sum);
    return r;
}

/* The 24 accumulators are named individually: gcc 12 keeps an array of them in memory, which
 * halves the speed of a tile. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define START(r) __m512i a##r##0 = start0, a##r##1 = start1, a##r##2 = start2;
#define STEP(r)                                                                                \
    {                                                                                          \
        __m512i b =                                                                            \
            _mm512_set1_epi32(*(const quad *)(const void *)(xq + r * rows->stride + j));       \
        dot4(&a##r##0, b, c0);                                                                 \
        dot4(&a##r##1, b, c1);                                                                 \
        dot4(&a##r##2, b, c2);                                                                 \
    }
#define FINISH(r)                                                                              \
    finish_row(p, bound, (__m512i[VECS]){a##r##0, a##r##1, a##r##2}, rows->scale[at + r],      \
               rows->lift[at + r], fresh, top + r * stride);

/* acc += 4 products u8 * s8 in each of 16 lanes. With the intrinsic, gcc 12 copies every
 * accumulator to the stack inside the loop. */
static inline __attribute__((always_inline)) void dot4(__m512i *acc, __m512i u, __m512i s)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*acc) : "v"(u), "v"(s));
}

/* The quantized score, the lift, and everything that depends on the center only. */
static inline __attribute__((always_inline)) __m512 estimate(const struct ck_screen_panel *p,
                                                             int column, __m512i acc,
                                                             __m512 row_scale, __m512 row_lift,
                                                             __m512 bound)
{
    bound = _mm512_fmadd_ps(row_lift, _mm512_loadu_ps(p->lift + column), bound);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc),
                           _mm512_mul_ps(row_scale, _mm512_loadu_ps(p->scale + column)), bound);
}

static inline __attribute__((always_inline)) void
finish_row(const struct ck_screen_panel *p, const __m512 bound[VECS], const __m512i a[VECS],
           float row_scale, float row_lift, int fresh, float *top)
{
    __m512 scale = _mm512_set1_ps(row_scale), lift = _mm512_set1_ps(row_lift);
    __m512 s0 = estimate(p, 0, a[0], scale, lift, bound[0]);
    __m512 s1 = estimate(p, 16, a[1], scale, lift, bound[1]);
    __m512 s2 = estimate(p, 32, a[2], scale, lift, bound[2]);
    __m512 most = _mm512_max_ps(_mm512_max_ps(s0, s1), s2);
    if (!fresh)
        most = _mm512_max_ps(most, _mm512_loadu_ps(top));
    _mm512_storeu_ps(top, most);
}

/* Rows at .. at + 7 with one panel. Unless `fresh`, the maxima are also over the values at top. */
static void screen_tile(const struct ck_screen_panel *p, int ld,
                        const struct ck_screen_rows *rows, int at, int fresh, float *top,
                        int64_t stride)
{
    const uint8_t *xq = rows->q + at * rows->stride;
    __m512i start0 = _mm512_loadu_si512(p->start), start1 = _mm512_loadu_si512(p->start + 16),
            start2 = _mm512_loadu_si512(p->start + 32);
    EACH_ROW(START)
    const int8_t *q = p->q;
    for (int j = 0; j < ld; j += 4, q += 4 * CK_SCREEN_PANEL) {
        __m512i c0 = _mm512_loadu_si512(q), c1 = _mm512_loadu_si512(q + 64),
                c2 = _mm512_loadu_si512(q + 128);
        EACH_ROW(STEP)
    }
    __m512 bound[VECS], residue = _mm512_set1_ps(rows->residue[at / CK_TILE]),
                        length = _mm512_set1_ps(rows->length[at / CK_TILE]);
    for (int v = 0; v < VECS; v++) {
        bound[v] = _mm512_fmadd_ps(residue, _mm512_loadu_ps(p->norm + v * 16),
                                   _mm512_loadu_ps(p->bias + v * 16));
        bound[v] = _mm512_fmadd_ps(length, _mm512_loadu_ps(p->residue + v * 16), bound[v]);
    }
    EACH_ROW(FINISH)
}

/* All rows with one panel after another: a panel stays in the nearest cache. */
static void screen(const struct ck_screen_panels *panels, const struct ck_screen_rows *rows,
                   float *top, int64_t stride)
{
    for (int64_t p = 0; p < panels->n; p++)
        for (int at = 0; at < rows->n; at += CK_TILE)
            screen_tile(ck_screen_panel_at(panels, p), panels->ld, rows, at,
                        p % panels->group == 0,
                        top + at * stride + p / panels->group * CK_SCREEN_LANES, stride);
}

/* Finds the maximum, then the first position that holds it. Four maxima at a time hide the
 * latency. */
int ck_peak_vnni(const float *top, int n)
{
    __m512 most = _mm512_loadu_ps(top), m1 = most, m2 = most, m3 = most;
    int i = 16;
    for (; i + 48 < n; i += 64) {
        most = _mm512_max_ps(most, _mm512_loadu_ps(top + i));
        m1 = _mm512_max_ps(m1, _mm512_loadu_ps(top + i + 16));
        m2 = _mm512_max_ps(m2, _mm512_loadu_ps(top + i + 32));
        m3 = _mm512_max_ps(m3, _mm512_loadu_ps(top + i + 48));
    }
    for (; i < n; i += 16)
        most = _mm512_max_ps(most, _mm512_loadu_ps(top + i));
    most = _mm512_max_ps(_mm512_max_ps(most, m1), _mm512_max_ps(m2, m3));
    __m512 all = _mm512_set1_ps(_mm512_reduce_max_ps(most));
    for (i = 0; i < n; i += 16) {
        unsigned hit = _mm512_cmp_ps_mask(_mm512_loadu_ps(top + i), all, _CMP_GE_OQ);
        if (hit)
            return i + __builtin_ctz(hit);
    }
    return 0;
}

static inline unsigned at_least(const float *top, __m512 limit)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(top), limit, _CMP_GE_OQ);
}

/* Most vectors have no hit: four share a branch. */
int ck_reach_vnni(const float *top, int n, float limit, int32_t *index)
{
    __m512 threshold = _mm512_set1_ps(limit);
    int count = 0;
    for (int i = 0; i < n; i += 64) {
        uint64_t hit = at_least(top + i, threshold);
        if (i + 16 < n)
            hit |= (uint64_t)at_least(top + i + 16, threshold) << 16;
        if (i + 32 < n)
            hit |= (uint64_t)at_least(top + i + 32, threshold) << 32;
        if (i + 48 < n)
            hit |= (uint64_t)at_least(top + i + 48, threshold) << 48;
        for (; hit; hit &= hit - 1)
            index[count++] = i + __builtin_ctzll(hit);
    }
    return count;
}

const struct ck_kernels ck_kernels_vnni = {.name = "vnni",
                                           CK_DENSE_AVX512,
                                           .range8 = ck_range8_vnni,
                                           .round8 = ck_round8_vnni,
                                           .screen = screen,
                                           .peak = ck_peak_vnni,
                                           .reach = ck_reach_vnni};
