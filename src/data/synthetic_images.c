/* synthetic_images.c - the built-in data set: images of ten patterns, generated when they are
 * read.
 *
 * An image is a function of (seed, split, position) and the size: a shorter set is a prefix of
 * a longer one, on every machine. Nothing is stored, so any thread may read. */
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "core/rng.h"
#include "data/synthetic_patterns.h"
#include "data/synthetic_scene.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { TRAIN_IMAGES = 6000, TEST_IMAGES = 1000 };

struct spec {
    int64_t n, size, seed;
};

struct synthetic_images {
    struct ck_dataset base;
    uint64_t seed;
    enum ck_split split;
};

/* ---- specification ---- */

#define ROW(field, def, min, max, choices, help)                                               \
    CK_OPT(CK_OPT_INT, struct spec, field, #field, def, min, max, choices, help)

static const struct ck_option rows[] = {
    ROW(n, 0, 1, 10000000, "auto", "images; auto: 6000, and 1000 for testing"),
    ROW(size, 32, 8, 1024, NULL, "side of an image in pixels"),
    ROW(seed, 0, 0, 9007199254740992.0, NULL, "of all randomness"),
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static const struct ck_option_table table = CK_OPTION_TABLE(rows, struct spec);

static int fail_key(const char *key)
{
    char known[64] = "";
    size_t used = 0;
    for (int i = 0; i < ROWS && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                 rows[i].name);
    return ck_fail(COKE_EUSAGE, "unknown key '%s'; known: %s, as in n=6000,size=32", key,
                   known);
}

static int set_key(struct spec *s, char *word)
{
    char *value = strchr(word, '=');
    if (!value)
        return fail_key(word);
    *value++ = 0;
    for (int i = 0; i < ROWS; i++)
        if (strcmp(word, rows[i].name) == 0)
            return ck_options_set(&table, s, word, value);
    return fail_key(word);
}

static int parse_spec(struct spec *s, const char *text)
{
    int rc = COKE_OK;
    char *copy = ck_strdup(text);
    if (!copy)
        return COKE_ENOMEM;
    ck_options_default(&table, s);
    for (char *rest = *copy ? copy : NULL, *word; !rc && (word = strsep(&rest, ","));)
        rc = set_key(s, word);
    if (rc)
        ck_fail_prefix(rc, "synthetic:%s: ", text);
    ck_free(copy);
    return rc;
}

/* ---- the data set ---- */

/* The splits use disjoint ranges of the generator's counter. */
static uint64_t number_of(const struct synthetic_images *s, int64_t i)
{
    return (uint64_t)i | (uint64_t)(s->split == CK_SPLIT_TEST) << 62;
}

/* Every ten consecutive images are the ten classes in a random order. */
static int make_labels(struct synthetic_images *s)
{
    struct ck_perm order;
    s->base.label = ck_alloc_array((size_t)s->base.n, sizeof *s->base.label);
    if (!s->base.label)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < s->base.n; i++) {
        if (i % CK_PATTERNS == 0)
            ck_perm_init(&order, s->seed, CK_RNG_DATA, (uint64_t)1 << 63 | number_of(s, i),
                         CK_PATTERNS);
        s->base.label[i] = (int32_t)ck_perm_at(&order, (uint64_t)(i % CK_PATTERNS));
    }
    return COKE_OK;
}

static int name_classes(struct ck_dataset *d)
{
    struct ck_names names = {0};
    int rc = COKE_OK;
    for (int k = 0; k < CK_PATTERNS && !rc; k++)
        rc = ck_names_add(&names, ck_pattern_name[k], strlen(ck_pattern_name[k]));
    if (!rc)
        rc = ck_dataset_name_classes(d, &names);
    ck_names_release(&names);
    return rc;
}

static int read_image(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    const struct synthetic_images *s = (const struct synthetic_images *)d;
    int rc = ck_image_reshape(&item->pixels, d->width, d->height, d->channels);
    if (!rc)
        ck_scene_draw(s->seed, number_of(s, i), d->label[i], d->width, item->pixels.data);
    return rc;
}

static void name_image(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    const struct synthetic_images *s = (const struct synthetic_images *)d;
    snprintf(text, size, "seed%llu/%s#%lld", (unsigned long long)s->seed,
             s->split == CK_SPLIT_TEST ? "test" : "train", (long long)i);
}

static const struct ck_dataset_type synthetic_type = {
    .kind = "synthetic", .read = read_image, .name = name_image, .splits = 1};

int ck_dataset_open_synthetic(struct ck_dataset **out, const char *spec,
                              const struct ck_dataset_options *o)
{
    struct synthetic_images *s = NULL;
    struct spec want;
    int rc = parse_spec(&want, spec);
    if (rc)
        return rc;
    s = ck_dataset_new(&synthetic_type, sizeof *s, NULL);
    if (!s)
        return COKE_ENOMEM;
    s->seed = (uint64_t)want.seed;
    s->split = (enum ck_split)o->split;
    s->base.n = want.n ? want.n : o->split == CK_SPLIT_TEST ? TEST_IMAGES : TRAIN_IMAGES;
    s->base.width = s->base.height = (int32_t)want.size;
    s->base.channels = 3;
    CK_TRY(name_classes(&s->base));
    CK_TRY(make_labels(s));
    CK_TRY(ck_dataset_make_ids(&s->base, NULL));
    *out = &s->base;
    s = NULL;
done:
    ck_dataset_free((struct ck_dataset *)s);
    return rc;
}
