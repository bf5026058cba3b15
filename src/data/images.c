/* images.c - a data set together with the options that decode its images. */
#include "data/images.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "data/data_options.h"

#include <math.h>

/* Three channels, unless the source or the options define them. */
static int32_t channels_of(const struct ck_dataset *set, const struct ck_dataset_options *o)
{
    if (o->channels)
        return (int32_t)o->channels;
    return set->channels ? set->channels : 3;
}

static int check_channels(const struct coke_dataset *d, const char *source)
{
    int32_t has = d->set->channels;
    if (!has || has == d->channels || has == 1 || has == 3)
        return COKE_OK;
    return ck_fail(COKE_EUSAGE,
                   "channels: %s has images of %d, which cannot be converted to %d", source,
                   has, d->channels);
}

static struct ck_background background_of(const struct ck_numbers *x)
{
    struct ck_background b = {.composite = 1, .color = {255, 255, 255}};
    if (x->n == 0 && x->word == CK_BACKGROUND_NONE)
        b.composite = 0;
    for (int c = 0; c < 3; c++) {
        if (x->n)
            b.color[c] = (uint8_t)lround(x->v[c]);
        else if (x->word == CK_BACKGROUND_BLACK)
            b.color[c] = 0;
    }
    return b;
}

int ck_images_new(struct coke_dataset **out, const char *source,
                  const struct ck_dataset_options *options)
{
    int rc = COKE_OK;
    struct ck_dataset_options o = {.split = options->split,
                                   .cache_dir = options->cache_dir,
                                   .one_pass = options->one_pass,
                                   .coarse = options->coarse};
    struct coke_dataset *d = NULL;
    *out = NULL;
    CK_TRY(ck_options_check(ck_dataset_option_table(), options));
    if (options->channels == 2)
        CK_FAIL(COKE_EUSAGE, "channels: 2 is neither 1 (gray) nor 3 (color)");
    d = ck_calloc_array(1, sizeof *d);
    if (!d)
        return COKE_ENOMEM;
    d->o = *options;
    d->o.cache_dir = NULL; /* borrowed for this call */
    d->background = background_of(&options->background);
    CK_TRY(ck_dataset_open(&d->set, source, &o));
    d->channels = channels_of(d->set, options);
    CK_TRY(check_channels(d, source));
    *out = d;
    d = NULL;
done:
    ck_images_free(d);
    return rc;
}

void ck_images_free(struct coke_dataset *d)
{
    if (!d)
        return;
    ck_dataset_free(d->set);
    ck_free(d);
}

const char *ck_images_class_name(const struct coke_dataset *d, int32_t c)
{
    return c >= 0 && c < d->set->classes ? d->set->class_name[c] : NULL;
}
