/* test_winograd.c - Winograd's convolutions against direct ones in double, for every version
 * and team size. */
#include "support.h"

#include "kernels/kernels_winograd.h"

static const struct ck_wino_shape shapes[] = {
    {1, 3, 16, 1, 1},   {2, 16, 16, 4, 4},  {1, 16, 17, 5, 3},  {3, 17, 32, 2, 7},
    {2, 32, 48, 8, 8},  {5, 48, 32, 4, 4},  {1, 48, 48, 13, 9}, {4, 3, 17, 6, 11},
    {2, 17, 3, 3, 12},  {1, 1, 1, 7, 7},    {3, 32, 16, 9, 4},  {2, 16, 33, 1, 13},
    {1, 64, 64, 32, 32}, {9, 80, 64, 4, 4}, {1, 260, 16, 5, 5}, {2, 256, 272, 3, 4},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A version by name, where it runs. */
static const char *const versions[] = {"ref", "avx2", "avx512"};
enum { VERSIONS = sizeof versions / sizeof *versions };

static int64_t blocks(int64_t c)
{
    return (c + 15) / 16;
}

static int64_t image_size(const struct ck_wino_shape *s, int64_t c)
{
    return s->n * blocks(c) * s->h * s->w * 16;
}

static int64_t at(const struct ck_wino_shape *s, int64_t channels, int64_t n, int64_t c,
                  int64_t y, int64_t x)
{
    return (((n * blocks(channels) + c / 16) * s->h + y) * s->w + x) * 16 + c % 16;
}

static float *random_image(const struct ck_wino_shape *s, int64_t channels, uint64_t seed)
{
    float *p = test_array((size_t)image_size(s, channels), sizeof *p);
    uint64_t i = 0;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t k = 0; k < s->h * s->w; k++)
                p[at(s, channels, n, c, 0, k)] = test_normal(seed, i++);
    return p;
}

static float *random_weights(const struct ck_wino_shape *s, uint64_t seed)
{
    int64_t n = s->oc * s->ic * 9;
    float *w = test_array((size_t)n, sizeof *w);
    for (int64_t i = 0; i < n; i++)
        w[i] = 0.1f * test_normal(seed, (uint64_t)i);
    return w;
}

/* ---- the long way --------------------------------------------------------------------------
 */

/* Calls for each product of an input, a weight and an output that the convolution has. */
struct direct {
    const float *x, *w, *dy;
    double *y, *dx, *dw;
};

static void direct_pixel(const struct ck_wino_shape *s, struct direct *d, int64_t n, int64_t o,
                         int64_t y, int64_t x)
{
    int64_t out = at(s, s->oc, n, o, y, x);
    for (int64_t c = 0; c < s->ic; c++)
        for (int64_t i = 0; i < 9; i++) {
            int64_t v = y + i / 3 - 1, u = x + i % 3 - 1, k = (o * s->ic + c) * 9 + i;
            if (v < 0 || v >= s->h || u < 0 || u >= s->w)
                continue;
            int64_t in = at(s, s->ic, n, c, v, u);
            d->y[out] += (double)d->x[in] * (double)d->w[k];
            d->dx[in] += (double)d->dy[out] * (double)d->w[k];
            d->dw[k] += (double)d->dy[out] * (double)d->x[in];
        }
}

static void direct_convolution(const struct ck_wino_shape *s, struct direct *d)
{
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t o = 0; o < s->oc; o++)
            for (int64_t i = 0; i < s->h * s->w; i++)
                direct_pixel(s, d, n, o, i / s->w, i % s->w);
}

static double relative_error(const float *a, const double *b, int64_t n)
{
    double error = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(error / size);
}

/* ---- all ways to compute -------------------------------------------------------------------
 */

struct work {
    const struct ck_wino_shape *s;
    struct direct d;
    int64_t size[CK_WINO_PASSES];
    double *exact[CK_WINO_PASSES];
    float *out[CK_WINO_PASSES], *first[CK_WINO_PASSES];
};

static struct work work_for(const struct ck_wino_shape *s)
{
    struct work k = {.s = s, .size = {image_size(s, s->oc), image_size(s, s->ic), s->oc * s->ic * 9}};
    for (int p = 0; p < CK_WINO_PASSES; p++) {
        k.exact[p] = test_array((size_t)k.size[p], sizeof(double));
        k.out[p] = test_array((size_t)k.size[p], sizeof(float));
        k.first[p] = test_array((size_t)k.size[p], sizeof(float));
    }
    k.d = (struct direct){random_image(s, s->ic, 1), random_weights(s, 2),
                          random_image(s, s->oc, 3), k.exact[CK_WINO_FORWARD],
                          k.exact[CK_WINO_DATA], k.exact[CK_WINO_WEIGHTS]};
    direct_convolution(s, &k.d);
    return k;
}

