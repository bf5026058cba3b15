/* kernels.c - selects the version of the kernels, and holds the parts common to all. */
#include "kernels/kernels.h"
#include "core/error.h"
#include "kernels/amx.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { VERSIONS = 6 };

static const struct ck_kernels *available[VERSIONS + 1];
static const struct ck_kernels *chosen;
static _Atomic int ready;

/* Idempotent: threads that call at once write the same values, and `ready` is set last, so that
 * no lock is needed. */
static void choose(void)
{
    if (ready)
        return;
    int n = 0;
    available[n++] = &ck_kernels_ref;
    available[n++] = &ck_kernels_amx_emulated;
    const struct ck_kernels *best = &ck_kernels_ref;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        available[n++] = &ck_kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        available[n++] = &ck_kernels_avx512;
        if (__builtin_cpu_supports("avx512vnni")) {
            available[n++] = &ck_kernels_vnni;
            if (!ck_amx_obstacle())
                available[n++] = &ck_kernels_amx;
        }
    }
    best = n > 2 ? available[n - 1] : best;
#endif
    const char *wanted = getenv("COKE_ISA");
    for (int i = 0; i < n && wanted; i++)
        if (strcmp(available[i]->name, wanted) == 0)
            best = available[i];
    chosen = best;
    ready = 1;
}

const struct ck_kernels *ck_kernels(void)
{
    choose();
    return chosen;
}

const struct ck_kernels *const *ck_kernels_all(void)
{
    choose();
    return available;
}

const struct ck_kernels *ck_kernels_named(const char *name)
{
    for (const struct ck_kernels *const *k = ck_kernels_all(); *k; k++)
        if (strcmp((*k)->name, name) == 0)
            return *k;
    return NULL;
}

const struct ck_kernels *ck_kernels_f32(const struct ck_kernels *kn)
{
#if defined(__x86_64__)
    if (kn == &ck_kernels_amx_emulated) {
        const struct ck_kernels *wide = ck_kernels_named("avx512"),
                                *avx2 = ck_kernels_named("avx2");
        return wide ? wide : avx2 ? avx2 : &ck_kernels_ref;
    }
    if (kn == &ck_kernels_vnni || kn == &ck_kernels_amx)
        return &ck_kernels_avx512;
#else
    if (kn == &ck_kernels_amx_emulated)
        return &ck_kernels_ref;
#endif
    return kn;
}

const char *ck_isa(void)
{
    return ck_kernels()->name;
}

/* The panel's layout [lane][ld/8][width] gives dense_tile one contiguous row of centers per
 * step of a lane's sum. */
void ck_panel_set(float *panel, int width, int column, const float *c, int ld)
{
    for (int l = 0; l < CK_LANES; l++)
        for (int j = 0; j < ld / CK_LANES; j++)
            panel[(l * (ld / CK_LANES) + j) * width + column] = c[j * CK_LANES + l];
}

/* Rows are stored + 128 to make them unsigned, as the 8-bit product requires; `start` subtracts
 * that again. */
void ck_screen_panel_set(const struct ck_kernels *kn, struct ck_screen_panel *panel, int column,
                         const float *c, const float *reference, int ld)
{
    float range = kn->range8(c, reference, ld, &panel->norm[column]);
    struct ck_rounded r = kn->round8(c, reference, ld, range, 0, 4 * CK_SCREEN_PANEL,
                                     (uint8_t *)panel->q + 4 * column);
    panel->start[column] = -128 * r.sum;
    panel->scale[column] = r.scale;
    panel->residue[column] = r.residue;
}

/* For lengths whose square overflows or underflows f32: sums in double. */
static double normalize_extreme(float *x, int ld)
{
    double sum = 0;
    for (int j = 0; j < ld; j++)
        sum += (double)x[j] * (double)x[j];
    double length = sqrt(sum);
    if (length > 0 && isfinite(length))
        for (int j = 0; j < ld; j++)
            x[j] = (float)((double)x[j] / length);
    return length;
}

double ck_normalize(const struct ck_kernels *kn, float *x, int ld)
{
    double square = (double)kn->dot(x, x, ld);
    if (!(square > 1e-30 && square < 1e30))
        return normalize_extreme(x, ld);
    double length = sqrt(square);
    float inverse = (float)(1 / length);
    for (int j = 0; j < ld; j++)
        x[j] *= inverse;
    return length;
}
