/* cifar.c - CIFAR-10 and CIFAR-100 in their authors' binary format.
 *
 * A record of CIFAR-10 is a label and three planes of 32 x 32; one of CIFAR-100 begins with two
 * labels, coarse (0..19) and fine (0..99). All files are read into memory at opening, so
 * reading an image cannot fail for the disk. */
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/load.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 32, PIXELS = SIDE * SIDE, BYTES = 3 * PIXELS, FILES_MAX = 5 };

/* One file. */
struct batch {
    char name[NAME_MAX + 1];
    int64_t first; /* number of its first record */
    int64_t n;
};

struct cifar {
    struct ck_dataset base;
    struct batch batch[FILES_MAX];
    int batches;
    int head;            /* labels before the pixels of a record: 1 or 2 */
    unsigned char *data; /* [n][head + BYTES] */
};

static const char *const train10[] = {"data_batch_1.bin", "data_batch_2.bin",
                                      "data_batch_3.bin", "data_batch_4.bin",
                                      "data_batch_5.bin", NULL};
static const char *const test10[] = {"test_batch.bin", NULL};
static const char *const train100[] = {"train.bin", NULL};
static const char *const test100[] = {"test.bin", NULL};

/* ---- which files ---- */

static int join(char path[PATH_MAX], const char *folder, const char *name)
{
    int n = snprintf(path, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", name);
    return n < PATH_MAX ? COKE_OK : ck_fail(COKE_EIO, "%s/%s: too long a path", folder, name);
}

static int count_files(const char *folder, const char *const *names)
{
    char path[PATH_MAX];
    int n = 0;
    for (; *names; names++)
        n += join(path, folder, *names) == COKE_OK && access(path, F_OK) == 0;
    return n;
}

int ck_is_cifar_folder(const char *path)
{
    return count_files(path, train10) || count_files(path, test10) ||
           count_files(path, train100) || count_files(path, test100);
}

/* ---- loading ---- */

static int record_size(const struct cifar *c)
{
    return c->head + BYTES;
}

static const unsigned char *record_at(const struct cifar *c, int64_t i)
{
    return c->data + i * record_size(c);
}

static int fail_length(const char *path, int64_t size)
{
    return ck_fail(COKE_EFORMAT,
                   "%s: %lld bytes are not a whole number of records of %d (CIFAR-10) or %d "
                   "bytes (CIFAR-100)",
                   path, (long long)size, 1 + BYTES, 2 + BYTES);
}

/* True if all labels are in range for records with this many labels. */
static int is_plausible(const unsigned char *data, int64_t size, int head)
{
    for (int64_t at = 0; at < size; at += head + BYTES)
        if (head == 1 ? data[at] > 9 : data[at] > 19 || data[at + 1] > 99)
            return 0;
    return 1;
}

/* Decides for a single file between CIFAR-10 and -100: by its length, else its name, else its
 * labels. */
static int find_head(const char *path, const unsigned char *data, int64_t size, int *head)
{
    int fits10 = size % (1 + BYTES) == 0, fits100 = size % (2 + BYTES) == 0;
    const char *name = ck_base_name(path);
    if (!fits10 && !fits100)
        return fail_length(path, size);
    if (fits10 && fits100 && strcmp(name, *train100) != 0 && strcmp(name, *test100) != 0)
        fits10 = is_plausible(data, size, 1) || !is_plausible(data, size, 2);
    else
        fits10 = fits10 && !fits100;
    *head = fits10 ? 1 : 2;
    return COKE_OK;
}

/* Appends a file to c->data. c->head 0: not known yet. */
static int load_batch(struct cifar *c, const char *path)
{
    int fd = -1, rc;
    int64_t size = 0, before;
    struct batch *b = &c->batch[c->batches];
    rc = ck_load_open(path, &fd, &size);
    if (rc)
        return rc;
    if (size == 0)
        CK_FAIL(COKE_EFORMAT, "%s: empty", path);
    before = c->base.n * record_size(c);
    unsigned char *data = ck_realloc_array(c->data, (size_t)(before + size), 1);
    if (!data)
        CK_LEAVE(COKE_ENOMEM);
    c->data = data;
    CK_TRY(ck_load_at(fd, path, 0, data + before, (size_t)size));
    if (!c->head)
        CK_TRY(find_head(path, data, size, &c->head));
    if (size % record_size(c))
        CK_FAIL(COKE_EFORMAT, "%s: %lld bytes are not a whole number of records of %d bytes",
                path, (long long)size, record_size(c));
    snprintf(b->name, sizeof b->name, "%s", ck_base_name(path));
    b->first = c->base.n;
    b->n = size / record_size(c);
    c->base.n += b->n;
    c->batches++;
done:
    close(fd);
    return rc;
}

static int load_folder(struct cifar *c, const char *folder, const struct ck_dataset_options *o)
{
    char path[PATH_MAX];
    int test = o->split == CK_SPLIT_TEST;
    int is10 = count_files(folder, train10) || count_files(folder, test10);
    const char *const *names = is10 ? (test ? test10 : train10) : (test ? test100 : train100);
    int found = count_files(folder, names), all = 0;
    if (!found)
        return ck_fail(COKE_EUSAGE, "%s: %s is missing, the %s split of CIFAR-%s", folder,
                       *names, test ? "test" : "training", is10 ? "10" : "100");
    c->head = is10 ? 1 : 2;
    for (; names[all]; all++) {
        CK_RETURN_IF(join(path, folder, names[all]));
        if (access(path, F_OK) == 0)
            CK_RETURN_IF(load_batch(c, path));
    }
    if (found < all)
        CK_RETURN_IF(ck_dataset_add_note(&c->base, "Only %d of the %d training batches exist.",
                                         found, all));
    return COKE_OK;
}

/* ---- labels ---- */

/* Fine or coarse labels, validated. */
static int take_labels(struct cifar *c, int coarse)
{
    int limit = c->head == 1 ? 10 : coarse ? 20 : 100, at = c->head == 2 && !coarse;
    c->base.label = ck_alloc_array((size_t)c->base.n, sizeof *c->base.label);
    if (!c->base.label)
        return COKE_ENOMEM;
    for (int b = 0; b < c->batches; b++)
        for (int64_t i = 0; i < c->batch[b].n; i++) {
            int64_t record = c->batch[b].first + i;
            int label = record_at(c, record)[at];
            if (label >= limit)
                return ck_fail(COKE_EFORMAT, "%s: record %lld has label %d, above %d",
                               c->batch[b].name, (long long)i, label, limit - 1);
            c->base.label[record] = label;
        }
    return COKE_OK;
}

/* From the names file beside the data; numbers without it. */
static int name_classes(struct cifar *c, const char *folder, int coarse)
{
    char path[PATH_MAX];
    struct ck_names names = {0};
    int rc = COKE_OK, n = c->head == 1 ? 10 : coarse ? 20 : 100;
    const char *file = c->head == 1 ? "batches.meta.txt"
                       : coarse     ? "coarse_label_names.txt"
                                    : "fine_label_names.txt";
    CK_TRY(join(path, folder, file));
    CK_TRY(ck_names_load(&names, path));
    if (names.n && names.n != n)
        CK_TRY(ck_dataset_add_note(&c->base, "%s has %lld lines, not %d, and is ignored.", file,
                                   (long long)names.n, n));
    CK_TRY(names.n == n ? ck_dataset_name_classes(&c->base, &names)
                        : ck_dataset_number_classes(&c->base, n));
done:
    ck_names_release(&names);
    return rc;
}

/* ---- the data set ---- */

static const struct batch *find_batch(const struct cifar *c, int64_t i)
{
    int b = 0;
    while (i >= c->batch[b].first + c->batch[b].n)
        b++;
    return &c->batch[b];
}

/* Converts the planes to interleaved RGB. Any thread. */
static int read_image(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    const struct cifar *c = (const struct cifar *)d;
    const unsigned char *red = record_at(c, i) + c->head;
    int rc = ck_image_reshape(&item->pixels, SIDE, SIDE, 3);
    if (rc)
        return rc;
    uint8_t *out = item->pixels.data;
    for (int p = 0; p < PIXELS; p++) {
        out[3 * p] = red[p];
        out[3 * p + 1] = red[PIXELS + p];
        out[3 * p + 2] = red[2 * PIXELS + p];
    }
    return COKE_OK;
}

static void name_image(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    const struct batch *b = find_batch((const struct cifar *)d, i);
    snprintf(text, size, "%s#%lld", b->name, (long long)(i - b->first));
}

static void free_cifar(struct ck_dataset *d)
{
    ck_free(((struct cifar *)d)->data);
}

static const struct ck_dataset_type cifar10_type = {.kind = "CIFAR-10",
                                                    .read = read_image,
                                                    .name = name_image,
                                                    .free = free_cifar,
                                                    .splits = 1};
static const struct ck_dataset_type cifar100_type = {.kind = "CIFAR-100",
                                                     .read = read_image,
                                                     .name = name_image,
                                                     .free = free_cifar,
                                                     .splits = 1,
                                                     .coarse = 1};

/* The folder of a file: "" for one without '/'. */
static void folder_of(const char *path, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%.*s", (int)(ck_base_name(path) - path), path);
}

int ck_dataset_open_cifar(struct ck_dataset **out, const char *path,
                          const struct ck_dataset_options *o)
{
    char folder[PATH_MAX];
    int rc = COKE_OK, is_file = ck_ends_with(path, ".bin") && !ck_is_cifar_folder(path);
    struct cifar *c = ck_dataset_new(&cifar10_type, sizeof *c, path);
    if (!c)
        return COKE_ENOMEM;
    snprintf(folder, sizeof folder, "%s", path);
    if (is_file)
        folder_of(path, folder);
    CK_TRY(is_file ? load_batch(c, path) : load_folder(c, path, o));
    if (c->head == 2)
        c->base.type = &cifar100_type;
    c->base.width = c->base.height = SIDE;
    c->base.channels = 3;
    CK_TRY(take_labels(c, o->coarse));
    CK_TRY(name_classes(c, folder, o->coarse));
    CK_TRY(ck_dataset_make_ids(&c->base, NULL));
    *out = &c->base;
    c = NULL;
done:
    ck_dataset_free((struct ck_dataset *)c);
    return rc;
}
