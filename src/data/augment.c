/* augment.c - turns one image into the augmented views of a training step. */
#include "data/augment.h"
#include "core/error.h"
#include "core/rng.h"

#include <math.h>
#include <string.h>

/* ---- drawing ---- */

/* Number of each draw, which yields four 32-bit words. Never renumber: the same seed would give
 * other images, and resumed trainings would change. */
enum {
    DRAW_CROP = 0, /* and the nine attempts after it: 0..9 */
    DRAW_CHANCES = 10,
    DRAW_MORE,
    DRAW_FACTORS,
    DRAW_ORDER,
    DRAWS = 64,
    VIEWS = 64,
    CROP_ATTEMPTS = 10
};

/* Counter-based: no state, so the order of images and threads does not matter. */
static void draw_words(const struct ck_draw_key *key, int draw, uint32_t w[4])
{
    uint32_t b = ((uint32_t)key->epoch * VIEWS + (uint32_t)key->view) * DRAWS + (uint32_t)draw;
    ck_rng_words(key->seed, CK_RNG_AUGMENT, key->instance, b, w);
}

static double unit(uint32_t word)
{
    return word * 0x1p-32;
}

static double between(double lo, double hi, uint32_t word)
{
    return lo + (hi - lo) * unit(word);
}

static int32_t below(int32_t n, uint32_t word)
{
    return (int32_t)(((uint64_t)word * (uint64_t)n) >> 32);
}

/* The largest centered part with an allowed aspect ratio; like torchvision's fallback. */
static struct ck_box fallback_crop(int32_t width, int32_t height)
{
    double aspect = (double)width / (double)height;
    int32_t w = width, h = height;
    if (aspect < CK_ASPECT_MIN)
        h = (int32_t)rint(width / CK_ASPECT_MIN);
    else if (aspect > CK_ASPECT_MAX)
        w = (int32_t)rint(height * CK_ASPECT_MAX);
    return (struct ck_box){(width - w) / 2, (height - h) / 2, w, h};
}

/* torchvision's RandomResizedCrop: a random area and aspect ratio, retried until the crop
 * fits. */
static struct ck_box draw_crop(const struct ck_view *v, const struct ck_draw_key *key,
                               int32_t width, int32_t height)
{
    double area = (double)width * (double)height;
    double log_min = log(CK_ASPECT_MIN), log_max = log(CK_ASPECT_MAX);
    for (int i = 0; i < CROP_ATTEMPTS; i++) {
        uint32_t word[4];
        draw_words(key, DRAW_CROP + i, word);
        double target = area * between(v->scale[0], v->scale[1], word[0]);
        double aspect = exp(between(log_min, log_max, word[1]));
        double w = rint(sqrt(target * aspect)), h = rint(sqrt(target / aspect));
        if (w < 1 || h < 1 || w > width || h > height)
            continue;
        struct ck_box b = {0, 0, (int32_t)w, (int32_t)h};
        b.y = below(height - b.height + 1, word[2]);
        b.x = below(width - b.width + 1, word[3]);
        return b;
    }
    return fallback_crop(width, height);
}

/* torchvision's ColorJitter: the operations in random order, each with a random factor. */
static void draw_jitter(struct ck_draw *d, const struct ck_view *v,
                        const struct ck_draw_key *key)
{
    uint32_t size[4], order[4];
    draw_words(key, DRAW_FACTORS, size);
    draw_words(key, DRAW_ORDER, order);
    uint8_t op[CK_COLOR_OPS] = {CK_BRIGHTNESS, CK_CONTRAST, CK_SATURATION, CK_HUE};
    for (int i = CK_COLOR_OPS - 1; i > 0; i--) {
        int j = below(i + 1, order[i]);
        uint8_t t = op[i];
        op[i] = op[j];
        op[j] = t;
    }
    for (int i = 0; i < CK_COLOR_OPS; i++) {
        double s = v->strength[op[i]];
        double lo = op[i] == CK_HUE ? -s : fmax(0, 1 - s), hi = op[i] == CK_HUE ? s : 1 + s;
        if (s <= 0)
            continue;
        d->op[d->njitter] = op[i];
        d->factor[d->njitter++] = (float)between(lo, hi, size[op[i]]);
    }
}

void ck_draw_make(struct ck_draw *d, const struct ck_view *v, const struct ck_draw_key *key,
                  int32_t width, int32_t height)
{
    uint32_t chance[4], more[4];
    memset(d, 0, sizeof *d);
    d->crop = v->kind == CK_VIEW_CROP ? draw_crop(v, key, width, height)
                                      : (struct ck_box){0, 0, width, height};
    draw_words(key, DRAW_CHANCES, chance);
    draw_words(key, DRAW_MORE, more);
    if (unit(chance[0]) < v->jitter)
        draw_jitter(d, v, key);
    d->gray = unit(chance[1]) < v->gray;
    if (unit(chance[2]) < v->blur)
        d->sigma = (float)between(CK_SIGMA_MIN, CK_SIGMA_MAX, more[0]);
    d->solarize = unit(chance[3]) < v->solarize;
    d->flip = unit(more[1]) < v->flip;
}

/* ---- rendering ---- */

void ck_canvas_release(struct ck_canvas *c)
{
    ck_resizer_release(&c->resizer);
    ck_blurrer_release(&c->blurrer);
    ck_planes_release(&c->planes);
    ck_planes_release(&c->spare);
}

