/* membership.c - assigns images to clusters, with a measure of certainty. */
#include "eval/membership.h"
#include "core/error.h"
#include "core/mem.h"
#include "kernels/gemm.h"

#include <math.h>

enum { ROWS = 256 }; /* vectors whose similarities are in memory at once */

static float second_best(const float *s, int64_t k, int32_t best)
{
    float second = -INFINITY;
    for (int64_t c = 0; c < k; c++)
        if (c != best && s[c] > second)
            second = s[c];
    return second;
}

static void find_margins(const float *s, int64_t k, int64_t n, const int32_t *label,
                         float *margin)
{
    for (int64_t i = 0; i < n; i++) {
        const float *row = s + i * k;
        float best = row[label[i]];
        /* Summation order may decide a tie differently than predict did; it is still a tie. */
        margin[i] = k > 1 ? fmaxf(0, best - second_best(row, k, label[i])) : best;
    }
}

int ck_membership(const struct coke_kmeans *km, const float *x, int64_t n, int32_t *label,
                  float *similarity, float *margin)
{
    int rc = COKE_OK;
    int64_t dim = ck_kmeans_dim(km), k = ck_kmeans_k(km);
    float *s = margin ? ck_alloc_array(ROWS, (size_t)k * sizeof *s) : NULL;
    const float *last = ck_kmeans_centers(km, CK_CENTERS_LAST);
    if (margin && !s)
        return COKE_ENOMEM;
    CK_TRY(ck_kmeans_predict(km, x, n, label, similarity));
    for (int64_t at = 0; margin && at < n; at += ROWS) {
        int64_t count = n - at < ROWS ? n - at : ROWS;
        struct ck_matrix a = {x + at * dim, dim, 0}, b = {last, ck_kmeans_ld(km), 1};
        CK_TRY(ck_gemm(count, k, dim, 1, a, b, 0, s, k));
        find_margins(s, k, count, label + at, margin + at);
    }
done:
    ck_free(s);
    return rc;
}
