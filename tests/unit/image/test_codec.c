/* test_codec.c - valid files of every format, whole and in part; tests/py/test_pillow_codecs.py
 * compares many more with Pillow. */
#include "image_files.h"

static void kinds_are_told_by_content(void **state)
{
    (void)state;
    static const enum ck_codec_kind kinds[TEST_FILES] = {
        CK_CODEC_JPEG, CK_CODEC_JPEG, CK_CODEC_JPEG, CK_CODEC_PNG, CK_CODEC_PNG,
        CK_CODEC_WEBP, CK_CODEC_WEBP, CK_CODEC_BMP,  CK_CODEC_PNM, CK_CODEC_BMP,
        CK_CODEC_WEBP, CK_CODEC_WEBP, CK_CODEC_PNG,  CK_CODEC_GIF,
#ifdef COKE_HAVE_TIFF
        CK_CODEC_TIFF,
#endif
    };
    struct test_file f[TEST_FILES];
    struct ck_image_info info;
    test_files_make(f, 13, 9);
    for (int i = 0; i < TEST_FILES; i++) {
        assert_ok(ck_codec_probe(f[i].bytes, f[i].size, "wrong.gif", &info));
        assert_int_equal(info.kind, kinds[i]);
        assert_int_equal(info.orientation, 1);
        assert_int_equal(info.alpha, i >= 10);
        if (i < 8) {
            assert_int_equal(info.width, 13);
            assert_int_equal(info.height, 9);
            assert_int_equal(info.channels, strstr(f[i].name, "grey") ? 1 : 3);
            assert_int_equal(info.bits, 8);
        }
    }
    assert_string_equal(ck_codec_name(CK_CODEC_WEBP), "WebP");
    test_files_free(f);
}

static void lossless_kinds_give_the_pixels_back(void **state)
{
    (void)state;
    for (int side = 1; side <= 40; side += 13)
        for (int channels = 1; channels <= 3; channels += 2) {
            struct ck_image im = {0}, back = {0};
            struct ck_decoder d = {0};
            test_image_fill(&im, side, 2 * side, channels);
            struct test_file f[4] = {test_png("a.png", &im), test_pnm("a.ppm", &im)};
            int n = 2;
            if (channels == 3) {
                f[n++] = test_bmp("a.bmp", &im);
                f[n++] = test_webp("a.webp", &im, 1);
            }
            while (n-- > 0) {
                assert_ok(test_decode(&d, &f[n], &back));
                assert_int_equal(back.channels, channels);
                assert_memory_equal(back.data, im.data, (size_t)(2 * side * side * channels));
                free(f[n].bytes);
            }
            ck_image_release(&im);
            ck_image_release(&back);
            ck_decoder_release(&d);
        }
}

static double mean_error(const struct ck_image *a, const struct ck_image *b)
{
    double sum = 0;
    int n = a->width * a->height * a->channels;
    for (int i = 0; i < n; i++)
        sum += fabs((double)a->data[i] - (double)b->data[i]);
    return sum / n;
}

static void jpeg_gives_nearly_the_pixels_back(void **state)
{
    (void)state;
    struct ck_image im = {0}, back = {0};
    struct ck_decoder d = {0};
    assert_ok(ck_image_reshape(&im, 50, 34, 3));
    for (int i = 0; i < 50 * 34 * 3; i++)
        im.data[i] = (uint8_t)(i / 3 % 50 * 4 + i % 3 * 20);
    for (int quality = 75; quality <= 100; quality += 5) {
        struct test_file f = test_jpeg("a.jpg", &im, quality);
        assert_ok(test_decode(&d, &f, &back));
        assert_true(mean_error(&im, &back) < (quality < CK_JPEG_FULL_COLOR ? 4 : 1.5));
        free(f.bytes);
    }
    ck_image_release(&im);
    ck_image_release(&back);
    ck_decoder_release(&d);
}

static void rle_bitmaps_are_unpacked(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 4, 4);
    assert_ok(test_decode(&d, &f[9], &im));
    /* colours 0 = (3, 2, 1), 1 = (6, 5, 4); the lower row is a run of colour 1, the upper row
     * has three pixels given one by one and is left unfinished */
    static const uint8_t want[24] = {3, 2, 1, 6, 5, 4, 6, 5, 4, 3, 2, 1,
                                     6, 5, 4, 6, 5, 4, 6, 5, 4, 6, 5, 4};
    assert_int_equal(im.width, 4);
    assert_int_equal(im.height, 2);
    assert_memory_equal(im.data, want, sizeof want);
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

