/* gemm_tiles.c - products of matrices on tiles: rounds both operands, packs them as lines and
 * columns of kernels_wgrad.h, and multiplies blocks of 32 x 32. */
#include "kernels/gemm_tiles.h"
#include "core/workers.h"
#include "kernels/kernels_layers.h"
#include "kernels/kernels_wgrad.h"

#include <string.h>

enum { BLOCK = CK_TILE_CHANNELS, CHUNK = 64 /* rows that a worker rounds at a time */ };

/* One operand: stored [rows][cols], rounded with rows of `cols` padded by zeros to whole blocks,
 * packed in blocks of 32 lines or columns of the product, [blocks][steps][2][512] elements. */
struct operand {
    struct ck_matrix from;
    int64_t rows, cols;
    int along; /* the inner dimension runs along the rows */
    int64_t blocks;
    uint16_t *rounded, *packed;
};

struct run {
    struct ck_tile_product p;
    int swapped; /* computes the transpose: B's columns are the lines */
    int64_t steps;
    const struct ck_wgrad_kernels *kn;
    struct operand lines, columns;
    int32_t *at; /* [steps * 32] offsets of the rows of an operand, -1 beyond the last */
};

static int64_t up(int64_t n)
{
    return (n + BLOCK - 1) / BLOCK * BLOCK;
}

int ck_gemm_tiles_exist(void)
{
    return ck_tile_kernels() != NULL;
}

/* Both operands, rounded and packed, and two tables. */
size_t ck_gemm_tiles_scratch(int64_t m, int64_t n, int64_t k)
{
    int64_t elements = 2 * (up(m) + up(n)) * up(k);
    return (size_t)elements * sizeof(uint16_t) + 2 * (size_t)up(k) * sizeof(int32_t);
}

/* ---- packing ---- */

struct packing {
    const struct run *r;
    const struct operand *o;
    const int32_t *at;
};

static void round_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct packing *p = arg;
    const struct operand *o = p->o;
    int64_t width = up(o->cols), end = (chunk + 1) * CHUNK;
    for (int64_t i = chunk * CHUNK; i < end && i < o->rows; i++) {
        uint16_t *out = o->rounded + i * width;
        ck_layer_kernels()->to_bf16(o->cols, o->from.data + i * o->from.ld, out);
        memset(out + o->cols, 0, (size_t)(width - o->cols) * sizeof *out);
    }
}

/* The inner dimension runs along the rows: 32 of its elements are neighbors. */
static void pack_along(const struct run *r, const struct operand *o, int64_t block, int columns)
{
    uint16_t *out = o->packed + block * r->steps * 2 * CK_WGRAD_TILE;
    int64_t width = up(o->cols);
    for (int64_t i = 0; i < BLOCK; i++) {
        int64_t row = block * BLOCK + i;
        const uint16_t *from = row < o->rows ? o->rounded + row * width : NULL;
        for (int64_t k = 0; k < r->steps; k++) {
            uint16_t *to = out + k * 2 * CK_WGRAD_TILE + i * BLOCK;
            const uint16_t *src = from ? from + k * BLOCK : (const void *)ck_wgrad_zero;
            if (!columns)
                memcpy(to, src, BLOCK * sizeof *to);
            else
                for (int j = 0; j < 16; j++) /* pairs, in the order of ck_wgrad_panel.b */
                    memcpy(out + i / 16 * r->steps * CK_WGRAD_TILE +
                               ((k * 16 + j) * 16 + i % 16) * 2,
                           src + 2 * j, 2 * sizeof *to);
        }
    }
}

static void pack_chunk(const struct packing *p, int64_t block, int columns)
{
    const struct run *r = p->r;
    const struct operand *o = p->o;
    if (o->along) {
        pack_along(r, o, block, columns);
        return;
    }
    uint16_t *out = o->packed + block * r->steps * 2 * CK_WGRAD_TILE;
    struct ck_wgrad_pixels px = {(const void *)(o->rounded + block * BLOCK), p->at,
                                 r->steps * BLOCK};
    if (columns)
        r->kn->pairs(&px, out, out + r->steps * CK_WGRAD_TILE);
    else
        r->kn->lines(&px, 2, out);
}

static void pack_lines(void *arg, int64_t block, int worker)
{
    (void)worker;
    pack_chunk(arg, block, 0);
}

static void pack_columns(void *arg, int64_t block, int worker)
{
    (void)worker;
    pack_chunk(arg, block, 1);
}

