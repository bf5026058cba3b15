/* kernels_conv_emulated.c - convolutions on emulated tiles, for tests on machines without the
 * matrix unit. */
#define CK_TILES_EMULATED
#include "kernels/amx_tiles.h"
#include "kernels/kernels_conv_tiles.h"
#include "kernels/layers.h"

#include <math.h>
#include <string.h>

/* As in kernels_conv_simd.h. */
static void finish(uint16_t *y, const float *sum, int halves, struct ck_tile_moments *m)
{
    ck_to_bf16(16 * halves, sum, y);
    for (int c = 0; m && c < 16 * halves; c++) {
        if (!m->rows)
            m->pivot[c] = sum[c];
        float d = sum[c] - m->pivot[c];
        m->dev[c] += d;
        m->square[c] = fmaf(d, d, m->square[c]);
    }
    if (m)
        m->rows++;
}

static void pack(const float *w, int64_t from, int64_t to, uint16_t *tile)
{
    for (int64_t i = 0; i < CK_TILE_CHANNELS; i++)
        for (int64_t j = 0; j < 16; j++)
            ck_to_bf16(1, &w[i * from + j * to], &tile[(i / 2 * 16 + j) * 2 + i % 2]);
}

static void pixels(int64_t n, int64_t bytes, const void *src, int64_t from, void *dst,
                   int64_t to)
{
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)dst + i * to, (const char *)src + i * from, (size_t)bytes);
}

#include "kernels/kernels_conv_tiles_body.h"

const struct ck_tile_kernels ck_tile_kernels_emulated = {"amx emulated", begin, end,
                                                         panel,          pack,  pixels};
