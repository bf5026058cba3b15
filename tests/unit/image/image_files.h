/* image_files.h - small files of every format for the tests of the codecs. */
#ifndef CK_IMAGE_FILES_H
#define CK_IMAGE_FILES_H

#include "support.h"
#include "core/mem.h"
#include "image/codec.h"

#include <webp/encode.h>
#include <zlib.h>

/* Heap copies of exactly this size, so that the sanitizer sees an over-read. */
struct test_file {
    const char *name;
    unsigned char *bytes;
    size_t size;
};

#ifdef COKE_HAVE_TIFF
enum { TEST_FILES = 15 };
#else
enum { TEST_FILES = 14 };
#endif

static inline void test_image_fill(struct ck_image *im, int32_t width, int32_t height,
                                   int32_t channels)
{
    assert_ok(ck_image_reshape(im, width, height, channels));
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width * channels; x++)
            im->data[y * width * channels + x] =
                (uint8_t)(x * (5 + y % 3) + y * 11 + (x % channels) * 40);
}

static inline struct test_file test_file_of(const char *name, const void *bytes, size_t size)
{
    struct test_file f = {name, test_array(size, 1), size};
    memcpy(f.bytes, bytes, size);
    return f;
}

/* Takes ownership of an encoder's output. */
static inline struct test_file test_file_take(const char *name, unsigned char *bytes,
                                              size_t size)
{
    struct test_file f = test_file_of(name, bytes, size);
    ck_free(bytes);
    return f;
}

static inline struct test_file test_jpeg(const char *name, const struct ck_image *im,
                                         int quality)
{
    unsigned char *bytes;
    size_t size;
    assert_ok(ck_jpeg_encode(im, quality, &bytes, &size));
    return test_file_take(name, bytes, size);
}

static inline struct test_file test_png(const char *name, const struct ck_image *im)
{
    unsigned char *bytes;
    size_t size;
    assert_ok(ck_png_encode(im, &bytes, &size));
    return test_file_take(name, bytes, size);
}

static inline struct test_file test_pnm(const char *name, const struct ck_image *im)
{
    unsigned char *bytes;
    size_t size;
    assert_ok(ck_pnm_encode(im, &bytes, &size));
    return test_file_take(name, bytes, size);
}

static inline struct test_file test_webp(const char *name, const struct ck_image *im,
                                         int lossless)
{
    uint8_t *bytes;
    int width = im->width, height = im->height;
    size_t size = lossless ? WebPEncodeLosslessRGB(im->data, width, height, 3 * width, &bytes)
                           : WebPEncodeRGB(im->data, width, height, 3 * width, 80, &bytes);
    assert_true(size > 0);
    struct test_file f = test_file_of(name, bytes, size);
    WebPFree(bytes);
    return f;
}

/* The same with alpha, of 4 channels. */
static inline struct test_file test_webp_alpha(const char *name, const struct ck_image *im,
                                               int lossless)
{
    uint8_t *bytes;
    int width = im->width, height = im->height;
    size_t size = lossless ? WebPEncodeLosslessRGBA(im->data, width, height, 4 * width, &bytes)
                           : WebPEncodeRGBA(im->data, width, height, 4 * width, 80, &bytes);
    assert_true(size > 0);
    struct test_file f = test_file_of(name, bytes, size);
    WebPFree(bytes);
    return f;
}

