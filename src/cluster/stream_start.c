/* stream_start.c - what a stream needs before its first batch moves anything: unit rows, initial
 * centers, and the step of the duals. */
#include "cluster/stream_start.h"
#include "cluster/kmeans_internal.h"
#include "cluster/start.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

/* ---- unit rows ---- */

enum { CHUNK = 1024 };

struct unit_rows {
    float *x; /* [n][dim] */
    int64_t n;
    int dim;
    struct ck_first_error error;
};

/* Rows are padded like those of a scan, so that they get the same bits. */
static int make_unit(float *row, int dim, int64_t i, float *padded, int ld)
{
    memcpy(padded, row, (size_t)dim * sizeof *row);
    double length = ck_normalize(ck_kernels(), padded, ld);
    if (!(length > 0 && isfinite(length)))
        return ck_fail(COKE_ENUMERIC,
                       "row %lld has no direction: it is zero, or has NaN or infinity",
                       (long long)i);
    memcpy(row, padded, (size_t)dim * sizeof *row);
    return COKE_OK;
}

static void unit_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct unit_rows *u = arg;
    int ld = ck_padded(u->dim), rc = COKE_OK;
    int64_t end = (chunk + 1) * CHUNK < u->n ? (chunk + 1) * CHUNK : u->n;
    float *padded = ck_calloc_array((size_t)ld, sizeof *padded);
    if (!padded)
        rc = COKE_ENOMEM;
    for (int64_t i = chunk * CHUNK; i < end && !rc; i++)
        rc = make_unit(u->x + i * u->dim, u->dim, i, padded, ld);
    if (rc)
        ck_first_error_keep(&u->error, rc);
    ck_free(padded);
}

int ck_normalize_rows(float *x, int64_t n, int dim)
{
    if (n < 0 || dim < 1 || dim > 65536)
        return ck_fail(COKE_EUSAGE, "%lld rows of %d numbers cannot be normalized",
                       (long long)n, dim);
    struct unit_rows u = {.x = x, .n = n, .dim = dim};
    ck_parallel((n + CHUNK - 1) / CHUNK, unit_chunk, &u);
    return ck_first_error_raise(&u.error);
}

/* ---- initial centers ---- */

int ck_start_from_rows(struct coke_rows *rows, int metric, int64_t k, uint64_t seed,
                       float *centers)
{
    struct ck_scan scan = {0};
    float *padded = NULL;
    int rc;
    if (k < 1 || k > rows->n)
        return ck_fail(COKE_EUSAGE,
                       "%s: %lld clusters for %lld rows: k must not exceed the rows",
                       rows->name, (long long)k, (long long)rows->n);
    if (metric != COKE_METRIC_COSINE && metric != COKE_METRIC_EUCLIDEAN)
        return ck_fail(COKE_EUSAGE, "metric: %d is neither cosine nor euclidean", metric);
    CK_TRY(ck_scan_init(&scan, rows, ck_kernels(), NULL, 0, metric));
    CK_TRY(ck_scan_fit(&scan, NULL));
    padded = ck_calloc_array((size_t)k, (size_t)scan.ld * sizeof *padded);
    if (!padded)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_start_centers(&scan, CK_INIT_PLUSPLUS, seed, k, padded, NULL));
    for (int64_t i = 0; i < k; i++)
        ck_frame_center_out(&scan.frame, padded + i * scan.ld, centers + i * rows->dim);
done:
    ck_free(padded);
    ck_scan_release(&scan);
    return rc;
}

/* ---- the step of the duals ---- */

static int has_rates(const struct coke_kmeans *km)
{
    for (int64_t i = 0; i < km->k; i++)
        if (km->duals.min_size[i] > 0)
            return 1;
    return km->max_size != NULL;
}

/* Stored as an option: a saved state continues with it. A lead of 0, as of equal centers, leaves
 * the choice to the next batch. */
int ck_kmeans_choose_eta(struct coke_kmeans *km, const float *x, int64_t n)
{
    double gap;
    if (km->duals.eta > 0 || km->k < 2 || !has_rates(km))
        return COKE_OK;
    const float *center = ck_kmeans_second_stage(km) ? km->prev : km->cur;
    CK_RETURN_IF(ck_start_lead(km->kn, x, n, km->ld, center, km->k, &gap));
    double scale = ck_frame_scale(&km->frame);
    km->o.eta = fmin(ck_start_eta(gap, n, km->k, km->o.n) * scale, 1e36);
    km->duals.eta = (float)(km->o.eta * (1 / scale)); /* as a restored head computes it */
    return COKE_OK;
}
