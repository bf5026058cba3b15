/* multihead.c - several heads: clusterings of one stream of rows. */
#include "cluster/multihead.h"
#include "cluster/kmeans_internal.h"
#include "core/error.h"
#include "core/mem.h"

struct coke_multihead {
    int n;
    struct coke_kmeans *head[COKE_MAX_HEADS]; /* owned */
    struct ck_padded_rows rows;
    struct ck_batch_scratch scratch;
};

int coke_multihead_new(struct coke_multihead **out, struct coke_kmeans *const *heads, int n)
{
    if (n < 1 || n > COKE_MAX_HEADS)
        return ck_fail(COKE_EUSAGE, "%d heads: there may be 1 to %d", n, COKE_MAX_HEADS);
    for (int h = 1; h < n; h++)
        if (heads[h]->o.dim != heads[0]->o.dim || heads[h]->o.n != heads[0]->o.n)
            return ck_fail(COKE_EUSAGE,
                           "head %d is for %lld x %lld vectors, head 0 for %lld x %lld", h,
                           (long long)heads[h]->o.n, (long long)heads[h]->o.dim,
                           (long long)heads[0]->o.n, (long long)heads[0]->o.dim);
    struct coke_multihead *mh = ck_calloc_array(1, sizeof *mh);
    if (!mh)
        return COKE_ENOMEM;
    mh->n = n;
    for (int h = 0; h < n; h++)
        mh->head[h] = heads[h];
    *out = mh;
    return COKE_OK;
}

void coke_multihead_free(struct coke_multihead *mh)
{
    if (!mh)
        return;
    for (int h = 0; h < mh->n; h++)
        coke_kmeans_free(mh->head[h]);
    ck_padded_rows_release(&mh->rows);
    ck_batch_scratch_release(&mh->scratch);
    ck_free(mh);
}

struct coke_kmeans *coke_multihead_head(struct coke_multihead *mh, int h)
{
    return h >= 0 && h < mh->n ? mh->head[h] : NULL;
}

int ck_multihead_run(struct coke_multihead *mh, const struct ck_row_batch *b,
                     const struct ck_share *share)
{
    return ck_batch_run(mh->head, mh->n, b, share, &mh->scratch);
}

int ck_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids, int64_t n,
                      const struct ck_share *share, int32_t *labels)
{
    CK_RETURN_IF(ck_kmeans_check_ids(mh->head[0], ids, n));
    CK_RETURN_IF(ck_padded_rows_fill(&mh->rows, x, n, (int)mh->head[0]->o.dim));
    struct ck_row_batch b = {.n = n, .x = mh->rows.x, .ids = ids, .label = labels};
    return ck_multihead_run(mh, &b, share);
}

int coke_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids,
                        int64_t n, int32_t *labels)
{
    if (!mh || !x || !labels || n < 1 || n > INT32_MAX)
        return ck_fail(COKE_EUSAGE, "coke_multihead_step: %lld rows, or an argument is NULL",
                       (long long)n);
    return ck_multihead_step(mh, x, ids, n, NULL, labels);
}

int coke_multihead_epoch_end(struct coke_multihead *mh)
{
    int rc = COKE_OK;
    for (int h = 0; h < mh->n && !rc; h++)
        rc = coke_kmeans_epoch_end(mh->head[h]);
    return rc;
}
