/* support.h - what the tests of the engine share: asserts in words, vectors, a slow exact
 * solver. */
#ifndef CK_SUPPORT_H
#define CK_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

#include "as_options.h"
#include "coke.h"
#include "core/rng.h"
#include "kernels/kernels.h"

#define assert_ok(call)                                                                        \
    do {                                                                                       \
        int rc_ = (call);                                                                      \
        if (rc_)                                                                               \
            fail_msg("%s: %d, \"%s\"", #call, rc_, coke_last_error());                         \
    } while (0)

#define assert_fails(call, status, words)                                                      \
    do {                                                                                       \
        int rc_ = (call);                                                                      \
        if (rc_ != (status) || !strstr(coke_last_error(), (words)))                            \
            fail_msg("%s: %d, \"%s\"; expected %d, \"%s\"", #call, rc_, coke_last_error(),     \
                     (status), (words));                                                       \
    } while (0)

#define assert_close(a, b, tolerance)                                                          \
    do {                                                                                       \
        double a_ = (a), b_ = (b), t_ = (tolerance);                                           \
        if (!(fabs(a_ - b_) <= t_))                                                            \
            fail_msg("%s = %.12g, %s = %.12g: %g apart, more than %g", #a, a_, #b, b_,         \
                     fabs(a_ - b_), t_);                                                       \
    } while (0)

enum { TEST_STREAM = 77 };

/* Memory of the test's own, aligned and ended as malloc does, so that the sanitizer sees a read
 * beyond it. */
static inline void *test_array(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    assert_non_null(p);
    return p;
}

static inline double test_unit(uint64_t seed, uint64_t i)
{
    return ck_rng_unit(seed, TEST_STREAM, i, 0);
}

static inline float test_normal(uint64_t seed, uint64_t i)
{
    double g[2];
    ck_rng_normal(seed, TEST_STREAM, i, 1, g);
    return (float)g[0];
}

static inline void test_normalize(float *x, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += (double)x[j] * (double)x[j];
    for (int j = 0; j < dim && sum > 0; j++)
        x[j] = (float)((double)x[j] / sqrt(sum));
}

/* n unit vectors [n][dim]: around `groups` directions (0 = none), `spread` wide. */
static inline float *test_vectors(int64_t n, int dim, int groups, double spread, uint64_t seed)
{
    float *x = test_array((size_t)(n * dim), sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        int64_t g = groups ? i % groups : 0;
        for (int j = 0; j < dim; j++) {
            float noise = test_normal(seed, (uint64_t)(i * dim + j)) / sqrtf((float)dim);
            float base =
                groups ? test_normal(seed + 1000, (uint64_t)(g * dim + j)) / sqrtf((float)dim)
                       : 0;
            x[i * dim + j] = groups ? base + (float)spread * noise : noise;
        }
        test_normalize(x + i * dim, dim);
    }
    return x;
}

/* The best total of s [n][k] with least <= sizes <= most (NULL = no upper bounds), by
 * Bellman-Ford augmentation on doubles: slow, simple, independent of src/cluster. label [n] may
 * be NULL. Returns NAN if the sizes cannot be. */
double slow_best(const double *s, int64_t n, int64_t k, const int64_t *least,
                 const int64_t *most, int32_t *label);

/* Options of a training that takes a moment, for pictures of 8 pixels. */
static inline struct ck_train_options test_training(void)
{
    struct ck_train_options o = ck_train_options_default();
    o.k = (struct ck_ints){2, {3, 6}};
    o.loader.view.recipe = CK_RECIPE_CIFAR_SINGLE;
    o.loader.view.size = 8;
    o.loader.batch = 12;
    o.loader.workers = 1;
    o.encoder.stem = CK_STEM_CIFAR;
    o.encoder.width = 0.03125;
    o.encoder.dim = 8;
    o.epochs = 3;
    o.warmup = 1;
    o.optimizer.kind = CK_SGD;
    o.rate = 0.05;
    return o;
}

static inline int test_remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

#endif
