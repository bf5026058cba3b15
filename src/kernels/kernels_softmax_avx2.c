/* kernels_softmax_avx2.c - softmax kernels for AVX2 + FMA: tiles of 4 x 24, 12 accumulators. */
#include "kernels/softmax.h"

#include <immintrin.h>

enum { ROWS = CK_SOFT_ROWS, HALF = ROWS / 2, VECS = ROWS / 8, TILE = 4 };

/* out[i] = sum over t of a[i * across + t * along] * b[t][24 of 48], for four i. The
 * accumulators are named individually to keep them in registers. */
#define EACH(DO) DO(0) DO(1) DO(2) DO(3)
#define START(i) __m256 s##i##0 = _mm256_setzero_ps(), s##i##1 = s##i##0, s##i##2 = s##i##0;
#define STEP(i)                                                                                \
    {                                                                                          \
        __m256 v = _mm256_set1_ps(a[(i)*across]);                                              \
        s##i##0 = _mm256_fmadd_ps(v, b0, s##i##0);                                             \
        s##i##1 = _mm256_fmadd_ps(v, b1, s##i##1);                                             \
        s##i##2 = _mm256_fmadd_ps(v, b2, s##i##2);                                             \
    }
#define STORE(i)                                                                               \
    _mm256_storeu_ps(out + (i)*ROWS, s##i##0);                                                 \
    _mm256_storeu_ps(out + (i)*ROWS + 8, s##i##1);                                             \
    _mm256_storeu_ps(out + (i)*ROWS + 16, s##i##2);

static inline __attribute__((always_inline)) void
sums4(const float *a, int64_t across, int64_t along, int64_t depth, const float *b, float *out)
{
    EACH(START)
    for (int64_t t = 0; t < depth; t++, a += along, b += ROWS) {
        __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + 8),
               b2 = _mm256_loadu_ps(b + 16);
        EACH(STEP)
    }
    EACH(STORE)
}

/* Not inlined: otherwise the callers' variables take registers from the loop. */
static __attribute__((noinline)) void sums_of_4_rows(const float *a, int64_t ld, int64_t depth,
                                                     const float *b, float *out)
{
    sums4(a, ld, 1, depth, b, out);
    sums4(a, ld, 1, depth, b + HALF, out + HALF);
}

static __attribute__((noinline)) void
sums_of_4_columns(const float *a, int64_t ld, int64_t depth, const float *b, float *out)
{
    sums4(a, 1, ld, depth, b, out);
    sums4(a, 1, ld, depth, b + HALF, out + HALF);
}

/* One i, for what is left of a multiple of TILE; the same order of additions. */
static void sums1(const float *a, int64_t along, int64_t depth, const float *b, float *out)
{
    __m256 acc[VECS];
    for (int v = 0; v < VECS; v++)
        acc[v] = _mm256_setzero_ps();
    for (int64_t t = 0; t < depth; t++, a += along, b += ROWS)
        for (int v = 0; v < VECS; v++)
            acc[v] = _mm256_fmadd_ps(_mm256_set1_ps(*a), _mm256_loadu_ps(b + 8 * v), acc[v]);
    for (int v = 0; v < VECS; v++)
        _mm256_storeu_ps(out + 8 * v, acc[v]);
}

static void scores(const float *c, int64_t count, int dim, const float *xt, float *s,
                   float *top)
{
    int64_t k = 0;
    for (; k + TILE <= count; k += TILE)
        sums_of_4_rows(c + k * dim, dim, dim, xt, s + k * ROWS);
    for (; k < count; k++)
        sums1(c + k * dim, 1, dim, xt, s + k * ROWS);
    for (int v = 0; v < ROWS; v += 8) {
        __m256 most = _mm256_loadu_ps(top + v);
        for (k = 0; k < count; k++)
            most = _mm256_max_ps(_mm256_loadu_ps(s + k * ROWS + v), most);
        _mm256_storeu_ps(top + v, most);
    }
}

/* The operations of kernels_softmax_ref.c in the same order, which gives the same bits. */
static inline __m256 exp_to_zero(__m256 x)
{
    __m256 normal = _mm256_cmp_ps(x, _mm256_set1_ps(CK_EXP_MIN), _CMP_GE_OQ);
    __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(CK_EXP_LOG2E)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-CK_EXP_LN2_HIGH), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(-CK_EXP_LN2_LOW), r);
    __m256 q = _mm256_fmadd_ps(_mm256_set1_ps(CK_EXP_Q4), r, _mm256_set1_ps(CK_EXP_Q3));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(CK_EXP_Q2));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(CK_EXP_Q1));
    q = _mm256_fmadd_ps(q, r, _mm256_set1_ps(CK_EXP_Q0));
    __m256 y = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(r, r), q, r), _mm256_set1_ps(1));
    __m256i power = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    y = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), power));
    return _mm256_and_ps(y, normal);
}

static void exps(float *s, int64_t count, const float *top, float scale, float *sum)
{
    __m256 factor = _mm256_set1_ps(scale);
    for (int v = 0; v < ROWS; v += 8) {
        __m256 most = _mm256_loadu_ps(top + v), total = _mm256_loadu_ps(sum + v);
        for (int64_t k = 0; k < count; k++) {
            float *at = s + k * ROWS + v;
            __m256 x = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(at), most), factor);
            __m256 y = exp_to_zero(x);
            _mm256_storeu_ps(at, y);
            total = _mm256_add_ps(total, y);
        }
        _mm256_storeu_ps(sum + v, total);
    }
}

/* e [48] = e * keep + sum, one fma. */
static void add_to(float *e, const float *keep, const float *sum)
{
    for (int v = 0; v < ROWS; v += 8) {
        __m256 kept = _mm256_loadu_ps(keep + v), more = _mm256_loadu_ps(sum + v);
        _mm256_storeu_ps(e + v, _mm256_fmadd_ps(_mm256_loadu_ps(e + v), kept, more));
    }
}

static void mix(const float *c, int64_t count, int dim, const float *p, const float *keep,
                float *e)
{
    float sum[TILE * ROWS];
    for (int64_t j = 0; j < dim;) {
        int n = dim - j >= TILE ? TILE : 1;
        if (n == TILE)
            sums_of_4_columns(c + j, dim, count, p, sum);
        else
            sums1(c + j, dim, count, p, sum);
        for (int i = 0; i < n; i++, j++)
            add_to(e + j * ROWS, keep, sum + i * ROWS);
    }
}

const struct ck_softmax ck_softmax_avx2 = {
    .name = "avx2", .scores = scores, .exps = exps, .mix = mix};
