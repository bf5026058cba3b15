/* image.h - pixels in memory: interleaved as codecs make them, in planes as operations like
 * them. Memory is kept and reused: an image that fits in what is there allocates nothing. */
#ifndef CK_IMAGE_H
#define CK_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* A part of an image, in pixels. */
struct ck_box {
    int32_t x, y, width, height;
};

/* Zeroed = empty. At least CK_IMAGE_SLACK bytes beyond the last pixel may be read and written
 * (never relied on), so that vector code needs no special end. */
enum { CK_IMAGE_SLACK = 64, CK_IMAGE_MAX_SIDE = 65535 };

struct ck_image {
    int32_t width, height, channels;
    uint8_t *data; /* [height][width][channels] */
    size_t capacity;
};

struct ck_planes {
    int32_t width, height, channels;
    uint8_t *data; /* [channels][height][width] */
    size_t capacity;
};

/* Make room for this shape; the contents are undefined. */
int ck_image_reshape(struct ck_image *im, int32_t width, int32_t height, int32_t channels);
int ck_planes_reshape(struct ck_planes *p, int32_t width, int32_t height, int32_t channels);
void ck_image_release(struct ck_image *im);
void ck_planes_release(struct ck_planes *p);

/* From one layout to the other. */
int ck_planes_from_image(struct ck_planes *out, const struct ck_image *im);
int ck_image_from_planes(struct ck_image *out, const struct ck_planes *p);

/* 1 -> 3 channels repeats, 3 -> 1 is L = (19595 R + 38470 G + 7471 B + 2^15) / 2^16, as
 * Pillow's convert(); other changes of the number of channels are refused. `spare` is working
 * memory. */
int ck_image_to_channels(struct ck_image *im, int32_t channels, struct ck_image *spare);

/* Turns and mirrors in place so that EXIF orientation 1..8 becomes 1. */
int ck_image_orient(struct ck_image *im, int orientation, struct ck_image *spare);

#endif
