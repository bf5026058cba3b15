/* augment.h - one image becomes the views that training looks at.
 *
 * What a view does to an image is a row of numbers (ck_view). The random ones among its
 * parameters are drawn before the image is decoded, as a function of (seed, epoch, instance,
 * view) only; then the image is cropped, jittered and so on, as torchvision would. */
#ifndef CK_AUGMENT_H
#define CK_AUGMENT_H

#include "image/color.h"
#include "image/resize.h"

enum ck_view_kind {
    CK_VIEW_CROP,   /* RandomResizedCrop */
    CK_VIEW_CENTER, /* Resize of the short side, CenterCrop */
    CK_VIEW_AS_IS   /* all images have one size */
};

enum ck_color_op { CK_BRIGHTNESS, CK_CONTRAST, CK_SATURATION, CK_HUE, CK_COLOR_OPS };

struct ck_view {
    enum ck_view_kind kind;
    int32_t width, height; /* of the view */
    int32_t resize;        /* CENTER: the short side becomes this */
    enum ck_filter filter;
    double scale[2]; /* share of the area that a crop takes */
    double jitter;   /* probability */
    double strength[CK_COLOR_OPS];
    double gray, blur, solarize, flip; /* probabilities */
};

/* Aspect ratios of crops, blur and solarize are the same in all recipes. */
#define CK_ASPECT_MIN (3.0 / 4.0)
#define CK_ASPECT_MAX (4.0 / 3.0)
#define CK_SIGMA_MIN 0.1
#define CK_SIGMA_MAX 2.0
enum { CK_SOLARIZE_THRESHOLD = 128 };

/* Whose draws these are. */
struct ck_draw_key {
    uint64_t seed, instance; /* the stable id */
    int64_t epoch;
    int32_t view;
};

/* What happens to one image in one view. */
struct ck_draw {
    struct ck_box crop;
    int32_t njitter; /* 0 = no jitter */
    uint8_t op[CK_COLOR_OPS];
    float factor[CK_COLOR_OPS]; /* of op[i] */
    int32_t gray, solarize, flip;
    float sigma; /* 0 = no blur */
};

/* width, height of the whole image, turned upright if it will be. */
void ck_draw_make(struct ck_draw *d, const struct ck_view *v, const struct ck_draw_key *key,
                  int32_t width, int32_t height);

/* Working memory of one thread. Zeroed = ready. */
struct ck_canvas {
    struct ck_resizer resizer;
    struct ck_blurrer blurrer;
    struct ck_planes planes; /* the view */
    struct ck_planes spare;
};
void ck_canvas_release(struct ck_canvas *c);

/* The view in c->planes, u8, before flip and normalisation. The image holds the part `part` of
 * the whole one scaled down by `scale` (1: as it is); part is in pixels of the scaled image. */
int ck_view_render(struct ck_canvas *c, const struct ck_view *v, const struct ck_draw *d,
                   const struct ck_image *im, const struct ck_box *part, int scale);

#endif
