/* color.h - torchvision's colour operations as Pillow computes them, in place on planes.
 *
 * Three channels are RGB. One channel is grey: saturation, hue and grayscale leave it alone.
 * Other numbers of channels: brightness, contrast, saturation, hue and grayscale are not
 * defined and must not be called. */
#ifndef CK_COLOR_H
#define CK_COLOR_H

#include "image/image.h"

void ck_brightness(struct ck_planes *p, float factor); /* ImageEnhance.Brightness */
void ck_contrast(struct ck_planes *p, float factor);   /* ImageEnhance.Contrast */
void ck_saturation(struct ck_planes *p, float factor); /* ImageEnhance.Color */
void ck_hue(struct ck_planes *p, float factor);        /* adjust_hue, factor in [-.5, .5] */
void ck_grayscale(struct ck_planes *p);                /* L in all three channels */
void ck_solarize(struct ck_planes *p, int threshold);  /* ImageOps.solarize */

/* Pillow's GaussianBlur(radius = sigma): three passes of an extended box. sigma up to 10^6. */
struct ck_blurrer {
    void *memory;
    size_t bytes;
};
void ck_blurrer_release(struct ck_blurrer *b);
int ck_blur(struct ck_blurrer *b, struct ck_planes *p, float sigma);

/* (x/255 - mean)/std in f32 as ToTensor and Normalize compute it; flip mirrors left and right.
 * mean, std [channels]; out [channels][height][width]. */
void ck_planes_normalize(const struct ck_planes *p, int flip, const float *mean,
                         const float *std, float *out);

#endif
