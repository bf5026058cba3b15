/* test_codec_bad.c - damaged, truncated, inconsistent and huge files, and memory that runs
 * out. */
#include "image_files.h"

#include <jpeglib.h>
#include <zlib.h>

/* Decodes a copy of just the first n bytes. */
static int decode_first(struct ck_decoder *d, const struct test_file *f, size_t n,
                        struct ck_image *out)
{
    struct test_file cut = test_file_of(f->name, f->bytes, n);
    int rc = test_decode(d, &cut, out);
    free(cut.bytes);
    return rc;
}

static void files_cut_anywhere_are_refused(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 12, 10);
    for (int i = 0; i < TEST_FILES; i++) {
        /* the last number of a plain file may lose digits unnoticed */
        size_t most = strstr(f[i].name, "plain") ? f[i].size - 2 : f[i].size - 1;
        for (size_t n = 0; n <= most; n++) {
            int rc = decode_first(&d, &f[i], n, &im);
            if (rc != COKE_EFORMAT || !strstr(coke_last_error(), f[i].name))
                fail_msg("%s cut to %zu of %zu bytes: %d, %s", f[i].name, n, f[i].size, rc,
                         coke_last_error());
        }
        assert_ok(decode_first(&d, &f[i], f[i].size, &im));
    }
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static void a_cut_jpeg_is_refused_whichever_part_is_wanted(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    struct ck_decode_options o = {0};
    struct ck_box top = {0, 0, 30, 8}, got;
    test_files_make(f, 60, 50);
    for (int i = 0; i < 3; i++) {
        assert_ok(ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &o, &top, &im, &got));
        assert_fails(ck_codec_decode(&d, f[i].bytes, f[i].size - 1, "x", &o, &top, &im, &got),
                     COKE_EFORMAT, "x: truncated JPEG file");
    }
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static void any_changed_byte_is_survived(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 12, 10);
    for (int i = 0; i < TEST_FILES; i++)
        for (size_t at = 0; at < f[i].size; at++)
            for (int bit = 0; bit < 9; bit++) {
                uint8_t was = f[i].bytes[at];
                f[i].bytes[at] = (uint8_t)(bit == 8 ? 0xff : was ^ (1 << bit));
                struct ck_decode_options o = {
                    .max_pixels = 1 << 16, .orient = 1, .background = test_white};
                struct ck_box got;
                int rc =
                    ck_codec_decode(&d, f[i].bytes, f[i].size, f[i].name, &o, NULL, &im, &got);
                assert_true(rc == COKE_OK || rc == COKE_EFORMAT);
                f[i].bytes[at] = was;
            }
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static void strangers_are_named(void **state)
{
    (void)state;
    struct ck_image_info info;
    assert_fails(ck_codec_probe("", 0, "a.jpg", &info), COKE_EFORMAT, "a.jpg: empty file");
    static const char *others[] = {"GIF88a", "hello, world", "P7\nWIDTH",  "P5", "\xff\xd8",
                                   "B",      "RIFF____AVI ", "\x89PNG\r\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_fails(ck_codec_probe(others[i], strlen(others[i]), "b.png", &info), COKE_EFORMAT,
                     "b.png: not an image of a known format");
    assert_fails(ck_codec_probe("\0\0\0\x0cjP  \r\n\x87\n", 12, "c.jp2", &info), COKE_EFORMAT,
                 "c.jp2: JPEG 2000 images are not supported");
    assert_fails(ck_codec_probe("\0\0\0\x18"
                                "ftypheic",
                                12, "c.heic", &info),
                 COKE_EFORMAT, "c.heic: HEIC images are not supported");
}

