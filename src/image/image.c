/* image.c - manages the memory of images and converts between layouts. */
#include "image/image.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

/* Columns of a rotated image written at a time. */
enum { STRIP = 64 };

/* Grows only, so that a loader's thread stops allocating after its largest image. The old
 * contents are lost. */
static int make_room(uint8_t **data, size_t *capacity, int32_t width, int32_t height,
                     int32_t channels)
{
    size_t row = (size_t)width * (size_t)channels; /* cannot overflow: both fit 31 bits */
    size_t need;
    if (__builtin_mul_overflow(row, (size_t)height, &need) ||
        __builtin_add_overflow(need, (size_t)CK_IMAGE_SLACK, &need))
        return ck_fail(COKE_ENOMEM, "an image of %d x %d x %d exceeds the address space", width,
                       height, channels);
    if (need <= *capacity)
        return COKE_OK;
    ck_free(*data);
    *capacity = 0;
    *data = ck_alloc_array(need, 1);
    if (!*data)
        return COKE_ENOMEM;
    *capacity = need;
    return COKE_OK;
}

int ck_image_reshape(struct ck_image *im, int32_t width, int32_t height, int32_t channels)
{
    int rc = make_room(&im->data, &im->capacity, width, height, channels);
    im->width = rc ? 0 : width;
    im->height = rc ? 0 : height;
    im->channels = rc ? 0 : channels;
    return rc;
}

int ck_planes_reshape(struct ck_planes *p, int32_t width, int32_t height, int32_t channels)
{
    int rc = make_room(&p->data, &p->capacity, width, height, channels);
    p->width = rc ? 0 : width;
    p->height = rc ? 0 : height;
    p->channels = rc ? 0 : channels;
    return rc;
}

void ck_image_release(struct ck_image *im)
{
    ck_free(im->data);
    memset(im, 0, sizeof *im);
}

void ck_planes_release(struct ck_planes *p)
{
    ck_free(p->data);
    memset(p, 0, sizeof *p);
}

int ck_planes_from_image(struct ck_planes *out, const struct ck_image *im)
{
    int rc = ck_planes_reshape(out, im->width, im->height, im->channels);
    if (rc)
        return rc;
    size_t area = (size_t)im->width * (size_t)im->height;
    size_t channels = (size_t)im->channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < area; i++)
            out->data[c * area + i] = im->data[i * channels + c];
    return COKE_OK;
}

int ck_image_from_planes(struct ck_image *out, const struct ck_planes *p)
{
    int rc = ck_image_reshape(out, p->width, p->height, p->channels);
    if (rc)
        return rc;
    size_t area = (size_t)p->width * (size_t)p->height;
    size_t channels = (size_t)p->channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < area; i++)
            out->data[i * channels + c] = p->data[c * area + i];
    return COKE_OK;
}

/* Exchanges the memory, so that the result ends up in the caller's image without a copy. */
static void swap(struct ck_image *a, struct ck_image *b)
{
    struct ck_image t = *a;
    *a = *b;
    *b = t;
}

int ck_image_to_channels(struct ck_image *im, int32_t channels, struct ck_image *spare)
{
    if (channels == im->channels)
        return COKE_OK;
    if (!(im->channels == 1 && channels == 3) && !(im->channels == 3 && channels == 1))
        return ck_fail(COKE_EFORMAT, "the image has %d channels; %d were requested",
                       im->channels, channels);
    int rc = ck_image_reshape(spare, im->width, im->height, channels);
    if (rc)
        return rc;
    size_t area = (size_t)im->width * (size_t)im->height;
    const uint8_t *from = im->data;
    uint8_t *to = spare->data;
    if (channels == 3)
        for (size_t i = 0; i < area; i++)
            to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = from[i];
    else
        for (size_t i = 0; i < area; i++)
            to[i] = (uint8_t)((19595u * from[3 * i] + 38470u * from[3 * i + 1] +
                               7471u * from[3 * i + 2] + 32768u) >>
                              16);
    swap(im, spare);
    return COKE_OK;
}

/* alpha / 255 of one sample and the rest of another, rounded as in Pillow. */
static uint8_t blend(uint32_t sample, uint32_t under, uint32_t alpha)
{
    uint32_t sum = (sample * alpha + under * (255 - alpha) + 128) << 7;
    return (uint8_t)((((sum >> 8) + sum) >> 8) >> 7);
}

int ck_image_composite(struct ck_image *im, const uint8_t *color, struct ck_image *spare)
{
    int colored = im->channels == 4, grey = color[0] == color[1] && color[1] == color[2];
    int32_t channels = colored || !grey ? 3 : 1;
    if (im->channels != 2 && im->channels != 4)
        return ck_fail(COKE_EFORMAT, "the image has %d channels, and no alpha", im->channels);
    CK_RETURN_IF(ck_image_reshape(spare, im->width, im->height, channels));
    const uint8_t *from = im->data,
                  *end = from + (size_t)im->width * (size_t)im->height * (size_t)im->channels;
    for (uint8_t *to = spare->data; from < end; from += im->channels)
        for (int c = 0; c < channels; c++)
            *to++ = blend(from[colored ? c : 0], color[c], from[im->channels - 1]);
    swap(im, spare);
    return COKE_OK;
}

/* Copies n pixels that are `step` bytes apart to consecutive ones. The three-channel loop is
 * separate so that the compiler unrolls it. */
static void gather(uint8_t *to, const uint8_t *from, ptrdiff_t step, int32_t n,
                   int32_t channels)
{
    if (channels == 3)
        for (; n > 0; n--, to += 3, from += step) {
            to[0] = from[0];
            to[1] = from[1];
            to[2] = from[2];
        }
    else
        for (; n > 0; n--, to += channels, from += step)
            for (int32_t c = 0; c < channels; c++)
                to[c] = from[c];
}

int ck_image_orient(struct ck_image *im, int orientation, struct ck_image *spare)
{
    if (orientation <= 1 || orientation > 8)
        return COKE_OK;
    int rotated = orientation >= 5;
    int32_t width = rotated ? im->height : im->width, height = rotated ? im->width : im->height;
    int rc = ck_image_reshape(spare, width, height, im->channels);
    if (rc)
        return rc;
    /* EXIF says where the stored first row and column are displayed; these tables say from
     * which end the stored columns and rows are read. */
    static const uint8_t from_right[9] = {0, 0, 1, 1, 0, 0, 0, 1, 1};
    static const uint8_t from_bottom[9] = {0, 0, 0, 1, 1, 0, 1, 1, 0};
    ptrdiff_t column = im->channels, row = column * im->width;
    const uint8_t *from = im->data;
    from += from_right[orientation] ? (im->width - 1) * column : 0;
    from += from_bottom[orientation] ? (im->height - 1) * row : 0;
    column = from_right[orientation] ? -column : column;
    row = from_bottom[orientation] ? -row : row;
    ptrdiff_t across = rotated ? row : column, down = rotated ? column : row;
    /* Rotates in strips, so that the stored rows that a strip crosses stay in the cache. */
    int32_t strip = rotated && width > STRIP ? STRIP : width;
    for (int32_t x = 0; x < width; x += strip)
        for (int32_t y = 0; y < height; y++)
            gather(spare->data + ((ptrdiff_t)y * width + x) * im->channels,
                   from + y * down + x * across, across, width - x < strip ? width - x : strip,
                   im->channels);
    swap(im, spare);
    return COKE_OK;
}
