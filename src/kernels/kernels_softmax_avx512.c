/* kernels_softmax_avx512.c - softmax kernels for AVX-512: tiles of 8 x 48, 24 accumulators. */
#include "kernels/softmax.h"

#include <immintrin.h>

enum { ROWS = CK_SOFT_ROWS, VECS = ROWS / 16, TILE = 8 };

/* out[i][48] = sum over t of a[i * across + t * along] * b[t][48], for eight i. The
 * accumulators are named individually to keep them in registers. */
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define START(i) __m512 s##i##0 = _mm512_setzero_ps(), s##i##1 = s##i##0, s##i##2 = s##i##0;
#define STEP(i)                                                                                \
    {                                                                                          \
        __m512 v = _mm512_set1_ps(a[(i)*across]);                                              \
        s##i##0 = _mm512_fmadd_ps(v, b0, s##i##0);                                             \
        s##i##1 = _mm512_fmadd_ps(v, b1, s##i##1);                                             \
        s##i##2 = _mm512_fmadd_ps(v, b2, s##i##2);                                             \
    }
#define STORE(i)                                                                               \
    _mm512_storeu_ps(out + (i)*ROWS, s##i##0);                                                 \
    _mm512_storeu_ps(out + (i)*ROWS + 16, s##i##1);                                            \
    _mm512_storeu_ps(out + (i)*ROWS + 32, s##i##2);

static inline __attribute__((always_inline)) void
sums8(const float *a, int64_t across, int64_t along, int64_t depth, const float *b, float *out)
{
    EACH(START)
    for (int64_t t = 0; t < depth; t++, a += along, b += ROWS) {
        __m512 b0 = _mm512_loadu_ps(b), b1 = _mm512_loadu_ps(b + 16),
               b2 = _mm512_loadu_ps(b + 32);
        EACH(STEP)
    }
    EACH(STORE)
}

/* Not inlined: otherwise the callers' variables take registers from the loop. */
static __attribute__((noinline)) void sums_of_8_rows(const float *a, int64_t ld, int64_t depth,
                                                     const float *b, float *out)
{
    sums8(a, ld, 1, depth, b, out);
}

static __attribute__((noinline)) void
sums_of_8_columns(const float *a, int64_t ld, int64_t depth, const float *b, float *out)
{
    sums8(a, 1, ld, depth, b, out);
}

/* One i, for what is left of a multiple of TILE; the same order of additions. */
static void sums1(const float *a, int64_t along, int64_t depth, const float *b, float *out)
{
    __m512 acc[VECS];
    for (int v = 0; v < VECS; v++)
        acc[v] = _mm512_setzero_ps();
    for (int64_t t = 0; t < depth; t++, a += along, b += ROWS)
        for (int v = 0; v < VECS; v++)
            acc[v] = _mm512_fmadd_ps(_mm512_set1_ps(*a), _mm512_loadu_ps(b + 16 * v), acc[v]);
    for (int v = 0; v < VECS; v++)
        _mm512_storeu_ps(out + 16 * v, acc[v]);
}

static void scores(const float *c, int64_t count, int dim, const float *xt, float *s,
                   float *top)
{
    int64_t k = 0;
    for (; k + TILE <= count; k += TILE)
        sums_of_8_rows(c + k * dim, dim, dim, xt, s + k * ROWS);
    for (; k < count; k++)
        sums1(c + k * dim, 1, dim, xt, s + k * ROWS);
    for (int v = 0; v < ROWS; v += 16) {
        __m512 most = _mm512_loadu_ps(top + v);
        for (k = 0; k < count; k++)
            most = _mm512_max_ps(_mm512_loadu_ps(s + k * ROWS + v), most);
        _mm512_storeu_ps(top + v, most);
    }
}

/* The operations of kernels_softmax_ref.c in the same order, which gives the same bits. */
static inline __m512 exp_to_zero(__m512 x)
{
    __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(CK_EXP_MIN), _CMP_GE_OQ);
    __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(CK_EXP_LOG2E)),
                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-CK_EXP_LN2_HIGH), x);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(-CK_EXP_LN2_LOW), r);
    __m512 q = _mm512_fmadd_ps(_mm512_set1_ps(CK_EXP_Q4), r, _mm512_set1_ps(CK_EXP_Q3));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(CK_EXP_Q2));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(CK_EXP_Q1));
    q = _mm512_fmadd_ps(q, r, _mm512_set1_ps(CK_EXP_Q0));
    __m512 y = _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r), _mm512_set1_ps(1));
    __m512i power = _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23);
    return _mm512_castsi512_ps(_mm512_maskz_add_epi32(normal, _mm512_castps_si512(y), power));
}

static void exps(float *s, int64_t count, const float *top, float scale, float *sum)
{
    __m512 factor = _mm512_set1_ps(scale);
    for (int v = 0; v < ROWS; v += 16) {
        __m512 most = _mm512_loadu_ps(top + v), total = _mm512_loadu_ps(sum + v);
        for (int64_t k = 0; k < count; k++) {
            float *at = s + k * ROWS + v;
            __m512 x = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(at), most), factor);
            __m512 y = exp_to_zero(x);
            _mm512_storeu_ps(at, y);
            total = _mm512_add_ps(total, y);
        }
        _mm512_storeu_ps(sum + v, total);
    }
}

/* e [48] = e * keep + sum, one fma. */
static void add_to(float *e, const float *keep, const float *sum)
{
    for (int v = 0; v < ROWS; v += 16) {
        __m512 kept = _mm512_loadu_ps(keep + v), more = _mm512_loadu_ps(sum + v);
        _mm512_storeu_ps(e + v, _mm512_fmadd_ps(_mm512_loadu_ps(e + v), kept, more));
    }
}

static void mix(const float *c, int64_t count, int dim, const float *p, const float *keep,
                float *e)
{
    float sum[TILE * ROWS];
    for (int64_t j = 0; j < dim;) {
        int n = dim - j >= TILE ? TILE : 1;
        if (n == TILE)
            sums_of_8_columns(c + j, dim, count, p, sum);
        else
            sums1(c + j, dim, count, p, sum);
        for (int i = 0; i < n; i++, j++)
            add_to(e + j * ROWS, keep, sum + i * ROWS);
    }
}

const struct ck_softmax ck_softmax_avx512 = {
    .name = "avx512", .scores = scores, .exps = exps, .mix = mix};
