/* kernels_screen_tiles.h - screening on tiles of the matrix unit, written once.
 *
 * Included by one file per version, which first defines INLINE, vec (16 floats), load, store,
 * load_sums (of 16 int32, as floats), all, mul, madd(a, b, c) = a b + c and most (the larger
 * ones); the emulation also CK_TILES_EMULATED.
 *
 * The products are cheap: what costs are loads and stores of tiles, which occupy the decoders for
 * 12 and 16 cycles, and the vector arithmetic on the stored sums. Neither overlaps the other, but
 * both overlap products. So two tiles of rows share each load of centers, and up to 128 columns
 * the rows stay in tiles; and the sums of a panel are reduced while the next one is multiplied,
 * when their stores have long left the store buffer. */
#include "kernels/amx_tiles.h"
#include "kernels/kernels.h"

enum {
    ROWS = CK_TILE_ROWS,
    VECS = CK_SCREEN_PANEL / 16,
    CENTER_BYTES = 4 * CK_SCREEN_PANEL,       /* from one group of four columns to the next */
    STEP_BYTES = CK_TILE_ROWS * CENTER_BYTES, /* from one step of 64 columns to the next */
    RESIDENT = 2,                             /* steps whose rows fit in tiles */
};

_Static_assert(CK_SCREEN_ROWS == 2 * CK_TILE_ROWS, "two tiles of rows share the centers");

/* Sums of one panel with two tiles of rows. */
struct sums {
    int32_t at[2][VECS][ROWS * 16];
} __attribute__((aligned(64)));

/* Tiles 0, 1 hold the first tile of rows, 2, 3 the second one. */
static void load_rows(const uint8_t *x, int64_t stride, int steps)
{
    ck_tile_load(0, x, stride);
    ck_tile_load(2, x + ROWS * stride, stride);
    if (steps > 1) {
        ck_tile_load(1, x + 64, stride);
        ck_tile_load(3, x + ROWS * stride + 64, stride);
    }
}

/* 16 centers with the rows of load_rows(). */
INLINE void multiply_resident(const int8_t *q, int steps, int v, struct sums *s)
{
    ck_tile_load(4, q + 64 * v, CENTER_BYTES);
    ck_tile_zero(6);
    ck_tile_zero(7);
    ck_tile_s8s8(6, 0, 4);
    ck_tile_s8s8(7, 2, 4);
    if (steps > 1) {
        ck_tile_load(5, q + STEP_BYTES + 64 * v, CENTER_BYTES);
        ck_tile_s8s8(6, 1, 5);
        ck_tile_s8s8(7, 3, 5);
    }
    ck_tile_store(6, s->at[0][v], 64);
    ck_tile_store(7, s->at[1][v], 64);
}

/* One of VECS parts of the steps of all 48 centers; six sums stay in tiles. */
INLINE void multiply_part(const int8_t *q, const uint8_t *x, int64_t stride, int steps,
                          int part, struct sums *s)
{
    if (part == 0) {
        ck_tile_zero(0);
        ck_tile_zero(1);
        ck_tile_zero(2);
        ck_tile_zero(3);
        ck_tile_zero(4);
        ck_tile_zero(5);
    }
    const uint8_t *y = x + ROWS * stride;
    for (int i = steps * part / VECS; i < steps * (part + 1) / VECS; i++) {
        const int8_t *c = q + (int64_t)i * STEP_BYTES;
        ck_tile_load(6, x + 64 * i, stride);
        ck_tile_load(7, c, CENTER_BYTES);
        ck_tile_s8s8(0, 6, 7);
        ck_tile_load(6, y + 64 * i, stride);
        ck_tile_s8s8(3, 6, 7);
        ck_tile_load(7, c + 64, CENTER_BYTES);
        ck_tile_s8s8(4, 6, 7);
        ck_tile_load(6, x + 64 * i, stride);
        ck_tile_s8s8(1, 6, 7);
        ck_tile_load(7, c + 128, CENTER_BYTES);
        ck_tile_s8s8(2, 6, 7);
        ck_tile_load(6, y + 64 * i, stride);
        ck_tile_s8s8(5, 6, 7);
    }
    if (part == VECS - 1) {
        ck_tile_store(0, s->at[0][0], 64);
        ck_tile_store(1, s->at[0][1], 64);
        ck_tile_store(2, s->at[0][2], 64);
        ck_tile_store(3, s->at[1][0], 64);
        ck_tile_store(4, s->at[1][1], 64);
        ck_tile_store(5, s->at[1][2], 64);
    }
}

/* One tile of rows. */
struct tile_rows {
    int n;
    const float *scale, *lift; /* [n] */
    float length, residue;     /* the largest of the rows */
    int alike;                 /* all scales are equal and all lifts are zero */
    float *top;                /* of the first row */
};

