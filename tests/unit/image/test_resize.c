/* test_resize.c - resampling: properties that need no Pillow, odd shapes, memory.
 * tests/py/test_pillow_pixels.py compares it with Pillow byte by byte. */
#include "support.h"
#include "core/mem.h"
#include "image/resize.h"

static void fill(struct ck_image *im, int32_t width, int32_t height, int32_t channels)
{
    assert_ok(ck_image_reshape(im, width, height, channels));
    size_t n = (size_t)width * (size_t)height * (size_t)channels;
    for (size_t i = 0; i < n; i++)
        im->data[i] = (uint8_t)ck_rng_u32(1, TEST_STREAM, i, 0);
}

static uint8_t pixel(const struct ck_image *im, int32_t x, int32_t y, int32_t c)
{
    return im
        ->data[((size_t)y * (size_t)im->width + (size_t)x) * (size_t)im->channels + (size_t)c];
}

static uint8_t level(const struct ck_planes *p, int32_t x, int32_t y, int32_t c)
{
    return p->data[((size_t)c * (size_t)p->height + (size_t)y) * (size_t)p->width + (size_t)x];
}

static void a_box_of_the_wanted_size_is_copied(void **state)
{
    (void)state;
    struct ck_resizer r = {0};
    struct ck_image im = {0};
    struct ck_planes out = {0};
    for (int32_t channels = 1; channels <= 6; channels++)
        for (int filter = CK_BILINEAR; filter <= CK_BICUBIC; filter++) {
            struct ck_box box = {3, 5, 19, 11};
            fill(&im, 31, 23, channels);
            assert_ok(ck_resize(&r, &im, box, (enum ck_filter)filter, 19, 11, &out));
            assert_int_equal(out.channels, channels);
            for (int32_t c = 0; c < channels; c++)
                for (int32_t y = 0; y < 11; y++)
                    for (int32_t x = 0; x < 19; x++)
                        assert_int_equal(level(&out, x, y, c), pixel(&im, x + 3, y + 5, c));
        }
    ck_resizer_release(&r);
    ck_image_release(&im);
    ck_planes_release(&out);
}

static void a_flat_image_stays_flat(void **state)
{
    (void)state;
    const int32_t sizes[][4] = {
        {1, 1, 40, 30}, {300, 200, 1, 1}, {7, 900, 50, 3}, {64, 64, 63, 65}};
    struct ck_resizer r = {0};
    struct ck_image im = {0};
    struct ck_planes out = {0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int filter = CK_BILINEAR; filter <= CK_BICUBIC; filter++) {
            const int32_t *z = sizes[s];
            struct ck_box box = {0, 0, z[0], z[1]};
            assert_ok(ck_image_reshape(&im, z[0], z[1], 3));
            memset(im.data, 201, 3 * (size_t)z[0] * (size_t)z[1]);
            assert_ok(ck_resize(&r, &im, box, (enum ck_filter)filter, z[2], z[3], &out));
            for (int i = 0; i < 3 * z[2] * z[3]; i++)
                assert_int_equal(out.data[i], 201);
        }
    ck_resizer_release(&r);
    ck_image_release(&im);
    ck_planes_release(&out);
}

static void halving_averages(void **state)
{
    (void)state;
    struct ck_resizer r = {0};
    struct ck_image im = {0};
    struct ck_planes out = {0};
    assert_ok(ck_image_reshape(&im, 4, 1, 1));
    const uint8_t line[4] = {0, 80, 160, 240};
    memcpy(im.data, line, sizeof line);
    assert_ok(ck_resize(&r, &im, (struct ck_box){0, 0, 4, 1}, CK_BILINEAR, 2, 1, &out));
    /* The triangle around 1: weights 3, 3, 1 of 7; then 1, 3, 3. */
    assert_int_equal(out.data[0], (3 * 0 + 3 * 80 + 160 + 3) / 7);
    assert_int_equal(out.data[1], (80 + 3 * 160 + 3 * 240 + 3) / 7);
    ck_resizer_release(&r);
    ck_image_release(&im);
    ck_planes_release(&out);
}

/* Channels are independent: five at once equal five images of one. */
static void channels_are_resampled_alone(void **state)
{
    (void)state;
    enum { C = 5 };
    struct ck_resizer r = {0};
    struct ck_image im = {0}, one = {0};
    struct ck_planes out = {0}, alone = {0};
    struct ck_box box = {2, 1, 40, 29};
    fill(&im, 45, 33, C);
    assert_ok(ck_resize(&r, &im, box, CK_BICUBIC, 23, 37, &out));
    for (int32_t c = 0; c < C; c++) {
        assert_ok(ck_image_reshape(&one, 45, 33, 1));
        for (int i = 0; i < 45 * 33; i++)
            one.data[i] = im.data[i * C + c];
        assert_ok(ck_resize(&r, &one, box, CK_BICUBIC, 23, 37, &alone));
        assert_memory_equal(out.data + c * 23 * 37, alone.data, 23 * 37);
    }
    ck_resizer_release(&r);
    ck_image_release(&im);
    ck_image_release(&one);
    ck_planes_release(&out);
    ck_planes_release(&alone);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct ck_image im = {0};
    int failures = 0;
    fill(&im, 30, 20, 5);
    int64_t live = ck_mem_stats().live;
    for (int64_t nth = 1;; nth++) {
        struct ck_resizer r = {0};
        struct ck_planes out = {0};
        ck_mem_fail_at(nth);
        int rc = ck_resize(&r, &im, (struct ck_box){0, 0, 30, 20}, CK_BILINEAR, 9, 8, &out);
        ck_mem_fail_at(0);
        if (rc)
            assert_int_equal(rc, COKE_ENOMEM);
        /* A failed call can be repeated. */
        assert_ok(ck_resize(&r, &im, (struct ck_box){0, 0, 30, 20}, CK_BILINEAR, 9, 8, &out));
        ck_resizer_release(&r);
        ck_planes_release(&out);
        assert_int_equal(ck_mem_stats().live, live);
        failures += rc != COKE_OK;
        if (rc == COKE_OK)
            break;
    }
    assert_int_equal(failures, 5);
    ck_image_release(&im);
}

static void the_second_time_nothing_is_allocated(void **state)
{
    (void)state;
    struct ck_resizer r = {0};
    struct ck_image im = {0};
    struct ck_planes out = {0};
    fill(&im, 90, 70, 3);
    assert_ok(ck_resize(&r, &im, (struct ck_box){0, 0, 90, 70}, CK_BICUBIC, 40, 40, &out));
    int64_t calls = ck_mem_stats().calls;
    for (int32_t side = 1; side <= 70; side += 3)
        assert_ok(
            ck_resize(&r, &im, (struct ck_box){0, 0, side, side}, CK_BILINEAR, 40, 40, &out));
    assert_int_equal(ck_mem_stats().calls, calls);
    ck_resizer_release(&r);
    ck_image_release(&im);
    ck_planes_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_of_the_wanted_size_is_copied),
        cmocka_unit_test(a_flat_image_stays_flat),
        cmocka_unit_test(halving_averages),
        cmocka_unit_test(channels_are_resampled_alone),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_second_time_nothing_is_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
