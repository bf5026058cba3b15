/* kernels_avx2.c - AVX2 + FMA versions: tiles of 4 rows x 24 centers, 12 accumulators. */
#include "kernels/kernels.h"

#include <immintrin.h>

enum { PANEL = 24, VECS = 3, ROWS = 4 };

/* Adds the eight lanes of a score in the order of kernels.h. */
static inline float tree(__m256 p)
{
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(p), _mm256_extractf128_ps(p, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

static float dot(const float *x, const float *c, int ld)
{
    __m256 p = _mm256_setzero_ps();
    for (int j = 0; j < ld; j += CK_LANES)
        p = _mm256_fmadd_ps(_mm256_loadu_ps(x + j), _mm256_loadu_ps(c + j), p);
    return tree(p);
}

static void dot4(const float *x, const float *const c[4], int ld, float out[4])
{
    __m256 p0 = _mm256_setzero_ps(), p1 = p0, p2 = p0, p3 = p0;
    for (int j = 0; j < ld; j += CK_LANES) {
        __m256 v = _mm256_loadu_ps(x + j);
        p0 = _mm256_fmadd_ps(v, _mm256_loadu_ps(c[0] + j), p0);
        p1 = _mm256_fmadd_ps(v, _mm256_loadu_ps(c[1] + j), p1);
        p2 = _mm256_fmadd_ps(v, _mm256_loadu_ps(c[2] + j), p2);
        p3 = _mm256_fmadd_ps(v, _mm256_loadu_ps(c[3] + j), p3);
    }
    out[0] = tree(p0);
    out[1] = tree(p1);
    out[2] = tree(p2);
    out[3] = tree(p3);
}

static const int lane_order[CK_LANES] = CK_LANE_ORDER, lane_joins[CK_LANES] = CK_LANE_JOINS;

/* Computes one lane's sums. The accumulators are named individually to keep them in
 * registers. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#define START(r) __m256 a##r##0 = _mm256_setzero_ps(), a##r##1 = a##r##0, a##r##2 = a##r##0;
#define STEP(r)                                                                                \
    {                                                                                          \
        __m256 b = _mm256_set1_ps(x[r * (int64_t)ld + j * CK_LANES]);                          \
        a##r##0 = _mm256_fmadd_ps(b, c0, a##r##0);                                             \
        a##r##1 = _mm256_fmadd_ps(b, c1, a##r##1);                                             \
        a##r##2 = _mm256_fmadd_ps(b, c2, a##r##2);                                             \
    }
#define STORE(r) acc[r][0] = a##r##0, acc[r][1] = a##r##1, acc[r][2] = a##r##2;

static inline __attribute__((always_inline)) void lane_sums(const float *p, const float *x,
                                                            int ld, __m256 acc[ROWS][VECS])
{
    EACH_ROW(START)
    for (int j = 0; j < ld / CK_LANES; j++, p += PANEL) {
        __m256 c0 = _mm256_loadu_ps(p), c1 = _mm256_loadu_ps(p + 8),
               c2 = _mm256_loadu_ps(p + 16);
        EACH_ROW(STEP)
    }
    EACH_ROW(STORE)
}

/* Computes one lane of all 4 x 24 scores after another, in CK_LANE_ORDER, and keeps at most
 * three partial trees. */
static unsigned half_tile(const float *panel, const float *bias, const float *x, int ld,
                          const float *limit, uint64_t *hits, float *out)
{
    __m256 pending[3][ROWS][VECS];
    __m256 acc[ROWS][VECS];
    int depth = 0;
    for (int i = 0; i < CK_LANES; i++) {
        int lane = lane_order[i];
        lane_sums(panel + (int64_t)lane * (ld / CK_LANES) * PANEL, x + lane, ld, acc);
        for (int n = 0; n < lane_joins[i]; n++) {
            depth--;
            for (int r = 0; r < ROWS; r++)
                for (int v = 0; v < VECS; v++)
                    acc[r][v] = _mm256_add_ps(pending[depth][r][v], acc[r][v]);
        }
        if (i == CK_LANES - 1)
            break;
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < VECS; v++)
                pending[depth][r][v] = acc[r][v];
        depth++;
    }
    unsigned mask = 0;
    for (int r = 0; r < ROWS; r++) {
        __m256 threshold = _mm256_set1_ps(limit[r]);
        hits[r] = 0;
        for (int v = 0; v < VECS; v++) {
            __m256 s = _mm256_add_ps(acc[r][v], _mm256_loadu_ps(bias + v * 8));
            _mm256_storeu_ps(out + r * PANEL + v * 8, s);
            int reached = _mm256_movemask_ps(_mm256_cmp_ps(s, threshold, _CMP_GE_OQ));
            hits[r] |= (uint64_t)reached << (8 * v);
        }
        mask |= (unsigned)(hits[r] != 0) << r;
    }
    return mask;
}

/* 16 registers hold 12 accumulators, so a tile of CK_TILE rows is computed in two halves. */
static unsigned dense_tile(const float *panel, const float *bias, const float *x, int ld,
                           const float *limit, uint64_t *hits, float *out)
{
    unsigned low = half_tile(panel, bias, x, ld, limit, hits, out);
    unsigned high = half_tile(panel, bias, x + (int64_t)ROWS * ld, ld, limit + ROWS,
                              hits + ROWS, out + ROWS * PANEL);
    return low | high << ROWS;
}

/* AVX2 has no conversion to int64: adding 1.5 * 2^52 leaves the integer, rounded to even, in
 * the low bits of a double. */
static void accumulate(int64_t *sum, const float *x, int ld, float scale)
{
    __m256d s = _mm256_set1_pd((double)scale), magic = _mm256_set1_pd(0x1.8p52);
    for (int j = 0; j < ld; j += 4) {
        __m256d v = _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + j)), s);
        __m256i i = _mm256_sub_epi64(_mm256_castpd_si256(_mm256_add_pd(v, magic)),
                                     _mm256_castpd_si256(magic));
        __m256i *to = (__m256i *)(sum + j);
        _mm256_storeu_si256(to, _mm256_add_epi64(_mm256_loadu_si256(to), i));
    }
}

const struct ck_kernels ck_kernels_avx2 = {.name = "avx2",
                                           .panel = PANEL,
                                           .dot = dot,
                                           .dot4 = dot4,
                                           .dense_tile = dense_tile,
                                           .accumulate = accumulate,
                                           .restore = ck_restore_ref};
