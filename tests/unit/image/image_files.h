/* image_files.h - small files of every format for the tests of the codecs. */
#ifndef CK_IMAGE_FILES_H
#define CK_IMAGE_FILES_H

#include "support.h"
#include "core/mem.h"
#include "image/codec.h"

#include <webp/encode.h>

/* Heap copies of exactly this size, so that the sanitizer sees an over-read. */
struct test_file {
    const char *name;
    unsigned char *bytes;
    size_t size;
};

enum { TEST_FILES = 10 };

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

/* The same image (colour or grey) in every format. */
static inline void test_files_make(struct test_file f[TEST_FILES], int32_t width,
                                   int32_t height)
{
    static const char p3[] = "P3 2 2 9\n1 2 3 4 5 6\n# rest\n7 8 9 0 1 2\n";
    static const char rle[] = "BM\0\0\0\0\0\0\0\0\x3e\0\0\0\x28\0\0\0\4\0\0\0\2\0\0\0\1\0\x08\0"
                              "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
                              "\1\2\3\0\4\5\6\0\4\1\0\0\0\3\0\1\1\0\0\1";
    struct ck_image im = {0}, grey = {0};
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
    ck_image_release(&im);
    ck_image_release(&grey);
}

static inline void test_files_free(struct test_file f[TEST_FILES])
{
    for (int i = 0; i < TEST_FILES; i++)
        free(f[i].bytes);
}

static inline int test_decode(struct ck_decoder *d, const struct test_file *f,
                              struct ck_image *out)
{
    struct ck_decode_options o = {0};
    struct ck_box got;
    return ck_codec_decode(d, f->bytes, f->size, f->name, &o, NULL, out, &got);
}

#endif
