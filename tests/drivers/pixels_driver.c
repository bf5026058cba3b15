/* pixels_driver.c - pixel operations for test_pillow_pixels.py.
 *
 * pixels_driver < JOBS > RESULTS
 * A job is a line "OPERATION WIDTH HEIGHT CHANNELS ARGUMENT..." and the u8 pixels
 * [HEIGHT][WIDTH][CHANNELS]; its result the u8 planes [channels][height][width], or for
 * normalize f32 ones. */
#include "image/color.h"
#include "image/resize.h"
#include "coke.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct ck_resizer resizer;
    struct ck_blurrer blurrer;
    struct ck_image image;
    struct ck_planes planes, resized;
};

static int fail(const char *words)
{
    fprintf(stderr, "pixels_driver: %s\n", words);
    return 1;
}

static int put(const void *p, size_t size, size_t n)
{
    return fwrite(p, size, n, stdout) == n ? 0 : fail("cannot write");
}

static size_t count(const struct ck_planes *p)
{
    return (size_t)p->width * (size_t)p->height * (size_t)p->channels;
}

static int resize(struct job *j, const char *arguments)
{
    struct ck_box box;
    int filter, width, height;
    if (sscanf(arguments, "%d %d %d %d %d %d %d", &box.x, &box.y, &box.width, &box.height,
               &filter, &width, &height) != 7)
        return fail(arguments);
    if (ck_resize(&j->resizer, &j->image, box, filter ? CK_BICUBIC : CK_BILINEAR, width, height,
                  &j->resized))
        return fail(coke_last_error());
    return put(j->resized.data, 1, count(&j->resized));
}

/* The same mean and deviation for all channels. */
static int normalize(struct job *j, const char *arguments)
{
    float mean[64], std[64], *out = malloc(count(&j->planes) * sizeof *out);
    int flip, rc = 1;
    if (!out || sscanf(arguments, "%d %f %f", &flip, mean, std) != 3)
        goto done;
    for (int c = 1; c < j->planes.channels; c++) {
        mean[c] = mean[0];
        std[c] = std[0];
    }
    ck_planes_normalize(&j->planes, flip, mean, std, out);
    rc = put(out, sizeof *out, count(&j->planes));
done:
    free(out);
    return rc;
}

static int change(struct job *j, const char *operation, float x)
{
    static const struct {
        const char *name;
        void (*run)(struct ck_planes *, float);
    } table[] = {{"brightness", ck_brightness},
                 {"contrast", ck_contrast},
                 {"saturation", ck_saturation},
                 {"hue", ck_hue}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(operation, table[i].name) == 0)
            table[i].run(&j->planes, x);
    if (strcmp(operation, "gray") == 0)
        ck_grayscale(&j->planes);
    if (strcmp(operation, "solarize") == 0)
        ck_solarize(&j->planes, (int)x);
    if (strcmp(operation, "blur") == 0 && ck_blur(&j->blurrer, &j->planes, x))
        return fail(coke_last_error());
    return put(j->planes.data, 1, count(&j->planes));
}

static int run(struct job *j, const char *line)
{
    char operation[16];
    int width, height, channels, rest;
    if (sscanf(line, "%15s %d %d %d%n", operation, &width, &height, &channels, &rest) != 4)
        return fail(line);
    if (ck_image_reshape(&j->image, width, height, channels))
        return fail(coke_last_error());
    size_t n = (size_t)width * (size_t)height * (size_t)channels;
    if (fread(j->image.data, 1, n, stdin) != n)
        return fail("the pixels end early");
    if (strcmp(operation, "resize") == 0)
        return resize(j, line + rest);
    if (ck_planes_from_image(&j->planes, &j->image))
        return fail(coke_last_error());
    if (strcmp(operation, "normalize") == 0)
        return normalize(j, line + rest);
    return change(j, operation, strtof(line + rest, NULL));
}

int main(void)
{
    struct job j = {0};
    char line[256];
    int rc = 0;
    while (!rc && fgets(line, sizeof line, stdin))
        rc = run(&j, line);
    ck_resizer_release(&j.resizer);
    ck_blurrer_release(&j.blurrer);
    ck_image_release(&j.image);
    ck_planes_release(&j.planes);
    ck_planes_release(&j.resized);
    return rc;
}
