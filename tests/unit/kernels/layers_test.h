/* layers_test.h - shared by the tests of the layers' kernels: arrays of either type, awkward
 * shapes, and a loop over every version and team size. */
#ifndef CK_LAYERS_TEST_H
#define CK_LAYERS_TEST_H

#include "support.h"

#include "kernels/kernels_layers.h"

static const enum ck_dtype types[] = {CK_F32, CK_BF16};

/* Padding lanes from `channels` on are zeros. */
struct test_shape {
    struct ck_act_shape a;
    int64_t channels;
};

static const struct test_shape test_shapes[] = {
    {{2, 1, 1, 3}, 3},      {{1, 1, 2, 1}, 1},     {{5, 1, 1, 10}, 10},
    {{300, 1, 1, 17}, 17},  {{7, 1, 9, 16}, 16},   {{3, 1, 25, 33}, 33},
    {{90, 1, 3, 200}, 200}, {{2, 1, 1300, 7}, 7},  {{4, 1, 1, 2048}, 2048},
    {{2, 3, 1, 16}, 40},    {{33, 2, 4, 16}, 32},  {{1, 1, 49, 16}, 10},
    {{9, 5, 16, 16}, 80},   {{3, 2, 257, 16}, 20}, {{1, 3, 1025, 16}, 48},
    {{19, 3, 64, 16}, 48},  {{5, 3, 7, 8}, 24},    {{3, 1, 5000, 1}, 1},
    {{40, 6, 16, 16}, 96},  {{2, 1, 900, 64}, 64}, {{2, 70, 5, 16}, 1117},
    {{1, 1, 3000, 16}, 16},
};
enum { TEST_SHAPES = sizeof test_shapes / sizeof *test_shapes };

static inline size_t type_size(enum ck_dtype t)
{
    return t == CK_F32 ? 4 : 2;
}

static inline double get(enum ck_dtype t, const void *p, int64_t i)
{
    if (t == CK_F32)
        return (double)((const float *)p)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)p)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static inline void set(enum ck_dtype t, void *p, int64_t i, double v)
{
    float x = (float)v;
    if (t == CK_F32)
        ((float *)p)[i] = x;
    else
        ck_layer_kernels_ref.to_bf16(1, &x, (uint16_t *)p + i);
}

/* Half the distance between neighbouring numbers of the type, relative. */
static inline double rounding(enum ck_dtype t)
{
    return t == CK_F32 ? 6.0e-8 : 3.92e-3;
}

static inline int64_t channel_of(const struct ck_act_shape *a, int64_t i)
{
    return i / (a->s * a->blk) % a->cb * a->blk + i % a->blk;
}

/* Normally distributed numbers from a table: the tests need millions. */
static inline double noise(uint64_t seed, int64_t i)
{
    enum { NUMBERS = 8191 };
    static float table[NUMBERS];
    if (table[0] == 0)
        for (int k = 0; k < NUMBERS; k++)
            table[k] = test_normal(1, (uint64_t)k);
    return (double)table[((uint64_t)i + (uint64_t)i / NUMBERS * 17 + seed * 641) % NUMBERS];
}

/* Normally distributed numbers about `mean`; zeros in the padding. */
static inline void *test_acts(const struct test_shape *s, enum ck_dtype t, double mean,
                              uint64_t seed)
{
    int64_t n = ck_act_size(&s->a);
    void *x = test_array((size_t)n, type_size(t));
    for (int64_t i = 0; i < n; i++)
        if (channel_of(&s->a, i) < s->channels)
            set(t, x, i, mean + noise(seed, i));
    return x;
}

/* One number per channel in [low, high], 0 in the padding. */
static inline float *test_coef(const struct test_shape *s, double low, double high,
                               uint64_t seed)
{
    float *x = test_array((size_t)ck_act_channels(&s->a), sizeof *x);
    for (int64_t c = 0; c < s->channels; c++)
        x[c] = (float)(low + (high - low) * test_unit(seed, (uint64_t)c));
    return x;
}

static inline void *copy_of(const void *p, size_t bytes)
{
    void *q = test_array(bytes, 1);
    memcpy(q, p, bytes);
    return q;
}

/* Runs fn(arg) with every version on 2 workers, with and without bypassing the caches, and with
 * the fastest version on 1, 3 and 5. The first call of fn uses the reference. */
static inline void each_way(void (*fn)(void *arg, const char *way), void *arg)
{
    assert_ok(coke_set_threads(2));
    const struct ck_layer_kernels *version = NULL;
    for (const struct ck_kernels *const *k = ck_kernels_all(); *k; k++) {
        version = ck_layer_kernels_named((*k)->name);
        ck_layer_kernels_force(version);
        fn(arg, version->name);
        ck_bn_stream_from = 1;
        fn(arg, version->name);
        ck_bn_stream_from = 0;
    }
    for (int threads = 1; threads <= 5; threads += 2) {
        char way[32];
        assert_ok(coke_set_threads(threads));
        snprintf(way, sizeof way, "%s, %d threads", version->name, threads);
        fn(arg, way);
    }
    ck_layer_kernels_force(NULL);
    assert_ok(coke_set_threads(0));
}

#endif
