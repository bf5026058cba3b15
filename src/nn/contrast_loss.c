/* contrast_loss.c - losses that find the right vector among many.
 *
 * Rows are taken in blocks, so that scratch does not grow with the batch. */
#include "nn/contrast_loss.h"
#include "core/error.h"
#include "core/workers.h"
#include "kernels/gemm.h"
#include "kernels/matrix.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 64, COLUMNS = 1024 }; /* rows at a time; columns that are searched at a time */

int64_t ck_contrast_scratch(int64_t m)
{
    return BLOCK * (m + 2);
}

/* f32: scores, rows and some columns at a time. */
int64_t ck_nearest_scratch(int64_t m, int64_t dim)
{
    return (BLOCK * m + BLOCK * dim + COLUMNS * dim) / 2;
}

static struct ck_operand rows_of(const double *x, int64_t dim)
{
    return (struct ck_operand){x, dim, 1};
}

static struct ck_operand transposed(const double *x, int64_t dim)
{
    return (struct ck_operand){x, 1, dim};
}

/* A block of rows: scores [rows][m], of the right one extra [rows] or, without, within the scores
 * at right + i. */
struct block {
    const struct ck_contrast *c;
    double *score, *extra, *loss; /* loss [rows] */
    int64_t right;
    double scale; /* of gradients */
};

/* Turns the scores of row i into the gradient of the loss by them, times scale. */
static void soften(void *arg, int64_t i, int worker)
{
    const struct block *b = arg;
    double *p = b->score + i * b->c->m, t = b->c->temperature, sum = 0;
    double *right = b->extra ? b->extra + i : p + b->right + i, top = *right, own = *right;
    (void)worker;
    for (int64_t j = 0; j < b->c->m; j++)
        top = p[j] > top ? p[j] : top;
    for (int64_t j = 0; j < b->c->m; j++)
        sum += p[j] = exp((p[j] - top) / t);
    if (b->extra)
        sum += *right = exp((*right - top) / t);
    for (int64_t j = 0; j < b->c->m; j++)
        p[j] *= b->scale / sum;
    *right = b->extra ? *right * b->scale / sum - b->scale : *right - b->scale;
    b->loss[i] = (top - own) / t + log(sum);
}

/* score [rows][m]: of rows from `from` on with all columns. */
static void score(const struct ck_contrast *c, int64_t from, int64_t rows, double *to)
{
    ck_matrix_product(rows, c->m, c->dim, rows_of(c->row + from * c->dim, c->dim),
                      transposed(c->column, c->dim), 0, to, c->m);
}

static int64_t rows_at(const struct ck_contrast *c, int64_t from)
{
    return c->n - from < BLOCK ? c->n - from : BLOCK;
}

/* Scores and softmax of `rows` rows from `from` on; adds the sum of their losses. */
static void run_block(struct block *b, int64_t from, int64_t rows, double *loss)
{
    score(b->c, from, rows, b->score);
    ck_parallel(rows, soften, b);
    for (int64_t i = 0; i < rows; i++)
        *loss += b->loss[i];
}

static double dot(const double *a, const double *b, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += a[j] * b[j];
    return sum;
}

static struct block begin(const struct ck_contrast *c, double *scratch)
{
    double scale = c->n > 0 ? 1 / (c->temperature * (double)c->n) : 0;
    return (struct block){
        .c = c, .score = scratch + 2 * BLOCK, .loss = scratch, .scale = scale};
}

double ck_queue_loss(const struct ck_contrast *c, const double *key, double *scratch,
                     double *grad)
{
    struct block b = begin(c, scratch);
    double loss = 0;
    b.extra = scratch + BLOCK;
    for (int64_t from = 0; from < c->n; from += BLOCK) {
        int64_t rows = rows_at(c, from);
        const double *k = key + from * c->dim;
        double *g = grad + from * c->dim;
        for (int64_t i = 0; i < rows; i++)
            b.extra[i] = dot(c->row + (from + i) * c->dim, k + i * c->dim, c->dim);
        run_block(&b, from, rows, &loss);
        ck_matrix_product(rows, c->dim, c->m, rows_of(b.score, c->m),
                          rows_of(c->column, c->dim), 0, g, c->dim);
        for (int64_t i = 0; i < rows * c->dim; i++)
            g[i] += b.extra[i / c->dim] * k[i];
    }
    return c->n > 0 ? loss / (double)c->n : 0;
}

