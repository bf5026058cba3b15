/* color.c - colour operations on planes: Pillow's conventions on top of kernels/pixels.h. */
#include "image/color.h"
#include "kernels/pixels.h"

static int64_t area(const struct ck_planes *p)
{
    return (int64_t)p->width * p->height;
}

/* ImageEnhance blends with a degenerate image: black for brightness, the mean grey for
 * contrast, the grey image for colour. */
void ck_brightness(struct ck_planes *p, float factor)
{
    ck_pixels()->blend_level(p->data, area(p) * p->channels, 0, factor);
}

void ck_contrast(struct ck_planes *p, float factor)
{
    int64_t n = area(p);
    uint8_t *r = p->data, *g = p->channels == 3 ? r + n : r, *b = p->channels == 3 ? g + n : r;
    double mean = (double)ck_pixels()->gray_sum(r, g, b, n) / (double)n;
    ck_pixels()->blend_level(p->data, n * p->channels, (float)(int)(mean + 0.5), factor);
}

void ck_saturation(struct ck_planes *p, float factor)
{
    int64_t n = area(p);
    if (p->channels == 3)
        ck_pixels()->blend_gray(p->data, p->data + n, p->data + 2 * n, n, factor);
}

/* Hue is a byte that wraps around; torchvision first truncates the shift towards 0. */
void ck_hue(struct ck_planes *p, float factor)
{
    int64_t n = area(p);
    int shift = (int)((double)factor * 255) & 255;
    if (p->channels == 3)
        ck_pixels()->hue(p->data, p->data + n, p->data + 2 * n, n, shift);
}

void ck_grayscale(struct ck_planes *p)
{
    int64_t n = area(p);
    if (p->channels == 3)
        ck_pixels()->gray(p->data, p->data + n, p->data + 2 * n, n);
}

void ck_solarize(struct ck_planes *p, int threshold)
{
    int within = threshold < 0 ? 0 : threshold > 256 ? 256 : threshold;
    ck_pixels()->solarize(p->data, area(p) * p->channels, within);
}

void ck_planes_normalize(const struct ck_planes *p, int flip, const float *mean,
                         const float *std, float *out)
{
    /* Unless mirrored, a plane is one long line. */
    int64_t n = area(p), line = flip ? p->width : n;
    for (int32_t c = 0; c < p->channels; c++)
        for (int64_t i = c * n; i < (c + 1) * n; i += line)
            ck_pixels()->normalize(p->data + i, line, flip, mean[c], std[c], out + i);
}