static void pack(const struct run *r, const struct operand *o, int columns, int32_t *at)
{
    struct packing p = {r, o, at};
    for (int64_t i = 0; i < r->steps * BLOCK; i++)
        at[i] = i < o->rows ? (int32_t)(i * up(o->cols) * 2) : -1;
    ck_parallel((o->rows + CHUNK - 1) / CHUNK, round_chunk, &p);
    ck_parallel(o->blocks, columns ? pack_columns : pack_lines, &p);
}

/* ---- products ---- */

/* Where element (line, column) of a block is in its sums [2 tiles of columns][2 of lines]
 * [16][16]. */
static void set_places(const struct run *r, int places[BLOCK][BLOCK])
{
    for (int t = 0; t < 4; t++)
        for (int e = 0; e < CK_WGRAD_SUMS; e++) {
            int64_t i = t % 2 * 16 + e / 16;
            int64_t j =
                r->columns.along ? t / 2 * 16 + e % 16 : ck_wgrad_channel(2, t / 2, e % 16);
            places[r->swapped ? j : i][r->swapped ? i : j] = t * CK_WGRAD_SUMS + e;
        }
}

/* A block of sums to C, row by row. */
static void store_block(const struct run *r, int64_t line, int64_t column, const float *sum,
                        const int places[BLOCK][BLOCK])
{
    const struct ck_tile_product *p = &r->p;
    int64_t i = (r->swapped ? column : line) * BLOCK, j = (r->swapped ? line : column) * BLOCK;
    int64_t rows = p->m - i < BLOCK ? p->m - i : BLOCK, n = p->n - j < BLOCK ? p->n - j : BLOCK;
    for (int64_t a = 0; a < rows; a++) {
        float row[BLOCK], *c = p->c + (i + a) * p->ldc + j;
        for (int b = 0; b < BLOCK; b++)
            row[b] = sum[places[a][b]];
        for (int64_t b = 0; b < n; b++)
            c[b] = p->accumulate ? c[b] + row[b] : row[b];
    }
}

static void multiply_lines(void *arg, int64_t line, int worker)
{
    (void)worker;
    const struct run *r = arg;
    _Alignas(64) float sum[4 * CK_WGRAD_SUMS];
    int64_t block = r->steps * 2 * CK_WGRAD_TILE;
    struct ck_wgrad_panel panel = {.a = r->lines.packed + line * block,
                                   .lines = 2,
                                   .columns = 2,
                                   .steps = r->steps,
                                   .bundles = 1,
                                   .sum = sum};
    int places[BLOCK][BLOCK];
    set_places(r, places);
    r->kn->begin();
    for (int64_t c = 0; c < r->columns.blocks; c++) {
        panel.b[0] = r->columns.packed + c * block;
        panel.b[1] = panel.b[0] + block / 2;
        r->kn->panel(&panel);
        store_block(r, line, c, sum, (const int(*)[BLOCK])places);
    }
    r->kn->end();
}

/* `outer` lines or columns of the product. */
static struct operand operand_of(struct ck_matrix from, int64_t outer, int64_t k, int along)
{
    return (struct operand){.from = from,
                            .rows = along ? outer : k,
                            .cols = along ? k : outer,
                            .along = along,
                            .blocks = up(outer) / BLOCK};
}

/* Where B is transposed, its rows are best taken as lines. */
void ck_gemm_tiles(const struct ck_tile_product *p, void *scratch)
{
    struct run r = {.p = *p,
                    .swapped = p->b.transposed,
                    .steps = up(p->k) / BLOCK,
                    .kn = ck_wgrad_kernels()};
    struct operand a = operand_of(p->a, p->m, p->k, !p->a.transposed);
    struct operand b = operand_of(p->b, p->n, p->k, p->b.transposed);
    r.lines = r.swapped ? b : a;
    r.columns = r.swapped ? a : b;
    int64_t line_size = r.lines.blocks * BLOCK * up(p->k);
    int64_t column_size = r.columns.blocks * BLOCK * up(p->k);
    r.lines.packed = scratch;
    r.columns.packed = r.lines.packed + line_size;
    r.lines.rounded = r.columns.packed + column_size;
    r.columns.rounded = r.lines.rounded + line_size;
    int32_t *at = (int32_t *)(void *)(r.columns.rounded + column_size);
    pack(&r, &r.lines, 0, at);
    pack(&r, &r.columns, 1, at);
    ck_parallel(r.lines.blocks, multiply_lines, &r);
}
