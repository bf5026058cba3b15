/* class_heads.c - one head whose clusters are the classes that projections are scores of. */
#include "train/class_heads.h"
#include "core/error.h"
#include "core/mem.h"
#include "train/clusters.h"

#include <string.h>

static float *make_axes(int64_t n)
{
    float *axis = ck_calloc_array((size_t)(n * n), sizeof *axis);
    for (int64_t i = 0; axis && i < n; i++)
        axis[i * n + i] = 1;
    return axis;
}

int ck_class_heads_init(struct ck_session *s, const float *centers)
{
    struct ck_train_options o = s->o;
    float *axes = NULL;
    int rc = COKE_OK;
    o.kmeans.update = CK_UPDATE_FIXED;
    o.kmeans.ratio = 0;
    o.kmeans.stage = -1;
    CK_TRY(ck_heads_init(&s->heads, &o, s->data->set->n));
    if (!centers && !(axes = make_axes(s->dim)))
        CK_LEAVE(COKE_ENOMEM);
    ck_kmeans_set_centers(s->heads.head[0], centers ? centers : axes);
done:
    ck_free(axes);
    return rc;
}

int ck_class_heads_scan(struct ck_session *s, const struct coke_batch *b, int64_t parts,
                        double *sums)
{
    (void)parts;
    (void)sums;
    return ck_class_heads_end_step(s, b);
}

int ck_class_heads_end_step(struct ck_session *s, const struct coke_batch *b)
{
    (void)b;
    return ck_clusters_move(s, 0);
}

int ck_class_heads_count(const struct ck_train_options *o, const struct coke_dataset *d,
                         int64_t *out)
{
    (void)d;
    *out = o->k.v[0];
    return COKE_OK;
}

int ck_class_heads_check(const struct ck_train_options *o)
{
    return o->k.n > 1 ? ck_fail(COKE_EUSAGE, "k: method %s has one number of clusters, not %d",
                                ck_method_row(o)->name, o->k.n)
                      : COKE_OK;
}

void ck_class_heads_add(struct ck_part part, double loss, double accuracy, double *sums)
{
    sums[1] += loss * (double)part.n;
    sums[2] += accuracy * (double)part.n;
}
