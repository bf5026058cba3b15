/* ranks_driver.c - a short training by one process or several, written down step by step, so
 * that test_mpi_train.py can compare them.
 *
 *     ranks_driver train FOLDER EPOCHS SOURCE OPTION=VALUE...
 *     ranks_driver cluster FOLDER EPOCHS SOURCE OPTION=VALUE...
 *
 * train writes for every step eE-sS-ids.npy [n], -pixels.npy [n] (a hash of each image's
 * views), -loss.npy, for every head -labelsH.npy [n] and -marginsH.npy [n] (how far the best
 * cluster was ahead of the second), and -grad.npy, the gradients of all weights one after the
 * other. cluster puts features in place of the network's that depend on the image and the epoch
 * only, and writes labelsH.npy, dualsH.npy and centersH.npy as they are at the end. */
#include "core/hash.h"
#include "core/mem.h"
#include "coke.h"
#include "core/rng.h"
#include "data/images.h"
#include "data/loader.h"
#include "dist/agree.h"
#include "io/npy.h"
#include "train/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM = 91 };

static struct ck_session s;
static const char *folder;

/* Before each step, for the margins. */
struct before {
    float *center, *rho;
};
static struct before before[COKE_MAX_HEADS];

static void stop(const char *what)
{
    fprintf(stderr, "ranks_driver: %s: %s\n", what, coke_last_error());
    coke_group_leave(COKE_EFAIL);
    exit(1);
}

static void *array(int64_t n, size_t size)
{
    void *p = ck_calloc_array((size_t)n + 1, size);
    if (!p)
        stop("memory");
    return p;
}

static void put(const struct coke_batch *b, const char *name, int number, enum ck_dtype dtype,
                int64_t n, const void *data)
{
    char path[600], step[64] = "", which[16] = "";
    if (s.ranks.rank > 0)
        return;
    if (b)
        snprintf(step, sizeof step, "e%d-s%d-", (int)b->epoch, (int)b->step);
    if (number >= 0)
        snprintf(which, sizeof which, "%d", number);
    snprintf(path, sizeof path, "%s/%s%s%s.npy", folder, step, name, which);
    if (ck_npy_write(path, dtype, 1, &n, data, 1))
        stop(path);
}

/* ---- training ---- */

static void remember(void)
{
    for (int h = 0; h < s.heads.n; h++) {
        const struct coke_kmeans *km = s.heads.head[h];
        if (!before[h].center) {
            before[h].center = array(ck_kmeans_k(km) * s.dim, sizeof(float));
            before[h].rho = array(ck_kmeans_k(km), sizeof(float));
        }
        ck_kmeans_copy_centers(km, CK_CENTERS_CURRENT, before[h].center);
        memcpy(before[h].rho, ck_kmeans_duals(km), (size_t)ck_kmeans_k(km) * sizeof(float));
    }
}

static float margin_of(int h, const float *x)
{
    const struct coke_kmeans *km = s.heads.head[h];
    double best = -1e300, second = -1e300;
    for (int64_t k = 0; k < ck_kmeans_k(km); k++) {
        double score = (double)before[h].rho[k];
        for (int j = 0; j < s.dim; j++)
            score += (double)x[j] * (double)before[h].center[k * s.dim + j];
        second = fmax(second, fmin(best, score));
        best = fmax(best, score);
    }
    return (float)(best - second);
}

static void put_heads(const struct coke_batch *b, int64_t n)
{
    float *margin = array(n, sizeof *margin);
    for (int h = 0; h < s.heads.n; h++) {
        for (int64_t i = 0; i < n; i++)
            margin[i] = margin_of(h, s.projections + i * s.dim);
        put(b, "labels", h, CK_I32, n, s.heads.label + h * n);
        put(b, "margins", h, CK_F32, n, margin);
    }
    ck_free(margin);
}

static void put_gradients(const struct coke_batch *b)
{
    const struct ck_net *net = &s.encoder.net;
    float *all = array(ck_net_size(net), sizeof *all), *at = all;
    for (int i = 0; i < net->nparams; at += net->param[i].size, i++)
        memcpy(at, net->param[i].grad, (size_t)net->param[i].size * sizeof *at);
    put(b, "grad", -1, CK_F32, at - all, all);
    ck_free(all);
}

