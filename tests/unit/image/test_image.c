/* test_image.c - memory of images, layouts, channels, orientation. */
#include "support.h"
#include "core/mem.h"
#include "image/image.h"

static void fill(struct ck_image *im, int32_t width, int32_t height, int32_t channels)
{
    assert_ok(ck_image_reshape(im, width, height, channels));
    for (int i = 0; i < width * height * channels; i++)
        im->data[i] = (uint8_t)(i * 7 + i / 5);
}

static void an_image_that_fits_allocates_nothing(void **state)
{
    (void)state;
    struct ck_image im = {0};
    struct ck_planes p = {0};
    assert_ok(ck_image_reshape(&im, 40, 30, 3));
    assert_ok(ck_planes_reshape(&p, 40, 30, 3));
    int64_t calls = ck_mem_stats().calls;
    assert_ok(ck_image_reshape(&im, 60, 20, 3));
    assert_ok(ck_planes_reshape(&p, 1, 1, 1));
    assert_ok(ck_planes_from_image(&p, &im));
    assert_int_equal(ck_mem_stats().calls, calls);
    assert_int_equal(im.width * im.height, 1200);
    ck_image_release(&im);
    ck_planes_release(&p);
    assert_null(im.data);
}

static void the_slack_can_be_written(void **state)
{
    (void)state;
    struct ck_image im = {0};
    assert_ok(ck_image_reshape(&im, 3, 5, 3));
    memset(im.data + 45, 1, CK_IMAGE_SLACK);
    ck_image_release(&im);
}

static void a_failed_reshape_leaves_an_empty_image(void **state)
{
    (void)state;
    struct ck_image im = {0};
    fill(&im, 4, 4, 3);
    ck_mem_fail_at(1);
    assert_int_equal(ck_image_reshape(&im, 400, 400, 3), COKE_ENOMEM);
    assert_int_equal(im.width, 0);
    assert_int_equal(im.capacity, 0);
    fill(&im, 4, 4, 1);
    ck_image_release(&im);
}

static void layouts_there_and_back_are_the_same(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 5; channels++) {
        struct ck_image im = {0}, back = {0};
        struct ck_planes p = {0};
        fill(&im, 7, 3, channels);
        assert_ok(ck_planes_from_image(&p, &im));
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < 21; i++)
                assert_int_equal(p.data[c * 21 + i], im.data[i * channels + c]);
        assert_ok(ck_image_from_planes(&back, &p));
        assert_memory_equal(back.data, im.data, 21 * (size_t)channels);
        ck_image_release(&im);
        ck_image_release(&back);
        ck_planes_release(&p);
    }
}

static void grey_is_pillows(void **state)
{
    (void)state;
    /* Image.new("RGB", (1, 1), c).convert("L") of Pillow */
    static const uint8_t rgb[][3] = {{255, 255, 255}, {255, 0, 0}, {0, 255, 0},
                                     {0, 0, 255},     {1, 2, 3},   {10, 200, 77},
                                     {128, 127, 126}};
    static const uint8_t grey[] = {255, 76, 150, 29, 2, 129, 127};
    struct ck_image im = {0}, spare = {0};
    assert_ok(ck_image_reshape(&im, 7, 1, 3));
    memcpy(im.data, rgb, sizeof rgb);
    assert_ok(ck_image_to_channels(&im, 1, &spare));
    assert_int_equal(im.channels, 1);
    assert_memory_equal(im.data, grey, sizeof grey);
    assert_ok(ck_image_to_channels(&im, 3, &spare));
    for (int i = 0; i < 21; i++)
        assert_int_equal(im.data[i], grey[i / 3]);
    assert_fails(ck_image_to_channels(&im, 2, &spare), COKE_EFORMAT,
                 "3 channels; 2 were requested");
    ck_image_release(&im);
    ck_image_release(&spare);
}