static inline void test_chunk_add(struct test_file *f, const char *tag, const uint8_t *body,
                                  uint32_t n)
{
    uint8_t *at = f->bytes + f->size;
    const uint32_t numbers[] = {n, 0};
    memcpy(at + 4, tag, 4);
    if (n)
        memcpy(at + 8, body, n);
    uint32_t crc = (uint32_t)crc32(0, at + 4, n + 4);
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(numbers[0] >> (24 - 8 * i));
        at[8 + n + (uint32_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    }
    f->size += n + 12;
}

/* A palette of four colours, one transparent and one nearly: two bits per pixel. */
static inline struct test_file test_png_palette(const char *name, int32_t width, int32_t height)
{
    uint8_t head[13] = {[3] = (uint8_t)width, [7] = (uint8_t)height, [8] = 2, [9] = 3};
    uint8_t rows[4096], packed[4096];
    size_t stride = 1 + ((size_t)width + 3) / 4;
    uLongf size = sizeof packed;
    for (size_t i = 0; i < stride * (size_t)height; i++)
        rows[i] = (uint8_t)(i % stride ? i * 37 : 0);
    assert_int_equal(compress(packed, &size, rows, stride * (size_t)height), Z_OK);
    struct test_file whole = {name, test_array(8192, 1), 8};
    memcpy(whole.bytes, "\x89PNG\r\n\x1a\n", 8);
    test_chunk_add(&whole, "IHDR", head, 13);
    test_chunk_add(&whole, "PLTE", (const uint8_t *)"rgbRGBabcxyz", 12);
    test_chunk_add(&whole, "tRNS", (const uint8_t *)"\xff\0\x80", 3);
    test_chunk_add(&whole, "IDAT", packed, (uint32_t)size);
    test_chunk_add(&whole, "IEND", NULL, 0);
    struct test_file f = test_file_of(name, whole.bytes, whole.size);
    free(whole.bytes);
    return f;
}

/* 24 bits, stored bottom-up. */
static inline struct test_file test_bmp(const char *name, const struct ck_image *im)
{
    size_t stride = (3 * (size_t)im->width + 3) / 4 * 4,
           size = 54 + stride * (size_t)im->height;
    uint8_t head[54] = {'B', 'M', [10] = 54, [14] = 40, [26] = 1, [28] = 24};
    head[18] = (uint8_t)im->width;
    head[22] = (uint8_t)im->height;
    struct test_file f = {name, test_array(size, 1), size};
    memcpy(f.bytes, head, sizeof head);
    for (int32_t y = 0; y < im->height; y++)
        for (int32_t i = 0; i < 3 * im->width; i++)
            f.bytes[54 + (size_t)y * stride + (size_t)i] =
                im->data[(im->height - 1 - y) * 3 * im->width + i / 3 * 3 + 2 - i % 3];
    return f;
}

/* 4 x 2 pixels of four colors, one transparent. Nothing follows the last code, so that every byte
 * is needed. */
static inline struct test_file test_gif(const char *name)
{
    static const char bytes[] =
        "GIF89a\4\0\2\0\x81\0\0"
        "\0\0\0\xff\0\0\0\xff\0\0\0\xff"
        "!\xf9\4\1\0\0\2\0,\0\0\0\0\4\0\2\0\0\2\4"
        "\x44\x34\x61\x18"; /* clear 0 1 | clear 2 3 | clear 0 1 | ... */
    return test_file_of(name, bytes, sizeof bytes - 1);
}

/* 2 x 2 pixels of RGB and alpha: a directory, then one strip. */
static inline struct test_file test_tiff(const char *name)
{
    static const uint16_t entry[][2] = {{256, 2}, {257, 2}, {258, 8}, {259, 1},  {262, 2},
                                        {273, 0}, {277, 4}, {278, 2}, {279, 16}, {338, 2}};
    enum { ENTRIES = sizeof entry / sizeof entry[0], DATA = 8 + 2 + 12 * ENTRIES + 4 };
    uint8_t bytes[DATA + 16] = {'I', 'I', '*', 0, 8, 0, 0, 0, ENTRIES};
    for (size_t i = 0; i < ENTRIES; i++) {
        uint8_t *p = bytes + 10 + 12 * i;
        uint16_t value = entry[i][0] == 273 ? DATA : entry[i][1];
        p[0] = (uint8_t)entry[i][0];
        p[1] = (uint8_t)(entry[i][0] >> 8);
        p[2] = 3;
        p[4] = 1;
        p[8] = (uint8_t)value;
        p[9] = (uint8_t)(value >> 8);
    }
    for (int i = 0; i < 16; i++)
        bytes[DATA + i] = (uint8_t)(i * 15);
    return test_file_of(name, bytes, sizeof bytes);
}

/* The same image (colour or grey) in every format. */
static inline void test_files_make(struct test_file f[TEST_FILES], int32_t width,
                                   int32_t height)
{
    static const char p3[] = "P3 2 2 9\n1 2 3 4 5 6\n# rest\n7 8 9 0 1 2\n";
    static const char rle[] = "BM\0\0\0\0\0\0\0\0\x3e\0\0\0\x28\0\0\0\4\0\0\0\2\0\0\0\1\0\x08\0"
                              "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
                              "\1\2\3\0\4\5\6\0\4\1\0\0\0\3\0\1\1\0\0\1";
    struct ck_image im = {0}, grey = {0}, clear = {0};
    test_image_fill(&im, width, height, 3);
    test_image_fill(&grey, width, height, 1);
    f[0] = test_jpeg("half.jpg", &im, 80);
    f[1] = test_jpeg("full.jpg", &im, 95);
    f[2] = test_jpeg("grey.jpg", &grey, 80);
    f[3] = test_png("color.png", &im);
    f[4] = test_png("grey.png", &grey);
    f[5] = test_webp("lossy.webp", &im, 0);
    f[6] = test_webp("lossless.webp", &im, 1);
    f[7] = test_bmp("color.bmp", &im);
    f[8] = test_file_of("plain.ppm", p3, sizeof p3 - 1);
    f[9] = test_file_of("rle.bmp", rle, sizeof rle - 1);
    test_image_fill(&clear, width, height, 4);
    f[10] = test_webp_alpha("alpha-lossy.webp", &clear, 0);
    f[11] = test_webp_alpha("alpha-lossless.webp", &clear, 1);
    f[12] = test_png_palette("alpha-palette.png", width, height);
    f[13] = test_gif("alpha.gif");
    if (TEST_FILES > 14)
        f[TEST_FILES - 1] = test_tiff("alpha.tif");
    ck_image_release(&im);
    ck_image_release(&grey);
    ck_image_release(&clear);
}

static inline void test_files_free(struct test_file f[TEST_FILES])
{
    for (int i = 0; i < TEST_FILES; i++)
        free(f[i].bytes);
}

static const uint8_t test_white[] = {255, 255, 255};

static inline int test_decode(struct ck_decoder *d, const struct test_file *f,
                              struct ck_image *out)
{
    struct ck_decode_options o = {.background = test_white};
    struct ck_box got;
    return ck_codec_decode(d, f->bytes, f->size, f->name, &o, NULL, out, &got);
}

#endif
