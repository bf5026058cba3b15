/* multihead.c - several heads: clusterings of one stream of rows. */
#include "cluster/multihead.h"
#include "cluster/kmeans_internal.h"
#include "cluster/stream_start.h"
#include "core/error.h"
#include "core/mem.h"

struct coke_multihead {
    int n;
    struct coke_kmeans *head[COKE_MAX_HEADS]; /* owned */
    struct ck_padded_rows rows;
    struct ck_batch_scratch scratch;
};

/* A head may occur only once, because each is freed once, and all heads take the same rows, in
 * the frame of the first. */
static int check_head(struct coke_kmeans *const *heads, int h)
{
    if (!heads[h])
        return ck_fail(COKE_EUSAGE, "head %d is NULL", h);
    for (int i = 0; i < h; i++)
        if (heads[i] == heads[h])
            return ck_fail(COKE_EUSAGE, "heads %d and %d are the same object", i, h);
    if (heads[h]->o.dim != heads[0]->o.dim || heads[h]->o.n != heads[0]->o.n)
        return ck_fail(COKE_EUSAGE,
                       "head %d is for %lld x %lld vectors, head 0 for %lld x %lld", h,
                       (long long)heads[h]->o.n, (long long)heads[h]->o.dim,
                       (long long)heads[0]->o.n, (long long)heads[0]->o.dim);
    if (heads[h]->o.metric != heads[0]->o.metric)
        return ck_fail(COKE_EUSAGE, "head %d and head 0 have different metrics", h);
    int rc = ck_kmeans_set_frame(heads[h], &heads[0]->frame);
    if (rc)
        ck_fail_prefix(rc, "head %d: ", h);
    return rc;
}

int ck_multihead_new(struct coke_multihead **out, struct coke_kmeans *const *heads, int n)
{
    if (n < 1 || n > COKE_MAX_HEADS)
        return ck_fail(COKE_EUSAGE, "%d heads: there may be 1 to %d", n, COKE_MAX_HEADS);
    for (int h = 0; h < n; h++)
        CK_RETURN_IF(check_head(heads, h));
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
    ck_padded_rows_release(&mh->rows);
    ck_batch_scratch_release(&mh->scratch);
    ck_free(mh);
}

struct coke_kmeans *ck_multihead_head(struct coke_multihead *mh, int h)
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
    CK_RETURN_IF(ck_padded_rows_fill(&mh->rows, x, n, &mh->head[0]->frame));
    for (int h = 0; h < mh->n; h++)
        CK_RETURN_IF(ck_kmeans_choose_eta(mh->head[h], mh->rows.x, n));
    struct ck_row_batch b = {.n = n, .x = mh->rows.x, .ids = ids, .label = labels};
    return ck_multihead_run(mh, &b, share);
}

int ck_multihead_epoch_end(struct coke_multihead *mh)
{
    int rc = COKE_OK;
    for (int h = 0; h < mh->n && !rc; h++)
        rc = ck_kmeans_epoch_end(mh->head[h]);
    return rc;
}
