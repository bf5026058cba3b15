/* npy_images.c - .npy of u8 images [n][h][w] or [n][h][w][c], read image by image, with labels
 * from FILE-labels.npy or FILE.labels.npy. */
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/convert.h"
#include "io/load.h"
#include "io/npy.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct npy_images {
    struct ck_dataset base; /* first, so that the pointers convert */
    int fd;                 /* owned; -1 = not open */
    int64_t offset;         /* of the first image in the file */
    int64_t stride;         /* bytes per image */
};

/* Opens an array and checks its length; the caller closes *fd, which is -1 on failure. */
static int open_array(const char *path, int *fd, struct ck_npy *a)
{
    unsigned char *head = NULL;
    int64_t size = 0;
    int rc = ck_load_open(path, fd, &size);
    if (rc)
        return rc;
    rc = ck_npy_read_header(a, path, *fd, &head);
    if (!rc)
        rc = ck_npy_check_order(a, path);
    if (!rc && size - (int64_t)a->offset != a->bytes)
        rc = ck_npy_fail_size(a, path, size - (int64_t)a->offset);
    ck_free(head);
    if (rc) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

/* Validates dtype and shape, and takes the sizes. */
static int check_images(struct npy_images *x, const struct ck_npy *a, const char *path)
{
    char shape[CK_SHAPE_TEXT];
    int64_t channels = a->ndim == 4 ? a->shape[3] : 1;
    ck_shape_text(a->ndim, a->shape, shape);
    if (a->dtype != CK_U8 || a->ndim < 3 || a->ndim > 4)
        return ck_fail(COKE_EFORMAT,
                       "%s: %s %s; images must be u1 [n][h][w] or [n][h][w][channels]", path,
                       shape, ck_npy_dtype(a->dtype));
    if (a->shape[0] == 0)
        return ck_fail(COKE_EFORMAT, "%s: no images in it (%s)", path, shape);
    if (a->shape[1] < 1 || a->shape[1] > CK_IMAGE_MAX_SIDE || a->shape[2] < 1 ||
        a->shape[2] > CK_IMAGE_MAX_SIDE || channels < 1 || channels > CK_CHANNELS_MAX)
        return ck_fail(COKE_EFORMAT,
                       "%s: %s: sides must be 1 to %d, and channels (last) 1 to %d", path,
                       shape, CK_IMAGE_MAX_SIDE, CK_CHANNELS_MAX);
    x->base.n = a->shape[0];
    x->base.height = (int32_t)a->shape[1];
    x->base.width = (int32_t)a->shape[2];
    x->base.channels = (int32_t)channels;
    x->offset = (int64_t)a->offset;
    x->stride = a->bytes / a->shape[0];
    return COKE_OK;
}

/* ---- labels ---- */

/* FILE-labels.npy before FILE.labels.npy; returns 0 if there is none. */
static int find_labels(const char *images, char path[PATH_MAX])
{
    static const char *const endings[] = {"-labels.npy", ".labels.npy"};
    int stem = (int)(strlen(images) - strlen(".npy"));
    for (int e = 0; e < 2; e++)
        if (snprintf(path, PATH_MAX, "%.*s%s", stem, images, endings[e]) < PATH_MAX &&
            access(path, F_OK) == 0)
            return 1;
    return 0;
}

static int is_integer(enum ck_dtype t)
{
    return t == CK_I8 || t == CK_U8 || t == CK_I16 || t == CK_U16 || t == CK_I32 ||
           t == CK_U32 || t == CK_I64 || t == CK_U64;
}

/* Sets the labels from doubles, in which integers up to CK_LABEL_MAX are exact. */
static int set_labels(struct ck_dataset *d, const double *value, const char *path)
{
    int32_t max = -1;
    d->label = ck_alloc_array((size_t)d->n, sizeof *d->label);
    if (!d->label)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < d->n; i++) {
        if (value[i] < -1 || value[i] > CK_LABEL_MAX)
            return ck_fail(COKE_EFORMAT,
                           "%s: label %.0f at %lld; labels must be 0 to %d, or -1 for unknown",
                           path, value[i], (long long)i, CK_LABEL_MAX);
        d->label[i] = (int32_t)value[i];
        max = d->label[i] > max ? d->label[i] : max;
    }
    if (max >= 0)
        return ck_dataset_number_classes(d, max + 1);
    ck_free(d->label); /* every label is unknown */
    d->label = NULL;
    return COKE_OK;
}

static int take_labels(struct ck_dataset *d, const char *path)
{
    struct ck_npy a;
    void *bytes = NULL;
    double *value = NULL;
    int fd = -1, rc = open_array(path, &fd, &a);
    if (rc)
        return rc;
    if (!is_integer(a.dtype) || a.ndim != 1)
        CK_FAIL(COKE_EFORMAT, "%s: labels must be integers in one dimension, not %s in %d",
                path, ck_npy_dtype(a.dtype), a.ndim);
    if (a.shape[0] != d->n)
        CK_FAIL(COKE_EFORMAT, "%s: %lld labels for %lld images", path, (long long)a.shape[0],
                (long long)d->n);
    bytes = ck_alloc_array((size_t)a.bytes, 1);
    value = ck_alloc_array((size_t)d->n, sizeof *value);
    if (!bytes || !value)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_load_at(fd, path, (int64_t)a.offset, bytes, (size_t)a.bytes));
    ck_convert_f64(a.dtype, bytes, d->n, value);
    CK_TRY(set_labels(d, value, path));
done:
    ck_free(bytes);
    ck_free(value);
    close(fd);
    return rc;
}

/* ---- the data set ---- */

/* Uses pread on the shared descriptor, so any thread may call it. */
static int read_image(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    const struct npy_images *x = (const struct npy_images *)d;
    int rc = ck_image_reshape(&item->pixels, d->width, d->height, d->channels);
    if (!rc)
        rc = ck_load_at(x->fd, d->source, x->offset + i * x->stride, item->pixels.data,
                        (size_t)x->stride);
    if (rc)
        item->pixels.width = item->pixels.height = 0;
    return rc;
}

static void name_image(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    snprintf(text, size, "%s#%lld", ck_base_name(d->source), (long long)i);
}

static void free_images(struct ck_dataset *d)
{
    int fd = ((struct npy_images *)d)->fd;
    if (fd >= 0)
        close(fd);
}

static const struct ck_dataset_type npy_type = {
    .kind = "npy", .read = read_image, .name = name_image, .free = free_images};

int ck_dataset_open_npy(struct ck_dataset **out, const char *path,
                        const struct ck_dataset_options *o)
{
    char labels[PATH_MAX];
    struct ck_npy a;
    int rc = COKE_OK;
    (void)o;
    struct npy_images *x = ck_dataset_new(&npy_type, sizeof *x, path);
    if (!x)
        return COKE_ENOMEM;
    x->fd = -1;
    CK_TRY(open_array(path, &x->fd, &a));
    CK_TRY(check_images(x, &a, path));
    if (find_labels(path, labels))
        CK_TRY(take_labels(&x->base, labels));
    CK_TRY(ck_dataset_make_ids(&x->base, NULL));
    *out = &x->base;
    x = NULL;
done:
    ck_dataset_free((struct ck_dataset *)x);
    return rc;
}
