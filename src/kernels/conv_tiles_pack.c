/* conv_tiles_pack.c - weights in the order of tiles, and images from and to plain arrays. */
#include "core/workers.h"
#include "kernels/integers.h"
#include "kernels/kernels_conv_tiles.h"
#include "kernels/layers.h"

#include <string.h>

/* ---- weights ---- */

int ck_tiles_packs_alike(const struct ck_tiles_conv *a, const struct ck_tiles_conv *b)
{
    if (a->pass != b->pass || a->parts != b->parts || a->packed != b->packed ||
        a->stem != b->stem)
        return 0;
    for (int i = 0; i < a->parts; i++) {
        const struct ck_tiles_part *p = &a->part[i], *q = &b->part[i];
        if (p->taps != q->taps || p->b != q->b ||
            memcmp(p->tap_weight, q->tap_weight, (size_t)p->taps) != 0)
            return 0;
    }
    return 1;
}

struct packing {
    const struct ck_tiles_conv *c;
    const float *weights;
    uint16_t *packed;
};

/* Rounds to nearest even; a NaN stays a NaN. */
static uint16_t to_bf16(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* The tile [16 pairs][16 outputs][2] that multiplies source channels from `src` at one place of
 * the kernel; 0 beyond the channels. */
static void pack_tile(const struct packing *p, int64_t src, int64_t dst, int64_t place,
                      uint16_t *out)
{
    const struct ck_tiles_shape *s = &p->c->s;
    int64_t window = s->kernel * s->kernel;
    int forward = p->c->pass == CK_TILES_FORWARD;
    int64_t from = forward ? window : window * s->ic, to = forward ? window * s->ic : window;
    int64_t sources = smaller((forward ? s->ic : s->oc) - src, CK_TILE_CHANNELS);
    int64_t outputs = smaller((forward ? s->oc : s->ic) - dst, 16);
    const float *w = p->weights + src * from + dst * to + place;
    if (sources == CK_TILE_CHANNELS && outputs == 16) {
        ck_tile_kernels()->pack(w, from, to, out);
        return;
    }
    memset(out, 0, 1024);
    for (int64_t i = 0; i < sources; i++)
        for (int64_t j = 0; j < outputs; j++)
            out[(i / 2 * 16 + j) * 2 + i % 2] = to_bf16(w[i * from + j * to]);
}

/* A stem's step is a row of the kernel: CK_STEM_PIXELS pixels of CK_STEM_CHANNELS channels. */
static void pack_stem_tile(const struct packing *p, int64_t row, int64_t dst, uint16_t *out)
{
    const struct ck_tiles_shape *s = &p->c->s;
    memset(out, 0, 1024);
    for (int64_t j = 0; j < smaller(s->oc - dst, 16); j++)
        for (int64_t x = 0; x < s->kernel; x++)
            for (int64_t ch = 0; ch < s->ic; ch++) {
                int64_t i = x * CK_STEM_CHANNELS + ch;
                const float *w = p->weights + (dst + j) * s->ic * s->kernel * s->kernel;
                out[(i / 2 * 16 + j) * 2 + i % 2] =
                    to_bf16(w[(ch * s->kernel + row) * s->kernel + x]);
            }
}

/* One block of outputs and one block of sources, or a whole stem. */
static void pack_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct packing *p = arg;
    const struct ck_tiles_conv *c = p->c;
    int64_t sc = c->stem ? 1 : c->sc, block = chunk / sc, source = chunk % sc;
    for (int i = 0; i < c->parts; i++) {
        const struct ck_tiles_part *part = &c->part[i];
        int64_t steps = part->steps / sc;
        uint16_t *b = p->packed + part->b + (block * part->steps + source * steps) * 1024;
        for (int64_t k = 0; k < steps * 2; k++, b += 512) {
            int64_t dst = block * CK_TILE_CHANNELS + k % 2 * 16;
            if (c->stem)
                pack_stem_tile(p, k / 2, dst, b);
            else
                pack_tile(p, source * CK_TILE_CHANNELS, dst, part->tap_weight[k / 2], b);
        }
    }
}

void ck_tiles_pack(const struct ck_tiles_conv *c, const float *weights, void *packed)
{
    struct packing p = {c, weights, packed};
    ck_parallel(c->dc * (c->stem ? 1 : c->sc), pack_chunk, &p);
}

/* ---- images ---- */

struct plain {
    int64_t channels, pixels;
    float *plain;
    uint16_t *images;
};

static int64_t blocks_of(const struct plain *p)
{
    return divide_up(p->channels, ck_tiles_block(p->channels));
}

/* One block of channels of one image. */
static void from_plain(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct plain *p = arg;
    int64_t block = ck_tiles_block(p->channels);
    int64_t c = chunk % blocks_of(p) * block, image = chunk / blocks_of(p);
    int64_t channels = smaller(p->channels - c, block);
    const float *x = p->plain + (image * p->channels + c) * p->pixels;
    uint16_t *y = p->images + chunk * p->pixels * block;
    if (channels < block)
        memset(y, 0, (size_t)(p->pixels * block) * sizeof *y);
    for (int64_t i = 0; i < p->pixels; i++, y += block)
        for (int64_t j = 0; j < channels; j++)
            y[j] = to_bf16(x[j * p->pixels + i]);
}

static void to_plain(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct plain *p = arg;
    int64_t block = ck_tiles_block(p->channels);
    int64_t c = chunk % blocks_of(p) * block, image = chunk / blocks_of(p);
    const uint16_t *x = p->images + chunk * p->pixels * block;
    float *y = p->plain + (image * p->channels + c) * p->pixels;
    for (int64_t j = 0; j < smaller(p->channels - c, block); j++)
        for (int64_t i = 0; i < p->pixels; i++)
            ck_from_bf16(1, &x[i * block + j], &y[j * p->pixels + i]);
}

/* The chunks only read the array that is constant for the caller. */
void ck_tiles_from_plain(int64_t n, int64_t channels, int64_t pixels, const float *plain,
                         void *images)
{
    struct plain p = {channels, pixels, (float *)(uintptr_t)plain, images};
    ck_parallel(n * blocks_of(&p), from_plain, &p);
}

void ck_tiles_to_plain(int64_t n, int64_t channels, int64_t pixels, const void *images,
                       float *plain)
{
    struct plain p = {channels, pixels, plain, (uint16_t *)(uintptr_t)images};
    ck_parallel(n * blocks_of(&p), to_plain, &p);
}
