/* api_run.c - public functions of trained encoders: open, embed, assign, sort. */
#include "api/api_run.h"
#include "cluster/kmeans.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "data/sort.h"
#include "eval/embed.h"
#include "eval/membership.h"
#include "io/file.h"

int coke_run_is(const char *path)
{
    return ck_use_is_run(path);
}

int coke_run_open(struct coke_run **out, const char *path, const struct ck_use_options *options)
{
    struct coke_run *r = ck_calloc_array(1, sizeof *r);
    *out = NULL;
    if (!r)
        return COKE_ENOMEM;
    r->o = *options;
    int rc = ck_use_open(&r->r, path, options);
    if (rc)
        ck_free(r);
    else
        *out = r;
    return rc;
}

void coke_run_free(struct coke_run *r)
{
    if (r)
        ck_run_close(&r->r);
    ck_free(r);
}

const char *coke_run_weights(const struct coke_run *r)
{
    return r->r.weights;
}

int64_t coke_run_epoch(const struct coke_run *r)
{
    return r->r.epoch;
}

int64_t coke_run_channels(const struct coke_run *r)
{
    return r->r.encoder.o.channels;
}

int64_t coke_run_image_size(const struct coke_run *r, struct coke_dataset *d)
{
    struct ck_recipe like;
    return ck_use_recipe(&r->r, d, &r->o, &like) == COKE_OK ? like.view[0].width : 0;
}

int coke_run_heads(const struct coke_run *r)
{
    return r->r.heads;
}

int64_t coke_run_k(const struct coke_run *r, int head)
{
    return head >= 0 && head < r->r.heads ? ck_kmeans_k(r->r.head[head]) : 0;
}

int coke_run_match(const struct coke_run *r, int32_t classes)
{
    for (int h = 0; h < r->r.heads; h++)
        if (ck_kmeans_k(r->r.head[h]) == classes)
            return h;
    return -1;
}

int coke_run_embed(struct coke_run *r, struct coke_dataset *d, enum coke_output output,
                   const char *path, int force, const struct coke_callbacks *callbacks,
                   struct coke_embedded *out)
{
    int rc = COKE_OK;
    struct ck_embed_job job = {.output = output,
                               .n = d->set->n,
                               .skip = r->o.bad,
                               .callbacks = callbacks,
                               .phase = "embed"};
    if (output != COKE_FEATURES && output != COKE_PROJ)
        CK_FAIL(COKE_EUSAGE, "output: features and projections can be written, not %d", output);
    if (r->r.encoder.node[output] < 0)
        CK_FAIL(COKE_EUSAGE, "%s has no projection, only the backbone's features",
                r->r.weights);
    CK_TRY(ck_file_check_target(path, force));
    CK_TRY(ck_use_features(&r->r, d, &r->o, &job.features));
    job.dim = (int)r->r.encoder.net.node[r->r.encoder.node[output]].channels;
    *out = (struct coke_embedded){.images = job.n, .dim = job.dim};
    CK_TRY(ck_embed_file(&job, path, force, &out->bad));
done:
    ck_features_free(job.features);
    return rc;
}

/* ---- clusters ---- */

enum { PIECE = 256 }; /* images between two looks at the caller's wishes */

struct assignment {
    struct ck_features *features;
    const struct coke_kmeans *head;
    int64_t index[PIECE];
    uint8_t bad[PIECE];
    float *proj; /* [PIECE][dim] */
};

static int assign_piece(struct assignment *a, int64_t from, int64_t n, int skip,
                        int32_t *cluster, float *similarity, float *margin)
{
    for (int64_t i = 0; i < n; i++)
        a->index[i] = from + i;
    CK_RETURN_IF(
        ck_features_try(a->features, a->index, n, NULL, a->proj, skip ? a->bad : NULL));
    CK_RETURN_IF(ck_membership(a->head, a->proj, n, cluster, similarity, margin));
    for (int64_t i = 0; skip && i < n; i++) {
        if (!a->bad[i])
            continue;
        cluster[i] = -1;
        if (similarity)
            similarity[i] = 0;
        if (margin)
            margin[i] = 0;
    }
    return COKE_OK;
}

static int check_head(const struct coke_run *r, int head)
{
    if (r->r.heads == 0)
        return ck_fail(COKE_EUSAGE,
                       "%s has no clusters, it is an encoder alone; name the "
                       "folder of the run or one of its checkpoints",
                       r->r.weights);
    if (head < 0 || head >= r->r.heads)
        return ck_fail(COKE_EUSAGE, "head: %d is not within 0..%d", head, r->r.heads - 1);
    return COKE_OK;
}

int coke_run_assign(struct coke_run *r, struct coke_dataset *d, int head,
                    const struct coke_callbacks *callbacks, int32_t *cluster, float *similarity,
                    float *margin)
{
    struct assignment a = {0};
    int rc = COKE_OK;
    int64_t n = d->set->n;
    CK_TRY(check_head(r, head));
    a.head = r->r.head[head];
    CK_TRY(ck_use_features(&r->r, d, &r->o, &a.features));
    a.proj = ck_alloc_array(PIECE, (size_t)r->r.encoder.o.dim * sizeof *a.proj);
    if (!a.proj)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t count = n - at < PIECE ? n - at : PIECE;
        CK_TRY(assign_piece(&a, at, count, r->o.bad, cluster + at,
                            similarity ? similarity + at : NULL, margin ? margin + at : NULL));
        CK_TRY(ck_progress_count(callbacks, "assign", at + count, n, "images"));
    }
done:
    ck_features_free(a.features);
    ck_free(a.proj);
    return rc;
}

int coke_dataset_sort(struct coke_dataset *d, const int32_t *cluster, int32_t clusters,
                      const char *dir, enum coke_sort_how how,
                      const struct coke_callbacks *callbacks, struct coke_sorted *out)
{
    struct ck_sort_job job = {d, cluster, clusters, dir, how, callbacks};
    if (d->set->n < 0)
        return ck_fail(COKE_EUSAGE,
                       "%s can only be read once, in order: its images cannot be "
                       "sorted",
                       d->set->source);
    if (!cluster) /* only asks whether it can be done */
        return ck_sort_check(d, dir, how);
    return ck_sort_run(&job, out);
}
