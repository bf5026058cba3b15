/* bench_pixels.c - the pixel operations in ms a call, for each instruction set: the best of
 * several runs. bench_pixels [REPEAT] */
#include "core/clock.h"
#include "image/color.h"
#include "image/resize.h"
#include "kernels/pixels.h"
#include "coke.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 40, CHANNELS = 3 };

struct bench {
    struct ck_resizer resizer;
    struct ck_blurrer blurrer;
    struct ck_image photo; /* what is resampled */
    struct ck_planes planes;
    int32_t size;
    float *out;
};

static const float mean[CHANNELS] = {0.485f, 0.456f, 0.406f};
static const float std[CHANNELS] = {0.229f, 0.224f, 0.225f};

static void resample(struct bench *b, enum ck_filter filter)
{
    struct ck_box all = {0, 0, b->photo.width, b->photo.height};
    if (ck_resize(&b->resizer, &b->photo, all, filter, b->size, b->size, &b->planes))
        exit(1);
}

static void resize_bilinear(struct bench *b)
{
    resample(b, CK_BILINEAR);
}

static void resize_bicubic(struct bench *b)
{
    resample(b, CK_BICUBIC);
}

static void brightness(struct bench *b)
{
    ck_brightness(&b->planes, 1.2f);
}

static void contrast(struct bench *b)
{
    ck_contrast(&b->planes, 0.9f);
}

static void saturation(struct bench *b)
{
    ck_saturation(&b->planes, 1.1f);
}

static void hue(struct bench *b)
{
    ck_hue(&b->planes, 0.07f);
}

static void gray(struct bench *b)
{
    ck_grayscale(&b->planes);
}

static void solarize(struct bench *b)
{
    ck_solarize(&b->planes, 128);
}

static void blur(struct bench *b)
{
    if (ck_blur(&b->blurrer, &b->planes, 2))
        exit(1);
}

static void normalize(struct bench *b)
{
    ck_planes_normalize(&b->planes, 0, mean, std, b->out);
}

static void normalize_flipped(struct bench *b)
{
    ck_planes_normalize(&b->planes, 1, mean, std, b->out);
}

static void everything(struct bench *b)
{
    resize_bilinear(b);
    brightness(b);
    contrast(b);
    saturation(b);
    hue(b);
    gray(b);
    blur(b);
    normalize_flipped(b);
}

static const struct {
    const char *name;
    void (*run)(struct bench *);
} table[] = {
    {"resize bilinear", resize_bilinear},
    {"resize bicubic", resize_bicubic},
    {"brightness", brightness},
    {"contrast", contrast},
    {"saturation", saturation},
    {"hue", hue},
    {"gray", gray},
    {"solarize", solarize},
    {"blur, sigma 2", blur},
    {"normalize", normalize},
    {"normalize, flipped", normalize_flipped},
    {"all but bicubic, solarize", everything},
};

static double milliseconds(struct bench *b, void (*run)(struct bench *), int repeat)
{
    double best = 1e9;
    for (int r = 0; r < RUNS; r++) {
        double start = ck_clock_seconds();
        for (int i = 0; i < repeat; i++)
            run(b);
        double took = (ck_clock_seconds() - start) / repeat * 1e3;
        best = took < best ? took : best;
    }
    return best;
}

static void measure(int32_t width, int32_t height, int32_t size, int repeat)
{
    struct bench b = {.size = size};
    size_t pixels = (size_t)size * (size_t)size * CHANNELS;
    b.out = malloc(pixels * sizeof *b.out);
    if (!b.out || ck_image_reshape(&b.photo, width, height, CHANNELS))
        exit(1);
    size_t n = (size_t)width * (size_t)height * CHANNELS;
    for (size_t i = 0; i < n; i++) /* gentle slopes of different lengths, some noise */
        b.photo.data[i] = (uint8_t)(i * (i % 3 + 1) / 97 + (i * 2654435761u >> 7) % 16);
    printf("%d x %d -> %d x %d x %d, %s\n", width, height, size, size, CHANNELS, coke_isa());
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        resize_bilinear(&b);
        printf("  %-26s %9.4f ms\n", table[i].name, milliseconds(&b, table[i].run, repeat));
    }
    ck_resizer_release(&b.resizer);
    ck_blurrer_release(&b.blurrer);
    ck_image_release(&b.photo);
    ck_planes_release(&b.planes);
    free(b.out);
}

/* The version is chosen once a process, by COKE_ISA: each gets one of its own. */
int main(int argc, char **argv)
{
    int repeat = argc > 1 ? atoi(argv[1]) : 5;
    if (getenv("COKE_ISA")) {
        measure(400, 300, 224, repeat);
        measure(28, 24, 32, 20 * repeat);
        return 0;
    }
    const char *const versions[] = {"ref", "avx2", "avx512"};
    for (int i = 0; i < 3; i++) {
        char command[4096];
        snprintf(command, sizeof command, "COKE_ISA=%s '%s' %d", versions[i], argv[0], repeat);
        if (ck_pixels_named(versions[i]) && system(command) != 0)
            return 1;
    }
    return 0;
}
