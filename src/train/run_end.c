/* run_end.c - what a complete training leaves: labels and centers per head, and the encoder. */
#include "core/error.h"
#include "core/mem.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "train/averaged.h"
#include "train/run_files.h"
#include "train/training.h"

#include <stdio.h>

/* labels-hH-kK.npy [n] and centers-hH-kK.npy [k][dim]. */
static int write_head(const struct ck_training *t, int h)
{
    const struct coke_kmeans *km = t->s.heads.head[h];
    char path[CK_RUN_PATH];
    int64_t n = t->s.data->set->n, shape[2] = {ck_kmeans_k(km), t->s.dim};
    int rc = COKE_OK;
    int32_t *labels = ck_alloc_array((size_t)n, sizeof *labels);
    if (!labels)
        return COKE_ENOMEM;
    CK_TRY(ck_kmeans_copy(km, COKE_ARRAY_LABELS, labels, n));
    snprintf(path, sizeof path, "%s/labels-h%d-k%lld.npy", t->run, h,
             (long long)ck_kmeans_k(km));
    CK_TRY(ck_npy_write(path, CK_I32, 1, &n, labels, CK_FORCE_INSIDE));
    snprintf(path, sizeof path, "%s/centers-h%d-k%lld.npy", t->run, h,
             (long long)ck_kmeans_k(km));
    CK_TRY(ck_npy_write(path, CK_F32, 2, shape, t->s.heads.center[h], CK_FORCE_INSIDE));
done:
    ck_free(labels);
    return rc;
}

int ck_training_end(struct ck_training *t)
{
    struct ck_state state = {0};
    char path[CK_RUN_PATH];
    int rc = COKE_OK;
    for (int h = 0; h < t->s.heads.n; h++)
        CK_TRY(write_head(t, h));
    CK_TRY(ck_encoder_save(ck_averaged_encoder(&t->s), &state));
    CK_TRY(ck_checkpoint_add_images(&state, &t->s));
    snprintf(path, sizeof path, "%s/final.safetensors", t->run);
    CK_TRY(ck_safetensors_write(path, &state, CK_FORCE_INSIDE));
done:
    ck_state_release(&state);
    return rc;
}
