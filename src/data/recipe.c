/* recipe.c - which views an image is turned into: the built-in recipes, modified by the
 * options. */
#include "data/recipe.h"
#include "core/error.h"
#include "data/data_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tables ---- */

#define JITTER_STRONG                                                                          \
    0.8,                                                                                       \
    {                                                                                          \
        0.8, 0.8, 0.8, 0.2                                                                     \
    }
#define JITTER_GENTLE                                                                          \
    0.8,                                                                                       \
    {                                                                                          \
        0.4, 0.4, 0.2, 0.1                                                                     \
    }
#define JITTER_WEAK                                                                            \
    0.8,                                                                                       \
    {                                                                                          \
        0.4, 0.4, 0.4, 0.1                                                                     \
    }
#define CROP CK_VIEW_CROP
#define LIN CK_BILINEAR

enum {
    SINGLE,
    LARGE1,
    LARGE2,
    SMALL,
    CIFAR_SINGLE,
    CIFAR1,
    CIFAR2,
    CIFAR1_SHARP,
    CIFAR2_SHARP,
    WEAK,
    STRONG,
    CIFAR_WEAK,
    CIFAR_STRONG,
    EVEN_WEAK,
    SWAV_LARGE,
    SWAV_SMALL,
    DINO1,
    DINO2,
    DINO_SMALL,
    CIFAR_EVEN_STRONG,
    CIFAR_EVEN_WEAK,
    CIFAR_SOLARIZE,
    PROBE,
    EVAL,
    AS_IS
};

/* kind, width, height, resize, filter, scale, jitter, gray, blur, solarize, flip */
static const struct ck_view views[] = {
    [SINGLE] = {CROP, 224, 224, 0, LIN, {0.08, 1}, JITTER_STRONG, 0.2, 0.5, 0, 0.5},
    [LARGE1] = {CROP, 224, 224, 0, LIN, {0.08, 1}, JITTER_GENTLE, 0.2, 1, 0, 0.5},
    [LARGE2] = {CROP, 224, 224, 0, LIN, {0.08, 1}, JITTER_GENTLE, 0.2, 0.1, 0.2, 0.5},
    [SMALL] = {CROP, 96, 96, 0, LIN, {0.05, 0.6}, JITTER_STRONG, 0.2, 0.5, 0, 0.5},
    [CIFAR_SINGLE] = {CROP, 32, 32, 0, LIN, {0.3, 1}, JITTER_STRONG, 0.2, 0, 0, 0.5},
    [CIFAR1] = {CROP, 32, 32, 0, LIN, {0.3, 1}, JITTER_GENTLE, 0.2, 1, 0, 0.5},
    [CIFAR2] = {CROP, 32, 32, 0, LIN, {0.3, 1}, JITTER_GENTLE, 0.2, 0.1, 0.2, 0.5},
    [CIFAR1_SHARP] = {CROP, 32, 32, 0, LIN, {0.3, 1}, JITTER_GENTLE, 0.2, 0, 0, 0.5},
    [CIFAR2_SHARP] = {CROP, 32, 32, 0, LIN, {0.3, 1}, JITTER_GENTLE, 0.2, 0, 0.2, 0.5},
    [WEAK] = {CK_VIEW_CENTER, 224, 224, 256, LIN, {0}, 0, {0}, 0, 0, 0, 0},
    [STRONG] = {CROP, 224, 224, 0, LIN, {0.2, 1}, JITTER_STRONG, 0.2, 0.5, 0.2, 0.5},
    [CIFAR_WEAK] = {CK_VIEW_CENTER, 32, 32, 32, LIN, {0}, 0, {0}, 0, 0, 0, 0},
    [CIFAR_STRONG] = {CROP, 32, 32, 0, LIN, {0.2, 1}, JITTER_STRONG, 0.2, 0, 0.2, 0.5},
    [EVEN_WEAK] = {CROP, 224, 224, 0, LIN, {0.2, 1}, JITTER_WEAK, 0.2, 0.5, 0, 0.5},
    [SWAV_LARGE] = {CROP, 224, 224, 0, LIN, {0.14, 1}, JITTER_STRONG, 0.2, 0.5, 0, 0.5},
    [SWAV_SMALL] = {CROP, 96, 96, 0, LIN, {0.05, 0.14}, JITTER_STRONG, 0.2, 0.5, 0, 0.5},
    [DINO1] = {CROP, 224, 224, 0, LIN, {0.14, 1}, JITTER_GENTLE, 0.2, 1, 0, 0.5},
    [DINO2] = {CROP, 224, 224, 0, LIN, {0.14, 1}, JITTER_GENTLE, 0.2, 0.1, 0.2, 0.5},
    [DINO_SMALL] = {CROP, 96, 96, 0, LIN, {0.05, 0.14}, JITTER_GENTLE, 0.2, 0.5, 0, 0.5},
    [CIFAR_EVEN_STRONG] = {CROP, 32, 32, 0, LIN, {0.08, 1}, JITTER_STRONG, 0.2, 0.5, 0, 0.5},
    [CIFAR_EVEN_WEAK] = {CROP, 32, 32, 0, LIN, {0.08, 1}, JITTER_WEAK, 0.2, 0.5, 0, 0.5},
    [CIFAR_SOLARIZE] = {CROP, 32, 32, 0, LIN, {0.2, 1}, JITTER_GENTLE, 0.2, 0, 0.1, 0.5},
    [PROBE] = {CROP, 224, 224, 0, LIN, {0.08, 1}, 0, {0}, 0, 0, 0, 0.5},
    [EVAL] = {CK_VIEW_CENTER, 224, 224, 256, LIN, {0}, 0, {0}, 0, 0, 0, 0},
    [AS_IS] = {CK_VIEW_AS_IS, 0, 0, 0, LIN, {0}, 0, {0}, 0, 0, 0, 0},
};

