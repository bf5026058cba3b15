/* assign_images.c - coke assign RUN DATA: the cluster of each image, as a table or folders.
 *
 * Everything that can be refused is checked before the encoder runs: outputs, the folder to
 * sort into, the head. */
#include "assign_images.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "sorting.h"
#include "talk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* State of one run; owns all pointers but a. */
struct work {
    struct args *a;
    struct coke_run *run;
    struct coke_dataset *data;
    int head;
    int64_t n;
    int32_t *cluster;           /* [n], -1 = skipped */
    float *similarity, *margin; /* [n] */
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

/* ---- checks ---- */

static int check_outputs(struct args *a)
{
    const char *output = args_text(a, "output");
    return output ? outputs_check_file(output, args_flag(a, "force")) : COKE_OK;
}

/* The head of --head, else the one with as many clusters as classes, else the first. */
static void choose_head(struct work *w)
{
    int match = coke_run_match(w->run, coke_dataset_classes(w->data));
    int asked = (int)args_number(w->a, "head");
    w->head = asked >= 0 ? asked : match >= 0 ? match : 0;
    if (asked < 0 && coke_run_heads(w->run) > 1 && !args_flag(w->a, "quiet"))
        fprintf(stderr,
                "coke: using head %d with %lld clusters; --head selects another of %d\n",
                w->head, (long long)coke_run_k(w->run, w->head), coke_run_heads(w->run));
}

static int open_input(struct work *w, int n, const char *const *operands)
{
    const char *source = NULL;
    int rc = trained_open(&w->run, &source, w->a, n, operands);
    if (!rc)
        rc = trained_open_data(&w->data, w->a, w->run, source, args_options(w->a, "dataset"));
    if (!rc)
        rc = sorting_check(w->a, w->data);
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

/* Quotes names with a comma, a quote or a line end (RFC 4180). */
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

/* Skipped images have cluster -1 and empty numbers. */
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

/* CSV with a header line, or one JSON object per line. */
static int put_table(const struct work *w, FILE *to)
{
    char name[PATH_MAX + 64];
    struct coke_json *j =
        args_flag(w->a, "json") ? coke_json_open(to, COKE_JSON_STYLE_LINE) : NULL;
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

/* Writes the table as a whole file or none: it is built in memory first. */
static int write_table(const struct work *w)
{
    char *text = NULL;
    size_t size = 0;
    const char *output = args_text(w->a, "output");
    if (!output)
        return put_table(w, stdout); /* main.c checks for write errors */
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

/* One read of all images, without labels; progress in images. */
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
        rc = sorting_run(a, w.data, w.cluster, coke_run_k(w.run, w.head), &w.bar);
    release(&w);
    return rc;
}
