/* scan_fit.c - the frame of Euclidean rows: a reference from a sample, and the longest row. */
#include "cluster/scan.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

enum { SAMPLE = 1024, BLOCK = 64, CHUNK = 4096 };

/* ---- the reference ---- */

/* Up to SAMPLE usable rows x [SAMPLE][dim], evenly spread over all rows; of a stream those that
 * it keeps. *n: their number. */
static int read_sample(const struct ck_scan *s, float *x, int *n)
{
    int64_t rows = s->rows->one_pass ? s->rows->head : s->rows->n;
    int64_t count = rows < SAMPLE ? rows : SAMPLE;
    *n = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = ck_sample_at(rows, count, i);
        float *to = x + *n * (int64_t)s->ld;
        if (ck_scan_is_bad(s, row))
            continue;
        CK_RETURN_IF(s->rows->get(s->rows, &row, 1, to, s->ld));
        int finite = 1;
        for (int j = 0; j < s->rows->dim; j++)
            finite &=
                fabsf(to[j]) <= CK_FRAME_LARGEST; /* the scan complains about the others */
        *n += finite;
    }
    return COKE_OK;
}

/* Root of the mean square distance from the mean, of columns that count. */
static double spread_of(const struct ck_scan *s, const float *x, int n, const double *mean)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < s->rows->dim; j++) {
            double d = (double)x[i * (int64_t)s->ld + j] - mean[j];
            sum += d * d;
        }
    return n ? sqrt(sum / n) : 0;
}

static int choose_reference(struct ck_scan *s)
{
    int rc = COKE_ENOMEM, n;
    float *x = ck_alloc_array(SAMPLE, (size_t)s->ld * sizeof *x);
    double *mean = ck_calloc_array((size_t)s->rows->dim, sizeof *mean);
    if (!x || !mean)
        goto done;
    CK_TRY(read_sample(s, x, &n));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < s->rows->dim; j++)
            mean[j] += (double)x[i * (int64_t)s->ld + j] / n;
    ck_frame_set_reference(&s->frame, mean, spread_of(s, x, n, mean));
done:
    ck_free(mean);
    ck_free(x);
    return rc;
}

/* ---- the longest row ---- */

struct range {
    struct ck_scan *s;
    int64_t rows, first; /* rows in all; first chunk of this process */
    float *longest;      /* [chunks] squared length, inner coordinates without weights */
    struct ck_first_error error;
};

static void range_chunk(void *arg, int64_t at, int worker)
{
    (void)worker;
    struct range *g = arg;
    struct ck_scan plain = *g->s;
    int64_t chunk = g->first + at, id[BLOCK];
    int64_t end = (chunk + 1) * CHUNK < g->rows ? (chunk + 1) * CHUNK : g->rows;
    int n = 0, rc = COKE_OK;
    float *x = ck_alloc_array(BLOCK, (size_t)plain.ld * sizeof *x), longest = 0;
    plain.weight = NULL;
    if (!x)
        rc = COKE_ENOMEM;
    for (int64_t i = chunk * CHUNK; i < end && !rc; i++) {
        if (!ck_scan_is_bad(&plain, i))
            id[n++] = i;
        if (n < BLOCK && i < end - 1)
            continue;
        rc = n ? ck_scan_get(&plain, id, n, x) : COKE_OK;
        for (int r = 0; r < n && !rc; r++) {
            float *row = x + r * (int64_t)plain.ld;
            row[plain.rows->dim] = 0;
            longest = fmaxf(longest, plain.kn->dot(row, row, plain.ld));
        }
        n = 0;
    }
    g->longest[chunk] = longest;
    ck_free(x);
    ck_first_error_keep(&g->error, rc);
}

/* Length of the longest row in inner coordinates, without weights. */
static int find_longest(struct ck_scan *s, const struct ck_share *share, double *out)
{
    struct ck_share all = share ? *share : ck_share_alone();
    struct range g = {.s = s, .rows = s->rows->one_pass ? s->rows->head : s->rows->n};
    int64_t chunks = (g.rows + CHUNK - 1) / CHUNK, *bytes = NULL;
    int rc = COKE_ENOMEM;
    double longest = 0;
    g.longest = ck_calloc_array((size_t)chunks, sizeof *g.longest);
    bytes = ck_alloc_array((size_t)all.size, sizeof *bytes);
    if (!g.longest || !bytes)
        goto done;
    g.first = ck_share_first(chunks, all.rank, all.size);
    int64_t mine = ck_share_first(chunks, all.rank + 1, all.size) - g.first;
    if (s->rows->one_pass) /* one caller at a time */
        for (int64_t i = 0; i < mine; i++)
            range_chunk(&g, i, 0);
    else
        ck_parallel(mine, range_chunk, &g);
    CK_TRY(ck_first_error_raise(&g.error));
    if (all.size > 1)
        CK_TRY(ck_share_gather_items(&all, g.longest, chunks, sizeof *g.longest, bytes));
    for (int64_t i = 0; i < chunks; i++)
        longest = fmax(longest, sqrt((double)g.longest[i]));
    *out = longest;
done:
    ck_free(g.longest);
    ck_free(bytes);
    return rc;
}

/* Scores of rows and centers of inner length x and c: |w (x.c - |c|^2/2)| <= w (x c + c^2/2). A
 * mean of rows is not longer than the longest of them. */
static void set_longest(struct ck_scan *s, double row, double center)
{
    s->longest = s->heaviest * fmax(row * center + center * center / 2, 0x1p-20);
}

static void set_unit(struct ck_scan *s)
{
    ck_frame_set_unit(&s->frame, s->extent[1]);
    set_longest(s, s->extent[0] * (double)s->frame.unit, s->extent[1] * (double)s->frame.unit);
}

int ck_scan_fit(struct ck_scan *s, const struct ck_share *share)
{
    double longest;
    if (s->frame.metric != COKE_METRIC_EUCLIDEAN)
        return COKE_OK;
    CK_RETURN_IF(choose_reference(s));
    CK_RETURN_IF(find_longest(s, share, &longest));
    s->frame.reach = s->rows->one_pass ? CK_FRAME_REACH : 0;
    s->extent[0] = s->extent[1] = longest;
    set_unit(s);
    return COKE_OK;
}

void ck_scan_cover(struct ck_scan *s, const float *center)
{
    double square = 0;
    if (s->frame.metric != COKE_METRIC_EUCLIDEAN)
        return;
    for (int j = 0; j < s->frame.dim; j++) {
        double d = (double)center[j] - (double)s->frame.reference[j];
        square += d * d;
    }
    if (isfinite(square)) /* whoever takes the centers complains about the others */
        s->extent[1] = fmax(s->extent[1], sqrt(square));
    set_unit(s);
}

int ck_scan_use_frame(struct ck_scan *s, const struct ck_frame *frame, int range)
{
    double longest = 1;
    ck_frame_copy(&s->frame, frame);
    if (s->frame.metric != COKE_METRIC_EUCLIDEAN)
        return COKE_OK;
    s->frame.reach = 0;
    if (range)
        CK_RETURN_IF(find_longest(s, NULL, &longest));
    set_longest(s, longest, 1);
    return COKE_OK;
}
