/* resize.h - antialiased resampling with Pillow's arithmetic. */
#ifndef CK_RESIZE_H
#define CK_RESIZE_H

#include "image/image.h"

enum ck_filter { CK_BILINEAR, CK_BICUBIC };

/* Scratch of one thread: coefficients and the image between the two directions. Zeroed =
 * ready. */
struct ck_resizer {
    void *memory[4];
    size_t bytes[4];
};
void ck_resizer_release(struct ck_resizer *r);

/* Resamples the part `box` of im, which must lie inside, to width x height: equal in every byte
 * to Pillow 9.4's im.crop(box).resize((width, height), filter). Any number of channels. A box
 * of the requested size is copied. */
int ck_resize(struct ck_resizer *r, const struct ck_image *im, struct ck_box box,
              enum ck_filter filter, int32_t width, int32_t height, struct ck_planes *out);

#endif
