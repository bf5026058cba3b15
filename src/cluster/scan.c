/* scan.c - rows from a source in inner coordinates, weighted and checked. */
#include "cluster/scan.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Also sets the scale to a mean weight of 1, so that sums stay comparable to those of n
 * rows. */
static int check_weights(struct ck_scan *s)
{
    double sum = 0, top = 0;
    for (int64_t i = 0; i < s->rows->n; i++) {
        double w = s->weight[i];
        if (!(w >= 0) || !isfinite(w))
            return ck_fail(COKE_EUSAGE,
                           "weight %lld is %g; weights must be finite and not negative",
                           (long long)i, w);
        sum += w;
        top = w > top ? w : top;
    }
    if (!(sum > 0))
        return ck_fail(COKE_EUSAGE, "all weights are 0");
    s->weight_scale = (double)s->rows->n / sum;
    /* sums are kept in fixed point (kmeans.c), which limits a single row */
    s->heaviest = s->longest = top * s->weight_scale;
    if (s->heaviest > 8192)
        return ck_fail(COKE_EUSAGE,
                       "the largest weight is %g times the mean; at most 8192 is possible",
                       top * s->weight_scale);
    return COKE_OK;
}

struct find_bad {
    struct ck_scan *s;
    _Atomic int64_t nbad;
    struct ck_first_error error;
};

static void find_bad_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct find_bad *f = arg;
    struct ck_scan *s = f->s;
    /* Chunks begin at multiples of 8 rows, so no two threads write the same byte. */
    int64_t end = (chunk + 1) * 4096 < s->rows->n ? (chunk + 1) * 4096 : s->rows->n;
    float *x = ck_alloc_array((size_t)s->ld, sizeof *x);
    if (!x)
        ck_first_error_keep(&f->error, COKE_ENOMEM);
    for (int64_t i = chunk * 4096; x && i < end && !f->error.status; i++) {
        int rc = s->rows->get(s->rows, &i, 1, x, s->ld);
        if (rc)
            ck_first_error_keep(&f->error, rc);
        else if (!ck_frame_row(&s->frame, s->kn, x, 1)) {
            s->bad[i >> 3] = (uint8_t)(s->bad[i >> 3] | 1 << (i & 7));
            f->nbad++;
        }
    }
    ck_free(x);
}

static int find_bad(struct ck_scan *s)
{
    if (s->rows->one_pass)
        return ck_fail(COKE_EUSAGE,
                       "bad rows can only be skipped when the data can be read twice");
    s->bad = ck_calloc_array((size_t)s->rows->n / 8 + 1, 1);
    if (!s->bad)
        return COKE_ENOMEM;
    struct find_bad f = {.s = s};
    ck_parallel((s->rows->n + 4095) / 4096, find_bad_chunk, &f);
    s->nbad = f.nbad;
    return ck_first_error_raise(&f.error);
}

int ck_scan_init(struct ck_scan *s, struct coke_rows *rows, const struct ck_kernels *kn,
                 const double *weight, int skip_bad, int metric)
{
    memset(s, 0, sizeof *s);
    s->rows = rows;
    s->kn = kn;
    s->weight = weight;
    s->weight_scale = s->heaviest = s->longest = 1;
    int rc = weight ? check_weights(s) : COKE_OK;
    if (!rc)
        rc = ck_frame_init(&s->frame, metric, rows->dim);
    if (rc)
        return rc;
    s->ld = s->frame.ld;
    if (skip_bad)
        rc = find_bad(s);
    if (rc)
        ck_scan_release(s);
    return rc;
}

void ck_scan_release(struct ck_scan *s)
{
    ck_frame_release(&s->frame);
    ck_free(s->bad);
    s->bad = NULL;
}

/* Names the first bad column of row i; x are its values after ck_frame_row. */
static int complain(const struct ck_scan *s, int64_t i, const float *x)
{
    char where[512];
    s->rows->where(s->rows, i, where, sizeof where);
    for (int j = 0; j < s->rows->dim; j++) {
        if (isfinite(x[j]))
            continue;
        double stored = s->rows->value ? s->rows->value(s->rows, i, j) : (double)x[j];
        if (isfinite(stored))
            return ck_fail(COKE_ENUMERIC,
                           "%s, column %d is %g, too large for f32, which ends at 3.4e38; "
                           "bad=skip leaves such rows out",
                           where, j, stored);
        return ck_fail(COKE_ENUMERIC, "%s, column %d is %s; bad=skip leaves such rows out",
                       where, j, isnan(x[j]) ? "NaN" : "infinite");
    }
    if (s->frame.metric == COKE_METRIC_EUCLIDEAN)
        return ck_fail(COKE_ENUMERIC,
                       "%s has a number beyond %g, or is %g times farther away than the rows "
                       "before it; bad=skip leaves such rows out",
                       where, (double)CK_FRAME_LARGEST, (double)CK_FRAME_REACH);
    return ck_fail(COKE_ENUMERIC,
                   "%s is a zero vector, which has no direction; bad=skip leaves "
                   "such rows out",
                   where);
}

/* Rows are read in any order, but users look for the first bad one: searches up to `last`, which
 * is bad. x [room][ld] is scratch, whose first row is that of `last`. */
static int complain_first(const struct ck_scan *s, int64_t last, float *x, int room)
{
    enum { BLOCK = 64 };
    int64_t id[BLOCK];
    if (s->rows->one_pass)
        return complain(s, last, x);
    for (int64_t at = 0, n; at <= last; at += n) {
        n = room < BLOCK ? room : BLOCK;
        n = n < last + 1 - at ? n : last + 1 - at;
        for (int64_t i = 0; i < n; i++)
            id[i] = at + i;
        CK_RETURN_IF(s->rows->get(s->rows, id, (int)n, x, s->ld));
        for (int64_t i = 0; i < n; i++)
            if (!ck_frame_row(&s->frame, s->kn, x + i * s->ld,
                              (float)ck_scan_weight(s, at + i)))
                return complain(s, at + i, x + i * s->ld);
    }
    return complain(s, last, x);
}

int ck_scan_get(const struct ck_scan *s, const int64_t *index, int n, float *x)
{
    int rc = s->rows->get(s->rows, index, n, x, s->ld);
    for (int i = 0; i < n && !rc; i++) {
        float *row = x + (int64_t)i * s->ld;
        if (!ck_frame_row(&s->frame, s->kn, row, (float)ck_scan_weight(s, index[i])))
            return complain_first(s, index[i], row, n - i);
    }
    return rc;
}