/* Translates a crop of the whole image to the decoded part: scaled, and clipped at its
 * edges. */
static struct ck_box crop_in_part(struct ck_box crop, const struct ck_box *part, int scale)
{
    int32_t x0 = (crop.x + scale / 2) / scale, y0 = (crop.y + scale / 2) / scale;
    int32_t x1 = (crop.x + crop.width + scale / 2) / scale;
    int32_t y1 = (crop.y + crop.height + scale / 2) / scale;
    x0 -= part->x;
    x1 -= part->x;
    y0 -= part->y;
    y1 -= part->y;
    x1 = x1 < part->width ? x1 : part->width;
    y1 = y1 < part->height ? y1 : part->height;
    return (struct ck_box){x0, y0, x1 - x0, y1 - y0};
}

/* Copies the center; black where the image is smaller. */
static int center_crop(const struct ck_planes *from, int32_t width, int32_t height,
                       struct ck_planes *to)
{
    int rc = ck_planes_reshape(to, width, height, from->channels);
    if (rc)
        return rc;
    int32_t left = (int32_t)rint((from->width - width) / 2.0);
    int32_t top = (int32_t)rint((from->height - height) / 2.0);
    if (from->width < width) /* torchvision pads first, with the smaller half on the left */
        left = -((width - from->width) / 2);
    if (from->height < height)
        top = -((height - from->height) / 2);
    int32_t x0 = left < 0 ? -left : 0;
    int32_t x1 = from->width - left < width ? from->width - left : width;
    size_t plane = (size_t)width * (size_t)height;
    if (left < 0 || top < 0)
        memset(to->data, 0, plane * (size_t)from->channels);
    for (int32_t c = 0; c < from->channels; c++)
        for (int32_t y = 0; y < height; y++) {
            int64_t row = y + top;
            if (row < 0 || row >= from->height)
                continue;
            memcpy(to->data + (size_t)c * plane + (size_t)y * (size_t)width + x0,
                   from->data + ((int64_t)c * from->height + row) * from->width + left + x0,
                   (size_t)(x1 - x0));
        }
    return COKE_OK;
}

/* Images with a larger aspect ratio lose their ends before resizing: the center crop would not
 * show them, and resizing them could need any amount of memory. */
enum { LONGEST_ASPECT = 64 };

static int render_center(struct ck_canvas *c, const struct ck_view *v,
                         const struct ck_box *whole, const struct ck_image *im)
{
    int wide = whole->width > whole->height;
    int64_t shorter = wide ? whole->height : whole->width;
    int64_t longer = wide ? whole->width : whole->height;
    struct ck_box box = {0, 0, im->width, im->height};
    if (longer > LONGEST_ASPECT * shorter) {
        longer = LONGEST_ASPECT * shorter;
        int32_t cut = (wide ? im->width : im->height) / LONGEST_ASPECT * LONGEST_ASPECT;
        cut = (int32_t)(cut < longer ? cut : longer);
        *(wide ? &box.x : &box.y) = ((wide ? im->width : im->height) - cut) / 2;
        *(wide ? &box.width : &box.height) = cut;
    }
    int32_t other = (int32_t)(v->resize * longer / shorter);
    int32_t width = wide ? other : v->resize, height = wide ? v->resize : other;
    CK_RETURN_IF(ck_resize(&c->resizer, im, box, v->filter, width, height, &c->spare));
    return center_crop(&c->spare, v->width, v->height, &c->planes);
}

static void color_op(struct ck_planes *p, int op, float factor)
{
    switch (op) {
    case CK_BRIGHTNESS:
        ck_brightness(p, factor);
        return;
    case CK_CONTRAST:
        ck_contrast(p, factor);
        return;
    case CK_SATURATION:
        ck_saturation(p, factor);
        return;
    default:
        ck_hue(p, factor);
    }
}

/* Color operations are defined for gray and RGB images only. */
static void jitter_colors(struct ck_planes *p, const struct ck_draw *d)
{
    if (p->channels != 1 && p->channels != 3)
        return;
    for (int i = 0; i < d->njitter; i++)
        color_op(p, d->op[i], d->factor[i]);
    if (d->gray)
        ck_grayscale(p);
}

int ck_view_render(struct ck_canvas *c, const struct ck_view *v, const struct ck_draw *d,
                   const struct ck_image *im, const struct ck_box *part, int scale)
{
    if (v->kind == CK_VIEW_CROP)
        CK_RETURN_IF(ck_resize(&c->resizer, im, crop_in_part(d->crop, part, scale), v->filter,
                               v->width, v->height, &c->planes));
    else if (v->kind == CK_VIEW_CENTER)
        CK_RETURN_IF(render_center(c, v, &d->crop, im));
    else if (im->width != v->width || im->height != v->height)
        return ck_fail(COKE_EFORMAT,
                       "%d x %d pixels, not %d x %d like the others; use a recipe "
                       "that resizes",
                       im->width, im->height, v->width, v->height);
    else
        CK_RETURN_IF(ck_planes_from_image(&c->planes, im));
    jitter_colors(&c->planes, d);
    if (d->sigma > 0)
        CK_RETURN_IF(ck_blur(&c->blurrer, &c->planes, d->sigma));
    if (d->solarize)
        ck_solarize(&c->planes, CK_SOLARIZE_THRESHOLD);
    return COKE_OK;
}
