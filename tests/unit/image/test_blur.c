/* test_blur.c - Gaussian blur: properties that need no Pillow. tests/py/test_pillow_pixels.py
 * compares it with Pillow byte by byte. */
#include "support.h"
#include "core/mem.h"
#include "image/color.h"

static struct ck_planes noise(int32_t width, int32_t height, int32_t channels)
{
    struct ck_planes p = {0};
    assert_ok(ck_planes_reshape(&p, width, height, channels));
    for (int i = 0; i < width * height * channels; i++)
        p.data[i] = (uint8_t)ck_rng_u32(1, TEST_STREAM, (uint64_t)i, 0);
    return p;
}

static void no_sigma_changes_nothing(void **state)
{
    (void)state;
    struct ck_blurrer b = {0};
    struct ck_planes p = noise(20, 10, 3), same = noise(20, 10, 3);
    assert_ok(ck_blur(&b, &p, 0));
    assert_ok(ck_blur(&b, &p, 1e-4f));
    assert_memory_equal(p.data, same.data, 600);
    ck_blurrer_release(&b);
    ck_planes_release(&p);
    ck_planes_release(&same);
}

static void flat_planes_stay_flat(void **state)
{
    (void)state;
    const int32_t sizes[][2] = {{1, 1}, {1, 40}, {40, 1}, {33, 65}, {100, 3}};
    const float sigmas[] = {0.1f, 1, 2, 7.7f, 40, 200};
    struct ck_blurrer b = {0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof sigmas / sizeof *sigmas; k++) {
            struct ck_planes p = {0};
            int32_t area = sizes[s][0] * sizes[s][1];
            assert_ok(ck_planes_reshape(&p, sizes[s][0], sizes[s][1], 2));
            memset(p.data, 70, (size_t)area);
            memset(p.data + area, 255, (size_t)area);
            assert_ok(ck_blur(&b, &p, sigmas[k]));
            for (int32_t i = 0; i < 2 * area; i++)
                assert_int_equal(p.data[i], i < area ? 70 : 255);
            ck_planes_release(&p);
        }
    ck_blurrer_release(&b);
}

/* A bar spreads as the Gaussian of this deviation would, in both directions. */
static void a_bar_spreads_by_sigma(void **state)
{
    (void)state;
    enum { N = 101, MID = 50 };
    const float sigma = 5;
    struct ck_blurrer b = {0};
    struct ck_planes p = {0};
    for (int turned = 0; turned < 2; turned++) {
        assert_ok(ck_planes_reshape(&p, N, N, 1));
        for (int i = 0; i < N * N; i++)
            p.data[i] = (turned ? i / N : i % N) < MID ? 0 : 255;
        assert_ok(ck_blur(&b, &p, sigma));
        for (int i = 0; i < N; i++) {
            double expected = 127.5 * (1 + erf((i - MID + 0.5) / (sigma * sqrt(2))));
            assert_close(p.data[turned ? i * N + 30 : 30 * N + i], expected, 4);
        }
    }
    ck_blurrer_release(&b);
    ck_planes_release(&p);
}

/* Five at once are five images of one. */
static void channels_are_blurred_alone(void **state)
{
    (void)state;
    enum { W = 37, H = 45, C = 5 };
    struct ck_blurrer b = {0};
    struct ck_planes all = noise(W, H, C), before = noise(W, H, C), one = {0};
    assert_ok(ck_blur(&b, &all, 1.3f));
    for (int c = 0; c < C; c++) {
        assert_ok(ck_planes_reshape(&one, W, H, 1));
        memcpy(one.data, before.data + c * W * H, W * H);
        assert_ok(ck_blur(&b, &one, 1.3f));
        assert_memory_equal(all.data + c * W * H, one.data, W * H);
    }
    ck_blurrer_release(&b);
    ck_planes_release(&all);
    ck_planes_release(&before);
    ck_planes_release(&one);
}

static void memory_is_asked_for_once_and_may_be_refused(void **state)
{
    (void)state;
    struct ck_planes p = noise(50, 60, 3), before = noise(50, 60, 3);
    struct ck_blurrer b = {0};
    int64_t live = ck_mem_stats().live;
    ck_mem_fail_at(1);
    assert_int_equal(ck_blur(&b, &p, 2), COKE_ENOMEM);
    ck_mem_fail_at(0);
    assert_memory_equal(p.data, before.data, 50 * 60 * 3);
    assert_ok(ck_blur(&b, &p, 2));
    int64_t calls = ck_mem_stats().calls;
    assert_ok(ck_blur(&b, &p, 1));
    assert_int_equal(ck_mem_stats().calls, calls);
    ck_blurrer_release(&b);
    assert_int_equal(ck_mem_stats().live, live);
    ck_planes_release(&p);
    ck_planes_release(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_sigma_changes_nothing),
        cmocka_unit_test(flat_planes_stay_flat),
        cmocka_unit_test(a_bar_spreads_by_sigma),
        cmocka_unit_test(channels_are_blurred_alone),
        cmocka_unit_test(memory_is_asked_for_once_and_may_be_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
