/* row_sample.c - a random sample of rows, and its vectors from the user's files. */
#include "eval/row_sample.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "io/rows_file.h"

#include <math.h>

enum { BLOCK = 256 }; /* rows read at a time */

int ck_row_sample_choose(struct ck_row_sample *s, int64_t rows, int64_t most)
{
    struct ck_perm perm;
    uint8_t *chosen = ck_calloc_array((size_t)rows, 1);
    int64_t wanted = rows < most ? rows : most;
    *s = (struct ck_row_sample){.row = ck_alloc_array((size_t)wanted, sizeof *s->row)};
    if (!chosen || !s->row) {
        ck_free(chosen);
        ck_row_sample_release(s);
        return COKE_ENOMEM;
    }
    ck_perm_init(&perm, 0, CK_RNG_SAMPLE, 3, (uint64_t)rows);
    for (int64_t i = 0; i < wanted; i++)
        chosen[ck_perm_at(&perm, (uint64_t)i)] = 1;
    for (int64_t i = 0; i < rows; i++)
        if (chosen[i])
            s->row[s->n++] = i;
    ck_free(chosen);
    return COKE_OK;
}

void ck_row_sample_release(struct ck_row_sample *s)
{
    ck_free(s->row);
    ck_free(s->x);
    *s = (struct ck_row_sample){0};
}

static void normalize(float *x, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += (double)x[j] * (double)x[j];
    double scale = isfinite(sum) && sum > 0 ? 1 / sqrt(sum) : 0;
    for (int j = 0; j < dim; j++)
        x[j] = scale > 0 ? (float)((double)x[j] * scale) : 0;
}

int ck_row_sample_read(struct ck_row_sample *s, const struct ck_row_files *f)
{
    struct coke_rows *rows = NULL;
    int rc = COKE_OK;
    CK_TRY(ck_rows_open(&rows, f->path, f->paths, f->options));
    if (rows->n != f->rows || rows->dim != f->dim)
        CK_FAIL(COKE_EUSAGE, "%s%s %lld rows of %d, %s was made of %lld rows of %d", f->path[0],
                f->paths > 1 ? " and the others have" : " has", (long long)rows->n, rows->dim,
                f->source, (long long)f->rows, f->dim);
    s->x = ck_alloc_array((size_t)s->n, (size_t)f->dim * sizeof *s->x);
    if (!s->x)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t at = 0; at < s->n; at += BLOCK) {
        int n = (int)(s->n - at < BLOCK ? s->n - at : BLOCK);
        float *x = s->x + at * f->dim;
        CK_TRY(rows->get(rows, s->row + at, n, x, f->dim));
        for (int i = 0; f->unit && i < n; i++)
            normalize(x + (int64_t)i * f->dim, f->dim);
    }
done:
    ck_rows_free(rows);
    return rc;
}
