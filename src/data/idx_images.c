/* idx_images.c - IDX files of images (MNIST and similar), with the labels beside them. The
 * images stay in memory. */
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/idx.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct idx_images {
    struct ck_dataset base;  /* first, so that the pointers convert */
    struct ck_idx images;    /* owned */
    char name[NAME_MAX + 1]; /* of the file without .gz, so that ids do not depend on it */
};

/* ---- which files ---- */

/* Both spellings in use, compressed or not. */
static const char *const endings[] = {"-idx3-ubyte", "-idx3-ubyte.gz", ".idx3-ubyte",
                                      ".idx3-ubyte.gz"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static int find_images(const char *folder, const char *stem, char path[PATH_MAX])
{
    for (int e = 0; e < ENDINGS; e++)
        if (snprintf(path, PATH_MAX, "%s/%s%s", folder, stem, endings[e]) < PATH_MAX &&
            access(path, F_OK) == 0)
            return 1;
    return 0;
}

int ck_is_idx_folder(const char *path)
{
    char file[PATH_MAX];
    return find_images(path, "train-images", file) || find_images(path, "t10k-images", file);
}

/* The file of a split in a folder named as MNIST's files are. */
static int find_split(const char *folder, enum ck_split split, char path[PATH_MAX])
{
    int test = split == CK_SPLIT_TEST;
    const char *stem = test ? "t10k-images" : "train-images";
    if (find_images(folder, stem, path))
        return COKE_OK;
    return ck_fail(COKE_EUSAGE, "%s: %s-idx3-ubyte[.gz] is missing, the %s split of MNIST",
                   folder, stem, test ? "test" : "training");
}

/* "train-images-idx3-ubyte" -> "train-labels-idx1-ubyte", with or without .gz. */
static int find_labels(const char *images, char path[PATH_MAX])
{
    const char *base = ck_base_name(images), *word = strstr(base, "images"), *dims;
    if (!word)
        return 0;
    int n = snprintf(path, PATH_MAX, "%.*slabels%s", (int)(word - images), images,
                     word + strlen("images"));
    if (n >= PATH_MAX - 4)
        return 0;
    dims = strstr(path + (word - images), "idx");
    if (dims && (dims[3] == '3' || dims[3] == '4'))
        path[dims + 3 - path] = '1';
    if (access(path, F_OK) == 0)
        return 1;
    if (ck_ends_with(path, ".gz"))
        path[n - 3] = 0;
    else
        memcpy(path + n, ".gz", 4);
    return access(path, F_OK) == 0;
}

/* ---- contents ---- */

static int check_images(struct idx_images *x, const char *path)
{
    const struct ck_idx *a = &x->images;
    int64_t channels = a->ndim == 4 ? a->shape[3] : 1;
    if (a->ndim < 3)
        return ck_fail(COKE_EFORMAT, "%s: an IDX array of %d dimensions cannot be images%s",
                       path, a->ndim, a->ndim == 1 ? " (labels?)" : "");
    if (a->shape[0] == 0)
        return ck_fail(COKE_EFORMAT, "%s: no images in it", path);
    if (a->shape[1] < 1 || a->shape[1] > CK_IMAGE_MAX_SIDE || a->shape[2] < 1 ||
        a->shape[2] > CK_IMAGE_MAX_SIDE || channels < 1 || channels > CK_CHANNELS_MAX)
        return ck_fail(COKE_EFORMAT, "%s: images of %lld x %lld x %lld are not supported", path,
                       (long long)a->shape[2], (long long)a->shape[1], (long long)channels);
    x->base.n = a->shape[0];
    x->base.height = (int32_t)a->shape[1];
    x->base.width = (int32_t)a->shape[2];
    x->base.channels = (int32_t)channels;
    return COKE_OK;
}

static int take_labels(struct ck_dataset *d, const char *path)
{
    struct ck_idx a = {0};
    int32_t max = 0;
    int rc = COKE_OK;
    CK_TRY(ck_idx_load(&a, path));
    if (a.ndim != 1 || a.shape[0] != d->n)
        CK_FAIL(COKE_EFORMAT, "%s: %lld labels in %d dimensions for %lld images", path,
                (long long)a.shape[0], a.ndim, (long long)d->n);
    d->label = ck_alloc_array((size_t)d->n, sizeof *d->label);
    if (!d->label)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t i = 0; i < d->n; i++) {
        d->label[i] = a.data[i];
        max = d->label[i] > max ? d->label[i] : max;
    }
    CK_TRY(ck_dataset_number_classes(d, max + 1));
done:
    ck_idx_release(&a);
    return rc;
}

/* ---- the data set ---- */

/* Reads memory only: any thread. */
static int read_image(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    const struct idx_images *x = (const struct idx_images *)d;
    size_t size = (size_t)d->width * (size_t)d->height * (size_t)d->channels;
    int rc = ck_image_reshape(&item->pixels, d->width, d->height, d->channels);
    if (!rc)
        memcpy(item->pixels.data, x->images.data + (size_t)i * size, size);
    return rc;
}

static void name_image(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    snprintf(text, size, "%s#%lld", ((const struct idx_images *)d)->name, (long long)i);
}

static void free_images(struct ck_dataset *d)
{
    ck_idx_release(&((struct idx_images *)d)->images);
}

static const struct ck_dataset_type idx_type = {
    .kind = "IDX", .read = read_image, .name = name_image, .free = free_images, .splits = 1};

static void take_name(struct idx_images *x, const char *path)
{
    snprintf(x->name, sizeof x->name, "%s", ck_base_name(path));
    if (ck_ends_with(x->name, ".gz"))
        x->name[strlen(x->name) - 3] = 0;
}

int ck_dataset_open_idx(struct ck_dataset **out, const char *path,
                        const struct ck_dataset_options *o)
{
    char images[PATH_MAX], labels[PATH_MAX];
    int rc = COKE_OK;
    struct idx_images *x = ck_dataset_new(&idx_type, sizeof *x, path);
    if (!x)
        return COKE_ENOMEM;
    if (ck_is_idx_folder(path))
        CK_TRY(find_split(path, (enum ck_split)o->split, images));
    else if (snprintf(images, sizeof images, "%s", path) >= (int)sizeof images)
        CK_FAIL(COKE_EIO, "%s: the path is too long", path);
    CK_TRY(ck_idx_load(&x->images, images));
    CK_TRY(check_images(x, images));
    take_name(x, images);
    if (find_labels(images, labels))
        CK_TRY(take_labels(&x->base, labels));
    else
        CK_TRY(ck_dataset_add_note(&x->base, "There is no file of labels beside %s.", images));
    CK_TRY(ck_dataset_make_ids(&x->base, NULL));
    *out = &x->base;
    x = NULL;
done:
    ck_dataset_free((struct ck_dataset *)x);
    return rc;
}
