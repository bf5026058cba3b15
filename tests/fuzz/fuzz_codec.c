/* fuzz_codec.c - files of every kind: anything, or good files with some bytes changed.
 *
 * The first byte of the input picks the good file (the first few: none, the rest of the input
 * is the file), the second the options, the third whether the file is cut. Then follow changes:
 * two bytes where, one what. */
#include "decode_bytes.h"
#include "core/mem.h"

#include <string.h>
#include <webp/encode.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEEDS = 14, WIDTH = 21, HEIGHT = 14 };

static struct {
    unsigned char *bytes;
    size_t size;
} seeds[SEEDS];

static const uint8_t exif_segment[] = "\xff\xe1\0\x22"
                                      "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"
                                      "\0\0\0";

/* The JPEG file of im with an EXIF segment, which asks for a turn. */
static void add_turned_jpeg(const struct ck_image *im, int at)
{
    unsigned char *plain;
    size_t n;
    if (ck_jpeg_encode(im, 80, &plain, &n))
        abort();
    seeds[at].size = n + sizeof exif_segment - 1;
    seeds[at].bytes = ck_alloc_array(seeds[at].size, 1);
    memcpy(seeds[at].bytes, plain, 2);
    memcpy(seeds[at].bytes + 2, exif_segment, sizeof exif_segment - 1);
    memcpy(seeds[at].bytes + 1 + sizeof exif_segment, plain + 2, n - 2);
    ck_free(plain);
}

static void make_seeds(void)
{
    static uint8_t pixels[3 * WIDTH * HEIGHT + CK_IMAGE_SLACK];
    struct ck_image im = {.width = WIDTH, .height = HEIGHT, .channels = 3, .data = pixels};
    int rc = 0;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * i / 7);
    for (int grey = 0; grey < 2; grey++) {
        im.channels = grey ? 1 : 3;
        rc |= ck_jpeg_encode(&im, 75, &seeds[grey].bytes, &seeds[grey].size);
        rc |= ck_jpeg_encode(&im, 95, &seeds[2 + grey].bytes, &seeds[2 + grey].size);
        rc |= ck_png_encode(&im, &seeds[4 + grey].bytes, &seeds[4 + grey].size);
        rc |= ck_pnm_encode(&im, &seeds[6 + grey].bytes, &seeds[6 + grey].size);
        add_turned_jpeg(&im, 8 + grey);
    }
    seeds[10].size = WebPEncodeRGB(pixels, WIDTH, HEIGHT, 3 * WIDTH, 70, &seeds[10].bytes);
    seeds[11].size = WebPEncodeLosslessRGB(pixels, WIDTH, HEIGHT, 3 * WIDTH, &seeds[11].bytes);
    static uint8_t clear[4 * WIDTH * HEIGHT];
    for (size_t i = 0; i < sizeof clear; i++)
        clear[i] = (uint8_t)(i * i / 5);
    seeds[12].size = WebPEncodeRGBA(clear, WIDTH, HEIGHT, 4 * WIDTH, 70, &seeds[12].bytes);
    seeds[13].size = WebPEncodeLosslessRGBA(clear, WIDTH, HEIGHT, 4 * WIDTH, &seeds[13].bytes);
    for (int i = 10; i < SEEDS; i++)
        rc |= seeds[i].size == 0;
    if (rc)
        abort();
}

static void change(uint8_t *file, size_t n, const uint8_t *data, size_t size)
{
    for (; size >= 3; data += 3, size -= 3)
        file[(size_t)(data[0] | data[1] << 8) % n] = data[2];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!seeds[0].bytes)
        make_seeds();
    if (size < 3)
        return 0;
    static const int32_t channels[4] = {0, 1, 3, 0};
    struct ck_decode_options o = {.channels = channels[data[1] & 3],
                                  .orient = data[1] >> 2 & 1,
                                  .scale = 1 << (data[1] >> 6)};
    int which = data[0] % (SEEDS + 4) - 4;
    if (which < 0) {
        decode_bytes(data + 3, size - 3, o);
        return 0;
    }
    size_t n = seeds[which].size;
    uint8_t *file = malloc(n);
    if (!file)
        return 0;
    memcpy(file, seeds[which].bytes, n);
    change(file, n, data + 3, size - 3);
    size_t kept = data[2] ? n : n - (size_t)(data[1] * 5) % n;
    uint8_t *exact = malloc(kept ? kept : 1); /* so that a read beyond the end is seen */
    if (exact) {
        memcpy(exact, file, kept);
        decode_bytes(exact, kept, o);
    }
    free(exact);
    free(file);
    return 0;
}
