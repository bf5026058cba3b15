/* api_data.c - public functions of data sets. */
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "data/describe.h"
#include "data/pack.h"
#include "data/preview.h"
#include "data/sweep.h"
#include "io/file.h"

#include <string.h>

/* Files in colours are the rule; sources that know better say so. */
static int32_t channels_of(const struct ck_dataset *set, const struct ck_dataset_options *o)
{
    if (o->channels)
        return (int32_t)o->channels;
    return set->channels ? set->channels : 3;
}

int coke_dataset_open(struct coke_dataset **out, const char *source,
                      const struct ck_dataset_options *options)
{
    int rc = COKE_OK;
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
    CK_TRY(ck_dataset_open(&d->set, source, options));
    d->channels = channels_of(d->set, options);
    if (d->set->channels && d->set->channels != d->channels && d->set->channels != 1 &&
        d->set->channels != 3)
        CK_FAIL(COKE_EUSAGE, "channels: %s has images of %d, which cannot become %d", source,
                d->set->channels, d->channels);
    *out = d;
    d = NULL;
done:
    coke_dataset_free(d);
    return rc;
}

void coke_dataset_free(struct coke_dataset *d)
{
    if (!d)
        return;
    ck_dataset_free(d->set);
    ck_free(d);
}

int64_t coke_dataset_count(const struct coke_dataset *d)
{
    return d->set->n;
}

int32_t coke_dataset_classes(const struct coke_dataset *d)
{
    return d->set->classes;
}

const char *coke_dataset_class_name(const struct coke_dataset *d, int32_t c)
{
    return d->set->class_name[c];
}

int32_t coke_dataset_label(const struct coke_dataset *d, int64_t i)
{
    return ck_dataset_label(d->set, i);
}

void coke_dataset_name(const struct coke_dataset *d, int64_t i, char *text, size_t size)
{
    ck_dataset_name(d->set, i, text, size);
}

const char *coke_dataset_note(const struct coke_dataset *d)
{
    return d->set->note;
}

int64_t coke_dataset_channels(const struct coke_dataset *d)
{
    return d->channels;
}

int coke_dataset_print(struct coke_dataset *d, int json, FILE *to)
{
    return ck_describe(d, json, to);
}

/* ---- verify ---- */

struct verify {
    struct coke_dataset *data;
    void *user;
    ck_say_bad *say_bad;
    struct coke_dataset_verified *result;
};

static int decode(void *arg, struct ck_fetcher *f, int64_t i, int place, int worker)
{
    struct verify *v = arg;
    struct ck_box part;
    int scale;
    (void)i;
    (void)place;
    (void)worker;
    f->strict = 1;
    return ck_fetch_decode(f, v->data, NULL, 1, &part, &scale);
}

static int judge(void *arg, int64_t i, int place, int status, const char *sentence)
{
    struct verify *v = arg;
    (void)place;
    v->result->good += status == COKE_OK;
    v->result->bad += status != COKE_OK;
    if (status && v->say_bad)
        v->say_bad(v->user, i, sentence);
    return COKE_OK;
}

int coke_dataset_verify(struct coke_dataset *d, const struct coke_callbacks *callbacks,
                        ck_say_bad *say_bad, struct coke_dataset_verified *out)
{
    struct verify v = {d, callbacks ? callbacks->user : NULL, say_bad, out};
    struct ck_sweep sweep = {.data = d,
                             .callbacks = callbacks,
                             .phase = "verify",
                             .arg = &v,
                             .make = decode,
                             .take = judge};
    memset(out, 0, sizeof *out);
    return ck_sweep_run(&sweep);
}

/* ---- pack and preview ---- */

int coke_dataset_pack(struct coke_dataset *d, const char *prefix,
                      const struct ck_pack_options *options, int force,
                      const struct coke_callbacks *callbacks, ck_say_bad *say_bad,
                      struct coke_packed *out)
{
    return ck_pack(d, prefix, options, force, callbacks, say_bad, out);
}

int coke_dataset_preview(struct coke_dataset *d, const struct ck_view_options *options,
                         int rows, int columns, const char *path, int force)
{
    int rc = COKE_OK;
    struct ck_image sheet = {0};
    struct ck_writer w = {0};
    unsigned char *bytes = NULL;
    size_t size;
    CK_TRY(ck_options_check(ck_view_option_table(), options));
    if (rows < 1 || columns < 1)
        CK_FAIL(COKE_EUSAGE, "a sheet of %d rows and %d columns cannot be", rows, columns);
    if (d->set->n < 0)
        CK_FAIL(COKE_EUSAGE, "%s can only be read once, in order: no preview", d->set->source);
    CK_TRY(ck_file_check_target(path, force));
    CK_TRY(ck_preview(d, options, rows, columns, &sheet));
    CK_TRY(ck_png_encode(&sheet, &bytes, &size));
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_writer_write(&w, bytes, size));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    ck_free(bytes);
    ck_image_release(&sheet);
    return rc;
}
