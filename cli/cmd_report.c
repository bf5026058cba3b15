/* cmd_report.c - coke report: a run or a clustering as one HTML page.
 *
 * The library reads files only, so the training may still be running. The page is complete or
 * absent. */
#include "args.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"

#include <stdlib.h>

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "FILE", "output file: an HTML page"),
    ARG_TEXT(
        "images", 0, "DATA",
        "the images: image i belongs to row i of the clustered vectors; a run knows its own"),
    ARG_TEXT("vectors", 0, "FILE",
             "the files that 'coke cluster' read: needed for nearest members and tightness"),
    ARG_TEXT("names", 0, "FILE", "of a clustering of vectors: a name per row, one per line"),
    ARG_TEXT("classes", 0, "FILE",
             "of a clustering of vectors: a class per row, as lines of text or a .npy of "
             "integers; an empty line or a negative number = unknown"),
    ARG_TEXT("table", 0, "FILE",
             "also a table of the clusters: size, bounds, price, tightness, nearest rows; JSON "
             "if its name ends so, else CSV"),
    ARG_TEXT("images-dir", 0, "NAME",
             "write the images to a folder of this name beside the page"),
    ARG_FORCE,
    ARG_THREADS,
    ARG_JSON,
    ARG_QUIET,
};

/* Options of the page of one folder, which the page of several runs does not have. */
static int check_compared(struct args *a)
{
    static const char *const single[] = {"images", "names", "classes", "table", "images-dir"};
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        if (args_text(a, single[i]))
            return talk_fail(COKE_EUSAGE,
                             "--%s is for the report of one folder, not of several", single[i]);
    return COKE_OK;
}

static int compare(struct args *a, int n, const char *const *runs)
{
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    const char *output = args_text(a, "output");
    int rc = check_compared(a);
    if (rc)
        return rc;
    rc = coke_report_compare(runs, n, output, args_flag(a, "force"), &s);
    if (rc)
        return talk_fail_library(rc);
    if (!args_flag(a, "json")) {
        fprintf(outputs_words(output), "%s: %d runs, %.2f MB\n", output, n,
                1e-6 * (double)s.page_bytes);
        return COKE_OK;
    }
    struct coke_json *j = coke_json_open(outputs_words(output), COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "page", output);
    coke_json_put_int(j, "page_bytes", s.page_bytes);
    coke_json_put_int(j, "runs", n);
    return emit_close(j);
}

static int check_usage(struct args *a, int n)
{
    const char *output = args_text(a, "output");
    if (n < 1)
        return talk_fail(COKE_EUSAGE, "missing folder of a run or a clustering; 'coke report "
                                      "--help' has examples");
    const char *table = args_text(a, "table");
    int force = args_flag(a, "force");
    if (!output && !table)
        return talk_fail(COKE_EUSAGE, "missing output file: use -o report.html");
    int rc = args_use_threads(a);
    if (!rc && table)
        rc = outputs_check_file(table, force);
    return rc || !output ? rc : outputs_check_file(output, force);
}

/* stderr if the page or the table goes to standard output. */
static FILE *words(const char *output, const char *table)
{
    FILE *to = output ? outputs_words(output) : stdout;
    return table && to == stdout ? outputs_words(table) : to;
}

