/* first_choice.c - the settings of a training whose user has named the images alone.
 *
 * They are those of the presets cifar10-small and demo, of which docs/results/learning.md has
 * the reasons, with what depends on the data computed from it. */
#include "train/first_choice.h"
#include "core/error.h"
#include "core/text.h"
#include "data/recipe.h"
#include "train/method.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Images of a training in all epochs together, about: half an hour of two cores. */
enum { BUDGET = 900000, MIN_EPOCHS = 20, MAX_EPOCHS = 200 };
/* Images per cluster of the largest head, at least; heads. */
enum { PER_CLUSTER = 30, MAX_HEADS = 4 };
enum { SMALL_SIDE = 64, TEXT = 64 };

struct chooser {
    struct ck_train_options *o;
    struct ck_train_options defaults;
    const struct coke_callbacks *cb;
};

/* Sets an option that has its default. why: NULL = not worth a line. */
static int choose(struct chooser *c, const char *name, const char *value, const char *why)
{
    const struct ck_option_table *t = ck_train_option_table();
    char now[1024], usual[1024];
    CK_RETURN_IF(ck_options_get(t, c->o, name, now, sizeof now));
    CK_RETURN_IF(ck_options_get(t, &c->defaults, name, usual, sizeof usual));
    if (strcmp(now, usual) != 0)
        return COKE_OK;
    CK_RETURN_IF(ck_options_set(t, c->o, name, value));
    if (why)
        ck_say(c->cb, "%s %s (chosen: %s)", name, value, why);
    return COKE_OK;
}

static int choose_number(struct chooser *c, const char *name, int64_t value, const char *why)
{
    char text[TEXT];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return choose(c, name, text, why);
}

/* The largest numbers of clusters that leave PER_CLUSTER images each; few images have two small
 * heads. */
static int choose_k(struct chooser *c, int64_t images)
{
    static const int32_t steps[] = {3, 10, 30, 100, 300};
    char text[TEXT] = "";
    int n = 0, first = 0;
    while (n < (int)(sizeof steps / sizeof steps[0]) && steps[n] * PER_CLUSTER <= images)
        n++;
    first = n > MAX_HEADS ? n - MAX_HEADS : 0;
    for (int i = first; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i > first ? "," : "",
                 steps[i]);
    if (n == 0)
        snprintf(text, sizeof text, "%s", images >= 20 ? "2,4" : "2");
    return choose(c, "k", text,
                  n ? "heads of at least 30 images per cluster" : "few images, few clusters");
}

static int64_t clamp(int64_t x, int64_t min, int64_t max)
{
    x = x > min ? x : min;
    return x < max ? x : max;
}

/* The largest power of two that leaves 24 steps per epoch. */
static int64_t batch_for(int64_t images)
{
    int64_t b = 16;
    while (b < 128 && 2 * b * 24 <= images)
        b *= 2;
    return b < images ? b : images;
}

/* Duals move by at most eta per step; in an epoch of few steps they must still follow. */
static double eta_for(int64_t images, int64_t batch, int32_t k)
{
    double steps = (double)((images + batch - 1) / batch);
    return 0.01 * k * fmin(fmax(48 / steps, 1), 4);
}

static int choose_images(struct chooser *c, int32_t side)
{
    int small = side <= SMALL_SIDE;
    int64_t size = side > SMALL_SIDE ? 64
                   : side > 32       ? 32
                   : side > 24       ? 24
                                     : clamp(side, 8, 24);
    CK_RETURN_IF(choose(c, "recipe", "cifar-small", NULL));
    CK_RETURN_IF(choose_number(c, "size", size,
                               small ? "small images" : "large images, reduced for a CPU"));
    if (small && size < side)
        CK_RETURN_IF(choose_number(c, "embed-size", clamp(side, size, size * 4 / 3),
                                   "crops show objects larger than whole images do"));
    CK_RETURN_IF(choose(c, "stem", small ? "cifar" : "stl", NULL));
    return choose(c, "width", "0.25", "a quarter of a ResNet-18, for a CPU");
}

/* As in the presets; see docs/training.md. */
static int choose_rest(struct chooser *c)
{
    static const char *const rest[][2] = {
        {"zero-residual", "on"}, {"dim", "64"},       {"temperature", "0.2"},  {"alpha", "1"},
        {"optimizer", "sgd"},    {"update", "epoch"}, {"weight-decay", "1e-4"}};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        CK_RETURN_IF(choose(c, rest[i][0], rest[i][1], NULL));
    return COKE_OK;
}

static int is_open(const struct ck_train_options *o)
{
    return o->k.n == 0 && strcmp(ck_method_row(o)->name, "coke") == 0;
}

int ck_first_choose_for(struct ck_train_options *o, const struct ck_first_facts *f,
                        const struct coke_callbacks *cb)
{
    struct chooser c = {o, ck_train_options_default(), cb};
    char eta[TEXT];
    if (!is_open(o))
        return COKE_OK;
    ck_say(cb,
           "no number of clusters (k) is given: options with their default values are chosen "
           "for these images");
    CK_RETURN_IF(choose_k(&c, f->images));
    CK_RETURN_IF(choose(&c, "ratio", "0.9", "few epochs need clusters of similar size"));
    CK_RETURN_IF(choose_images(&c, f->side));
    int64_t batch = batch_for(f->images);
    CK_RETURN_IF(choose_number(&c, "batch", batch,
                               f->images >= 24 * batch ? "24 steps per epoch or more"
                                                       : "few images, small batches"));
    CK_RETURN_IF(choose_number(
        &c, "epochs",
        1 + clamp(BUDGET / (f->images > 0 ? f->images : 1), MIN_EPOCHS, MAX_EPOCHS),
        "about 900000 images in all, at least 20 epochs, at most 200"));
    ck_format(eta, sizeof eta, "%g", eta_for(f->images, o->loader.batch, o->k.v[0]));
    CK_RETURN_IF(choose(&c, "eta", eta, NULL));
    return choose_rest(&c);
}

int ck_first_choose(struct ck_train_options *o, struct coke_dataset *d,
                    const struct coke_callbacks *cb)
{
    struct ck_first_facts f = {.images = d->set->n};
    struct ck_sample_sizes sizes;
    if (!is_open(o))
        return COKE_OK;
    CK_RETURN_IF(ck_recipe_sample_sizes(d, &sizes));
    f.side = sizes.side;
    return ck_first_choose_for(o, &f, cb);
}
