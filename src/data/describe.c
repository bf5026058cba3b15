/* describe.c - summarizes a data set as text or JSON. */
#include "data/describe.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/stats.h"
#include "data/sweep.h"
#include "io/info.h"
#include "io/json.h"

#include <string.h>

/* SAMPLE: images whose headers are read; streams are read to the end. SHOWN_CLASSES: in
 * text. */
enum { SAMPLE = 1000, KINDS = CK_CODECS, SHOWN_CLASSES = 20 };

/* What the headers of the first images say. The block arrays hold the results of one block of
 * the sweep: survey_image fills them in parallel, count reads them in order. */
struct survey {
    struct ck_image_info info[CK_SWEEP_BLOCK];
    int64_t width[SAMPLE], height[SAMPLE]; /* of the readable ones */
    int64_t kept;                          /* entries of width and height */
    int64_t seen, bad, by_kind[KINDS], grey, alpha, turned, deep;
    char first_bad[400];
    int32_t block_width[CK_SWEEP_BLOCK], block_height[CK_SWEEP_BLOCK];
    int encoded[CK_SWEEP_BLOCK];
};

/* On any thread; writes only to its place. */
static int survey_image(void *arg, struct ck_fetcher *f, int64_t i, int place, int worker)
{
    struct survey *l = arg;
    (void)i;
    (void)worker;
    l->info[place] = f->info;
    l->encoded[place] = f->item.bytes != NULL;
    l->block_width[place] = f->width;
    l->block_height[place] = f->height;
    return COKE_OK;
}

/* On the calling thread, in order. */
static int count(void *arg, int64_t i, int place, int status, const char *sentence)
{
    struct survey *l = arg;
    (void)i;
    if (status) {
        if (l->bad++ == 0)
            snprintf(l->first_bad, sizeof l->first_bad, "%s", sentence);
        return COKE_OK;
    }
    if (l->kept < SAMPLE) {
        l->width[l->kept] = l->block_width[place];
        l->height[l->kept++] = l->block_height[place];
    }
    l->seen++;
    if (!l->encoded[place])
        return COKE_OK;
    l->by_kind[l->info[place].kind]++;
    l->grey += l->info[place].channels == 1;
    l->alpha += l->info[place].alpha != 0;
    l->turned += l->info[place].orientation != 1;
    l->deep += l->info[place].bits > 8;
    return COKE_OK;
}

/* *out [classes + 1] = images per class; the caller frees it. *unknown: images without a
 * label. */
static int count_classes(const struct ck_dataset *s, int64_t **out, int64_t *unknown)
{
    *unknown = 0;
    *out = ck_calloc_array((size_t)s->classes + 1, sizeof **out);
    if (!*out)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < s->n && s->label; i++)
        if (s->label[i] < 0)
            ++*unknown;
        else
            ++(*out)[s->label[i]];
    return COKE_OK;
}

/* ---- text ---- */

static void print_sides(FILE *to, const char *key, struct ck_spread s)
{
    if (s.min == s.max)
        fprintf(to, "  %-12s %lld\n", key, (long long)s.min);
    else
        fprintf(to, "  %-12s %lld to %lld, median %lld\n", key, (long long)s.min,
                (long long)s.max, (long long)s.median);
}

/* What shows through transparent pixels: [16] "white", "1,2,3" or "none". */
static const char *background_text(const struct ck_background *b, char text[16])
{
    const uint8_t *c = b->color;
    int sum = c[0] + c[1] + c[2];
    if (!b->composite)
        return "none";
    snprintf(text, 16, "%d,%d,%d", c[0], c[1], c[2]);
    return sum == 0 ? "black" : sum == 765 ? "white" : text;
}

static void print_alpha(const struct coke_dataset *d, const struct survey *l, FILE *to)
{
    char color[16];
    const char *text = background_text(&d->background, color);
    if (!l->alpha)
        return;
    fprintf(to, "  %-12s %lld", "transparent", (long long)l->alpha);
    if (d->background.composite)
        fprintf(to, "; shown on %s (background)\n", text);
    else
        fputs("; alpha is dropped (background)\n", to);
}

/* Sorts width and height in place; call it once. */
static void print_survey(const struct coke_dataset *d, struct survey *l, FILE *to)
{
    if (l->kept) {
        print_sides(to, "width", ck_spread_sort(l->width, l->kept));
        print_sides(to, "height", ck_spread_sort(l->height, l->kept));
    }
    fprintf(to, "  %-12s %d\n", "channels", d->channels);
    const char *gap = "  files       ";
    for (int k = 0; k < KINDS; k++) {
        if (!l->by_kind[k])
            continue;
        fprintf(to, "%s %lld %s", gap, (long long)l->by_kind[k],
                ck_codec_name((enum ck_codec_kind)k));
        gap = ",";
    }
    if (gap[0] == ',')
        fprintf(to, "%s\n", d->set->n > SAMPLE ? " (of the first 1000)" : "");
    if (l->grey)
        fprintf(to, "  %-12s %lld\n", "grey", (long long)l->grey);
    print_alpha(d, l, to);
    if (l->deep)
        fprintf(to, "  %-12s %lld; the high byte is used\n", "16 bits", (long long)l->deep);
    if (l->turned)
        fprintf(to, "  %-12s %lld%s\n", "EXIF-turned", (long long)l->turned,
                d->o.exif ? "" : "; exif=true turns them upright");
    if (l->bad) {
        fprintf(to, "  %-12s %lld, first: ", "unreadable", (long long)l->bad);
        ck_print_clean(to, l->first_bad, 0);
        fprintf(to, "\n  %-12s verify lists them all\n", "");
    }
}

