/* matrix.c - products of matrices of double: cuts C into blocks for the team, and packs the parts
 * of A and B that a block needs into tiles. */
#include "kernels/matrix.h"
#include "core/workers.h"
#include "kernels/kernels.h"

#include <string.h>

enum {
    ROWS = 8 * CK_TILE_ROWS, /* of a block of C */
    COLS = 4 * CK_TILE_COLS,
    DEPTH = 128, /* of a packed part: 64 KiB each */
};

static ck_matrix_tile version_for(const struct ck_kernels *k)
{
    k = ck_kernels_f32(k);
#if defined(__x86_64__)
    if (k == &ck_kernels_avx512)
        return ck_matrix_tile_avx512;
    if (k == &ck_kernels_avx2)
        return ck_matrix_tile_avx2;
#endif
    return k ? ck_matrix_tile_ref : NULL;
}

ck_matrix_tile ck_matrix_tile_named(const char *name)
{
    return version_for(ck_kernels_named(name));
}

struct product {
    int64_t m, n, k, across; /* across: blocks in a row of C */
    struct ck_operand a, b;
    int keep;
    double *c;
    int64_t ldc;
    ck_matrix_tile tile;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A tile [depth][size] of `here` lines, which are `line` apart, `step` along k. The inner loop
 * follows what is contiguous in memory. */
static void pack_tile(const double *from, int64_t here, int64_t line, int64_t step,
                      int64_t depth, int size, double *to)
{
    for (int64_t t = 0; line == 1 && t < depth; t++)
        for (int64_t i = 0; i < here; i++)
            to[t * size + i] = from[i + t * step];
    for (int64_t i = 0; line != 1 && i < here; i++)
        for (int64_t t = 0; t < depth; t++)
            to[t * size + i] = from[i * line + t * step];
}

/* to [tiles][depth][size]: `count` lines of an operand; missing lines are 0. */
static void pack(const double *from, int64_t count, int64_t line, int64_t step, int64_t depth,
                 int size, double *to)
{
    for (int64_t first = 0; first < count; first += size, to += depth * size) {
        int64_t here = least(size, count - first);
        if (here < size)
            memset(to, 0, (size_t)(depth * size) * sizeof *to);
        pack_tile(from + first * line, here, line, step, depth, size, to);
    }
}

/* Adds a packed part to the tiles [rows / 8][cols / 16][8][16] of the block. */
static void add_part(const struct product *p, const double *a, const double *b, int64_t rows,
                     int64_t cols, int64_t depth, double *tiles)
{
    for (int64_t i = 0; i < rows; i += CK_TILE_ROWS)
        for (int64_t j = 0; j < cols; j += CK_TILE_COLS) {
            p->tile(a + i * depth, b + j * depth, depth, tiles);
            tiles += CK_TILE_ROWS * CK_TILE_COLS;
        }
}

/* Between C and the tiles of the block at (row, col). */
static void move_block(const struct product *p, int64_t row, int64_t col, double *tiles,
                       int store)
{
    int64_t rows = least(ROWS, p->m - row), cols = least(COLS, p->n - col);
    for (int64_t i = 0; i < rows; i += CK_TILE_ROWS)
        for (int64_t j = 0; j < cols; j += CK_TILE_COLS, tiles += CK_TILE_ROWS * CK_TILE_COLS)
            for (int64_t r = 0; r < least(CK_TILE_ROWS, rows - i); r++) {
                double *c = p->c + (row + i + r) * p->ldc + col + j,
                       *t = tiles + r * CK_TILE_COLS;
                size_t bytes = (size_t)least(CK_TILE_COLS, cols - j) * sizeof *c;
                memcpy(store ? c : t, store ? t : c, bytes);
            }
}

static void compute_block(void *arg, int64_t chunk, int worker)
{
    const struct product *p = arg;
    double a[ROWS * DEPTH], b[COLS * DEPTH], tiles[ROWS * COLS] = {0};
    int64_t row = chunk / p->across * ROWS, col = chunk % p->across * COLS;
    int64_t rows = least(ROWS, p->m - row), cols = least(COLS, p->n - col);
    (void)worker;
    if (p->keep)
        move_block(p, row, col, tiles, 0);
    for (int64_t t = 0; t < p->k; t += DEPTH) {
        int64_t depth = least(DEPTH, p->k - t);
        pack(p->a.data + row * p->a.row + t * p->a.col, rows, p->a.row, p->a.col, depth,
             CK_TILE_ROWS, a);
        pack(p->b.data + col * p->b.col + t * p->b.row, cols, p->b.col, p->b.row, depth,
             CK_TILE_COLS, b);
        add_part(p, a, b, rows, cols, depth, tiles);
    }
    move_block(p, row, col, tiles, 1);
}

void ck_matrix_product(int64_t m, int64_t n, int64_t k, struct ck_operand a,
                       struct ck_operand b, int keep, double *c, int64_t ldc)
{
    struct product p = {m,    n, k,   (n + COLS - 1) / COLS,    a, b,
                        keep, c, ldc, version_for(ck_kernels())};
    ck_parallel((m + ROWS - 1) / ROWS * p.across, compute_block, &p);
}
