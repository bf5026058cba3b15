/* dataset_images_driver.c - images of a data set for tests in Python.
 *
 * dataset_images_driver SOURCE N [test]
 * writes to stdout: i32 n, height, width, channels; the first N images u8
 * [n][height][width][channels]; their labels i32 [n]. All images have one size. "test" takes
 * the images meant for testing. */
#include "data/dataset.h"
#include "coke.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *words)
{
    fprintf(stderr, "dataset_images_driver: %s\n", words);
    return 1;
}

static int write_images(struct ck_dataset *d, int32_t n)
{
    struct ck_item item = {0};
    int32_t shape[4] = {n, d->height, d->width, d->channels};
    size_t bytes = (size_t)d->height * (size_t)d->width * (size_t)d->channels;
    int rc = fwrite(shape, sizeof shape, 1, stdout) != 1;
    for (int32_t i = 0; i < n && !rc; i++)
        rc = ck_dataset_read(d, i, &item) || fwrite(item.pixels.data, bytes, 1, stdout) != 1;
    ck_item_release(&item);
    if (!rc)
        rc = fwrite(d->label, sizeof *d->label, (size_t)n, stdout) != (size_t)n;
    return rc ? fail("an image cannot be read or written") : 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fail("dataset_images_driver SOURCE N [test]");
    struct ck_dataset_options o = {0};
    struct ck_dataset *d = NULL;
    if (argc > 3 && strcmp(argv[3], "test") == 0)
        o.split = CK_SPLIT_TEST;
    if (ck_dataset_open(&d, argv[1], &o))
        return fail(coke_last_error());
    int32_t n = (int32_t)strtol(argv[2], NULL, 10);
    int rc = n < 1 || n > d->n || !d->label || !d->width
                 ? fail("there are not so many images with labels and of one size")
                 : write_images(d, n);
    ck_dataset_free(d);
    return rc;
}