/* RLE4 with an odd number of literal pixels, a jump, and pixels beyond the row. */
static void rle4_jumps_and_overlong_runs_stay_inside(void **state)
{
    (void)state;
    static const char bytes[] = "BM\0\0\0\0\0\0\0\0\x42\0\0\0\x28\0\0\0\5\0\0\0\3\0\0\0\1\0\4\0"
                                "\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
                                "\0\0\0\0\1\1\1\0\2\2\2\0"
                                "\0\3\x12\x10\0\2\1\1\x14\x21\0\1";
    static const uint8_t want[15] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 0, 0};
    struct test_file f = test_file_of("rle4.bmp", bytes, sizeof bytes - 1);
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    assert_ok(test_decode(&d, &f, &im));
    assert_int_equal(im.channels, 1); /* a grey palette */
    assert_memory_equal(im.data, want, sizeof want);
    free(f.bytes);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static void a_part_has_the_bytes_of_the_whole(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image whole = {0}, part = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 100, 70);
    for (int i = 0; i < 8; i++) {
        struct ck_box want = {37, 22, 20, 17}, got;
        struct ck_decode_options o = {0};
        assert_ok(test_decode(&d, &f[i], &whole));
        assert_ok(ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &o, &want, &part, &got));
        assert_int_equal(part.width, got.width);
        assert_int_equal(part.height, got.height);
        assert_true(got.x <= 37 && got.y <= 22 && got.x + got.width >= 57);
        assert_true(got.y + got.height >= 39);
        assert_int_equal(i < 3, got.height < 70);
        int c = whole.channels;
        for (int y = 22; y < 39; y++)
            assert_memory_equal(part.data + ((y - got.y) * part.width + 37 - got.x) * c,
                                whole.data + (y * 100 + 37) * c, 20 * (size_t)c);
    }
    test_files_free(f);
    ck_image_release(&whole);
    ck_image_release(&part);
    ck_decoder_release(&d);
}

static void scaled_sides_are_rounded_up(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 101, 33);
    for (int i = 0; i < 8; i++)
        for (int scale = 1; scale <= 8; scale *= 2) {
            struct ck_decode_options o = {.scale = scale};
            struct ck_box got;
            int s = i < 3 ? scale : 1; /* only JPEG scales */
            assert_ok(ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &o, NULL, &im, &got));
            assert_int_equal(im.width, (101 + s - 1) / s);
            assert_int_equal(im.height, (33 + s - 1) / s);
            assert_int_equal(got.width, im.width);
        }
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

/* The JPEG file with an EXIF segment after its first marker. */
static struct test_file with_orientation(const struct test_file *f, int orientation)
{
    uint8_t segment[] = "\xff\xe1\0\x22"
                        "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0";
    size_t n = sizeof segment - 1;
    segment[29] = (uint8_t)orientation;
    struct test_file out = {f->name, test_array(f->size + n, 1), f->size + n};
    memcpy(out.bytes, f->bytes, 2);
    memcpy(out.bytes + 2, segment, n);
    memcpy(out.bytes + 2 + n, f->bytes + 2, f->size - 2);
    return out;
}

static void turning_gives_everything_upright(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image plain = {0}, turned = {0}, spare = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 30, 20);
    for (int o = 1; o <= 8; o++) {
        struct test_file g = with_orientation(&f[0], o);
        struct ck_decode_options options = {.orient = 1, .channels = 1};
        struct ck_box want = {3, 3, 4, 4}, got;
        struct ck_image_info info;
        assert_ok(ck_codec_probe(g.bytes, g.size, "x", &info));
        assert_int_equal(info.orientation, o);
        assert_int_equal(info.width, 30);
        assert_ok(test_decode(&d, &g, &plain));
        assert_ok(ck_image_to_channels(&plain, 1, &spare));
        assert_ok(ck_image_orient(&plain, o, &spare));
        assert_ok(ck_codec_decode(&d, g.bytes, g.size, "x", &options, o == 1 ? NULL : &want,
                                  &turned, &got));
        assert_int_equal(got.width, o < 5 ? 30 : 20);
        assert_int_equal(got.height, o < 5 ? 20 : 30);
        assert_memory_equal(turned.data, plain.data, 600);
        free(g.bytes);
    }
    test_files_free(f);
    ck_image_release(&plain);
    ck_image_release(&turned);
    ck_image_release(&spare);
    ck_decoder_release(&d);
}

/* The orientation is changed after the probe, which shows that the file is not probed again. */
static void decoding_uses_the_given_header(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image plain = {0}, given = {0}, spare = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 30, 20);
    for (int i = 0; i < TEST_FILES; i++) {
        struct ck_image_info info;
        struct ck_decode_options options = {
            .orient = 1, .background = test_white, .info = &info};
        struct ck_box got;
        assert_ok(ck_codec_probe(f[i].bytes, f[i].size, "x", &info));
        assert_ok(test_decode(&d, &f[i], &plain));
        assert_ok(ck_image_orient(&plain, 3, &spare));
        info.orientation = 3;
        assert_ok(
            ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &options, NULL, &given, &got));
        assert_int_equal(given.channels, plain.channels);
        assert_memory_equal(given.data, plain.data,
                            (size_t)(given.width * given.height * given.channels));
    }
    test_files_free(f);
    ck_image_release(&plain);
    ck_image_release(&given);
    ck_image_release(&spare);
    ck_decoder_release(&d);
}

