/* kernels_avx512.c - AVX-512 versions: tiles of 8 rows x 48 centers, 24 accumulators. */
#include "kernels/kernels.h"

#include <immintrin.h>

enum { PANEL = 48, VECS = 3 };

/* Adds the eight lanes of a score in the order of kernels.h. */
static inline float tree(__m256 p)
{
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(p), _mm256_extractf128_ps(p, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

/* Uses 256-bit vectors: CK_LANES = 8 partial sums are part of the result's definition. */
float ck_dot_avx512(const float *x, const float *c, int ld)
{
    __m256 p = _mm256_setzero_ps();
    for (int j = 0; j < ld; j += CK_LANES)
        p = _mm256_fmadd_ps(_mm256_loadu_ps(x + j), _mm256_loadu_ps(c + j), p);
    return tree(p);
}

void ck_dot4_avx512(const float *x, const float *const c[4], int ld, float out[4])
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
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define START(r) __m512 a##r##0 = _mm512_setzero_ps(), a##r##1 = a##r##0, a##r##2 = a##r##0;
#define STEP(r)                                                                                \
    {                                                                                          \
        __m512 b = _mm512_set1_ps(x[r * (int64_t)ld + j * CK_LANES]);                          \
        a##r##0 = _mm512_fmadd_ps(b, c0, a##r##0);                                             \
        a##r##1 = _mm512_fmadd_ps(b, c1, a##r##1);                                             \
        a##r##2 = _mm512_fmadd_ps(b, c2, a##r##2);                                             \
    }
#define STORE(r) acc[r][0] = a##r##0, acc[r][1] = a##r##1, acc[r][2] = a##r##2;

static inline __attribute__((always_inline)) void lane_sums(const float *p, const float *x,
                                                            int ld, __m512 acc[CK_TILE][VECS])
{
    EACH_ROW(START)
    for (int j = 0; j < ld / CK_LANES; j++, p += PANEL) {
        __m512 c0 = _mm512_loadu_ps(p), c1 = _mm512_loadu_ps(p + 16),
               c2 = _mm512_loadu_ps(p + 32);
        EACH_ROW(STEP)
    }
    EACH_ROW(STORE)
}

/* Computes one lane of all 8 x 48 scores after another, in CK_LANE_ORDER, and keeps at most
 * three partial trees: all eight lanes at once would not fit the registers. */
unsigned ck_dense_tile_avx512(const float *panel, const float *bias, const float *x, int ld,
                              const float *limit, uint64_t *hits, float *out)
{
    __m512 pending[3][CK_TILE][VECS]; /* partial trees waiting for their other half */
    __m512 acc[CK_TILE][VECS];
    int depth = 0;
    for (int i = 0; i < CK_LANES; i++) {
        int lane = lane_order[i];
        lane_sums(panel + (int64_t)lane * (ld / CK_LANES) * PANEL, x + lane, ld, acc);
        for (int n = 0; n < lane_joins[i]; n++) {
            depth--;
            for (int r = 0; r < CK_TILE; r++)
                for (int v = 0; v < VECS; v++)
                    acc[r][v] = _mm512_add_ps(pending[depth][r][v], acc[r][v]);
        }
        if (i == CK_LANES - 1)
            break;
        for (int r = 0; r < CK_TILE; r++)
            for (int v = 0; v < VECS; v++)
                pending[depth][r][v] = acc[r][v];
        depth++;
    }
    unsigned mask = 0;
    for (int r = 0; r < CK_TILE; r++) {
        __m512 threshold = _mm512_set1_ps(limit[r]);
        hits[r] = 0;
        for (int v = 0; v < VECS; v++) {
            __m512 s = _mm512_add_ps(acc[r][v], _mm512_loadu_ps(bias + v * 16));
            _mm512_storeu_ps(out + r * PANEL + v * 16, s);
            hits[r] |= (uint64_t)_mm512_cmp_ps_mask(s, threshold, _CMP_GE_OQ) << (16 * v);
        }
        mask |= (unsigned)(hits[r] != 0) << r;
    }
    return mask;
}

/* cvtps rounds to even in the default mode, as llrintf does in the reference. */
void ck_accumulate_avx512(int64_t *sum, const float *x, int ld, float scale)
{
    __m256 s = _mm256_set1_ps(scale);
    for (int j = 0; j < ld; j += 8) {
        __m512i v = _mm512_cvtps_epi64(_mm256_mul_ps(_mm256_loadu_ps(x + j), s));
        _mm512_storeu_si512(sum + j, _mm512_add_epi64(_mm512_loadu_si512(sum + j), v));
    }
}

void ck_restore_avx512(const int64_t *sum, int ld, double unit, float *x)
{
    __m512d u = _mm512_set1_pd(unit);
    for (int j = 0; j < ld; j += 8) {
        __m512d v = _mm512_mul_pd(_mm512_cvtepi64_pd(_mm512_loadu_si512(sum + j)), u);
        _mm256_storeu_ps(x + j, _mm512_cvtpd_ps(v));
    }
}

const struct ck_kernels ck_kernels_avx512 = {.name = "avx512",
                                             .panel = PANEL,
                                             .dot = ck_dot_avx512,
                                             .dot4 = ck_dot4_avx512,
                                             .dense_tile = ck_dense_tile_avx512,
                                             .accumulate = ck_accumulate_avx512,
                                             .restore = ck_restore_avx512};
