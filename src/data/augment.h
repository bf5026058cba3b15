/* augment.h - turns one image into the augmented views of a training step.
 *
 * A view is described by a row of numbers (ck_view). Its random parameters are drawn before the
 * image is decoded, as a function of (seed, epoch, instance, view) only; then the image is
 * cropped, jittered and so on, as torchvision does. All functions are safe from any thread,
 * each with its own canvas. */
#ifndef CK_AUGMENT_H
#define CK_AUGMENT_H

#include "image/color.h"
#include "image/resize.h"

enum ck_view_kind {
    CK_VIEW_CROP,   /* RandomResizedCrop */
    CK_VIEW_CENTER, /* Resize of the short side, CenterCrop */
    CK_VIEW_AS_IS   /* no change: all images must have the size of the view */
};

enum ck_color_op { CK_BRIGHTNESS, CK_CONTRAST, CK_SATURATION, CK_HUE, CK_COLOR_OPS };

/* How one view is made; constant during a training and shared by all threads. */
struct ck_view {
    enum ck_view_kind kind;
    int32_t width, height; /* of the view */
    int32_t resize;        /* CENTER: length of the short side after resizing */
    enum ck_filter filter;
    double scale[2]; /* range of the fraction of the area that a crop takes */
    double jitter;   /* probability */
    double strength[CK_COLOR_OPS];
    double gray, blur, solarize, flip; /* probabilities */
};

/* Aspect ratios of crops, blur and solarize are the same in all recipes. Sigma is in pixels of
 * the view. */
#define CK_ASPECT_MIN (3.0 / 4.0)
#define CK_ASPECT_MAX (4.0 / 3.0)
#define CK_SIGMA_MIN 0.1
#define CK_SIGMA_MAX 2.0
enum { CK_SOLARIZE_THRESHOLD = 128 };

/* Identifies the random numbers of one view of one image. */
struct ck_draw_key {
    uint64_t seed, instance; /* instance: the stable id, not the position */
    int64_t epoch;
    int32_t view;
};

/* The random decisions for one image in one view. The crop is in pixels of the whole image. */
struct ck_draw {
    struct ck_box crop;
    int32_t njitter; /* 0 = no jitter */
    uint8_t op[CK_COLOR_OPS];
    float factor[CK_COLOR_OPS]; /* of op[i] */
    int32_t gray, solarize, flip;
    float sigma; /* 0 = no blur */
};

/* Draws the parameters of a view; width and height are those of the whole image, after EXIF
 * orientation if it is applied. */
void ck_draw_make(struct ck_draw *d, const struct ck_view *v, const struct ck_draw_key *key,
                  int32_t width, int32_t height);

/* Working memory of one thread, reused from image to image. Initialize with zeros. */
struct ck_canvas {
    struct ck_resizer resizer;
    struct ck_blurrer blurrer;
    struct ck_planes planes; /* the result, channel by channel */
    struct ck_planes spare;
};
void ck_canvas_release(struct ck_canvas *c);

/* Renders the view into c->planes, u8, before flip and normalization. im holds the part `part`
 * of the image at 1/scale of its size (1: full size); part is in pixels of the scaled image. */
int ck_view_render(struct ck_canvas *c, const struct ck_view *v, const struct ck_draw *d,
                   const struct ck_image *im, const struct ck_box *part, int scale);

#endif
