/* kernels_conv_emulated.c - convolutions on emulated tiles, for tests on machines without the
 * matrix unit. */
#define CK_TILES_EMULATED
#include "kernels/amx_tiles.h"
#include "kernels/kernels_conv_tiles.h"
#include "kernels/layers.h"

#include <math.h>
#include <string.h>

/* As AVX-512's fmadd in kernels_conv_simd.h. */
static void sum_rows(const struct ck_tile *t, const float *sum, struct ck_tile_moments *m)
{
    if (!m->rows)
        memcpy(m->pivot, sum + 32 * t->from, sizeof m->pivot);
    m->rows += t->to - t->from;
    for (int r = t->from; r < t->to; r++)
        for (int c = 0; c < CK_TILE_CHANNELS; c++) {
            float d = sum[32 * r + c] - m->pivot[c];
            m->dev[c] += d;
            m->square[c] = fmaf(d, d, m->square[c]);
        }
}

static void finish(const struct ck_tile *t, int64_t out, const float *sum,
                   struct ck_tile_moments *m)
{
    ck_to_bf16(32 * (t->to - t->from), sum + 32 * t->from, t->out + out + 32 * t->from);
    if (m)
        sum_rows(t, sum, m);
}

static void pixels(int64_t n, const void *src, int64_t from, void *dst, int64_t to)
{
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)dst + i * to, (const char *)src + i * from, 64);
}

#include "kernels/kernels_conv_tiles_body.h"

const struct ck_tile_kernels ck_tile_kernels_emulated = {"amx emulated", begin, end, panel,
                                                         pixels};
