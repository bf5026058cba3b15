/* kernels_wgrad_body.h - panels on tiles, written once for the matrix unit and its emulation.
 *
 * Tiles 0-3 hold sums; with two tiles of lines 4 and 5 are lines, 6 and 7 columns; with one, 4
 * is the line and 5-7 are columns, the fourth in turn with the first. */

static void begin(void)
{
    struct ck_tile_config c = ck_tile_config_full();
    ck_tiles_configure(&c);
}

static void end(void)
{
    ck_tiles_release();
}

static inline __attribute__((always_inline)) void start_sums(const struct ck_wgrad_panel *p)
{
    ck_tile_zero(0);
    ck_tile_zero(1);
    ck_tile_zero(2);
    ck_tile_zero(3);
    if (!p->resume)
        return;
    int used = p->lines * p->columns;
    ck_tile_load(0, p->sum, 64);
    if (used > 1)
        ck_tile_load(1, p->sum + CK_WGRAD_SUMS, 64);
    if (used > 2)
        ck_tile_load(2, p->sum + 2 * CK_WGRAD_SUMS, 64);
    if (used > 3)
        ck_tile_load(3, p->sum + 3 * CK_WGRAD_SUMS, 64);
}

static inline __attribute__((always_inline)) void store_sums(const struct ck_wgrad_panel *p)
{
    int used = p->lines * p->columns;
    ck_tile_store(0, p->sum, 64);
    if (used > 1)
        ck_tile_store(1, p->sum + CK_WGRAD_SUMS, 64);
    if (used > 2)
        ck_tile_store(2, p->sum + 2 * CK_WGRAD_SUMS, 64);
    if (used > 3)
        ck_tile_store(3, p->sum + 3 * CK_WGRAD_SUMS, 64);
}

/* Two tiles of lines by one or two of columns. */
static inline __attribute__((always_inline)) void two_lines(const struct ck_wgrad_panel *p,
                                                            int columns)
{
    for (int64_t n = 0; n < p->bundles; n++) {
        const uint16_t *a = p->a + n * p->a_bundle;
        const uint16_t *b0 = p->b[0] + n * p->b_bundle;
        const uint16_t *b1 = p->b[columns - 1] + n * p->b_bundle;
        for (int64_t k = 0; k < p->steps; k++, a += 2 * CK_WGRAD_TILE) {
            ck_tile_load(6, b0 + k * CK_WGRAD_TILE, 64);
            ck_tile_load(4, a, 64);
            ck_tile_bf16(0, 4, 6);
            ck_tile_load(5, a + CK_WGRAD_TILE, 64);
            ck_tile_bf16(1, 5, 6);
            if (columns > 1) {
                ck_tile_load(7, b1 + k * CK_WGRAD_TILE, 64);
                ck_tile_bf16(2, 4, 7);
                ck_tile_bf16(3, 5, 7);
            }
        }
    }
}

/* One tile of lines by one to four of columns. */
static inline __attribute__((always_inline)) void one_line(const struct ck_wgrad_panel *p,
                                                           int columns)
{
    for (int64_t n = 0; n < p->bundles; n++) {
        const uint16_t *a = p->a + n * p->a_bundle;
        int64_t at = n * p->b_bundle;
        for (int64_t k = 0; k < p->steps; k++, a += 2 * CK_WGRAD_TILE, at += CK_WGRAD_TILE) {
            ck_tile_load(4, a, 64);
            ck_tile_load(5, p->b[0] + at, 64);
            ck_tile_bf16(0, 4, 5);
            if (columns > 1) {
                ck_tile_load(6, p->b[1] + at, 64);
                ck_tile_bf16(1, 4, 6);
            }
            if (columns > 2) {
                ck_tile_load(7, p->b[2] + at, 64);
                ck_tile_bf16(2, 4, 7);
            }
            if (columns > 3) {
                ck_tile_load(5, p->b[3] + at, 64);
                ck_tile_bf16(3, 4, 5);
            }
        }
    }
}

static void panel(const struct ck_wgrad_panel *p)
{
    start_sums(p);
    if (p->lines == 2 && p->columns == 2)
        two_lines(p, 2);
    else if (p->lines == 2)
        two_lines(p, 1);
    else if (p->columns == 4)
        one_line(p, 4);
    else if (p->columns == 3)
        one_line(p, 3);
    else if (p->columns == 2)
        one_line(p, 2);
    else
        one_line(p, 1);
    store_sums(p);
}
