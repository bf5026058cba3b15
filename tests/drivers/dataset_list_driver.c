/* dataset_list_driver.c - lists a data set for tests in other languages.
 *
 * usage: dataset_list_driver [--one-pass] DATA
 * Prints "kind n classes", then "name label size crc32" of each image, separated by tabs. */
#include "data/dataset.h"
#include "coke.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

static int print_image(struct ck_dataset *d, int64_t i, struct ck_item *item, int *end)
{
    char name[4096];
    int rc = ck_dataset_read(d, i, item);
    if (rc)
        return rc;
    *end = !item->bytes && !item->pixels.width;
    if (*end)
        return COKE_OK;
    size_t size = item->bytes ? item->size
                              : (size_t)item->pixels.width * (size_t)item->pixels.height *
                                    (size_t)item->pixels.channels;
    const unsigned char *data = item->bytes ? item->bytes : item->pixels.data;
    ck_dataset_name(d, i, name, sizeof name);
    printf("%s\t%d\t%zu\t%08lx\n", name, ck_dataset_label(d, i), size,
           crc32(0, data, (unsigned)size));
    return COKE_OK;
}

int main(int argc, char **argv)
{
    int once = argc > 1 && strcmp(argv[1], "--one-pass") == 0, end = 0;
    struct ck_dataset_options o = {.one_pass = once};
    struct ck_dataset *d = NULL;
    struct ck_item item = {0};
    if (argc != 2 + once)
        return 2;
    int rc = ck_dataset_open(&d, argv[1 + once], &o);
    if (!rc)
        printf("%s\t%lld\t%d\n", d->type->kind, (long long)d->n, d->classes);
    for (int64_t i = 0; !rc && !end && (d->n < 0 || i < d->n); i++)
        rc = print_image(d, i, &item, &end);
    if (rc)
        fprintf(stderr, "%s\n", coke_last_error());
    ck_item_release(&item);
    ck_dataset_free(d);
    return rc ? 1 : 0;
}
