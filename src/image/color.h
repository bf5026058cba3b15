/* color.h - torchvision's colour operations, computed as Pillow does, in place on planes.
 *
 * Three channels are RGB. One channel is grey: saturation, hue and grayscale leave it
 * unchanged. Other numbers of channels: brightness, contrast, saturation, hue and grayscale are
 * undefined and must not be called. Everything runs on the calling thread, a worker of the
 * loader. */
#ifndef CK_COLOR_H
#define CK_COLOR_H

#include "image/image.h"

void ck_brightness(struct ck_planes *p, float factor); /* ImageEnhance.Brightness */
void ck_contrast(struct ck_planes *p, float factor);   /* ImageEnhance.Contrast */
void ck_saturation(struct ck_planes *p, float factor); /* ImageEnhance.Color */
void ck_hue(struct ck_planes *p, float factor);        /* adjust_hue, factor in [-.5, .5] */
void ck_grayscale(struct ck_planes *p);                /* L in all three channels */
void ck_solarize(struct ck_planes *p, int threshold);  /* ImageOps.solarize */

/* Pillow's GaussianBlur(radius = sigma): three extended box filters. sigma up to 10^6. The
 * blurrer is the scratch of one thread; zeroed = ready. */
struct ck_blurrer {
    void *memory;
    size_t bytes;
};
void ck_blurrer_release(struct ck_blurrer *b);
int ck_blur(struct ck_blurrer *b, struct ck_planes *p, float sigma);

/* (x/255 - mean)/std in f32, as ToTensor and Normalize compute it; flip mirrors left and right.
 * mean, std [channels]; out [channels][height][width]. */
void ck_planes_normalize(const struct ck_planes *p, int flip, const float *mean,
                         const float *std, float *out);

#endif
