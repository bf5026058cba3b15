/* images.c - a data set together with how its pictures are handed out. */
#include "data/images.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "data/data_options.h"

/* Most image files have three channels; sources that know better say so. */
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
    return ck_fail(COKE_EUSAGE, "channels: %s has images of %d, which cannot become %d", source,
                   has, d->channels);
}

int ck_images_new(struct coke_dataset **out, const char *source,
                  const struct ck_dataset_options *options)
{
    int rc = COKE_OK;
    struct ck_dataset_options o = {.split = (enum ck_split)options->split,
                                   .cache_dir = options->cache_dir,
                                   .one_pass = options->one_pass,
                                   .coarse = options->coarse};
    struct coke_dataset *d = NULL;
    *out = NULL;
    CK_TRY(ck_options_check(ck_dataset_option_table(), options));
    if (options->channels == 2)
        CK_FAIL(COKE_EUSAGE, "channels: 2 is neither 1 (grey) nor 3 (colour)");
    d = ck_calloc_array(1, sizeof *d);
    if (!d)
        return COKE_ENOMEM;
    d->o = *options;
    d->o.cache_dir = NULL; /* borrowed for this call */
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
