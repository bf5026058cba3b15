/* test_avif.c - AVIF files that libavif wrote, whole and damaged. Exit code 77: built without. */
#include "image_files.h"

#ifndef COKE_HAVE_AVIF

int main(void)
{
    puts("built without AVIF");
    return 77;
}

#else

#include <avif/avif.h>

/* Without loss: identity instead of YUV, and all of it. */
static struct test_file make(const char *name, const struct ck_image *im)
{
    avifImage *a =
        avifImageCreate((uint32_t)im->width, (uint32_t)im->height, 8, AVIF_PIXEL_FORMAT_YUV444);
    avifEncoder *e = avifEncoderCreate();
    avifRGBImage rgb;
    avifRWData out = AVIF_DATA_EMPTY;
    assert_true(a && e);
    a->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_IDENTITY;
    a->yuvRange = AVIF_RANGE_FULL;
    avifRGBImageSetDefaults(&rgb, a);
    rgb.format = im->channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
    rgb.depth = 8;
    rgb.pixels = im->data;
    rgb.rowBytes = (uint32_t)(im->width * im->channels);
    assert_int_equal(avifImageRGBToYUV(a, &rgb), AVIF_RESULT_OK);
    e->minQuantizer = e->maxQuantizer = e->minQuantizerAlpha = e->maxQuantizerAlpha = 0;
    e->speed = 10;
    e->maxThreads = 1;
    assert_int_equal(avifEncoderWrite(e, a, &out), AVIF_RESULT_OK);
    struct test_file f = test_file_of(name, out.data, out.size);
    avifRWDataFree(&out);
    avifEncoderDestroy(e);
    avifImageDestroy(a);
    return f;
}

static void pixels_come_back(void **state)
{
    (void)state;
    struct ck_image im = {0}, back = {0}, spare = {0};
    struct ck_decoder d = {0};
    struct ck_image_info info;
    for (int channels = 3; channels <= 4; channels++) {
        test_image_fill(&im, 21, 14, channels);
        struct test_file f = make("x.avif", &im);
        assert_ok(ck_codec_probe(f.bytes, f.size, f.name, &info));
        assert_int_equal(info.kind, CK_CODEC_AVIF);
        assert_true(info.width == 21 && info.height == 14 && info.channels == 3);
        assert_int_equal(info.alpha, channels == 4);
        assert_ok(test_decode(&d, &f, &back));
        if (channels == 4)
            assert_ok(ck_image_composite(&im, test_white, &spare));
        assert_int_equal(back.channels, 3);
        assert_memory_equal(back.data, im.data, 3 * 21 * 14);
        free(f.bytes);
    }
    ck_image_release(&im);
    ck_image_release(&back);
    ck_image_release(&spare);
    ck_decoder_release(&d);
}

static void damage_is_survived(void **state)
{
    (void)state;
    struct ck_image im = {0}, back = {0};
    struct ck_decoder d = {0};
    test_image_fill(&im, 6, 5, 4);
    struct test_file f = make("x.avif", &im);
    for (size_t n = 0; n < f.size; n += 3) {
        struct test_file cut = test_file_of("cut.avif", f.bytes, n);
        assert_fails(test_decode(&d, &cut, &back), COKE_EFORMAT, "cut.avif: ");
        free(cut.bytes);
    }
    for (size_t at = 0; at < f.size; at++) {
        f.bytes[at] ^= 0xff;
        int rc = test_decode(&d, &f, &back);
        assert_true(rc == COKE_OK || rc == COKE_EFORMAT);
        f.bytes[at] ^= 0xff;
    }
    free(f.bytes);
    ck_image_release(&im);
    ck_image_release(&back);
    ck_decoder_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_come_back),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests_name("avif", tests, NULL, NULL);
}

#endif
