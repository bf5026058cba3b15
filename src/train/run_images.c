/* run_images.c - what a trained encoder says of images: vectors to a file, clusters. */
#include "train/run_images.h"
#include "cluster/kmeans.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "data/rows_images.h"
#include "eval/embed.h"
#include "eval/membership.h"
#include "io/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Removes the description of earlier rows, which is wrong once there are new ones. */
static int clear_images(const char *rows, int force)
{
    char path[CK_ROWS_IMAGES_PATH];
    if (!ck_rows_images_path(rows, path))
        return COKE_OK;
    CK_RETURN_IF(ck_file_check_target(path, force));
    if (unlink(path) && errno != ENOENT)
        return ck_fail(COKE_EIO, "%s: %s", path, strerror(errno));
    return COKE_OK;
}

int ck_run_embed(struct coke_run *r, struct coke_dataset *d, enum coke_output output,
                 const char *path, int force, const struct coke_callbacks *callbacks,
                 struct coke_embed_summary *out)
{
    int rc = COKE_OK;
    struct ck_embed_job job = {.output = output,
                               .n = d->set->n,
                               .skip = r->o.bad,
                               .callbacks = callbacks,
                               .phase = "embed"};
    if (output != COKE_OUTPUT_FEATURES && output != COKE_OUTPUT_PROJ)
        CK_FAIL(COKE_EUSAGE, "output: features and projections can be written, not %d", output);
    if (r->r.encoder.node[output] < 0)
        CK_FAIL(COKE_EUSAGE, "%s has no projection, only the backbone's features",
                r->r.weights);
    CK_TRY(ck_file_check_target(path, force));
    CK_TRY(clear_images(path, force));
    CK_TRY(ck_use_features(&r->r, d, &r->o, &job.features));
    job.dim = (int)r->r.encoder.net.node[r->r.encoder.node[output]].channels;
    *out = (struct coke_embed_summary){.images = job.n, .dim = job.dim};
    CK_TRY(ck_embed_file(&job, path, force, &out->bad));
    CK_TRY(ck_rows_images_write(path, d, force));
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
    CK_RETURN_IF(ck_use_check_heads(r));
    if (head < 0 || head >= r->r.heads)
        return ck_fail(COKE_EUSAGE, "head: %d is not within 0..%d", head, r->r.heads - 1);
    return COKE_OK;
}

int ck_run_labels(const struct coke_run *r, int head, int32_t *labels)
{
    CK_RETURN_IF(check_head(r, head));
    return ck_kmeans_copy(r->r.head[head], COKE_ARRAY_LABELS, labels, ck_use_images(r));
}

int ck_run_assign(struct coke_run *r, struct coke_dataset *d, int head,
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
        CK_FAIL(COKE_ENOMEM, "out of memory");
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