static void put_pixels(const struct coke_batch *b, int64_t n)
{
    uint64_t *hash = array(n, sizeof *hash);
    for (int64_t i = 0; i < b->n; i++)
        for (int v = 0; v < b->views; v++) {
            size_t floats = (size_t)(b->channels * b->width[v] * b->height[v]);
            uint64_t *h = &hash[s.ranks.first + i];
            *h = ck_hash(b->x[v] + (size_t)i * floats, floats * sizeof(float), *h);
        }
    if (ck_ranks_gather(&s.ranks, hash, sizeof *hash))
        stop("pixels");
    put(b, "pixels", -1, CK_U64, n, hash);
    ck_free(hash);
}

static void train(const struct coke_batch *b)
{
    struct ck_step step;
    remember();
    if (ck_session_step(&s, b, &step))
        stop("step");
    put(b, "ids", -1, CK_I64, step.images, s.ids);
    put(b, "loss", -1, CK_F64, 1, &step.loss);
    put_heads(b, step.images);
    put_gradients(b);
    put_pixels(b, step.images);
}

/* ---- clustering of given features ---- */

static void make_feature(int64_t id, int64_t epoch, float *x)
{
    double g[2], sum = 0;
    for (int j = 0; j < s.dim; j++) {
        ck_rng_normal((uint64_t)epoch + 5, STREAM, (uint64_t)id, (uint32_t)j, g);
        x[j] = (float)(g[0] + 2 * cos((double)(id % 7) * (j + 1)));
        sum += (double)(x[j] * x[j]);
    }
    for (int j = 0; j < s.dim; j++)
        x[j] = (float)((double)x[j] / sqrt(sum));
}

static void cluster(const struct coke_batch *b)
{
    struct ck_ranks *r = &s.ranks;
    if (ck_ranks_count(r, b->n))
        stop("count");
    struct ck_share share = ck_ranks_share(r);
    for (int64_t i = 0; i < b->n; i++) {
        s.ids[r->first + i] = b->index[i];
        make_feature(b->index[i], b->epoch, s.projections + (r->first + i) * s.dim);
    }
    if (ck_ranks_gather(r, s.ids, sizeof *s.ids) ||
        ck_ranks_gather(r, s.projections, (size_t)s.dim * sizeof(float)) ||
        ck_heads_update(&s.heads, s.projections, s.ids, r->total, 0,
                        r->size > 1 ? &share : NULL))
        stop("cluster");
}

static void put_clusters(void)
{
    for (int h = 0; h < s.heads.n; h++) {
        const struct coke_kmeans *km = s.heads.head[h];
        int64_t n = s.data->set->n;
        int32_t *label = array(n, sizeof *label);
        if (coke_kmeans_copy(km, COKE_ARRAY_LABELS, label, n))
            stop("labels");
        put(NULL, "labels", h, CK_I32, n, label);
        put(NULL, "duals", h, CK_F32, ck_kmeans_k(km), ck_kmeans_duals(km));
        put(NULL, "centers", h, CK_F32, ck_kmeans_k(km) * s.dim, s.heads.center[h]);
        ck_free(label);
    }
}

int main(int argc, char **argv)
{
    struct ck_train_options o = ck_train_options_default();
    struct coke_dataset *data = NULL;
    if (argc < 5 || coke_group_join())
        stop("train|cluster FOLDER EPOCHS SOURCE OPTION=VALUE...?");
    for (int i = 5; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            stop(argv[i]);
        *value++ = 0;
        if (ck_options_set(ck_train_option_table(), &o, argv[i], value))
            stop(argv[i]);
    }
    folder = argv[2];
    int trains = strcmp(argv[1], "train") == 0;
    coke_set_threads(1);
    if (ck_images_new(&data, argv[4], &o.data) || ck_session_init(&s, data, &o))
        stop(argv[4]);
    for (int64_t e = 0; e < atoi(argv[3]); e++) {
        for (int64_t t = 0; t < s.steps; t++) {
            struct coke_batch b = COKE_INIT(struct coke_batch);
            if (coke_loader_next(s.loader, &b))
                stop("batch");
            if (trains)
                train(&b);
            else
                cluster(&b);
        }
        if (ck_heads_epoch_end(&s.heads))
            stop("epoch");
    }
    uint64_t hash;
    if (ck_session_hash(&s, &hash) ||
        ck_agree_hash(s.ranks.group, hash, "the end", "weights or clusters"))
        stop("hash");
    if (!trains)
        put_clusters();
    for (int h = 0; h < s.heads.n; h++) {
        ck_free(before[h].center);
        ck_free(before[h].rho);
    }
    ck_session_release(&s);
    coke_dataset_free(data);
    return coke_group_leave(COKE_OK) ? 1 : 0;
}