static void print_classes(const struct ck_dataset *s, const int64_t *size, int64_t unknown,
                          FILE *to)
{
    fprintf(to, "  %-12s %d%s\n", "classes", s->classes, s->classes ? "" : " (no labels)");
    for (int32_t c = 0; c < s->classes && c < SHOWN_CLASSES; c++) {
        fprintf(to, "    %8lld  ", (long long)size[c]);
        ck_print_clean(to, s->class_name[c], 0);
        putc('\n', to);
    }
    if (s->classes > SHOWN_CLASSES)
        fprintf(to, "    %8s  and %d more\n", "", s->classes - SHOWN_CLASSES);
    if (unknown)
        fprintf(to, "    %8lld  without a label\n", (long long)unknown);
}

/* Names from data are cleaned of control characters: the output may be a terminal. */
static void print_text(const struct coke_dataset *d, struct survey *l, const int64_t *size,
                       int64_t unknown, FILE *to)
{
    const struct ck_dataset *s = d->set;
    ck_print_clean(to, s->source, 0);
    fprintf(to, ": %s\n", s->type->kind);
    if (s->n >= 0)
        fprintf(to, "  %-12s %lld\n", "images", (long long)s->n);
    else
        fprintf(to, "  %-12s %lld, in a single pass\n", "images",
                (long long)(l->seen + l->bad));
    print_survey(d, l, to);
    if (s->n >= 0) {
        print_classes(s, size, unknown, to);
        fprintf(to, "  %-12s %016llx\n", "fingerprint",
                (unsigned long long)ck_dataset_fingerprint(s));
    }
    if (s->note[0]) {
        fprintf(to, "  %-12s ", "note");
        ck_print_clean(to, s->note, 0);
        putc('\n', to);
    }
}

/* ---- JSON ---- */

static void put_sides(struct ck_json *j, const char *key, struct ck_spread s)
{
    ck_json_begin_object(j, key);
    ck_json_put_int(j, "min", s.min);
    ck_json_put_int(j, "median", s.median);
    ck_json_put_int(j, "max", s.max);
    ck_json_end(j);
}

static void put_classes(struct ck_json *j, const struct ck_dataset *s, const int64_t *size,
                        int64_t unknown)
{
    ck_json_begin_array(j, "classes");
    for (int32_t c = 0; c < s->classes; c++) {
        ck_json_begin_object(j, NULL);
        ck_json_put_text(j, "name", s->class_name[c]);
        ck_json_put_int(j, "images", size[c]);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_put_int(j, "unlabelled", s->label ? unknown : s->n);
}

/* Scripts read the keys: do not rename them. */
static int print_json(const struct coke_dataset *d, struct survey *l, const int64_t *size,
                      int64_t unknown, FILE *to)
{
    const struct ck_dataset *s = d->set;
    struct ck_json j;
    char fingerprint[20], color[16];
    ck_json_init(&j);
    ck_json_put_text(&j, "source", s->source);
    ck_json_put_text(&j, "kind", s->type->kind);
    ck_json_put_int(&j, "images", s->n >= 0 ? s->n : l->seen + l->bad);
    ck_json_put_int(&j, "channels", d->channels);
    ck_json_put_int(&j, "looked_at", l->seen + l->bad);
    ck_json_put_int(&j, "unreadable", l->bad);
    ck_json_put_int(&j, "transparent", l->alpha);
    ck_json_put_text(&j, "background", background_text(&d->background, color));
    if (l->kept) {
        put_sides(&j, "width", ck_spread_sort(l->width, l->kept));
        put_sides(&j, "height", ck_spread_sort(l->height, l->kept));
    }
    ck_json_begin_object(&j, "files");
    for (int k = 0; k < KINDS; k++)
        if (l->by_kind[k])
            ck_json_put_int(&j, ck_codec_name((enum ck_codec_kind)k), l->by_kind[k]);
    ck_json_end(&j);
    if (s->n >= 0) {
        put_classes(&j, s, size, unknown);
        snprintf(fingerprint, sizeof fingerprint, "%016llx",
                 (unsigned long long)ck_dataset_fingerprint(s));
        ck_json_put_text(&j, "fingerprint", fingerprint);
    }
    ck_json_put_text(&j, "note", s->note);
    int rc = ck_json_print(&j, to);
    ck_json_release(&j);
    return rc;
}

int ck_describe(struct coke_dataset *d, int json, FILE *to)
{
    int rc = COKE_OK;
    int64_t *size = NULL, unknown;
    struct survey *l = ck_calloc_array(1, sizeof *l);
    struct ck_sweep sweep = {.data = d,
                             .phase = "look",
                             .max = d->set->n < 0 ? 0 : SAMPLE,
                             .arg = l,
                             .make = survey_image,
                             .take = count};
    if (!l)
        return COKE_ENOMEM;
    CK_TRY(ck_sweep_run(&sweep));
    CK_TRY(count_classes(d->set, &size, &unknown));
    if (json)
        CK_TRY(print_json(d, l, size, unknown, to));
    else
        print_text(d, l, size, unknown, to);
    /* unreadable images are counted; a damaged archive has images that nobody can count */
    CK_TRY(ck_first_error_raise(&d->set->broken));
done:
    ck_free(size);
    ck_free(l);
    return rc;
}
