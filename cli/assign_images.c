/* assign_images.c - coke assign RUN DATA: the cluster of each image. */
#include "assign_images.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct args *a;
    struct coke_run *run;
    struct coke_dataset *data;
    int head;
    int64_t n;
    int32_t *cluster;
    float *similarity, *margin;
    struct progress bar;
    struct coke_callbacks callbacks;
};

static void release(struct work *w)
{
    coke_dataset_free(w->data);
    coke_run_free(w->run);
    free(w->cluster);
    free(w->similarity);
    free(w->margin);
}

/* ---- before ---- */

static int check_outputs(struct args *a)
{
    const char *output = args_text(a, "output");
    if (args_text(a, "copy-to") && args_text(a, "symlink"))
        return talk_fail(COKE_EUSAGE, "either --copy-to or --symlink, not both");
    return output ? outputs_check_file(output, args_flag(a, "force")) : COKE_OK;
}

/* The folder to sort images into, and how; NULL = none. */
static const char *sort_folder(struct args *a, enum coke_sort_how *how)
{
    const char *copy = args_text(a, "copy-to");
    *how = copy ? COKE_SORT_COPY : COKE_SORT_LINK;
    return copy ? copy : args_text(a, "symlink");
}

static int check_folder(struct work *w)
{
    enum coke_sort_how how;
    const char *dir = sort_folder(w->a, &how);
    int rc = dir ? coke_dataset_sort(w->data, NULL, 1, dir, how, NULL, NULL) : COKE_OK;
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* The head that was asked for, the one with as many clusters as classes, or the first. */
static void choose_head(struct work *w)
{
    int match = coke_run_match(w->run, coke_dataset_classes(w->data));
    int asked = (int)args_number(w->a, "head");
    w->head = asked >= 0 ? asked : match >= 0 ? match : 0;
    if (asked < 0 && coke_run_heads(w->run) > 1 && !args_flag(w->a, "quiet"))
        fprintf(stderr, "coke: head %d, with %lld clusters; --head chooses another of %d\n",
                w->head, (long long)coke_run_k(w->run, w->head), coke_run_heads(w->run));
}

static int open_input(struct work *w, int n, const char *const *operands)
{
    const char *source = NULL;
    int rc = trained_open(&w->run, &source, w->a, n, operands);
    if (!rc)
        rc = trained_open_data(&w->data, w->a, w->run, source, args_options(w->a, "dataset"));
    if (!rc)
        rc = check_folder(w);
    if (rc)
        return rc;
    choose_head(w);
    w->n = coke_dataset_count(w->data);
    size_t rows = w->n > 0 ? (size_t)w->n : 1;
    w->cluster = calloc(rows, sizeof *w->cluster);
    w->similarity = calloc(rows, sizeof *w->similarity);
    w->margin = calloc(rows, sizeof *w->margin);
    if (!w->cluster || !w->similarity || !w->margin)
        return talk_fail(COKE_ENOMEM, "out of memory for the clusters of %zu images", rows);
    return COKE_OK;
}

/* ---- the table ---- */

/* Quotes where a comma, a quote or an end of line is in the name (RFC 4180). */
static void put_csv_text(FILE *to, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

static void put_csv(const struct work *w, int64_t i, const char *name, FILE *to)
{
    put_csv_text(to, name);
    if (w->cluster[i] < 0)
        fputs(",-1,,\n", to);
    else
        fprintf(to, ",%d,%.6f,%.6f\n", w->cluster[i], (double)w->similarity[i],
                (double)w->margin[i]);
}

static void put_json(const struct work *w, int64_t i, const char *name, struct coke_json *j)
{
    coke_json_begin_object(j, NULL);
    coke_json_put_int(j, "index", i);
    coke_json_put_text(j, "name", name);
    coke_json_put_int(j, "cluster", w->cluster[i]);
    if (w->cluster[i] >= 0) {
        coke_json_put_fixed(j, "similarity", (double)w->similarity[i], 6);
        coke_json_put_fixed(j, "margin", (double)w->margin[i], 6);
    }
    coke_json_end(j);
}

static int put_table(const struct work *w, FILE *to)
{
    char name[PATH_MAX + 64];
    struct coke_json *j = args_flag(w->a, "json") ? coke_json_open(to, COKE_JSON_LINE) : NULL;
    if (!j)
        fputs("name,cluster,similarity,margin\n", to);
    for (int64_t i = 0; i < w->n; i++) {
        coke_dataset_name(w->data, i, name, sizeof name);
        if (j)
            put_json(w, i, name, j);
        else
            put_csv(w, i, name, to);
    }
    return j ? emit_close(j) : COKE_OK;
}

/* The table as a file, whole or not at all. */
static int write_table(const struct work *w)
{
    char *text = NULL;
    size_t size = 0;
    const char *output = args_text(w->a, "output");
    if (!output)
        return put_table(w, stdout); /* main.c sees whether it arrived */
    FILE *f = open_memstream(&text, &size);
    int failed = !f || put_table(w, f) || ferror(f);
    if (f && fclose(f))
        failed = 1;
    int rc =
        failed ? COKE_ENOMEM : coke_file_write(output, text, size, args_flag(w->a, "force"));
    free(text);
    if (failed)
        return talk_fail(rc, "out of memory for a table of %lld images", (long long)w->n);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* ---- folders ---- */

static int sort_images(struct work *w)
{
    enum coke_sort_how how;
    const char *dir = sort_folder(w->a, &how);
    struct coke_sorted s;
    if (!dir)
        return COKE_OK;
    int rc = coke_dataset_sort(w->data, w->cluster, (int32_t)coke_run_k(w->run, w->head), dir,
                               how, &w->callbacks, &s);
    progress_end(&w->bar);
    if (rc)
        return trained_fail(rc);
    if (!args_flag(w->a, "quiet"))
        fprintf(stderr, "coke: %lld images in %lld folders below %s; %lld were renamed\n",
                (long long)s.images, (long long)s.folders, dir, (long long)s.renamed);
    return COKE_OK;
}

static int assign(struct work *w)
{
    progress_init(&w->bar, args_flag(w->a, "quiet"));
    w->callbacks = progress_callbacks(&w->bar);
    int rc = coke_run_assign(w->run, w->data, w->head, &w->callbacks, w->cluster, w->similarity,
                             w->margin);
    progress_end(&w->bar);
    return rc ? trained_fail(rc) : COKE_OK;
}

int assign_images(struct args *a, int n, const char *const *operands)
{
    struct work w = {.a = a};
    int rc = check_outputs(a);
    if (!rc)
        rc = open_input(&w, n, operands);
    if (!rc)
        rc = assign(&w);
    if (!rc)
        rc = write_table(&w);
    if (!rc)
        rc = sort_images(&w);
    release(&w);
    return rc;
}