static void damaged_gifs_are_named(void **state)
{
    (void)state;
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    struct test_file f = test_gif("x.gif");
    uint8_t *data = f.bytes + f.size - 6; /* code size, block size, codes */
    assert_ok(test_decode(&d, &f, &im));
    data[0] = 9;
    assert_fails(test_decode(&d, &f, &im), COKE_EFORMAT, "x.gif: a GIF image with codes of 9");
    data[0] = 2;
    data[2] = 0xfc; /* clear, then a code that is not known yet */
    assert_fails(test_decode(&d, &f, &im), COKE_EFORMAT, "x.gif: damaged GIF image");
    data[2] = 0x2c; /* clear, end */
    assert_fails(test_decode(&d, &f, &im), COKE_EFORMAT, "x.gif: truncated GIF file");
    data[-5] = 0; /* the width of the frame */
    assert_fails(test_decode(&d, &f, &im), COKE_EFORMAT, "x.gif: a GIF frame of 0 x 2");
    f.bytes[33] = ';';
    assert_fails(test_decode(&d, &f, &im), COKE_EFORMAT,
                 "x.gif: the GIF file contains no image");
    free(f.bytes);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

/* ---- bombs ---- */

static void set_be32(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* Changes the sides in the header and corrects its checksum. */
static void lie_png(struct test_file *f, uint32_t width, uint32_t height)
{
    set_be32(f->bytes + 16, width);
    set_be32(f->bytes + 20, height);
    set_be32(f->bytes + 29, (uint32_t)crc32(0, f->bytes + 12, 17));
}

static void too_many_pixels_cost_no_memory(void **state)
{
    (void)state;
    struct ck_image im = {0}, small = {0};
    struct ck_decoder d = {0};
    test_image_fill(&small, 8, 8, 3);
    struct test_file png = test_png("x.png", &small);
    struct test_file pnm = test_file_of("x.ppm", "P6 20000 20000 255 ", 19);
    struct test_file bmp = test_bmp("x.bmp", &small);
    struct test_file jpg = test_jpeg("x.jpg", &small, 80);
    lie_png(&png, 20000, 20000);
    memcpy(bmp.bytes + 18, "\x20\x4e\0\0\x20\x4e\0\0", 8);
    for (size_t i = 0; i < jpg.size; i++)
        if (jpg.bytes[i] == 0xff && jpg.bytes[i + 1] == 0xc0) {
            memcpy(jpg.bytes + i + 5, "\x4e\x20\x4e\x20", 4);
            break;
        }
    struct test_file *files[] = {&png, &pnm, &bmp, &jpg};
    ck_mem_reset_peak();
    int64_t before = ck_mem_stats().peak_bytes;
    for (int i = 0; i < 4; i++) {
        assert_fails(test_decode(&d, files[i], &im), COKE_EFORMAT,
                     ": 20000 x 20000 pixels, more than the limit of 178956970 (max-pixels)");
        assert_memory_equal(coke_last_error(), files[i]->name, 5);
    }
    assert_true(ck_mem_stats().peak_bytes - before < 100000);
    for (int i = 0; i < 4; i++)
        free(files[i]->bytes);
    ck_image_release(&small);
    ck_decoder_release(&d);
}

static void the_limit_is_exact(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    struct ck_box got;
    test_files_make(f, 12, 10);
    for (int i = 0; i < 8; i++) {
        struct ck_decode_options o = {.max_pixels = 120};
        assert_ok(ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &o, NULL, &im, &got));
        o.max_pixels = 119;
        assert_fails(ck_codec_decode(&d, f[i].bytes, f[i].size, "x", &o, NULL, &im, &got),
                     COKE_EFORMAT, "x: 12 x 10 pixels, more than the limit of 119");
    }
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static void sides_out_of_range_are_refused(void **state)
{
    (void)state;
    static const char *pnm[] = {"P5 0 5 255 ",  "P5 65536 1 255 ", "P5 1 99999999999 255 ",
                                "P5 -3 1 255 ", "P5 3 3 0 ",       "P5 3 3 65536 ",
                                "P6 3"};
    struct ck_image im = {0}, small = {0};
    struct ck_image_info info;
    for (size_t i = 0; i < sizeof pnm / sizeof *pnm; i++)
        assert_int_equal(ck_codec_probe(pnm[i], strlen(pnm[i]), "x", &info), COKE_EFORMAT);
    test_image_fill(&small, 8, 8, 3);
    struct test_file png = test_png("x.png", &small), bmp = test_bmp("x.bmp", &small);
    static const uint32_t sides[] = {0, 65536, 0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        lie_png(&png, sides[i], 8);
        assert_fails(ck_codec_probe(png.bytes, png.size, "x", &info), COKE_EFORMAT,
                     "sides must be");
        lie_png(&png, 8, sides[i]);
        assert_fails(ck_codec_probe(png.bytes, png.size, "x", &info), COKE_EFORMAT,
                     "sides must be");
    }
    static const char *heights[] = {"\0\0\0\0", "\0\0\1\0", "\0\0\0\x80", "\xff\xff\xff\x7f"};
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        memcpy(bmp.bytes + 22, heights[i], 4);
        assert_fails(ck_codec_probe(bmp.bytes, bmp.size, "x", &info), COKE_EFORMAT,
                     "sides must be");
    }
    free(png.bytes);
    free(bmp.bytes);
    ck_image_release(&im);
    ck_image_release(&small);
}

static void headers_that_promise_more_than_the_file_has_cost_no_memory(void **state)
{
    (void)state;
    static const char *lies[] = {"P6 10000 10000 255 abc", "P1 10000 10000 0101",
                                 "P3 9999 9999 255 1 2 3", "P4 10000 10000 abc",
                                 "P5 10000 10000 65535 abcdef"};
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    ck_mem_reset_peak();
    int64_t before = ck_mem_stats().peak_bytes;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct test_file f = test_file_of("lie.pnm", lies[i], strlen(lies[i]));
        assert_fails(test_decode(&d, &f, &im), COKE_EFORMAT, "lie.pnm: truncated PNM file");
        free(f.bytes);
    }
    assert_int_equal(ck_mem_stats().peak_bytes, before);
}