static void work_release(struct work *k)
{
    for (int p = 0; p < CK_WINO_PASSES; p++) {
        free(k->exact[p]);
        free(k->out[p]);
        free(k->first[p]);
    }
    free((void *)(uintptr_t)k->d.x);
    free((void *)(uintptr_t)k->d.w);
    free((void *)(uintptr_t)k->d.dy);
}

/* Fills out[] anew; scratch begins with garbage and is no longer than asked for. */
static void compute(struct work *k, int threads)
{
    for (int p = 0; p < CK_WINO_PASSES; p++) {
        size_t bytes = ck_wino_scratch(k->s, (enum ck_wino_pass)p, threads);
        void *scratch = test_array(bytes, 1);
        memset(scratch, 0xff, bytes);
        memset(k->out[p], 0xff, (size_t)k->size[p] * sizeof(float));
        if (p == CK_WINO_FORWARD)
            ck_wino_forward(k->s, k->d.x, k->d.w, k->out[p], scratch);
        else if (p == CK_WINO_DATA)
            ck_wino_data(k->s, k->d.dy, k->d.w, k->out[p], scratch);
        else
            ck_wino_weights(k->s, k->d.x, k->d.dy, 0, k->out[p], scratch);
        free(scratch);
    }
}

static void all_passes_match_direct_convolution(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct work k = work_for(&shapes[i]);
        compute(&k, coke_threads());
        for (int p = 0; p < CK_WINO_PASSES; p++) {
            double e = relative_error(k.out[p], k.exact[p], k.size[p]);
            printf("%d %lld->%lld %lldx%lld: %g\n", p, (long long)shapes[i].ic,(long long)shapes[i].oc,(long long)shapes[i].h,(long long)shapes[i].w,e);
            assert_close(e, 0, 3e-6);
        }
        work_release(&k);
    }
}

static void every_version_and_team_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct work k = work_for(&shapes[i]);
        compute(&k, coke_threads());
        for (int p = 0; p < CK_WINO_PASSES; p++)
            memcpy(k.first[p], k.out[p], (size_t)k.size[p] * sizeof(float));
        for (int v = 0; v < VERSIONS; v++)
            for (int threads = 1; threads <= 3 && ck_wino_kernels_named(versions[v]); threads++) {
                ck_wino_kernels_force(ck_wino_kernels_named(versions[v]));
                coke_set_threads(threads);
                compute(&k, threads);
                for (int p = 0; p < CK_WINO_PASSES; p++)
                    if (memcmp(k.first[p], k.out[p], (size_t)k.size[p] * sizeof(float)))
                        fail_msg("shape %d, pass %d, %s, %d threads: other bytes", i, p,
                                 versions[v], threads);
            }
        ck_wino_kernels_force(NULL);
        coke_set_threads(0);
        work_release(&k);
    }
}

static void padding_channels_of_outputs_are_zero(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        const struct ck_wino_shape *s = &shapes[i];
        struct work k = work_for(s);
        compute(&k, coke_threads());
        for (int p = 0; p < CK_WINO_WEIGHTS; p++) {
            int64_t channels = p == CK_WINO_FORWARD ? s->oc : s->ic;
            for (int64_t c = channels; c < blocks(channels) * 16; c++)
                for (int64_t j = 0; j < s->n * s->h * s->w; j++) {
                    float v = k.out[p][at(s, channels, j / (s->h * s->w), c, 0,
                                          j % (s->h * s->w))];
                    assert_true(v == 0);
                }
        }
        work_release(&k);
    }
}

static void gradient_of_weights_can_be_added(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct work k = work_for(&shapes[i]);
        float *sum = test_array((size_t)k.size[CK_WINO_WEIGHTS], sizeof *sum);
        void *scratch = test_array(ck_wino_scratch(k.s, CK_WINO_WEIGHTS, coke_threads()), 1);
        compute(&k, coke_threads());
        for (int64_t j = 0; j < k.size[CK_WINO_WEIGHTS]; j++)
            sum[j] = (float)j;
        ck_wino_weights(k.s, k.d.x, k.d.dy, 1, sum, scratch);
        for (int64_t j = 0; j < k.size[CK_WINO_WEIGHTS]; j++)
            assert_true(sum[j] == (float)j + k.out[CK_WINO_WEIGHTS][j]);
        free(scratch);
        free(sum);
        work_release(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_passes_match_direct_convolution),
        cmocka_unit_test(every_version_and_team_gives_the_same_bytes),
        cmocka_unit_test(padding_channels_of_outputs_are_zero),
        cmocka_unit_test(gradient_of_weights_can_be_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
