/* neighbours.c - the nearest neighbors of all images, as the session's encoder sees them. */
#include "train/neighbours.h"
#include "core/error.h"
#include "core/mem.h"
#include "data/loader.h"
#include "eval/features.h"
#include "eval/knn.h"

enum { PIECE = 256 };

/* features [images][dim]; label: 0, or -1 for an image that cannot be read. */
static int embed(struct ck_features *f, int64_t images, float *features, int32_t *label)
{
    int64_t index[PIECE];
    uint8_t bad[PIECE];
    int64_t dim = ck_features_dim(f);
    for (int64_t from = 0; from < images; from += PIECE) {
        int64_t n = images - from < PIECE ? images - from : PIECE;
        for (int64_t i = 0; i < n; i++)
            index[i] = from + i;
        CK_RETURN_IF(ck_features_try(f, index, n, features + from * dim, NULL, bad));
        for (int64_t i = 0; i < n; i++)
            label[from + i] = bad[i] ? -1 : 0;
    }
    return COKE_OK;
}

/* Of images without enough neighbors the rest are themselves. */
static double count_same(const struct ck_dataset *set, int64_t m, int32_t *near)
{
    int64_t same = 0, known = 0;
    for (int64_t i = 0; i < set->n * m; i++) {
        int64_t image = i / m;
        if (near[i] < 0) {
            near[i] = (int32_t)image;
            continue;
        }
        int32_t a = ck_dataset_label(set, image), b = ck_dataset_label(set, near[i]);
        known += a >= 0 && b >= 0;
        same += a >= 0 && a == b;
    }
    return known ? (double)same / (double)known : -1;
}

int ck_neighbours_find(struct ck_session *s, int64_t m, int32_t *near, double *same)
{
    int rc = COKE_OK;
    int64_t n = s->data->set->n;
    struct ck_features *f = NULL;
    struct ck_knn_result result;
    float *features = NULL;
    int32_t *label = ck_alloc_array((size_t)n, sizeof *label);
    CK_TRY(ck_features_new(&f, &s->encoder, s->data, ck_loader_recipe(s->loader), PIECE,
                           (enum ck_precision)s->o.precision));
    features = ck_alloc_array((size_t)n, (size_t)ck_features_dim(f) * sizeof *features);
    if (!features || !label)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(embed(f, n, features, label));
    struct ck_knn_job job = ck_knn_job_default();
    job.dim = ck_features_dim(f);
    job.classes = 1;
    job.bank = features;
    job.bank_label = label;
    job.nbank = n;
    job.nk = 1;
    job.k[0] = m;
    job.nearest = near;
    CK_TRY(ck_knn(&job, NULL, &result));
    *same = count_same(s->data->set, m, near);
done:
    ck_features_free(f);
    ck_free(features);
    ck_free(label);
    return rc;
}
