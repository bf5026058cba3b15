/* kernels_amx_emulated.c - the kernels of kernels_amx.c in plain C, on emulated tiles: for tests
 * on machines without the unit. Everything else is the reference. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define CK_TILES_EMULATED
#define INLINE static inline

typedef struct {
    float at[16];
} vec;

INLINE vec load(const float *p)
{
    vec v;
    memcpy(v.at, p, sizeof v.at);
    return v;
}

INLINE void store(float *p, vec v)
{
    memcpy(p, v.at, sizeof v.at);
}

INLINE vec load_sums(const int32_t *p)
{
    vec v;
    for (int i = 0; i < 16; i++)
        v.at[i] = (float)p[i];
    return v;
}

INLINE vec all(float x)
{
    vec v;
    for (int i = 0; i < 16; i++)
        v.at[i] = x;
    return v;
}

INLINE vec mul(vec a, vec b)
{
    for (int i = 0; i < 16; i++)
        a.at[i] *= b.at[i];
    return a;
}

INLINE vec madd(vec a, vec b, vec c)
{
    for (int i = 0; i < 16; i++)
        a.at[i] = fmaf(a.at[i], b.at[i], c.at[i]);
    return a;
}

INLINE vec most(vec a, vec b)
{
    for (int i = 0; i < 16; i++)
        a.at[i] = a.at[i] > b.at[i] ? a.at[i] : b.at[i];
    return a;
}

#include "kernels/kernels_screen_tiles.h"

/* Sums in double, so that lengths rounded to f32 and raised a little are above the exact ones. */
static const float UP = 1 + 0x1p-20f;

static float range8(const float *v, const float *reference, int ld, float *norm)
{
    float range = 0;
    double norm2 = 0;
    for (int j = 0; j < ld; j++) {
        float y = v[j] - reference[j];
        range = fmaxf(range, fabsf(y));
        norm2 += (double)y * (double)y;
    }
    *norm = (float)sqrt(norm2) * UP;
    return range;
}

static struct ck_rounded round8(const float *v, const float *reference, int ld, float range,
                                int offset, int64_t stride, uint8_t *q)
{
    float inverse = range > 0x1p-100f ? 127 / range : 0;
    struct ck_rounded r = {.scale = range / 127};
    double rest2 = 0, length2 = 0;
    for (int j = 0; j < ld; j++) {
        float y = v[j] - reference[j], f = rintf(y * inverse);
        f = f > 127 ? 127 : f < -127 ? -127 : f;
        double rest = (double)y - (double)f * (double)r.scale;
        rest2 += rest * rest;
        length2 += (double)f * (double)f;
        r.sum += (int)f;
        q[j / 4 * stride + j % 4] = (uint8_t)((int)f + (offset ? 128 : 0));
    }
    r.residue = (float)sqrt(rest2) * UP;
    r.length = (float)(sqrt(length2) * (double)r.scale) * UP;
    return r;
}

static int peak(const float *top, int n)
{
    int at = 0;
    for (int i = 1; i < n; i++)
        at = top[i] > top[at] ? i : at;
    return at;
}

static int reach(const float *top, int n, float limit, int32_t *index)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        if (top[i] >= limit)
            index[count++] = i;
    return count;
}

const struct ck_kernels ck_kernels_amx_emulated = {.name = "amx-emulated",
                                                   .panel = CK_PANEL_REF,
                                                   .dot = ck_dot_ref,
                                                   .dot4 = ck_dot4_ref,
                                                   .dense_tile = ck_dense_tile_ref,
                                                   .accumulate = ck_accumulate_ref,
                                                   .restore = ck_restore_ref,
                                                   .unit_rows = CK_TILE_ROWS,
                                                   .range8 = range8,
                                                   .round8 = round8,
                                                   .screen = screen,
                                                   .peak = peak,
                                                   .reach = reach};