/* f with a chunk after its header. */
static struct test_file with_chunk(const struct test_file *f, const char *tag, const void *body,
                                   size_t n)
{
    struct test_file out = {f->name, test_array(f->size + n + 12, 1), f->size + n + 12};
    uint8_t *p = out.bytes + 33;
    memcpy(out.bytes, f->bytes, 33);
    set_be32(p, (uint32_t)n);
    memcpy(p + 4, tag, 4);
    memcpy(p + 8, body, n);
    set_be32(p + 8 + n, (uint32_t)crc32(0, p + 4, (uInt)n + 4));
    memcpy(p + 12 + n, f->bytes + 33, f->size - 33);
    return out;
}

static void texts_and_profiles_of_a_png_are_not_unpacked(void **state)
{
    (void)state;
    enum { UNPACKED = 1 << 25 };
    struct ck_image small = {0}, im = {0};
    struct ck_decoder d = {0};
    test_image_fill(&small, 8, 8, 3);
    struct test_file png = test_png("x.png", &small);
    uint8_t *zeros = test_array(UNPACKED, 1), *packed = test_array(UNPACKED, 1);
    uLongf n = UNPACKED - 3;
    memcpy(packed, "a\0", 3); /* a keyword and the compression method */
    assert_int_equal(compress(packed + 3, &n, zeros, UNPACKED), Z_OK);
    static const char *tags[] = {"zTXt", "iCCP", "tEXt", "prIv"};
    for (int i = 0; i < 4; i++) {
        struct test_file f = with_chunk(&png, tags[i], packed, n + 3);
        ck_mem_reset_peak();
        int64_t before = ck_mem_stats().peak_bytes;
        assert_ok(test_decode(&d, &f, &im));
        assert_memory_equal(im.data, small.data, 192);
        assert_true(ck_mem_stats().peak_bytes - before < 200000);
        f.bytes[33 + 8 + n / 2] ^= 1; /* a wrong checksum */
        assert_fails(test_decode(&d, &f, &im), COKE_EFORMAT, "x.png: PNG: ");
        free(f.bytes);
    }
    free(zeros);
    free(packed);
    free(png.bytes);
    ck_image_release(&small);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static const jpeg_scan_info sequential[3] = {
    {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
/* The last scan of a flat image has a few bytes for thousands of blocks. */
static const jpeg_scan_info progressive[3] = {
    {3, {0, 1, 2}, 0, 0, 0, 0}, {1, {1}, 1, 63, 0, 0}, {1, {0}, 1, 63, 0, 0}};

/* A black square JPEG in three scans, the last of which is repeated `times` times. */
static struct test_file many_scans(const jpeg_scan_info *scans, unsigned side, int times)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL, row[3 * 512] = {0};
    unsigned long size = 0;
    JSAMPROW rows = row;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &size);
    c.image_width = c.image_height = side;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    c.scan_info = scans;
    c.num_scans = 3;
    jpeg_start_compress(&c, TRUE);
    for (unsigned y = 0; y < side; y++)
        jpeg_write_scanlines(&c, &rows, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    size_t start = size - 2, at;
    while (bytes[start] != 0xff || bytes[start + 1] != 0xda)
        start--;
    size_t scan = size - 2 - start;
    struct test_file f = {"scans.jpg", NULL, size + scan * (size_t)(times - 1)};
    f.bytes = test_array(f.size, 1);
    memcpy(f.bytes, bytes, start);
    for (at = start; at < f.size - 2; at += scan)
        memcpy(f.bytes + at, bytes + start, scan);
    memcpy(f.bytes + at, "\xff\xd9", 2);
    free(bytes);
    return f;
}

static void endless_scans_are_refused(void **state)
{
    (void)state;
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    struct test_file some = many_scans(sequential, 16, 20),
                     many = many_scans(sequential, 16, 2000);
    assert_ok(test_decode(&d, &some, &im));
    assert_fails(test_decode(&d, &many, &im), COKE_EFORMAT,
                 "scans.jpg: JPEG: implausibly many scans");
    free(some.bytes);
    free(many.bytes);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static void scans_are_limited_by_their_cost(void **state)
{
    (void)state;
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    struct test_file some = many_scans(progressive, 512, 20),
                     many = many_scans(progressive, 512, 100);
    assert_ok(test_decode(&d, &some, &im));
    assert_fails(test_decode(&d, &many, &im), COKE_EFORMAT,
                 "scans.jpg: JPEG: implausibly many scans");
    free(some.bytes);
    free(many.bytes);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

/* ---- unsupported formats and invalid arguments ---- */

static void refusals_say_what_is_not_supported(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    test_files_make(f, 12, 10);
    f[7].bytes[30] = 4; /* a JPEG inside a BMP */
    assert_fails(test_decode(&d, &f[7], &im), COKE_EFORMAT, "24 bits and compression 4");
    f[7].bytes[30] = 0;
    f[7].bytes[28] = 2;
    assert_fails(test_decode(&d, &f[7], &im), COKE_EFORMAT, "2 bits and compression 0");
    f[7].bytes[14] = 13;
    assert_fails(test_decode(&d, &f[7], &im), COKE_EFORMAT, "a BMP header of 13 bytes");
    for (size_t i = 0; i < f[0].size; i++)
        if (f[0].bytes[i] == 0xff && f[0].bytes[i + 1] == 0xc0) {
            f[0].bytes[i + 9] = 2;
            assert_fails(test_decode(&d, &f[0], &im), COKE_EFORMAT, "JPEG has 2 components");
            f[0].bytes[i + 9] = 3;
            f[0].bytes[i + 4] = 12;
            assert_fails(test_decode(&d, &f[0], &im), COKE_EFORMAT, "half.jpg: JPEG: ");
            break;
        }
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

static void arguments_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    struct ck_image im = {0};
    struct ck_decoder d = {0};
    struct ck_box got;
    struct ck_decode_options o = {.scale = 3}, two = {.channels = 2}, plain = {0};
    static const struct ck_box boxes[] = {{-1, 0, 3, 3},
                                          {0, -1, 3, 3},
                                          {0, 0, 0, 3},
                                          {0, 0, 3, 0},
                                          {5, 0, 8, 3},
                                          {0, 8, 3, 3},
                                          {INT32_MAX, 0, INT32_MAX, 1}};
    test_files_make(f, 12, 10);
    assert_fails(ck_codec_decode(&d, f[0].bytes, f[0].size, "x", &o, NULL, &im, &got),
                 COKE_EUSAGE, "at 1/3");
    assert_fails(ck_codec_decode(&d, f[0].bytes, f[0].size, "x", &two, NULL, &im, &got),
                 COKE_EUSAGE, "to 2 channels");
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        assert_fails(
            ck_codec_decode(&d, f[0].bytes, f[0].size, "x", &plain, &boxes[i], &im, &got),
            COKE_EUSAGE, "not inside the 12 x 10 image");
    test_files_free(f);
    ck_image_release(&im);
    ck_decoder_release(&d);
}

/* ---- memory ---- */

/* Everything that allocates for one file. */
static int decode_all_ways(const struct test_file *f)
{
    struct ck_decoder d = {0};
    struct ck_image im = {0};
    struct ck_decode_options o = {.channels = 1};
    struct ck_box got;
    int rc = ck_codec_decode(&d, f->bytes, f->size, f->name, &o, NULL, &im, &got);
    o.channels = 3;
    if (!rc)
        rc = ck_codec_decode(&d, f->bytes, f->size, f->name, &o, NULL, &im, &got);
    ck_decoder_release(&d);
    ck_image_release(&im);
    return rc;
}

static int encode_all_ways(const struct ck_image *im)
{
    unsigned char *bytes;
    size_t size;
    int rc = ck_jpeg_encode(im, 100, &bytes, &size);
    if (rc)
        return rc;
    ck_free(bytes);
    rc = ck_png_encode(im, &bytes, &size);
    if (rc)
        return rc;
    ck_free(bytes);
    rc = ck_pnm_encode(im, &bytes, &size);
    if (!rc)
        ck_free(bytes);
    return rc;
}

static void every_allocation_may_fail_in_decoding(void **state)
{
    (void)state;
    struct test_file f[TEST_FILES];
    test_files_make(f, 20, 20);
    int64_t live = ck_mem_stats().live;
    for (int i = 0; i < TEST_FILES; i++) {
        int failures = 0;
        for (int nth = 1, rc = COKE_ENOMEM; rc; nth++, failures++) {
            ck_mem_fail_at(nth);
            rc = decode_all_ways(&f[i]);
            ck_mem_fail_at(0);
            if (rc && rc != COKE_ENOMEM)
                fail_msg("%s, allocation %d: %d, %s", f[i].name, nth, rc, coke_last_error());
            assert_int_equal(ck_mem_stats().live, live);
        }
        assert_true(failures > 1);
    }
    test_files_free(f);
}

static void every_allocation_may_fail_in_encoding(void **state)
{
    (void)state;
    struct ck_image im = {0};
    assert_ok(ck_image_reshape(&im, 300, 200, 3));
    for (int i = 0; i < 300 * 200 * 3; i++)
        im.data[i] = (uint8_t)(ck_rng_u32(1, TEST_STREAM, (uint64_t)i, 0));
    int64_t live = ck_mem_stats().live;
    int failures = 0;
    for (int nth = 1, rc = COKE_ENOMEM; rc; nth++, failures++) {
        ck_mem_fail_at(nth);
        rc = encode_all_ways(&im);
        ck_mem_fail_at(0);
        if (rc && rc != COKE_ENOMEM)
            fail_msg("allocation %d: %d, %s", nth, rc, coke_last_error());
        assert_int_equal(ck_mem_stats().live, live);
    }
    assert_true(failures > 8);
    ck_image_release(&im);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_cut_anywhere_are_refused),
        cmocka_unit_test(a_cut_jpeg_is_refused_whichever_part_is_wanted),
        cmocka_unit_test(any_changed_byte_is_survived),
        cmocka_unit_test(strangers_are_named),
        cmocka_unit_test(damaged_gifs_are_named),
        cmocka_unit_test(too_many_pixels_cost_no_memory),
        cmocka_unit_test(the_limit_is_exact),
        cmocka_unit_test(sides_out_of_range_are_refused),
        cmocka_unit_test(headers_that_promise_more_than_the_file_has_cost_no_memory),
        cmocka_unit_test(texts_and_profiles_of_a_png_are_not_unpacked),
        cmocka_unit_test(endless_scans_are_refused),
        cmocka_unit_test(scans_are_limited_by_their_cost),
        cmocka_unit_test(refusals_say_what_is_not_supported),
        cmocka_unit_test(arguments_that_cannot_be_are_refused),
        cmocka_unit_test(every_allocation_may_fail_in_decoding),
        cmocka_unit_test(every_allocation_may_fail_in_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
