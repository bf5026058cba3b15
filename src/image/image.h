/* image.h - 8-bit pixels in memory: interleaved, as codecs produce them, and in planes, as the
 * operations use them.
 *
 * An image owns its memory and reuses it: reshaping to something that fits the capacity
 * allocates nothing. Nothing here is shared or locked; each thread works on images of its
 * own. */
#ifndef CK_IMAGE_H
#define CK_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* A rectangle of an image, in pixels. */
struct ck_box {
    int32_t x, y, width, height;
};

/* A zeroed struct is an empty image. At least CK_IMAGE_SLACK bytes past the last pixel may be
 * read and written (their value is never used), so that vector code needs no special case at
 * the end. */
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

/* Set the shape and make room for it; the contents are undefined. On failure the image is
 * empty. */
int ck_image_reshape(struct ck_image *im, int32_t width, int32_t height, int32_t channels);
int ck_planes_reshape(struct ck_planes *p, int32_t width, int32_t height, int32_t channels);
/* Free the memory and leave an empty image. */
void ck_image_release(struct ck_image *im);
void ck_planes_release(struct ck_planes *p);

/* Convert from one layout to the other; `out` is reshaped. */
int ck_planes_from_image(struct ck_planes *out, const struct ck_image *im);
int ck_image_from_planes(struct ck_image *out, const struct ck_planes *p);

/* Converts in place: 1 -> 3 channels repeats, 3 -> 1 is L = (19595 R + 38470 G + 7471 B + 2^15)
 * / 2^16, as in Pillow's convert(); other changes fail with COKE_EFORMAT. `spare` is scratch
 * that swaps its memory with im: pass the same one again to avoid allocations. */
int ck_image_to_channels(struct ck_image *im, int32_t channels, struct ck_image *spare);

/* Composites an image with alpha in its last channel on a colour [3], in place: grey with alpha
 * on grey becomes grey, everything else RGB. As Pillow's alpha_composite(). `spare` as above. */
int ck_image_composite(struct ck_image *im, const uint8_t *color, struct ck_image *spare);

/* Rotates and mirrors in place so that EXIF orientation 1..8 becomes 1. `spare` as above. */
int ck_image_orient(struct ck_image *im, int orientation, struct ck_image *spare);

#endif
