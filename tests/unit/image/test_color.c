/* test_color.c - colour operations: properties that need no Pillow.
 * tests/py/test_pillow_pixels.py compares them with Pillow byte by byte. */
#include "support.h"
#include "image/color.h"

static struct ck_planes noise(int32_t width, int32_t height, int32_t channels)
{
    struct ck_planes p = {0};
    assert_ok(ck_planes_reshape(&p, width, height, channels));
    for (int i = 0; i < width * height * channels; i++)
        p.data[i] = (uint8_t)ck_rng_u32(1, TEST_STREAM, (uint64_t)i, 0);
    return p;
}

static size_t count(const struct ck_planes *p)
{
    return (size_t)(p->width * p->height * p->channels);
}

static void factor_one_and_hue_of_grays_change_nothing(void **state)
{
    (void)state;
    struct ck_planes p = noise(13, 7, 3), same = noise(13, 7, 3);
    ck_brightness(&p, 1);
    ck_contrast(&p, 1);
    ck_saturation(&p, 1);
    assert_memory_equal(p.data, same.data, count(&p));
    ck_grayscale(&p);
    ck_grayscale(&same);
    ck_hue(&p, 0.3f);
    ck_saturation(&p, 2.5f);
    assert_memory_equal(p.data, same.data, count(&p));
    ck_planes_release(&p);
    ck_planes_release(&same);
}

static void one_channel_has_no_color(void **state)
{
    (void)state;
    struct ck_planes p = noise(17, 3, 1), same = noise(17, 3, 1);
    ck_saturation(&p, 0.2f);
    ck_hue(&p, 0.3f);
    ck_grayscale(&p);
    assert_memory_equal(p.data, same.data, count(&p));
    ck_planes_release(&p);
    ck_planes_release(&same);
}

static void a_third_of_a_turn_makes_red_green(void **state)
{
    (void)state;
    struct ck_planes p = {0};
    assert_ok(ck_planes_reshape(&p, 1, 1, 3));
    p.data[0] = 200;
    p.data[1] = p.data[2] = 50;
    ck_hue(&p, 1.0f / 3 + 1e-6f); /* 85 of 255 */
    assert_int_equal(p.data[0], 50);
    assert_int_equal(p.data[1], 200);
    assert_int_equal(p.data[2], 50);
    ck_planes_release(&p);
}

static void factor_zero_leaves_black_or_the_mean(void **state)
{
    (void)state;
    struct ck_planes p = {0};
    assert_ok(ck_planes_reshape(&p, 2, 1, 1));
    p.data[0] = 10;
    p.data[1] = 21;
    ck_contrast(&p, 0);
    assert_int_equal(p.data[0], 16); /* 15.5, rounded up */
    assert_int_equal(p.data[1], 16);
    ck_brightness(&p, 0);
    assert_int_equal(p.data[0], 0);
    ck_planes_release(&p);
}

static void blends_clip_and_truncate(void **state)
{
    (void)state;
    struct ck_planes p = {0};
    assert_ok(ck_planes_reshape(&p, 3, 1, 1));
    p.data[0] = 99;
    p.data[1] = 200;
    p.data[2] = 1;
    ck_brightness(&p, 1.99f);
    assert_int_equal(p.data[0], 197); /* 197.01 */
    assert_int_equal(p.data[1], 255);
    assert_int_equal(p.data[2], 1);
    ck_brightness(&p, -1);
    assert_int_equal(p.data[0], 0);
    ck_planes_release(&p);
}

static void solarize_inverts_from_the_threshold_on(void **state)
{
    (void)state;
    struct ck_planes p = noise(9, 5, 5), q = noise(9, 5, 5);
    const int thresholds[] = {-3, 0, 1, 100, 255, 256, 999};
    for (size_t t = 0; t < sizeof thresholds / sizeof *thresholds; t++) {
        memcpy(p.data, q.data, count(&p));
        ck_solarize(&p, thresholds[t]);
        for (size_t i = 0; i < count(&p); i++)
            assert_int_equal(p.data[i],
                             q.data[i] < thresholds[t] ? q.data[i] : 255 - q.data[i]);
    }
    ck_planes_release(&p);
    ck_planes_release(&q);
}

static void normalize_mirrors_each_row_of_each_channel(void **state)
{
    (void)state;
    enum { W = 19, H = 4, C = 5 };
    const float mean[C] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f},
                std[C] = {0.5f, 0.4f, 0.3f, 0.2f, 0.1f};
    struct ck_planes p = noise(W, H, C);
    float *out = test_array(W * H * C, sizeof *out);
    for (int flip = 0; flip < 2; flip++) {
        ck_planes_normalize(&p, flip, mean, std, out);
        for (int c = 0; c < C; c++)
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++) {
                    float v = (float)p.data[(c * H + y) * W + (flip ? W - 1 - x : x)] / 255.0f;
                    assert_true(out[(c * H + y) * W + x] == (v - mean[c]) / std[c]);
                }
    }
    free(out);
    ck_planes_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factor_one_and_hue_of_grays_change_nothing),
        cmocka_unit_test(one_channel_has_no_color),
        cmocka_unit_test(a_third_of_a_turn_makes_red_green),
        cmocka_unit_test(factor_zero_leaves_black_or_the_mean),
        cmocka_unit_test(blends_clip_and_truncate),
        cmocka_unit_test(solarize_inverts_from_the_threshold_on),
        cmocka_unit_test(normalize_mirrors_each_row_of_each_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
