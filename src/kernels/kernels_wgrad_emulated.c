/* kernels_wgrad_emulated.c - the gradient of the weights on emulated tiles, for tests on machines
 * without the matrix unit. */
#define CK_TILES_EMULATED
#include "kernels/amx_tiles.h"
#include "kernels/kernels_wgrad.h"
#include "kernels/kernels_wgrad_body.h"

static uint16_t channel(const struct ck_wgrad_pixels *p, int64_t i, int64_t c)
{
    uint16_t v;
    memcpy(&v, ck_wgrad_pixel(p, i) + 2 * c, sizeof v);
    return v;
}

static void pairs(const struct ck_wgrad_pixels *p, uint16_t *low, uint16_t *high)
{
    for (int64_t i = 0; i < p->n; i++)
        for (int c = 0; c < 16; c++) {
            int64_t at = (i / 2 * 16 + c) * 2 + i % 2;
            low[at] = channel(p, i, ck_wgrad_channel(high ? 2 : 1, 0, c));
            if (high)
                high[at] = channel(p, i, ck_wgrad_channel(2, 1, c));
        }
}

static void lines(const struct ck_wgrad_pixels *p, int tiles, uint16_t *out)
{
    for (int64_t i = 0; i < p->n; i++)
        for (int c = 0; c < 16 * tiles; c++)
            out[(i / 32 * 32 + c) * 32 + i % 32] = channel(p, i, c);
}

const struct ck_wgrad_kernels ck_wgrad_kernels_emulated = {begin, end, pairs, lines, panel};