/* Every file decodes with and without a background, and only transparent ones differ. */
static void a_background_shows_through_alpha_only(void **state)
{
    (void)state;
    static const uint8_t red[] = {255, 0, 0};
    struct test_file f[TEST_FILES];
    struct ck_image plain = {0}, on = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 30, 20);
    for (int i = 0; i < TEST_FILES; i++) {
        struct ck_decode_options o = {.channels = 3};
        struct ck_box got;
        assert_ok(ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &o, NULL, &plain, &got));
        o.background = red;
        assert_ok(ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &o, NULL, &on, &got));
        assert_int_equal(on.channels, 3);
        int same = memcmp(on.data, plain.data, (size_t)(3 * plain.width * plain.height)) == 0;
        assert_int_equal(same, i < 10);
    }
    test_files_free(f);
    ck_image_release(&plain);
    ck_image_release(&on);
    ck_decoder_release(&d);
}

static void the_same_kinds_again_allocate_nothing(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 64, 64);
    for (int i = 0; i < TEST_FILES; i++) {
        if (strstr(f[i].name, "png") || strstr(f[i].name, "tif")) /* states of libraries */
            continue;
        struct ck_decode_options o = {.channels = 1, .background = test_white};
        struct ck_box got;
        int64_t calls = 0;
        for (int round = 0; round < 4; round++) {
            if (round == 2)
                calls = ck_mem_stats().calls;
            assert_ok(ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &o, NULL, &im, &got));
        }
        assert_int_equal(ck_mem_stats().calls, calls);
    }
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

/* Finds a marker in the header of a JPEG file. */
static size_t find_marker(const struct test_file *f, uint8_t marker)
{
    for (size_t i = 0; i + 1 < f->size; i++)
        if (f->bytes[i] == 0xff && f->bytes[i + 1] == marker)
            return i;
    fail_msg("no marker %x", marker);
    return 0;
}

static void tables_of_one_jpeg_do_not_serve_the_next(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 16, 16);
    assert_ok(test_decode(&d, &f[2], &im));
    f[2].bytes[find_marker(&f[2], 0xdb) + 1] = 0xfe; /* the quantisers become a comment */
    assert_fails(test_decode(&d, &f[2], &im), COKE_EFORMAT, "grey.jpg: JPEG: Quantization");
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static void encoders_repeat_their_bytes_and_know_their_channels(void **state)
{
    (void)state;
    struct ck_image im = {0};
    unsigned char *bytes;
    size_t size;
    test_image_fill(&im, 33, 21, 3);
    struct test_file a[3] = {test_jpeg("a", &im, 80), test_png("a", &im), test_pnm("a", &im)};
    struct test_file b[3] = {test_jpeg("b", &im, 80), test_png("b", &im), test_pnm("b", &im)};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a[i].size, b[i].size);
        assert_memory_equal(a[i].bytes, b[i].bytes, a[i].size);
        free(a[i].bytes);
        free(b[i].bytes);
    }
    im.channels = 2;
    assert_fails(ck_jpeg_encode(&im, 80, &bytes, &size), COKE_EUSAGE, "2 channels");
    assert_fails(ck_png_encode(&im, &bytes, &size), COKE_EUSAGE, "2 channels");
    assert_fails(ck_pnm_encode(&im, &bytes, &size), COKE_EUSAGE, "2 channels");
    im.channels = 3;
    im.height = 0;
    assert_fails(ck_jpeg_encode(&im, 80, &bytes, &size), COKE_EUSAGE, "JPEG");
    assert_fails(ck_png_encode(&im, &bytes, &size), COKE_EUSAGE, "33 x 0 pixels as PNG");
    ck_image_release(&im);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_told_by_content),
        cmocka_unit_test(lossless_kinds_give_the_pixels_back),
        cmocka_unit_test(jpeg_gives_nearly_the_pixels_back),
        cmocka_unit_test(rle_bitmaps_are_unpacked),
        cmocka_unit_test(rle4_jumps_and_overlong_runs_stay_inside),
        cmocka_unit_test(a_part_has_the_bytes_of_the_whole),
        cmocka_unit_test(scaled_sides_are_rounded_up),
        cmocka_unit_test(turning_gives_everything_upright),
        cmocka_unit_test(decoding_uses_the_given_header),
        cmocka_unit_test(a_background_shows_through_alpha_only),
        cmocka_unit_test(the_same_kinds_again_allocate_nothing),
        cmocka_unit_test(tables_of_one_jpeg_do_not_serve_the_next),
        cmocka_unit_test(encoders_repeat_their_bytes_and_know_their_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
