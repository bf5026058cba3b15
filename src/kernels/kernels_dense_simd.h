/* kernels_dense_simd.h - dot products and tiles of scores, written once.
 *
 * Included by one file per instruction set after kernels_vec_*.h. It first defines ROWS and
 * EACH_ROW(DO), which is DO(0) .. DO(ROWS - 1): the rows of a tile of sums that fills the
 * registers; and reached(s, limit): the bits of lanes with s >= limit. */
#include "kernels/kernels.h"

enum { VECS = 3, PANEL = VECS * LANES };

/* Adds the eight lanes of a score in the order of kernels.h. */
INLINE float tree(__m256 p)
{
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(p), _mm256_extractf128_ps(p, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

/* Uses 256-bit vectors: CK_LANES = 8 partial sums are part of the result's definition. */
INLINE float dot(const float *x, const float *c, int ld)
{
    __m256 p = _mm256_setzero_ps();
    for (int j = 0; j < ld; j += CK_LANES)
        p = _mm256_fmadd_ps(_mm256_loadu_ps(x + j), _mm256_loadu_ps(c + j), p);
    return tree(p);
}

INLINE void dot4(const float *x, const float *const c[4], int ld, float out[4])
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
#define START(r) vec a##r##0 = zero(), a##r##1 = a##r##0, a##r##2 = a##r##0;
#define STEP(r)                                                                                \
    {                                                                                          \
        vec b = all(x[r * (int64_t)ld + j * CK_LANES]);                                        \
        a##r##0 = madd(b, c0, a##r##0);                                                        \
        a##r##1 = madd(b, c1, a##r##1);                                                        \
        a##r##2 = madd(b, c2, a##r##2);                                                        \
    }
#define STORE(r) acc[r][0] = a##r##0, acc[r][1] = a##r##1, acc[r][2] = a##r##2;

INLINE void lane_sums(const float *p, const float *x, int ld, vec acc[ROWS][VECS])
{
    EACH_ROW(START)
    for (int j = 0; j < ld / CK_LANES; j++, p += PANEL) {
        vec c0 = load(p), c1 = load(p + LANES), c2 = load(p + 2 * LANES);
        EACH_ROW(STEP)
    }
    EACH_ROW(STORE)
}

/* Adds the bias and stores the scores; returns the rows with a score that reaches its limit. */
INLINE unsigned put_scores(vec acc[ROWS][VECS], const float *bias, const float *limit,
                           uint64_t *hits, float *out)
{
    unsigned mask = 0;
    for (int r = 0; r < ROWS; r++) {
        vec threshold = all(limit[r]);
        hits[r] = 0;
        for (int v = 0; v < VECS; v++) {
            vec s = add(acc[r][v], load(bias + v * LANES));
            store(out + r * PANEL + v * LANES, s);
            hits[r] |= reached(s, threshold) << (LANES * v);
        }
        mask |= (unsigned)(hits[r] != 0) << r;
    }
    return mask;
}

/* Computes one lane of all ROWS x PANEL scores after another, in CK_LANE_ORDER, and keeps at
 * most three partial trees: all eight lanes at once would not fit the registers. */
static unsigned rows_tile(const float *panel, const float *bias, const float *x, int ld,
                          const float *limit, uint64_t *hits, float *out)
{
    vec pending[3][ROWS][VECS]; /* partial trees waiting for their other half */
    vec acc[ROWS][VECS];
    int depth = 0;
    for (int i = 0; i < CK_LANES; i++) {
        int lane = lane_order[i];
        lane_sums(panel + (int64_t)lane * (ld / CK_LANES) * PANEL, x + lane, ld, acc);
        for (int n = 0; n < lane_joins[i]; n++) {
            depth--;
            for (int r = 0; r < ROWS; r++)
                for (int v = 0; v < VECS; v++)
                    acc[r][v] = add(pending[depth][r][v], acc[r][v]);
        }
        if (i == CK_LANES - 1)
            break;
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < VECS; v++)
                pending[depth][r][v] = acc[r][v];
        depth++;
    }
    return put_scores(acc, bias, limit, hits, out);
}
