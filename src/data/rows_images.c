/* rows_images.c - which images the rows of a .npy file are of: a small JSON file beside it. */
#include "data/rows_images.h"
#include "core/error.h"
#include "core/option.h"
#include "data/images.h"
#include "io/json.h"
#include "io/record.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ck_rows_images_path(const char *rows, char out[CK_ROWS_IMAGES_PATH])
{
    static const char ending[] = ".npy";
    size_t n = strlen(rows), m = strlen(ending);
    if (n <= m || n >= CK_ROWS_IMAGES_PATH - 16 || strcmp(rows + n - m, ending) != 0)
        return 0;
    snprintf(out, CK_ROWS_IMAGES_PATH, "%.*s-images.json", (int)(n - m), rows);
    return 1;
}

/* ---- writing ---- */

/* A source that holds in other folders, too: "x-{000..146}.tar" is no path, but has one. */
static void absolute_source(const char *source, char *out, size_t size)
{
    char here[PATH_MAX];
    int as_is = source[0] == '/' || strncmp(source, "synthetic", 9) == 0;
    if (as_is || !getcwd(here, sizeof here))
        snprintf(out, size, "%s", source);
    else
        snprintf(out, size, "%s/%s", here, source);
}

static void fingerprint_text(const struct coke_dataset *d, char text[20])
{
    snprintf(text, 20, "%016" PRIx64, ck_dataset_fingerprint(d->set));
}

int ck_rows_images_write(const char *rows, const struct coke_dataset *d, int force)
{
    const struct ck_option_table *t = ck_dataset_option_table();
    char path[CK_ROWS_IMAGES_PATH], source[2 * PATH_MAX], text[256];
    struct ck_json j;
    int rc = COKE_OK;
    if (!ck_rows_images_path(rows, path))
        return COKE_OK;
    absolute_source(d->set->source, source, sizeof source);
    fingerprint_text(d, text);
    ck_json_init(&j);
    ck_json_put_text(&j, "data", source);
    ck_json_put_int(&j, "images", d->set->n);
    ck_json_put_text(&j, "fingerprint", text);
    ck_json_begin_object(&j, "options");
    for (int i = 0; i < t->n; i++) {
        if (t->row[i].local)
            continue;
        CK_TRY(ck_options_get(t, &d->o, t->row[i].name, text, sizeof text));
        ck_json_put_text(&j, t->row[i].name, text);
    }
    ck_json_end(&j);
    CK_TRY(ck_json_write(&j, path, ck_force_inside(force)));
done:
    ck_json_release(&j);
    return rc;
}

/* ---- reading ---- */

struct description {
    const char *path;
    struct ck_dataset_options o;
    char source[2 * PATH_MAX], fingerprint[20];
    double images;
};

/* Options that later versions add, or that are invalid, keep their defaults: the fingerprint
 * tells whether the images are the same. */
static void take_option(void *arg, const char *key, const char *value)
{
    const struct ck_option_table *t = ck_dataset_option_table();
    const struct ck_option *row = ck_option_find(t, key);
    if (row && !row->local)
        (void)ck_options_set(t, arg, key, value);
}

static int take_description(void *arg, struct ck_record r)
{
    struct description *s = arg;
    snprintf(s->source, sizeof s->source, "%s", ck_record_text(r, "data"));
    snprintf(s->fingerprint, sizeof s->fingerprint, "%s", ck_record_text(r, "fingerprint"));
    s->images = ck_record_number(r, "images");
    ck_record_each(ck_record_object(r, "options"), take_option, &s->o);
    if (!s->source[0] || !s->fingerprint[0])
        return ck_fail(COKE_EFORMAT, "%s does not name a data set", s->path);
    return COKE_OK;
}

static int check_images(const struct description *s, const struct coke_dataset *d)
{
    char text[20];
    fingerprint_text(d, text);
    if ((double)d->set->n == s->images && strcmp(text, s->fingerprint) == 0)
        return COKE_OK;
    return ck_fail(COKE_EUSAGE,
                   "%s: %s has other images than when its rows were computed (%lld, then "
                   "%.0f); embed them again",
                   s->path, s->source, (long long)d->set->n, s->images);
}

int ck_rows_images_open(struct coke_dataset **out, const char *rows)
{
    char path[CK_ROWS_IMAGES_PATH];
    struct description s = {.path = path, .o = ck_dataset_options_default()};
    struct coke_dataset *d = NULL;
    struct stat st;
    int rc = COKE_OK;
    *out = NULL;
    if (!ck_rows_images_path(rows, path) || stat(path, &st) != 0)
        return ck_fail(COKE_EUSAGE,
                       "%s: it is not known which images its rows are of; 'coke embed' says it "
                       "in a file ...-images.json beside them",
                       rows);
    CK_TRY(ck_record_read(path, take_description, &s));
    CK_TRY(ck_images_new(&d, s.source, &s.o));
    CK_TRY(check_images(&s, d));
    *out = d;
    d = NULL;
done:
    ck_images_free(d);
    return rc;
}