static const struct {
    const char *name;
    int large, view[2];
    int small; /* the view that small crops are; 0 = none */
    int norm;
} recipes[] = {
    [CK_RECIPE_SINGLE] = {"single", 1, {SINGLE}, 0, CK_NORM_IMAGENET},
    [CK_RECIPE_DOUBLE] = {"double", 2, {LARGE1, LARGE2}, 0, CK_NORM_IMAGENET},
    [CK_RECIPE_MULTI] = {"multi", 2, {LARGE1, LARGE2}, SMALL, CK_NORM_IMAGENET},
    [CK_RECIPE_CIFAR_SINGLE] = {"cifar-single", 1, {CIFAR_SINGLE}, 0, CK_NORM_CIFAR10},
    [CK_RECIPE_CIFAR] = {"cifar", 2, {CIFAR1, CIFAR2}, 0, CK_NORM_CIFAR10},
    [CK_RECIPE_CIFAR_SMALL] =
        {"cifar-small", 2, {CIFAR1_SHARP, CIFAR2_SHARP}, 0, CK_NORM_CIFAR10},
    [CK_RECIPE_WEAK_STRONG] = {"weak-strong", 2, {WEAK, STRONG}, 0, CK_NORM_IMAGENET},
    [CK_RECIPE_CIFAR_WEAK_STRONG] =
        {"cifar-weak-strong", 2, {CIFAR_WEAK, CIFAR_STRONG}, 0, CK_NORM_CIFAR10},
    [CK_RECIPE_STRONG] = {"strong", 2, {SINGLE, SINGLE}, 0, CK_NORM_IMAGENET},
    [CK_RECIPE_WEAK] = {"weak", 2, {EVEN_WEAK, EVEN_WEAK}, 0, CK_NORM_IMAGENET},
    [CK_RECIPE_MULTI_SWAV] =
        {"multi-swav", 2, {SWAV_LARGE, SWAV_LARGE}, SWAV_SMALL, CK_NORM_IMAGENET},
    [CK_RECIPE_MULTI_DINO] = {"multi-dino", 2, {DINO1, DINO2}, DINO_SMALL, CK_NORM_IMAGENET},
    [CK_RECIPE_CIFAR_STRONG] =
        {"cifar-strong", 2, {CIFAR_EVEN_STRONG, CIFAR_EVEN_STRONG}, 0, CK_NORM_CIFAR10},
    [CK_RECIPE_CIFAR_WEAK] =
        {"cifar-weak", 2, {CIFAR_EVEN_WEAK, CIFAR_EVEN_WEAK}, 0, CK_NORM_CIFAR10},
    [CK_RECIPE_CIFAR_SOLARIZE] =
        {"cifar-solarize", 2, {CIFAR_SOLARIZE, CIFAR_SOLARIZE}, 0, CK_NORM_CIFAR10},
    [CK_RECIPE_LINEAR] = {"linear", 1, {PROBE}, 0, CK_NORM_IMAGENET},
    [CK_RECIPE_EVAL] = {"eval", 1, {EVAL}, 0, CK_NORM_IMAGENET},
    [CK_RECIPE_NONE] = {"none", 1, {AS_IS}, 0, CK_NORM_AUTO},
};

