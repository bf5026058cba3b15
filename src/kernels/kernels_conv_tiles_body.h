/* kernels_conv_tiles_body.h - panels on tiles, written once for the matrix unit and its
 * emulation. The including file defines finish(), which rounds, stores and sums one row of
 * results.
 *
 * The unit multiplies while the vector unit is idle, so that the rows of the last products are
 * finished between the steps of the next. */

/* Tiles 0-3: sums of 2 x 16 pixels by 2 x 16 outputs; 4, 5: pixels; 6, 7: weights. */
static void begin(int pairs)
{
    struct ck_tile_config c = ck_tile_config_full();
    c.bytes[4] = c.bytes[5] = (uint16_t)(4 * pairs);
    c.rows[6] = c.rows[7] = (uint8_t)pairs;
    ck_tiles_configure(&c);
}

static void end(void)
{
    ck_tiles_release();
}

/* Products of up to two tiles, of which the rows from `row` on are not finished. */
struct pending {
    const struct ck_tile *tile;
    const float *sum; /* [2][16][32] */
    int row, rows;
};

static inline void finish_until(const struct ck_tile_panel *p, struct pending *w, int row)
{
    for (row = row < w->rows ? row : w->rows; w->row < row; w->row++) {
        const struct ck_tile *t = &w->tile[w->row / 16];
        int r = w->row % 16;
        if (r >= t->from && r < t->to)
            finish(t->out + p->out + 16 * p->halves * r, w->sum + 32 * w->row, p->halves,
                   ck_moments_of(p->moments, t));
    }
}

/* sum [2][16][32] = the products of two tiles of pixels. */
static inline void multiply_pair(const struct ck_tile_panel *p, const struct ck_tile *t,
                                 float *sum, struct pending *last)
{
    const uint16_t *b = p->b;
    int per_step = (int)((32 + p->steps - 1) / p->steps);
    ck_tile_zero(0);
    ck_tile_zero(1);
    ck_tile_zero(2);
    ck_tile_zero(3);
    for (int64_t k = 0; k < p->steps; k++, b += 1024) {
        ck_tile_load(6, b, 64);
        ck_tile_load(4, t[0].a + p->at[k], p->pixel);
        ck_tile_bf16(0, 4, 6);
        ck_tile_load(7, b + 512, 64);
        ck_tile_bf16(1, 4, 7);
        ck_tile_load(5, t[1].a + p->at[k], p->pixel);
        ck_tile_bf16(2, 5, 6);
        ck_tile_bf16(3, 5, 7);
        finish_until(p, last, last->row + per_step);
    }
    ck_tile_store(0, sum, 128);
    ck_tile_store(1, sum + 16, 128);
    ck_tile_store(2, sum + 512, 128);
    ck_tile_store(3, sum + 528, 128);
}

static inline void multiply_one(const struct ck_tile_panel *p, const struct ck_tile *t,
                                float *sum)
{
    const uint16_t *b = p->b;
    ck_tile_zero(0);
    ck_tile_zero(1);
    for (int64_t k = 0; k < p->steps; k++, b += 1024) {
        ck_tile_load(4, t->a + p->at[k], p->pixel);
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
    _Alignas(64) float sum[2][2 * 16 * CK_TILE_CHANNELS];
    struct pending last = {NULL, NULL, 0, 0};
    int64_t i = 0;
    for (; i + 2 <= p->tiles; i += 2) {
        float *now = sum[i / 2 % 2];
        multiply_pair(p, &p->tile[i], now, &last);
        last = (struct pending){&p->tile[i], now, 0, 32};
    }
    finish_until(p, &last, 32);
    if (i < p->tiles) {
        multiply_one(p, &p->tile[i], sum[0]);
        last = (struct pending){&p->tile[i], sum[0], 0, 16};
        finish_until(p, &last, 16);
    }
}
