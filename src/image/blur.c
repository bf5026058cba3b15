/* blur.c - Gaussian blur by three extended box filters, along the rows, then along the
 * columns. */
#include "core/error.h"
#include "core/mem.h"
#include "image/color.h"
#include "kernels/pixels.h"

#include <math.h>
#include <string.h>

void ck_blurrer_release(struct ck_blurrer *b)
{
    ck_free(b->memory);
    memset(b, 0, sizeof *b);
}

/* The fractional radius of the box whose threefold application has this standard deviation
 * (Gwosdek et al., Theoretical foundations of Gaussian convolution by extended box filtering,
 * eqs. 7, 11 and 14), with Pillow's roundings to f32. */
static float box_radius(float sigma)
{
    float variance = sigma * sigma / (float)CK_BLUR_ROUNDS;
    float length = (float)sqrt(12.0 * (double)variance + 1.0);
    float whole = (float)floor(((double)length - 1.0) / 2.0);
    float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
    part /= 6 * (variance - (whole + 1) * (whole + 1));
    return whole + part;
}

/* Fixed-point weights that sum to 2^24; truncated as Pillow does. */
static struct ck_box_weights box_of(float radius)
{
    struct ck_box_weights w = {.radius = (int32_t)radius};
    uint32_t one = 1 << 24;
    w.inner = (uint32_t)((float)one / (radius * 2 + 1));
    w.outer = (one - ((uint32_t)w.radius * 2 + 1) * w.inner) / 2;
    return w;
}

/* Grows only. ck_alloc_array aligns to 64 bytes, as the kernels require. */
static int make_room(struct ck_blurrer *b, int32_t n)
{
    size_t numbers = (size_t)ck_blur_work(n), size = sizeof(uint16_t);
    if (numbers * size <= b->bytes)
        return COKE_OK;
    ck_free(b->memory);
    b->bytes = 0;
    b->memory = ck_alloc_array(numbers, size);
    if (!b->memory)
        return COKE_ENOMEM;
    b->bytes = numbers * size;
    return COKE_OK;
}

static int strip(int64_t left)
{
    return (int)(left < CK_STRIP ? left : CK_STRIP);
}

/* Across, all planes form one image of height * channels rows; down, each plane is separate. */
int ck_blur(struct ck_blurrer *b, struct ck_planes *p, float sigma)
{
    float radius = box_radius(sigma);
    if (!(radius > 0))
        return COKE_OK;
    struct ck_box_weights box = box_of(radius);
    int rc = make_room(b, p->width > p->height ? p->width : p->height);
    if (rc)
        return rc;
    int64_t width = p->width, area = width * p->height, rows = (int64_t)p->height * p->channels;
    for (int64_t y = 0; y < rows; y += CK_STRIP)
        ck_pixels()->blur_across(p->data + y * width, width, strip(rows - y), p->width, &box,
                                 b->memory);
    for (int32_t c = 0; c < p->channels; c++)
        for (int64_t x = 0; x < width; x += CK_STRIP)
            ck_pixels()->blur_down(p->data + c * area + x, width, strip(width - x), p->height,
                                   &box, b->memory);
    return COKE_OK;
}
