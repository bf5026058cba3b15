/* multihead.c - several clusterings of one stream. */
#include "cluster/multihead.h"
#include "core/error.h"
#include "core/mem.h"

int ck_multihead_new(struct coke_multihead **out, struct coke_kmeans *const *heads, int n)
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

void ck_multihead_free(struct coke_multihead *mh)
{
    if (!mh)
        return;
    for (int h = 0; h < mh->n; h++)
        ck_kmeans_free(mh->head[h]);
    ck_padded_rows_release(&mh->batch);
    ck_free(mh);
}

struct coke_kmeans *ck_multihead_head(struct coke_multihead *mh, int h)
{
    return h >= 0 && h < mh->n ? mh->head[h] : NULL;
}

/* The rows of this process, or all, for every head. */
static void assign(struct coke_multihead *mh, const struct ck_label_share *share, int64_t n,
                   int32_t *labels)
{
    int64_t first = share ? share->first : 0, count = share ? share->n : n;
    for (int h = 0; h < mh->n; h++) {
        struct coke_kmeans *km = mh->head[h];
        ck_kmeans_begin(km);
        if (count > 0)
            ck_assign(km->assigner, mh->batch.x + first * km->ld, count, labels + h * n + first,
                      NULL);
    }
}

int ck_multihead_step(struct coke_multihead *mh, const float *x, const int64_t *ids, int64_t n,
                      const struct ck_label_share *share, int32_t *labels)
{
    CK_RETURN_IF(ck_kmeans_check_ids(mh->head[0], ids, n));
    CK_RETURN_IF(ck_padded_rows_fill(&mh->batch, x, n, (int)mh->head[0]->o.dim));
    for (int h = 0; h < mh->n; h++) /* all can, or none begins */
        CK_RETURN_IF(ck_kmeans_reserve(mh->head[h], n));
    assign(mh, share, n, labels);
    if (share)
        CK_RETURN_IF(share->gather(share->arg, labels, mh->n, n));
    for (int h = 0; h < mh->n; h++)
        ck_kmeans_apply(mh->head[h], mh->batch.x, ids, n, labels + h * n);
    return COKE_OK;
}

int ck_multihead_epoch_end(struct coke_multihead *mh)
{
    int rc = COKE_OK;
    for (int h = 0; h < mh->n && !rc; h++)
        rc = ck_kmeans_epoch_end(mh->head[h]);
    return rc;
}
