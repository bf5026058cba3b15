/* kernels_ref.c - defines every kernel in plain C; the oracle of the fast versions. */
#include "kernels/kernels.h"

#include <math.h>

/* The order of the additions is part of the contract in kernels.h. */
static float tree(const float p[CK_LANES])
{
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

float ck_dot_ref(const float *x, const float *c, int ld)
{
    float p[CK_LANES] = {0};
    for (int j = 0; j < ld; j += CK_LANES)
        for (int l = 0; l < CK_LANES; l++)
            p[l] = fmaf(x[j + l], c[j + l], p[l]);
    return tree(p);
}

void ck_dot4_ref(const float *x, const float *const c[4], int ld, float out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = ck_dot_ref(x, c[i], ld);
}

/* The same bits as ck_dot_ref(): a lane's sum does not depend on how the panel stores it. */
static float panel_score(const float *panel, int column, const float *x, int ld)
{
    float p[CK_LANES] = {0};
    for (int l = 0; l < CK_LANES; l++)
        for (int j = 0; j < ld / CK_LANES; j++)
            p[l] = fmaf(x[j * CK_LANES + l],
                        panel[(l * (ld / CK_LANES) + j) * CK_PANEL_REF + column], p[l]);
    return tree(p);
}

unsigned ck_dense_tile_ref(const float *panel, const float *bias, const float *x, int ld,
                           const float *limit, uint64_t *hits, float *out)
{
    unsigned mask = 0;
    for (int r = 0; r < CK_TILE; r++) {
        hits[r] = 0;
        for (int k = 0; k < CK_PANEL_REF; k++) {
            float s = panel_score(panel, k, x + (int64_t)r * ld, ld) + bias[k];
            out[r * CK_PANEL_REF + k] = s;
            hits[r] |= (uint64_t)(s >= limit[r]) << k;
        }
        mask |= (unsigned)(hits[r] != 0) << r;
    }
    return mask;
}

/* Fixed-point sums: integer addition is associative, so that centers have the same bytes
 * however rows are divided among threads and ranks. llrintf rounds to even in the default
 * mode. */
void ck_accumulate_ref(int64_t *sum, const float *x, int ld, float scale)
{
    for (int j = 0; j < ld; j++)
        sum[j] += llrintf(x[j] * scale);
}

void ck_restore_ref(const int64_t *sum, int ld, double unit, float *x)
{
    for (int j = 0; j < ld; j++)
        x[j] = (float)((double)sum[j] * unit);
}

const struct ck_kernels ck_kernels_ref = {.name = "ref",
                                          .panel = CK_PANEL_REF,
                                          .dot = ck_dot_ref,
                                          .dot4 = ck_dot4_ref,
                                          .dense_tile = ck_dense_tile_ref,
                                          .accumulate = ck_accumulate_ref,
                                          .restore = ck_restore_ref};