static const struct {
    float mean[3], std[3];
} norms[] = {
    [CK_NORM_IMAGENET] = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
    [CK_NORM_CIFAR10] = {{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}},
    [CK_NORM_CIFAR100] = {{0.5071f, 0.4867f, 0.4408f}, {0.2675f, 0.2565f, 0.2761f}},
    [CK_NORM_HALF] = {{0.5f, 0.5f, 0.5f}, {0.25f, 0.25f, 0.25f}},
};

int ck_recipe_large(int recipe)
{
    return recipe == CK_RECIPE_AUTO ? 2 : recipes[recipe].large;
}

int ck_recipe_has_small(int recipe)
{
    return recipe != CK_RECIPE_AUTO && recipes[recipe].small != 0;
}

/* ---- options ---- */

/* Images up to this side count as small, like CIFAR's. */
enum { SMALL_IMAGE = 64, SAMPLE = 15, SMALL_VIEWS = 6 };

static int compare_sides(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int ck_recipe_sample_sizes(struct coke_dataset *d, struct ck_sample_sizes *s)
{
    struct ck_fetcher f = {0};
    int rc = COKE_OK, seen = 0, little = 0;
    int32_t sides[SAMPLE];
    int64_t n = d->set->n, samples = n < SAMPLE ? n : SAMPLE;
    s->width = d->set->width;
    s->height = d->set->height;
    s->side = s->width < s->height ? s->width : s->height;
    s->small = s->width <= SMALL_IMAGE && s->height <= SMALL_IMAGE;
    if (d->set->width)
        return COKE_OK;
    for (int64_t i = 0; i < samples; i++) {
        rc = ck_fetch_open(&f, d, n * i / samples);
        if (rc)
            continue;
        if (seen == 0) {
            s->width = f.width;
            s->height = f.height;
        }
        sides[seen++] = f.width < f.height ? f.width : f.height;
        little += f.width <= SMALL_IMAGE && f.height <= SMALL_IMAGE;
    }
    ck_fetcher_release(&f);
    s->small = 2 * little > seen;
    if (!seen)
        return rc;
    qsort(sides, (size_t)seen, sizeof *sides, compare_sides);
    s->side = sides[seen / 2];
    return COKE_OK;
}

/* v: one mean and deviation for all channels, or three of each. */
static int set_numbers(struct ck_recipe *r, const struct ck_numbers *x)
{
    int each = x->n / 2;
    if (each == 3 && r->channels != 3)
        return ck_fail(COKE_EUSAGE,
                       "normalize: three means and deviations are for color images; these "
                       "have %d channel%s",
                       r->channels, r->channels == 1 ? "" : "s");
    for (int c = 0; c < r->channels; c++) {
        r->mean[c] = (float)x->v[c % each];
        r->std[c] = (float)x->v[each + c % each];
        if (!(r->std[c] > 0))
            return ck_fail(COKE_EUSAGE, "normalize: a deviation of 0");
    }
    return COKE_OK;
}

/* The recipe's, or by the size of the images; CIFAR-100 has its own. */
static int choose_norm(const struct ck_recipe *r, const struct coke_dataset *d, int fallback)
{
    int small = fallback == CK_NORM_CIFAR10 ||
                (fallback == CK_NORM_AUTO && r->view[0].width <= SMALL_IMAGE);
    if (r->channels != 3) /* the others are statistics of colors */
        return CK_NORM_HALF;
    if (!small)
        return CK_NORM_IMAGENET;
    return strcmp(d->set->type->kind, "CIFAR-100") == 0 ? CK_NORM_CIFAR100 : CK_NORM_CIFAR10;
}

static int set_norm(struct ck_recipe *r, const struct coke_dataset *d,
                    const struct ck_numbers *normalize, int fallback)
{
    int norm = normalize ? normalize->word : CK_NORM_AUTO;
    if (normalize && normalize->n)
        return set_numbers(r, normalize);
    if (norm == CK_NORM_AUTO || r->channels != 3)
        norm = choose_norm(r, d, fallback);
    for (int c = 0; c < r->channels; c++) {
        r->mean[c] = norms[norm].mean[c % 3];
        r->std[c] = norms[norm].std[c % 3];
    }
    return COKE_OK;
}

/* Applies the options. Center crops keep the ratio of resize and crop when the size changes. */
static void set_view(struct ck_view *v, const struct ck_view_options *o, int64_t size)
{
    v->filter = o->filter ? CK_BICUBIC : CK_BILINEAR;
    if (size > 0 && v->kind != CK_VIEW_AS_IS) {
        v->resize = (int32_t)((v->resize * size + v->width / 2) / v->width);
        v->width = v->height = (int32_t)size;
    }
    if (o->min_scale > 0 && v->kind == CK_VIEW_CROP)
        v->scale[0] = fmin(o->min_scale, v->scale[1]);
}

int ck_recipe_init(struct ck_recipe *r, struct coke_dataset *d, const struct ck_view_options *o,
                   const struct ck_numbers *normalize)
{
    struct ck_sample_sizes sizes = {0};
    int32_t recipe = o->recipe;
    memset(r, 0, sizeof *r);
    if (d->channels > CK_MAX_CHANNELS)
        return ck_fail(COKE_EUSAGE, "%s: images have %d channels; the limit is %d",
                       d->set->source, d->channels, CK_MAX_CHANNELS);
    if (recipe == CK_RECIPE_AUTO || recipe == CK_RECIPE_NONE)
        CK_RETURN_IF(ck_recipe_sample_sizes(d, &sizes));
    if (recipe == CK_RECIPE_AUTO)
        recipe = sizes.small ? CK_RECIPE_CIFAR : CK_RECIPE_DOUBLE;
    if (o->small_views > 0 && !recipes[recipe].small)
        return ck_fail(COKE_EUSAGE, "small-views: recipe %s has no small views; use multi",
                       recipes[recipe].name);
    if (o->views > 0 && (recipes[recipe].small || recipe >= CK_RECIPE_EVAL))
        return ck_fail(COKE_EUSAGE, "views: the views of recipe %s cannot be repeated",
                       recipes[recipe].name);
    r->name = recipes[recipe].name;
    r->channels = d->channels;
    r->background = d->background;
    r->seed = (uint64_t)o->seed;
    r->exact = o->decode;
    /* More views than the recipe has repeat its views in turn. */
    r->large = o->views ? (int32_t)o->views : recipes[recipe].large;
    for (; r->views < r->large; r->views++) {
        r->view[r->views] = views[recipes[recipe].view[r->views % recipes[recipe].large]];
        set_view(&r->view[r->views], o, o->size);
    }
    int64_t small_views = o->small_views ? o->small_views : SMALL_VIEWS;
    for (int64_t i = 0; recipes[recipe].small && i < small_views; i++, r->views++) {
        r->view[r->views] = views[recipes[recipe].small];
        set_view(&r->view[r->views], o, o->small_size);
    }
    if (recipe == CK_RECIPE_NONE) {
        r->view[0].width = sizes.width;
        r->view[0].height = sizes.height;
    }
    return set_norm(r, d, normalize, recipes[recipe].norm);
}

void ck_recipe_match(struct ck_recipe *r, const struct ck_recipe *like)
{
    memcpy(r->mean, like->mean, sizeof r->mean);
    memcpy(r->std, like->std, sizeof r->std);
    r->background = like->background;
}

/* ---- over the epochs ---- */

int32_t ck_course_size(const struct ck_course *c, int64_t epoch)
{
    if (c->size.n == 0)
        return 0;
    int64_t i = epoch * c->size.n / c->epochs;
    return c->size.v[i < c->size.n ? i : c->size.n - 1];
}

double ck_course_strength(const struct ck_course *c, int64_t epoch)
{
    double end = c->ramp * (double)(c->epochs - 1);
    return (double)epoch < end ? (double)epoch / end : 1;
}

/* Fewer changes of color, and crops that leave less out. Flips change no shapes and stay. */
static void weaken(struct ck_view *v, double strength)
{
    v->jitter *= strength;
    v->gray *= strength;
    v->blur *= strength;
    v->solarize *= strength;
    v->scale[0] = v->scale[1] - (v->scale[1] - v->scale[0]) * strength;
}

void ck_recipe_at(const struct ck_recipe *r, const struct ck_course *c, int64_t epoch,
                  struct ck_recipe *out)
{
    int32_t size = ck_course_size(c, epoch);
    double strength = ck_course_strength(c, epoch);
    *out = *r;
    for (int i = 0; i < r->large && size > 0; i++)
        out->view[i].width = out->view[i].height = size;
    for (int i = 0; i < r->views && strength < 1; i++)
        weaken(&out->view[i], strength);
}

/* ---- one image ---- */

/* The smallest box that contains both. */
static struct ck_box unite(struct ck_box a, struct ck_box b)
{
    int32_t x1 = a.x + a.width > b.x + b.width ? a.x + a.width : b.x + b.width;
    int32_t y1 = a.y + a.height > b.y + b.height ? a.y + a.height : b.y + b.height;
    int32_t x = a.x < b.x ? a.x : b.x, y = a.y < b.y ? a.y : b.y;
    return (struct ck_box){x, y, x1 - x, y1 - y};
}

/* An image may be decoded at 1/2, 1/4 or 1/8 of its size if every view still shrinks the result
 * by SHRINK or more; docs/data.md states what that changes. */
enum { SHRINK = 3 };

/* The largest reduction that all views allow. */
static int choose_scale(const struct ck_recipe *r, const struct ck_draw *draw)
{
    for (int scale = 8; scale > 1; scale /= 2) {
        int fits = 1;
        for (int i = 0; i < r->views && fits; i++) {
            const struct ck_view *v = &r->view[i];
            int32_t w = v->kind == CK_VIEW_CENTER ? v->resize : v->width;
            int32_t h = v->kind == CK_VIEW_CENTER ? v->resize : v->height;
            fits = v->kind != CK_VIEW_AS_IS && draw[i].crop.width >= SHRINK * scale * w &&
                   draw[i].crop.height >= SHRINK * scale * h;
        }
        if (fits)
            return scale;
    }
    return 1;
}

/* Draws the views first, so that only the part they need is decoded. */
int ck_recipe_begin(const struct ck_recipe *r, struct ck_fetcher *f, struct coke_dataset *d,
                    int64_t i, int64_t epoch, struct ck_view_draws *s)
{
    f->background = &r->background;
    CK_RETURN_IF(ck_fetch_open(f, d, i));
    struct ck_draw_key key = {r->seed, d->set->id[i], epoch, 0};
    struct ck_box want = {0};
    for (; key.view < r->views; key.view++) {
        struct ck_draw *draw = &s->draw[key.view];
        ck_draw_make(draw, &r->view[key.view], &key, f->width, f->height);
        want = key.view ? unite(want, draw->crop) : draw->crop;
    }
    CK_RETURN_IF(ck_fetch_decode(f, d, &want, r->exact ? 1 : choose_scale(r, s->draw), &s->part,
                                 &s->scale));
    return COKE_OK;
}

int ck_recipe_make(const struct ck_recipe *r, struct ck_fetcher *f, struct ck_canvas *c,
                   struct coke_dataset *d, int64_t i, int64_t epoch, float *const *out)
{
    int rc = COKE_OK;
    struct ck_view_draws s;
    CK_TRY(ck_recipe_begin(r, f, d, i, epoch, &s));
    for (int v = 0; v < r->views; v++) {
        rc = ck_view_render(c, &r->view[v], &s.draw[v], &f->image, &s.part, s.scale);
        if (rc)
            return ck_fail_prefix(rc, "%s: ", f->name);
        ck_planes_normalize(&c->planes, s.draw[v].flip, r->mean, r->std, out[v]);
    }
done:
    return rc;
}
