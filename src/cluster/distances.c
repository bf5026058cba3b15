/* distances.c - Euclidean results in the units of the data. */
#include "cluster/distances.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>

enum { BLOCK = 64, CHUNK = 4096 };

struct pass {
    const struct ck_labelled *l;
    int64_t first; /* first chunk of this process */
    float *square;
    double *sum; /* [chunks] */
    struct ck_first_error error;
};

/* Rows id [n], all in one chunk. */
static int measure(const struct pass *p, const int64_t *id, int n, float *x, double *sum)
{
    const struct ck_scan *s = p->l->scan;
    double scale = ck_frame_scale(&s->frame);
    CK_RETURN_IF(ck_scan_get(s, id, n, x));
    for (int r = 0; r < n; r++) {
        const float *c = p->l->center + ck_labels_get(p->l->labels, id[r]) * (int64_t)s->ld;
        double d = scale * ck_frame_square(&s->frame, s->kn, x + r * (int64_t)s->ld, c);
        *sum += d;
        if (p->square)
            p->square[id[r]] = (float)(d / ck_scan_weight(s, id[r]));
    }
    return COKE_OK;
}

static void run_chunk(void *arg, int64_t at, int worker)
{
    (void)worker;
    struct pass *p = arg;
    const struct ck_scan *s = p->l->scan;
    int64_t chunk = p->first + at, id[BLOCK], total = s->rows->n;
    int64_t end = (chunk + 1) * CHUNK < total ? (chunk + 1) * CHUNK : total;
    float *x = ck_alloc_array(BLOCK, (size_t)s->ld * sizeof *x);
    int n = 0, rc = x ? COKE_OK : COKE_ENOMEM;
    for (int64_t i = chunk * CHUNK; i < end && !rc; i++) {
        if (!ck_scan_is_bad(s, i))
            id[n++] = i;
        if (n == BLOCK || (i == end - 1 && n > 0)) {
            rc = measure(p, id, n, x, &p->sum[chunk]);
            n = 0;
        }
    }
    ck_free(x);
    ck_first_error_keep(&p->error, rc);
}

int ck_distances(const struct ck_labelled *l, const struct ck_share *share, float *square,
                 double *sum)
{
    struct ck_share all = share ? *share : ck_share_alone();
    struct pass p = {.l = l, .square = square};
    int64_t chunks = (l->scan->rows->n + CHUNK - 1) / CHUNK;
    int64_t *bytes = ck_alloc_array((size_t)all.size, sizeof *bytes);
    int rc = COKE_ENOMEM;
    p.sum = ck_calloc_array((size_t)chunks, sizeof *p.sum);
    if (!p.sum || !bytes)
        goto done;
    p.first = ck_share_first(chunks, all.rank, all.size);
    ck_parallel(ck_share_first(chunks, all.rank + 1, all.size) - p.first, run_chunk, &p);
    CK_TRY(ck_first_error_raise(&p.error));
    if (all.size > 1)
        CK_TRY(ck_share_gather_items(&all, p.sum, chunks, sizeof *p.sum, bytes));
    *sum = 0;
    for (int64_t i = 0; i < chunks; i++)
        *sum += p.sum[i];
done:
    ck_free(p.sum);
    ck_free(bytes);
    return rc;
}

/* A Euclidean score is half the difference of two squares, |x - m|^2 - |x - c|^2: sums of scores
 * and of squared distances differ by the factor -2 and by a constant. The constant follows from
 * the inertia, which is known without cancellation. */
static double to_squares(const struct ck_repair *r, double inertia, double scores)
{
    return inertia + 2 * ck_frame_scale(&r->scan->frame) * (r->primal - scores);
}

void ck_summary_objectives(struct coke_head_summary *s, const struct ck_repair *r,
                           double inertia)
{
    int euclidean = r->scan->frame.metric == COKE_METRIC_EUCLIDEAN;
    double nearest = euclidean ? fmax(0, to_squares(r, inertia, r->nearest)) : r->nearest;
    s->metric = r->scan->frame.metric;
    s->primal = euclidean ? inertia : r->primal;
    s->dual = euclidean ? to_squares(r, inertia, r->dual) : r->dual;
    s->gap = euclidean ? s->primal - s->dual : s->dual - s->primal;
    s->inertia = euclidean ? inertia : NAN;
    s->objective = nearest / r->weight;
    s->labels_objective = s->primal / r->weight;
}