static int print_json(const char *output, const char *table,
                      const struct coke_report_summary *s)
{
    struct coke_json *j = coke_json_open(words(output, table), COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    if (output) {
        coke_json_put_text(j, "page", output);
        coke_json_put_int(j, "page_bytes", s->page_bytes);
    }
    if (table)
        coke_json_put_text(j, "table", table);
    coke_json_put_int(j, "heads", s->heads);
    coke_json_put_int(j, "clusters", s->clusters);
    coke_json_put_int(j, "pictures", s->pictures);
    coke_json_put_int(j, "picture_side", s->picture_side);
    coke_json_put_int(j, "picture_bytes", s->picture_bytes);
    return emit_close(j);
}

/* Sizes in MB: what matters for sending the page. */
static void print_text(const char *output, const char *table,
                       const struct coke_report_summary *s)
{
    FILE *to = words(output, table);
    if (table)
        fprintf(to, "%s: %lld clusters\n", table, (long long)s->clusters);
    if (!output)
        return;
    if (!s->heads) {
        fprintf(to, "%s: %.2f MB, curves of a run without clusters\n", output,
                1e-6 * (double)s->page_bytes);
        return;
    }
    fprintf(to, "%s: %.1f MB, %lld clusters", output, 1e-6 * (double)s->page_bytes,
            (long long)s->clusters);
    if (s->pictures)
        fprintf(to, ", %lld pictures of %d pixels (%.1f MB)", (long long)s->pictures,
                s->picture_side, 1e-6 * (double)s->picture_bytes);
    fputc('\n', to);
}

/* in->callbacks refers to the bar of this function, which outlives the call. */
static int write_page(struct args *a, struct coke_report_input *in)
{
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    struct progress bar;
    const char *output = args_text(a, "output"), *table = args_text(a, "table");
    progress_init(&bar, args_flag(a, "quiet"));
    struct coke_callbacks callbacks = progress_callbacks(&bar);
    in->callbacks = &callbacks;
    int rc = coke_report_write(in, args_options(a, "report"), output,
                               args_text(a, "images-dir"), args_flag(a, "force"), &s);
    progress_end(&bar);
    if (rc == COKE_ESTOPPED)
        return talk_fail(COKE_EFAIL, "stopped; nothing was written");
    if (rc)
        return talk_fail_library(rc);
    if (args_flag(a, "json"))
        return print_json(output, table, &s);
    print_text(output, table, &s);
    return COKE_OK;
}

/* In "RUN --vectors a.npy b.npy" the parser takes b.npy as an operand: all operands after RUN
 * are vectors. */
static int run(struct args *a, int n, const char *const *source)
{
    int rc = check_usage(a, n);
    if (rc)
        return rc;
    if (n > 1 && !args_text(a, "vectors"))
        return compare(a, n, source);
    const char **vectors = calloc((size_t)n, sizeof *vectors);
    if (!vectors)
        return talk_fail(COKE_ENOMEM, "out of memory");
    vectors[0] = args_text(a, "vectors");
    for (int i = 1; i < n; i++)
        vectors[i] = source[i];
    struct coke_report_input in = {.size = sizeof in,
                                   .source = source[0],
                                   .images = args_text(a, "images"),
                                   .data = args_options(a, "dataset"),
                                   .vectors = vectors,
                                   .nvectors = vectors[0] ? n : 0,
                                   .names = args_text(a, "names"),
                                   .classes = args_text(a, "classes"),
                                   .rows = args_options(a, "rows"),
                                   .table = args_text(a, "table")};
    rc = write_page(a, &in);
    free(vectors);
    return rc;
}

const struct command cmd_report = {
    .name = "report",
    .usage = "RUN... [-o report.html] [--table clusters.csv] [options]",
    .summary = "write an HTML page with curves, clusters and their images",
    .about =
        "Writes one HTML file that needs neither network nor server: options, curves, sizes "
        "and their bounds, clusters and classes if these are known, a map, and every cluster "
        "with its images, to sort and to search. Several runs are compared: results, curves "
        "over epochs and over minutes, options. RUN is the folder of 'coke train', also "
        "while it is running, or of 'coke cluster'; --split, --coarse, --channels, --exif "
        "and --max-pixels apply to the --images of a clustering.",
    .examples =
        "coke report run -o report.html\tof a training\n"
        "coke report run -o report.html --force\tagain, while it is running\n"
        "coke report simclr swav coke -o compared.html\tseveral trainings on one page\n"
        "coke report out --vectors x.npy -o report.html\tof 'coke cluster x.npy -o "
        "out'\n"
        "coke report out --vectors a.npy b.npy -o report.html\tof 'coke cluster a.npy b.npy "
        "-o out'\n"
        "coke report out --vectors x.npy --images photos -o report.html\twith the images "
        "of the rows\n"
        "coke report out --vectors x.npy --names names.txt --classes classes.txt -o "
        "report.html\twith what is known of the rows\n"
        "coke report out --vectors x.dat --raw f16:768 -o report.html\trows of 768 half "
        "floats, "
        "no header\n"
        "coke report out --vectors x.npy --table clusters.csv\ta line per cluster, no page\n"
        "coke report run -o report.html --images-dir pictures\tpictures beside the page",
    .kind = {"report", "dataset", "rows"},
    .hidden = "one-pass",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