double ck_match_loss(const struct ck_contrast *c, int64_t first, double *scratch,
                     double *grad_row, double *grad_column)
{
    struct block b = begin(c, scratch);
    double loss = 0;
    if (grad_column)
        memset(grad_column, 0, (size_t)(c->m * c->dim) * sizeof *grad_column);
    for (int64_t from = 0; from < c->n; from += BLOCK) {
        int64_t rows = rows_at(c, from);
        b.right = first + from;
        run_block(&b, from, rows, &loss);
        if (grad_row)
            ck_matrix_product(rows, c->dim, c->m, rows_of(b.score, c->m),
                              rows_of(c->column, c->dim), 0, grad_row + from * c->dim, c->dim);
        if (grad_column)
            ck_matrix_product(c->m, c->dim, rows, transposed(b.score, c->m),
                              rows_of(c->row + from * c->dim, c->dim), 1, grad_column, c->dim);
    }
    return c->n > 0 ? loss / (double)c->n : 0;
}

double ck_mocov3_loss(const struct ck_contrast *c, int64_t first, double *scratch, double *grad)
{
    double twice = 2 * c->temperature, loss = ck_match_loss(c, first, scratch, grad, NULL);
    for (int64_t i = 0; i < c->n * c->dim; i++)
        grad[i] *= twice;
    return twice * loss;
}

/* ---- the nearest column ---- */

static void narrow(const double *x, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)x[i];
}

/* score [rows][m] in f32; row and columns: scratch for [rows][dim] and [chunk][dim]. */
static int screen(const struct ck_contrast *c, int64_t from, int64_t rows, int64_t chunk,
                  float *row, float *columns, float *to)
{
    narrow(c->row + from * c->dim, rows * c->dim, row);
    for (int64_t j = 0; j < c->m; j += chunk) {
        int64_t n = c->m - j < chunk ? c->m - j : chunk;
        narrow(c->column + j * c->dim, n * c->dim, columns);
        CK_RETURN_IF(ck_gemm(rows, n, c->dim, 1, (struct ck_matrix){row, c->dim, 0},
                             (struct ck_matrix){columns, c->dim, 1}, 0, to + j, c->m));
    }
    return COKE_OK;
}

/* The best of the columns whose score in f32 may be that of the best: unit vectors' is within half
 * the margin of the exact one. */
static int64_t choose(const struct ck_contrast *c, const double *row, const float *score)
{
    float margin = 2 * (float)(c->dim + 4) * FLT_EPSILON, top = score[0];
    int64_t best = -1;
    double most = 0;
    for (int64_t j = 1; j < c->m; j++)
        top = score[j] > top ? score[j] : top;
    for (int64_t j = 0; j < c->m; j++) {
        if (score[j] < top - margin)
            continue;
        double exact = dot(row, c->column + j * c->dim, c->dim);
        if (best < 0 || exact > most) {
            best = j;
            most = exact;
        }
    }
    return best;
}

int ck_nearest_column(const struct ck_contrast *c, double *scratch, int64_t *index)
{
    float *to = (float *)scratch, *row = to + BLOCK * c->m;
    for (int64_t from = 0; from < c->n; from += BLOCK) {
        int64_t rows = rows_at(c, from);
        float *columns = row + rows * c->dim;
        int64_t chunk = (to + 2 * ck_nearest_scratch(c->m, c->dim) - columns) / c->dim;
        CK_RETURN_IF(screen(c, from, rows, chunk, row, columns, to));
        for (int64_t i = 0; i < rows; i++)
            index[from + i] = choose(c, c->row + (from + i) * c->dim, to + i * c->m);
    }
    return COKE_OK;
}
