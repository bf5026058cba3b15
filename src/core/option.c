/* option.c - option tables: composition, names, defaults, copies, checks. */
#include "core/option.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option_value.h"
#include "core/state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- composition ---- */

static const struct ck_option_override *find_override(const struct ck_option_override *list,
                                                      const char *name)
{
    for (; list && list->name; list++)
        if (strcmp(list->name, name) == 0)
            return list;
    return NULL;
}

static void apply_override(struct ck_option *o, const struct ck_option_override *v)
{
    if (v->new_def)
        o->def = v->def;
    if (v->new_bounds) {
        o->min = v->min;
        o->max = v->max;
    }
    if (v->choices)
        o->choices = v->choices;
    if (v->help)
        o->help = v->help;
    if (v->alias)
        o->alias = v->alias;
}

void ck_option_join(struct ck_option_table *out, struct ck_option *row, int room, size_t size,
                    const struct ck_option_part *part, int nparts)
{
    int n = 0;
    for (int p = 0; p < nparts; p++)
        for (int i = 0; i < part[p].table->n; i++) {
            const struct ck_option *o = &part[p].table->row[i];
            const struct ck_option_override *v = find_override(part[p].override, o->name);
            if (v && v->drop)
                continue;
            assert(n < room);
            row[n] = *o;
            row[n].offset += part[p].offset;
            if (v)
                apply_override(&row[n], v);
            n++;
        }
    *out = (struct ck_option_table){row, n, size, part, nparts};
}

/* ---- names ---- */

/* Edit distance; names too long to be near anything count as far. */
static int distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    int row[MAX + 1], la = (int)strlen(a), lb = (int)strlen(b);
    if (la > MAX || lb > MAX)
        return MAX;
    for (int j = 0; j <= lb; j++)
        row[j] = j;
    for (int i = 1; i <= la; i++) {
        int diag = row[0];
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            int best = diag + (a[i - 1] != b[j - 1]);
            diag = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

static int is_among(const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return 1;
    return 0;
}

/* What other programs call an option, as far as words [n] have it; or NULL. */
static const char *find_synonym(const char *word, const char *const *words, int n)
{
    static const char *const pairs[][2] = {
        {"lr", "rate"},
        {"learning-rate", "rate"},
        {"wd", "weight-decay"},
        {"bs", "batch"},
        {"batch-size", "batch"},
        {"clusters", "k"},
        {"n-clusters", "k"},
        {"num-clusters", "k"},
        {"max-iter", "max-epochs"},
        {"num-epochs", "epochs"},
        {"max-epochs", "epochs"},
        {"warmup-epochs", "warmup"},
        {"temp", "temperature"},
        {"tau", "temperature"},
        {"opt", "optimizer"},
        {"model", "arch"},
        {"architecture", "arch"},
        {"pretrained", "init"},
        {"weights", "init"},
        {"image-size", "size"},
        {"img-size", "size"},
        {"resolution", "size"},
        {"num-workers", "workers"},
        {"num-threads", "threads"},
        {"n-jobs", "threads"},
        {"out", "output"},
        {"output-dir", "output"},
        {"random-state", "seed"},
        {"dtype", "precision"},
        {"mean", "normalize"},
        {"std", "normalize"},
        {"grad-accum", "accumulate"},
        {"neighbors", "neighbours"},
        {"resume", "resume-anyway"},
        {"overwrite", "force"},
        {"bg", "background"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcmp(pairs[i][0], word) == 0 && is_among(pairs[i][1], words, n))
            return pairs[i][1];
    return NULL;
}

const char *ck_nearest(const char *word, const char *const *words, int n)
{
    char dashed[64];
    int least = 1000;
    snprintf(dashed, sizeof dashed, "%s", word);
    for (char *p = dashed; *p; p++)
        *p = *p == '_' ? '-' : *p;
    const char *near = find_synonym(dashed, words, n);
    if (near)
        return near;
    for (int i = 0; i < n; i++) {
        int d = distance(word, words[i]);
        if (d < least) {
            least = d;
            near = words[i];
        }
    }
    return near && least <= 1 + (int)strlen(near) / 3 ? near : NULL;
}

/* Names before aliases: the former name of one option may be the name of another. */
const struct ck_option *ck_option_find(const struct ck_option_table *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->row[i].name, name) == 0)
            return &t->row[i];
    for (int i = 0; i < t->n; i++)
        if (t->row[i].alias && strcmp(t->row[i].alias, name) == 0)
            return &t->row[i];
    return NULL;
}

