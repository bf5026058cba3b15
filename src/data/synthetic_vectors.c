/* synthetic_vectors.c - generates embeddings from a seed, as hard to cluster as real ones. */
#include "data/synthetic_vectors.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { GROUP = 20, CHUNK = 256 };

/* Read-only while the threads fill x, each its own chunks. */
struct world {
    float *x;
    float *center; /* [clusters][dim] */
    double *until; /* [clusters] cumulative fraction of the sizes */
    int64_t n;
    int32_t dim, clusters;
    uint64_t seed;
};

static void add_noise(const struct world *w, uint64_t item, uint32_t purpose, double size,
                      float *v)
{
    double each = size / sqrt((double)w->dim), g[2];
    for (int32_t j = 0; j < w->dim; j++) {
        if (j % 2 == 0)
            ck_rng_normal(w->seed, CK_RNG_DATA, item, purpose + (uint32_t)j, g);
        v[j] += (float)(each * g[j % 2]);
    }
}

static void normalize(float *v, int32_t dim)
{
    double sum = 0;
    for (int32_t j = 0; j < dim; j++)
        sum += (double)v[j] * (double)v[j];
    for (int32_t j = 0; j < dim && sum > 0; j++)
        v[j] = (float)((double)v[j] / sqrt(sum));
}

/* Centers form groups around a common direction; sizes follow a Zipf law. */
static void make_world(struct world *w)
{
    double total = 0;
    for (int32_t c = 0; c < w->clusters; c++) {
        float *v = w->center + (int64_t)c * w->dim;
        memset(v, 0, (size_t)w->dim * sizeof *v);
        add_noise(w, (uint64_t)(c / GROUP), 1u << 20, 1, v);
        add_noise(w, (uint64_t)c, 2u << 20, 0.8, v);
        normalize(v, w->dim);
        total += 1 / pow((double)c + 1, 0.8);
        w->until[c] = total;
    }
    for (int32_t c = 0; c < w->clusters; c++)
        w->until[c] /= total;
}

static int32_t pick_cluster(const struct world *w, double u)
{
    int32_t low = 0, high = w->clusters - 1;
    while (low < high) {
        int32_t mid = (low + high) / 2;
        if (w->until[mid] > u)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static void make_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct world *w = arg;
    int64_t end = (chunk + 1) * CHUNK < w->n ? (chunk + 1) * CHUNK : w->n;
    for (int64_t i = chunk * CHUNK; i < end; i++) {
        uint64_t id = (uint64_t)i;
        double g[2];
        int32_t c = pick_cluster(w, ck_rng_unit(w->seed, CK_RNG_DATA, id, 3u << 20));
        ck_rng_normal(w->seed, CK_RNG_DATA, id, 4u << 20, g);
        float *v = w->x + i * w->dim;
        memcpy(v, w->center + (int64_t)c * w->dim, (size_t)w->dim * sizeof *v);
        add_noise(w, id, 5u << 20, 0.9 * exp(0.3 * g[0]), v); /* some are outliers */
        normalize(v, w->dim);
    }
}

int ck_synthetic_fill(float *x, int64_t n, int32_t dim, int32_t clusters, uint64_t seed)
{
    if (!x || n < 1 || dim < 1 || clusters < 1 || n > INT64_MAX / (int64_t)sizeof *x / dim)
        return ck_fail(COKE_EUSAGE, "invalid synthetic data: %lld x %d in %d clusters",
                       (long long)n, dim, clusters);
    struct world w = {.x = x, .n = n, .dim = dim, .clusters = clusters, .seed = seed};
    int rc = COKE_ENOMEM;
    w.center = ck_alloc_array((size_t)clusters, (size_t)dim * sizeof *w.center);
    w.until = ck_alloc_array((size_t)clusters, sizeof *w.until);
    if (w.center && w.until) {
        make_world(&w);
        ck_parallel((n + CHUNK - 1) / CHUNK, make_chunk, &w);
        rc = COKE_OK;
    }
    ck_free(w.center);
    ck_free(w.until);
    return rc;
}
