/* row_sum.c - a sum over rows that are read once, on all threads, and by several processes. */
#include "cluster/row_sum.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"

enum { CHUNK = 4096 };

struct pass {
    const struct ck_row_sum *s;
    int64_t first; /* first chunk of this process */
    double *sum;   /* [chunks] */
    struct ck_first_error error;
};

static int add_block(const struct pass *p, const int64_t *id, int n, float *x, double *sum)
{
    CK_RETURN_IF(ck_scan_get(p->s->scan, id, n, x));
    return p->s->add(p->s->arg, id, n, x, sum);
}

static void run_chunk(void *arg, int64_t at, int worker)
{
    (void)worker;
    struct pass *p = arg;
    const struct ck_scan *s = p->s->scan;
    int64_t chunk = p->first + at, id[CK_ROW_SUM_BLOCK], total = s->rows->n;
    int64_t end = (chunk + 1) * CHUNK < total ? (chunk + 1) * CHUNK : total;
    float *x = ck_alloc_array(CK_ROW_SUM_BLOCK, (size_t)s->ld * sizeof *x);
    int n = 0, rc = x ? COKE_OK : COKE_ENOMEM;
    for (int64_t i = chunk * CHUNK; i < end && !rc; i++) {
        if (p->s->wanted(p->s->arg, i))
            id[n++] = i;
        if (n == CK_ROW_SUM_BLOCK || (i == end - 1 && n > 0)) {
            rc = add_block(p, id, n, x, &p->sum[chunk]);
            n = 0;
        }
    }
    ck_free(x);
    ck_first_error_keep(&p->error, rc);
}

int ck_row_sum(const struct ck_row_sum *s, double *sum)
{
    struct ck_share all = s->share ? *s->share : ck_share_alone();
    struct pass p = {.s = s};
    int64_t chunks = (s->scan->rows->n + CHUNK - 1) / CHUNK;
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
