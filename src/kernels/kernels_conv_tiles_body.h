/* kernels_conv_tiles_body.h - panels on tiles, written once for the matrix unit and its
 * emulation. The including file defines finish(), which rounds, stores and sums one tile of
 * results. */

/* Tiles 0-3: sums of 2 x 16 pixels by 2 x 16 outputs; 4, 5: pixels; 6, 7: weights. */
static void begin(void)
{
    struct ck_tile_config c = ck_tile_config_full();
    ck_tiles_configure(&c);
}

static void end(void)
{
    ck_tiles_release();
}

static inline void zero_pair(void)
{
    ck_tile_zero(0);
    ck_tile_zero(1);
    ck_tile_zero(2);
    ck_tile_zero(3);
}

/* sum [2][2][16][16] = the products of two tiles of pixels. */
static inline void multiply_pair(const struct ck_tile_panel *p, const unsigned char *a0,
                                 const unsigned char *a1, float *sum)
{
    const uint16_t *b = p->b;
    zero_pair();
    for (int64_t k = 0; k < p->steps; k++, b += 1024) {
        ck_tile_load(6, b, 64);
        ck_tile_load(4, a0 + p->at[k], p->pixel);
        ck_tile_bf16(0, 4, 6);
        ck_tile_load(7, b + 512, 64);
        ck_tile_bf16(1, 4, 7);
        ck_tile_load(5, a1 + p->at[k], p->pixel);
        ck_tile_bf16(2, 5, 6);
        ck_tile_bf16(3, 5, 7);
    }
    ck_tile_store(0, sum, 128);
    ck_tile_store(1, sum + 16, 128);
    ck_tile_store(2, sum + 512, 128);
    ck_tile_store(3, sum + 528, 128);
}

static inline void multiply_one(const struct ck_tile_panel *p, const unsigned char *a,
                                float *sum)
{
    const uint16_t *b = p->b;
    ck_tile_zero(0);
    ck_tile_zero(1);
    for (int64_t k = 0; k < p->steps; k++, b += 1024) {
        ck_tile_load(4, a + p->at[k], p->pixel);
        ck_tile_load(6, b, 64);
        ck_tile_load(7, b + 512, 64);
        ck_tile_bf16(0, 4, 6);
        ck_tile_bf16(1, 4, 7);
    }
    ck_tile_store(0, sum, 128);
    ck_tile_store(1, sum + 16, 128);
}

static void panel(const struct ck_tile_panel *p)
{
    _Alignas(64) float sum[2 * 16 * CK_TILE_CHANNELS];
    int64_t i = 0;
    for (; i + 2 <= p->tiles; i += 2) {
        multiply_pair(p, p->tile[i].a, p->tile[i + 1].a, sum);
        finish(&p->tile[i], p->out, sum, p->moments);
        finish(&p->tile[i + 1], p->out, sum + 512, p->moments);
    }
    if (i < p->tiles) {
        multiply_one(p, p->tile[i].a, sum);
        finish(&p->tile[i], p->out, sum, p->moments);
    }
}