const struct ck_option *ck_option_require(const struct ck_option_table *t, const char *name)
{
    enum { MAX = 128 };
    const char *names[MAX];
    const struct ck_option *o = ck_option_find(t, name);
    if (o)
        return o;
    for (int i = 0; i < t->n && i < MAX; i++)
        names[i] = t->row[i].name;
    const char *near = ck_nearest(name, names, t->n < MAX ? t->n : MAX);
    if (near)
        ck_fail(COKE_EUSAGE, "unknown option '%s'; the nearest is '%s'", name, near);
    else
        ck_fail(COKE_EUSAGE, "unknown option '%s'", name);
    return NULL;
}

const char *ck_option_meta(const struct ck_option *o, const struct ck_state *s,
                           const char *prefix)
{
    char key[96];
    snprintf(key, sizeof key, "%s%s", prefix, o->name);
    const char *value = ck_state_meta(s, key);
    if (value || !o->alias)
        return value;
    snprintf(key, sizeof key, "%s%s", prefix, o->alias);
    return ck_state_meta(s, key);
}

int ck_options_from_meta(const struct ck_option_table *t, void *options,
                         const struct ck_state *s, const char *prefix)
{
    int found = 0;
    ck_options_default(t, options);
    for (int i = 0; i < t->n; i++) {
        const char *value = ck_option_meta(&t->row[i], s, prefix);
        if (value && ck_options_set(t, options, t->row[i].name, value)) {
            ck_options_release(t, options);
            return COKE_EFORMAT;
        }
        found += value != NULL;
    }
    return found;
}

/* ---- whole structs ---- */

static void set_defaults(const struct ck_option_table *t, char *options)
{
    for (int p = 0; p < t->nparts; p++)
        set_defaults(t->part[p].table, options + t->part[p].offset);
    for (int i = 0; i < t->n; i++)
        ck_option_set_default(&t->row[i], options);
}

void ck_options_default(const struct ck_option_table *t, void *options)
{
    memset(options, 0, t->size);
    set_defaults(t, options);
}

static const char **text_field(const struct ck_option *o, void *options)
{
    return (const char **)(void *)((char *)options + o->offset);
}

void ck_options_release(const struct ck_option_table *t, void *options)
{
    for (int i = 0; i < t->n; i++)
        if (t->row[i].type == CK_OPT_TEXT) {
            const char **text = text_field(&t->row[i], options);
            ck_free((void *)(uintptr_t)*text);
            *text = NULL;
        }
}

int ck_options_copy(const struct ck_option_table *t, void *to, const void *from)
{
    int lost = 0;
    memcpy(to, from, t->size);
    for (int i = 0; i < t->n; i++)
        if (t->row[i].type == CK_OPT_TEXT) {
            const char **text = text_field(&t->row[i], to);
            const char *original = *text;
            *text = original && !lost ? ck_strdup(original) : NULL;
            lost |= original && !*text;
        }
    if (lost)
        ck_options_release(t, to);
    return lost ? COKE_ENOMEM : COKE_OK;
}

int ck_options_check(const struct ck_option_table *t, const void *options)
{
    for (int i = 0; i < t->n; i++)
        CK_RETURN_IF(ck_option_check(&t->row[i], options));
    return COKE_OK;
}