/* The image 1 2 3 / 4 5 6 as it is stored under each orientation. */
static void every_orientation_turns_upright(void **state)
{
    (void)state;
    static const struct {
        int orientation, width;
        uint8_t stored[6];
    } cases[] = {{1, 3, {1, 2, 3, 4, 5, 6}}, {2, 3, {3, 2, 1, 6, 5, 4}},
                 {3, 3, {6, 5, 4, 3, 2, 1}}, {4, 3, {4, 5, 6, 1, 2, 3}},
                 {5, 2, {1, 4, 2, 5, 3, 6}}, {6, 2, {3, 6, 2, 5, 1, 4}},
                 {7, 2, {6, 3, 5, 2, 4, 1}}, {8, 2, {4, 1, 5, 2, 6, 3}}};
    static const uint8_t upright[6] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ck_image im = {0}, spare = {0};
        assert_ok(ck_image_reshape(&im, cases[i].width, 6 / cases[i].width, 1));
        memcpy(im.data, cases[i].stored, 6);
        assert_ok(ck_image_orient(&im, cases[i].orientation, &spare));
        assert_int_equal(im.width, 3);
        assert_int_equal(im.height, 2);
        assert_memory_equal(im.data, upright, 6);
        ck_image_release(&im);
        ck_image_release(&spare);
    }
}

/* Every alpha on every sample, rounded to the nearest. */
static void compositing_rounds_to_the_nearest(void **state)
{
    (void)state;
    struct ck_image im = {0}, spare = {0};
    const uint8_t white[] = {255, 255, 255}, red[] = {255, 0, 0};
    assert_ok(ck_image_reshape(&im, 256, 256, 2));
    for (int i = 0; i < 65536; i++) {
        im.data[2 * i] = (uint8_t)(i / 256);
        im.data[2 * i + 1] = (uint8_t)(i % 256);
    }
    assert_ok(ck_image_composite(&im, white, &spare));
    assert_int_equal(im.channels, 1);
    for (int i = 0; i < 65536; i++) {
        double a = i % 256 / 255.0, want = i / 256 * a + 255 * (1 - a);
        assert_true(fabs(im.data[i] - want) <= 0.5 + 1e-9);
    }
    assert_fails(ck_image_composite(&im, white, &spare), COKE_EFORMAT, "no alpha");
    assert_ok(ck_image_reshape(&im, 1, 1, 2));
    memcpy(im.data, "\x64\0", 2);
    assert_ok(ck_image_composite(&im, red, &spare));
    assert_int_equal(im.channels, 3);
    assert_memory_equal(im.data, red, 3);
    ck_image_release(&im);
    ck_image_release(&spare);
}

static void turning_without_memory_fails_and_keeps_the_image(void **state)
{
    (void)state;
    struct ck_image im = {0}, spare = {0};
    fill(&im, 30, 20, 3);
    ck_mem_fail_at(1);
    assert_int_equal(ck_image_orient(&im, 6, &spare), COKE_ENOMEM);
    assert_int_equal(im.width, 30);
    ck_mem_fail_at(1);
    assert_int_equal(ck_image_to_channels(&im, 1, &spare), COKE_ENOMEM);
    assert_int_equal(im.channels, 3);
    im.channels = 2;
    ck_mem_fail_at(1);
    assert_int_equal(ck_image_composite(&im, im.data, &spare), COKE_ENOMEM);
    assert_int_equal(im.channels, 2);
    ck_image_release(&im);
    ck_image_release(&spare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_that_fits_allocates_nothing),
        cmocka_unit_test(the_slack_can_be_written),
        cmocka_unit_test(a_failed_reshape_leaves_an_empty_image),
        cmocka_unit_test(layouts_there_and_back_are_the_same),
        cmocka_unit_test(grey_is_pillows),
        cmocka_unit_test(every_orientation_turns_upright),
        cmocka_unit_test(compositing_rounds_to_the_nearest),
        cmocka_unit_test(turning_without_memory_fails_and_keeps_the_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
