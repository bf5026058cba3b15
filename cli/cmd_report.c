/* cmd_report.c - coke report: a run or a clustering as one page to look at. */
#include "command.h"
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"

#include <stdlib.h>

struct options {
    struct coke_report_options o;
    struct coke_dataset_options data;
    const char *output, *images, *vectors, *images_dir, *cache;
    int64_t threads;
    int32_t force, json, quiet;
};

#define OWN struct options
static const struct arg args[] = {
    ARG_TEXT(OWN, output, "output", 'o', "FILE", "the page, as in -o report.html"),
    ARG_TEXT(OWN, images, "images", 0, "DATA",
             "the images: image i is row i of what was clustered; a run knows its own"),
    ARG_TEXT(OWN, vectors, "vectors", 0, "FILE",
             "what 'coke cluster' read, one file or several: nearest members and tightness "
             "come from it"),
    ARG_TEXT(OWN, images_dir, "images-dir", 0, "NAME",
             "put the pictures into a folder of this name beside the page"),
    ARG_TEXT(OWN, cache, "cache", 0, "DIR",
             "folder for indexes of tar files, otherwise written beside them"),
    ARG_FORCE(OWN),
    ARG_THREADS(OWN),
    ARG_JSON(OWN),
    ARG_QUIET(OWN),
};

static int check_usage(const struct options *o, int n)
{
    if (n < 1 || (n > 1 && !o->vectors))
        return talk_fail(COKE_EUSAGE, "%s; 'coke report --help' has examples",
                         n ? "one folder at a time" : "no folder of a run or a clustering");
    if (!o->output)
        return talk_fail(COKE_EUSAGE, "where to is missing, as in -o report.html");
    if (coke_set_threads((int)o->threads))
        return talk_fail_library(COKE_EUSAGE);
    return outputs_check_file(o->output, o->force);
}

static int print_json(const struct options *o, const struct coke_report_summary *s)
{
    struct coke_json *j = coke_json_open(outputs_words(o->output), COKE_JSON_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "page", o->output);
    coke_json_put_int(j, "page_bytes", s->page_bytes);
    coke_json_put_int(j, "heads", s->heads);
    coke_json_put_int(j, "clusters", s->clusters);
    coke_json_put_int(j, "pictures", s->pictures);
    coke_json_put_int(j, "picture_side", s->picture_side);
    coke_json_put_int(j, "picture_bytes", s->picture_bytes);
    return emit_close(j);
}

static void print_text(const struct options *o, const struct coke_report_summary *s)
{
    FILE *to = outputs_words(o->output);
    fprintf(to, "%s: %.1f MB, %lld clusters", o->output, 1e-6 * (double)s->page_bytes,
            (long long)s->clusters);
    if (s->pictures)
        fprintf(to, ", %lld pictures of %d pixels (%.1f MB)", (long long)s->pictures,
                s->picture_side, 1e-6 * (double)s->picture_bytes);
    fputc('\n', to);
}

static int write_page(const struct options *o, const struct coke_report_input *in)
{
    struct coke_report_summary s;
    struct progress bar;
    progress_init(&bar, o->quiet);
    struct coke_callbacks callbacks = progress_callbacks(&bar);
    int rc = coke_report_write(in, &o->o, o->output, o->images_dir, o->force, &callbacks, &s);
    progress_end(&bar);
    if (rc == COKE_ESTOPPED)
        return talk_fail(COKE_EFAIL, "stopped; nothing was written");
    if (rc)
        return talk_fail_library(rc);
    if (o->json)
        return print_json(o, &s);
    print_text(o, &s);
    return COKE_OK;
}

/* In "RUN --vectors a.npy b.npy" the second file is an operand. */
static int run(const void *options, int n, const char *const *source)
{
    const struct options *o = options;
    int rc = check_usage(o, n);
    if (rc)
        return rc;
    const char **vectors = calloc((size_t)n, sizeof *vectors);
    if (!vectors)
        return talk_fail(COKE_ENOMEM, "out of memory");
    vectors[0] = o->vectors;
    for (int i = 1; i < n; i++)
        vectors[i] = source[i];
    struct coke_report_input in = {.source = source[0],
                                   .images = o->images,
                                   .data = o->data,
                                   .vectors = vectors,
                                   .nvectors = o->vectors ? n : 0};
    in.data.cache_dir = o->cache;
    rc = write_page(o, &in);
    free(vectors);
    return rc;
}

const struct command cmd_report = {
    .name = "report",
    .usage = "RUN -o report.html [options]",
    .summary = "make one page to look at: curves, clusters and their images",
    .about =
        "Writes one HTML file that needs neither network nor server: what was run, curves, "
        "sizes against their bounds, clusters against classes where these are known, a map, "
        "and every cluster with its images, to sort and to search. RUN is the folder of "
        "'coke train', also of one that still runs, or of 'coke cluster'; --split, "
        "--coarse, --channels, --exif and --max-pixels go with --images of a clustering.",
    .examples =
        "coke report run -o report.html\tof a training\n"
        "coke report run -o report.html --force\tagain, while it goes on\n"
        "coke report out --vectors x.npy -o report.html\tof 'coke cluster x.npy -o "
        "out'\n"
        "coke report out --vectors a.npy b.npy -o report.html\tof 'coke cluster a.npy b.npy "
        "-o out'\n"
        "coke report out --vectors x.npy --images photos -o report.html\twith the images "
        "of the rows\n"
        "coke report run -o report.html --images-dir pictures\tpictures beside the page",
    .group = {{coke_report_option_table, offsetof(struct options, o)},
              {coke_dataset_option_table, offsetof(struct options, data)}},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .size = sizeof(struct options),
    .run = run,
};