static struct tile_rows tile_of(const struct ck_screen_rows *rows, int first, float *top,
                                int64_t stride)
{
    int left = rows->n - first;
    struct tile_rows t = {.n = left < 0      ? 0
                               : left < ROWS ? left
                                             : ROWS,
                          .scale = rows->scale + first,
                          .lift = rows->lift + first,
                          .alike = 1,
                          .top = top + first * stride};
    for (int r = 0; r < t.n; r++)
        t.alike &= t.scale[r] == t.scale[0] && t.lift[r] == 0;
    for (int r = 0; r < t.n; r += CK_TILE) {
        float length = rows->length[(first + r) / CK_TILE];
        float residue = rows->residue[(first + r) / CK_TILE];
        t.length = length > t.length ? length : t.length;
        t.residue = residue > t.residue ? residue : t.residue;
    }
    return t;
}

/* The quantized score and everything that depends on the center only; with scales that are
 * multiplied, or with the row's scale and lift. */
INLINE vec estimate(vec sum, vec scale, vec lift, vec bound, const struct tile_rows *t, int r)
{
    if (t->alike)
        return madd(sum, scale, bound);
    return madd(sum, mul(scale, all(t->scale[r])), madd(all(t->lift[r]), lift, bound));
}

/* From the sums of one panel and one tile of rows to the maxima at t->top + at. */
INLINE void reduce(const struct ck_screen_panel *p, int32_t sums[VECS][ROWS * 16],
                   const struct tile_rows *t, int fresh, int64_t at, int64_t stride)
{
    vec scale[VECS], lift[VECS], bound[VECS];
    for (int v = 0; v < VECS; v++) {
        bound[v] = madd(all(t->residue), load(p->norm + 16 * v), load(p->bias + 16 * v));
        bound[v] = madd(all(t->length), load(p->residue + 16 * v), bound[v]);
        scale[v] = load(p->scale + 16 * v);
        scale[v] = t->alike ? mul(scale[v], all(t->scale[0])) : scale[v];
        lift[v] = load(p->lift + 16 * v);
    }
    float *top = t->top + at;
    for (int r = 0; r < t->n; r++, top += stride) {
        vec e0 = estimate(load_sums(sums[0] + 16 * r), scale[0], lift[0], bound[0], t, r);
        vec e1 = estimate(load_sums(sums[1] + 16 * r), scale[1], lift[1], bound[1], t, r);
        vec e2 = estimate(load_sums(sums[2] + 16 * r), scale[2], lift[2], bound[2], t, r);
        vec best = most(most(e0, e1), e2);
        store(top, fresh ? best : most(best, load(top)));
    }
}

/* Constant arguments give the compiler four loops without conditions. */
static void reduce_panel(const struct ck_screen_panels *panels, int64_t p, struct sums *s,
                         int which, const struct tile_rows *t, int64_t stride)
{
    const struct ck_screen_panel *panel = ck_screen_panel_at(panels, p);
    int64_t at = p / panels->group * CK_SCREEN_LANES;
    struct tile_rows known = *t;
    int fresh = p % panels->group == 0;
    if (t->alike && fresh) {
        known.alike = 1;
        reduce(panel, s->at[which], &known, 1, at, stride);
    } else if (t->alike) {
        known.alike = 1;
        reduce(panel, s->at[which], &known, 0, at, stride);
    } else {
        known.alike = 0;
        reduce(panel, s->at[which], &known, fresh, at, stride);
    }
}

/* Rows that stay in tiles meet all panels; otherwise a panel meets all rows, because panels of
 * long vectors come from far caches. */
struct step {
    int64_t panel;
    int pair; /* of tiles of rows */
};

static struct step step_at(int64_t i, int64_t panels, int pairs, int resident)
{
    return resident ? (struct step){i % panels, (int)(i / panels)}
                    : (struct step){i / pairs, (int)(i % pairs)};
}

static void screen(const struct ck_screen_panels *panels, const struct ck_screen_rows *rows,
                   float *top, int64_t stride)
{
    struct ck_tile_config config = ck_tile_config_full();
    struct sums sums[2];
    int depth = (panels->ld + 63) / 64, resident = depth <= RESIDENT;
    int pairs = (rows->n + CK_SCREEN_ROWS - 1) / CK_SCREEN_ROWS;
    int64_t steps = panels->n * pairs;
    struct tile_rows tile[CK_SCREEN_MOST / ROWS];
    for (int t = 0; t < 2 * pairs; t++)
        tile[t] = tile_of(rows, t * ROWS, top, stride);
    ck_tiles_configure(&config);
    for (int64_t i = 0; i <= steps; i++) {
        struct step now = step_at(i, panels->n, pairs, resident);
        struct step last = step_at(i > 0 ? i - 1 : 0, panels->n, pairs, resident);
        const uint8_t *x = rows->q + now.pair * CK_SCREEN_ROWS * rows->stride;
        const int8_t *q = i < steps ? ck_screen_panel_at(panels, now.panel)->q : NULL;
        if (q && resident && now.panel == 0)
            load_rows(x, rows->stride, depth);
        for (int part = 0; part < VECS; part++) {
            if (q && resident)
                multiply_resident(q, depth, part, &sums[i % 2]);
            else if (q)
                multiply_part(q, x, rows->stride, depth, part, &sums[i % 2]);
            if (i == 0 || part == 2)
                continue;
            reduce_panel(panels, last.panel, &sums[(i - 1) % 2], part,
                         &tile[2 * last.pair + part], stride);
        }
    }
    ck_tiles_release();
}
