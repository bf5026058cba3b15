/* silhouette.c - the silhouette of clusterings: how much nearer rows are to their own cluster
 * than to the next one, from -1 to 1. */
#include "eval/silhouette.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "kernels/gemm.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32, ROUND = 64 }; /* rows per task; tasks between two progress reports */

/* What one thread works with. */
struct worker {
    float *dot;  /* [BLOCK][n] */
    double *sum; /* [largest k] distances to the rows of each cluster */
};

struct silhouette {
    const struct ck_silhouette_job *job;
    float *x;        /* [n][dim]: job->x, less its mean where distances are Euclidean */
    double *square;  /* [n] squared lengths */
    int64_t **count; /* [heads][k] */
    double *value;   /* [heads][n] */
    struct worker *worker;
    int workers;
    int64_t first;
    struct ck_first_error error;
};

/* ---- one row ---- */

/* Rounding may give equal rows a distance slightly below 0. */
static double distance(const struct silhouette *s, int64_t i, int64_t j, float dot)
{
    if (!s->job->euclidean)
        return fmax(0, 1 - (double)dot);
    return sqrt(fmax(0, s->square[i] + s->square[j] - 2 * (double)dot));
}

/* The value of row i in head h, from its products dot [n] with all rows. */
static double judge(const struct silhouette *s, int h, int64_t i, const float *dot, double *sum)
{
    const int32_t *label = s->job->label[h];
    int64_t k = s->job->k[h];
    double next = INFINITY;
    if (s->count[h][label[i]] < 2)
        return 0;
    memset(sum, 0, (size_t)k * sizeof *sum);
    for (int64_t j = 0; j < s->job->n; j++)
        if (label[j] >= 0 && j != i)
            sum[label[j]] += distance(s, i, j, dot[j]);
    double own = sum[label[i]] / (double)(s->count[h][label[i]] - 1);
    for (int64_t c = 0; c < k; c++)
        if (c != label[i] && s->count[h][c])
            next = fmin(next, sum[c] / (double)s->count[h][c]);
    double most = fmax(own, next);
    return most > 0 ? (next - own) / most : 0;
}

static void judge_block(void *arg, int64_t at, int worker)
{
    struct silhouette *s = arg;
    const struct ck_silhouette_job *j = s->job;
    struct worker *w = &s->worker[worker];
    int64_t first = (s->first + at) * BLOCK;
    int64_t rows = j->n - first < BLOCK ? j->n - first : BLOCK;
    struct ck_matrix a = {s->x + first * j->dim, j->dim, 0}, b = {s->x, j->dim, 1};
    int rc = ck_gemm(rows, j->n, j->dim, 1, a, b, 0, w->dot, j->n);
    for (int64_t i = 0; i < rows && !rc; i++)
        for (int h = 0; h < j->heads; h++)
            if (j->label[h][first + i] >= 0)
                s->value[h * j->n + first + i] =
                    judge(s, h, first + i, w->dot + i * j->n, w->sum);
    ck_first_error_keep(&s->error, rc);
}

/* ---- all rows ---- */

/* Differences of large numbers lose digits: Euclidean rows are moved to their mean. */
static void center_rows(struct silhouette *s)
{
    const struct ck_silhouette_job *j = s->job;
    for (int c = 0; c < j->dim && j->euclidean; c++) {
        double mean = 0;
        for (int64_t i = 0; i < j->n; i++)
            mean += (double)j->x[i * j->dim + c] / (double)j->n;
        for (int64_t i = 0; i < j->n; i++)
            s->x[i * j->dim + c] = (float)((double)j->x[i * j->dim + c] - mean);
    }
    for (int64_t i = 0; i < j->n; i++)
        for (int c = 0; c < j->dim; c++)
            s->square[i] += (double)s->x[i * j->dim + c] * (double)s->x[i * j->dim + c];
}

static int reserve(struct silhouette *s)
{
    const struct ck_silhouette_job *j = s->job;
    size_t n = (size_t)j->n, heads = (size_t)j->heads;
    int64_t most = 1;
    s->workers = ck_threads();
    s->x = ck_alloc_array(n, (size_t)j->dim * sizeof *s->x);
    s->square = ck_calloc_array(n, sizeof *s->square);
    s->value = ck_calloc_array(n * heads, sizeof *s->value);
    s->count = ck_calloc_array(heads, sizeof *s->count);
    s->worker = ck_calloc_array((size_t)s->workers, sizeof *s->worker);
    if (!s->x || !s->square || !s->value || !s->count || !s->worker)
        return COKE_ENOMEM;
    for (int h = 0; h < j->heads; h++) {
        most = j->k[h] > most ? j->k[h] : most;
        s->count[h] = ck_calloc_array((size_t)j->k[h], sizeof **s->count);
        if (!s->count[h])
            return COKE_ENOMEM;
        for (int64_t i = 0; i < j->n; i++)
            if (j->label[h][i] >= 0)
                s->count[h][j->label[h][i]]++;
    }
    for (int w = 0; w < s->workers; w++) {
        s->worker[w].dot = ck_alloc_array(BLOCK, n * sizeof(float));
        s->worker[w].sum = ck_alloc_array((size_t)most, sizeof(double));
        if (!s->worker[w].dot || !s->worker[w].sum)
            return COKE_ENOMEM;
    }
    memcpy(s->x, j->x, n * (size_t)j->dim * sizeof *s->x);
    return COKE_OK;
}

static void release(struct silhouette *s)
{
    for (int h = 0; s->count && h < s->job->heads; h++)
        ck_free(s->count[h]);
    for (int w = 0; s->worker && w < s->workers; w++) {
        ck_free(s->worker[w].dot);
        ck_free(s->worker[w].sum);
    }
    ck_free(s->x);
    ck_free(s->square);
    ck_free(s->value);
    ck_free(s->count);
    ck_free(s->worker);
}

/* Summed in the order of the rows, so that the mean does not depend on the team. */
static double mean_of(const struct silhouette *s, int h)
{
    int64_t clusters = 0, rows = 0;
    double sum = 0;
    for (int64_t c = 0; c < s->job->k[h]; c++) {
        clusters += s->count[h][c] > 0;
        rows += s->count[h][c];
    }
    for (int64_t i = 0; i < s->job->n; i++)
        sum += s->value[h * s->job->n + i];
    return clusters > 1 ? sum / (double)rows : (double)NAN;
}

int ck_silhouette(const struct ck_silhouette_job *job, double *score)
{
    struct silhouette s = {.job = job};
    int rc = COKE_OK;
    int64_t blocks = (job->n + BLOCK - 1) / BLOCK;
    CK_TRY(reserve(&s));
    center_rows(&s);
    for (; s.first < blocks; s.first += ROUND) {
        int64_t left = blocks - s.first;
        CK_TRY(
            ck_progress_count(job->callbacks, "silhouette", s.first * BLOCK, job->n, "rows"));
        ck_parallel(left < ROUND ? left : ROUND, judge_block, &s);
        CK_TRY(ck_first_error_raise(&s.error));
    }
    for (int h = 0; h < job->heads; h++)
        score[h] = mean_of(&s, h);
done:
    release(&s);
    return rc;
}
