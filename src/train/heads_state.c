/* heads_state.c - the heads of a training as tensors and metadata, and back. */
#include "core/error.h"
#include "core/mem.h"
#include "train/heads.h"

#include <stdio.h>
#include <string.h>

static void name_head(char prefix[24], int i)
{
    snprintf(prefix, 24, "head%d.", i);
}

/* ---- sums of the epoch ---- */

/* By name, so that a file does not depend on the layout of struct ck_head_sums. */
static int add_sums(struct ck_state *s, const struct ck_head_sums *sums)
{
    CK_RETURN_IF(ck_state_add_meta_number(s, "epoch_fit", sums->fit));
    CK_RETURN_IF(ck_state_add_meta_number(s, "epoch_old_fit", sums->old_fit));
    CK_RETURN_IF(ck_state_add_meta_number(s, "epoch_loss", sums->loss));
    CK_RETURN_IF(ck_state_add_meta_number(s, "epoch_accuracy", sums->accuracy));
    CK_RETURN_IF(ck_state_add_meta_number(s, "epoch_changed", (double)sums->changed));
    return ck_state_add_meta_number(s, "epoch_seen", (double)sums->seen);
}

static int take_count(const struct ck_state *s, const char *key, int64_t *out)
{
    double value;
    CK_RETURN_IF(ck_state_meta_number(s, key, &value));
    if (!(value >= 0 && value < 0x1p53))
        return ck_fail(COKE_EFORMAT, "metadata '%s' is %g, not a count", key, value);
    *out = (int64_t)value;
    return COKE_OK;
}

static int take_named_sums(const struct ck_state *s, struct ck_head_sums *out)
{
    CK_RETURN_IF(ck_state_meta_number(s, "epoch_fit", &out->fit));
    CK_RETURN_IF(ck_state_meta_number(s, "epoch_old_fit", &out->old_fit));
    CK_RETURN_IF(ck_state_meta_number(s, "epoch_loss", &out->loss));
    CK_RETURN_IF(ck_state_meta_number(s, "epoch_accuracy", &out->accuracy));
    CK_RETURN_IF(take_count(s, "epoch_changed", &out->changed));
    return take_count(s, "epoch_seen", &out->seen);
}

/* Files written before 0.2 hold tensor 'epoch_sums': four doubles and two counts, marked I64. */
static int take_old_sums(const struct ck_tensor *t, struct ck_head_sums *out)
{
    double sum[4];
    int64_t count[2];
    if (t->dtype != CK_I64 || ck_tensor_elements(t) != 6)
        return ck_fail(COKE_EFORMAT, "tensor 'epoch_sums' is not I64 [6]");
    memcpy(sum, t->data, sizeof sum);
    memcpy(count, (const char *)t->data + sizeof sum, sizeof count);
    *out = (struct ck_head_sums){.fit = sum[0],
                                 .old_fit = sum[1],
                                 .loss = sum[2],
                                 .accuracy = sum[3],
                                 .changed = count[0],
                                 .seen = count[1]};
    return COKE_OK;
}

static int take_sums(const struct ck_state *s, struct ck_head_sums *out)
{
    const struct ck_tensor *old = ck_state_find(s, "epoch_sums");
    return old ? take_old_sums(old, out) : take_named_sums(s, out);
}

/* ---- heads ---- */

static int save_head(const struct ck_heads *h, int i, struct ck_state *s)
{
    struct ck_state one = {0};
    char prefix[24];
    int rc = COKE_OK;
    name_head(prefix, i);
    CK_TRY(ck_kmeans_state(h->head[i], &one));
    CK_TRY(add_sums(&one, &h->sums[i]));
    if (h->keep_best)
        CK_TRY(ck_state_add(&one, "kept", CK_I32, 1, &h->images, h->kept[i]));
    CK_TRY(ck_state_add_part(s, prefix, &one));
done:
    ck_state_release(&one);
    return rc;
}

int ck_heads_save(const struct ck_heads *h, struct ck_state *s)
{
    int rc = COKE_OK;
    for (int i = 0; i < h->n && !rc; i++)
        rc = save_head(h, i, s);
    return rc;
}

int ck_heads_restore_one(const struct ck_state *s, int i, struct coke_kmeans **out)
{
    struct ck_state one = {0};
    char prefix[24];
    int rc = COKE_OK;
    *out = NULL;
    name_head(prefix, i);
    CK_TRY(ck_state_take_part(&one, prefix, s));
    if (one.nmeta > 0)
        CK_TRY(ck_kmeans_restore(out, &one));
done:
    ck_state_release(&one);
    return rc;
}

static int load_head(struct ck_heads *h, int i, const struct ck_state *s,
                     struct coke_kmeans **out)
{
    struct ck_state one = {0};
    const struct coke_kmeans *mine = h->head[i];
    char prefix[24];
    int rc = COKE_OK;
    name_head(prefix, i);
    CK_TRY(ck_state_take_part(&one, prefix, s));
    CK_TRY(ck_kmeans_restore(out, &one));
    if (ck_kmeans_k(*out) != ck_kmeans_k(mine) || ck_kmeans_n(*out) != ck_kmeans_n(mine) ||
        ck_kmeans_dim(*out) != ck_kmeans_dim(mine))
        CK_FAIL(COKE_EFORMAT, "head %d has %lld clusters of %lld images, not %lld of %lld", i,
                (long long)ck_kmeans_k(*out), (long long)ck_kmeans_n(*out),
                (long long)ck_kmeans_k(mine), (long long)ck_kmeans_n(mine));
    CK_TRY(take_sums(&one, &h->sums[i]));
    if (h->keep_best)
        CK_TRY(ck_state_copy(&one, "kept", CK_I32, 1, &h->images, h->kept[i]));
done:
    ck_state_release(&one);
    return rc;
}

int ck_heads_load(struct ck_heads *h, const struct ck_state *s)
{
    int rc = COKE_OK;
    struct coke_kmeans *fresh[COKE_MAX_HEADS] = {0};
    for (int i = 0; i < h->n; i++)
        CK_TRY(load_head(h, i, s, &fresh[i]));
    if (h->n)
        CK_TRY(ck_heads_replace(h, fresh));
    return COKE_OK;
done:
    for (int i = 0; i < h->n; i++)
        ck_kmeans_free(fresh[i]);
    return rc;
}
