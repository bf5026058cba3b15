/* cmd_data.c - coke data info, verify, pack, preview: look at images before training on them.
 */
#include "command.h"
#include "emit.h"
#include "progress.h"
#include "talk.h"

#include <stdlib.h>
#include <string.h>

#define SOURCES                                                                                \
    "DATA is a folder of images (a class for each subfolder, or none), a list of files, tar "  \
    "shards x-{000..146}.tar, CIFAR or IDX (MNIST) files, a .npy of u8 images, or synthetic:"

/* Options that all four have come first. */
struct common {
    struct coke_dataset_options o;
    const char *cache;
};

#define ARG_CACHE(struct_)                                                                     \
    ARG_TEXT(struct_, c.cache, "cache", 0, "DIR",                                              \
             "folder for indexes of tar files, otherwise written beside them")

static int open_data(struct coke_dataset **out, const struct common *c, int one_pass, int n,
                     const char *const *source, int quiet)
{
    if (n != 1)
        return talk_fail(COKE_EUSAGE,
                         n ? "one data set at a time, not %d"
                           : "no data set; "
                             "'coke data --help' has examples",
                         n);
    struct coke_dataset_options o = c->o;
    o.cache_dir = c->cache;
    o.one_pass = one_pass;
    int rc = coke_dataset_open(out, source[0], &o);
    if (rc)
        return talk_fail_library(rc);
    if (!quiet && coke_dataset_note(*out)[0])
        talk_line("coke: ", coke_dataset_note(*out));
    return COKE_OK;
}

/* The library's sentence. A second run would begin again: no 75 for one that was stopped. */
static int fail_library(int rc)
{
    return talk_fail_library(rc) == COKE_ESTOPPED ? COKE_EFAIL : rc;
}

static int set_threads(int64_t threads)
{
    return coke_set_threads((int)threads) ? talk_fail_library(COKE_EUSAGE) : COKE_OK;
}

/* ---- info ---- */

struct info_options {
    struct common c;
    int64_t threads;
    int32_t json;
};

static const struct arg info_args[] = {
    ARG_CACHE(struct info_options),
    ARG_THREADS(struct info_options),
    ARG_JSON(struct info_options),
};

static int run_info(const void *options, int n, const char *const *source)
{
    const struct info_options *o = options;
    struct coke_dataset *d = NULL;
    int rc = set_threads(o->threads);
    if (!rc)
        rc = open_data(&d, &o->c, 1, n, source, 1);
    if (!rc) {
        rc = coke_dataset_print(d, o->json, stdout);
        rc = rc ? talk_fail_library(rc) : COKE_OK;
    }
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_data_info = {
    .name = "data info",
    .usage = "DATA [options]",
    .summary = "say what a set of images holds",
    .about =
        "Prints the number of images, their sizes and kinds of files (from the headers of "
        "the first 1000), the classes, and a fingerprint of names and labels. " SOURCES ".",
    .examples = "coke data info photos\tclasses from the subfolders\n"
                "coke data info data/cifar10 --split test\tthe official binary files\n"
                "coke data info 'train-{000000..000146}.tar'\tWebDataset shards\n"
                "coke data info synthetic: --json\tthe built-in images",
    .group = {{coke_dataset_option_table, offsetof(struct info_options, c.o)}},
    .arg = info_args,
    .nargs = ARG_COUNT(info_args),
    .size = sizeof(struct info_options),
    .run = run_info,
};

/* ---- verify ---- */

struct verify_options {
    struct common c;
    int64_t threads;
    int32_t json, quiet;
};

static const struct arg verify_args[] = {
    ARG_CACHE(struct verify_options),
    ARG_THREADS(struct verify_options),
    ARG_JSON(struct verify_options),
    ARG_QUIET(struct verify_options),
};

/* Where the list of bad images goes: stdout is data. */
struct listing {
    struct progress bar;
    const struct coke_dataset *data;
    int json;
    struct coke_json *out;
};

static void print_clean_line(const char *text)
{
    for (; *text; text++)
        putchar((unsigned char)*text < ' ' ? '?' : *text);
    putchar('\n');
}

static void list_bad(void *user, int64_t i, const char *sentence)
{
    struct listing *l = user;
    char name[1024];
    progress_end(&l->bar);
    if (!l->json) {
        print_clean_line(sentence);
        return;
    }
    coke_dataset_name(l->data, i, name, sizeof name);
    coke_json_begin_object(l->out, NULL);
    coke_json_put_int(l->out, "index", i);
    coke_json_put_text(l->out, "name", name);
    coke_json_put_text(l->out, "error", sentence);
    coke_json_end(l->out);
}

static int end_list(struct listing *l, const struct coke_dataset_verified *v)
{
    coke_json_end(l->out);
    coke_json_put_int(l->out, "images", v->good + v->bad);
    coke_json_put_int(l->out, "unreadable", v->bad);
    return emit_close(l->out);
}

static int run_verify(const void *options, int n, const char *const *source)
{
    const struct verify_options *o = options;
    struct coke_dataset *d = NULL;
    struct coke_dataset_verified v = {0};
    int rc = set_threads(o->threads);
    if (!rc)
        rc = open_data(&d, &o->c, 1, n, source, o->quiet);
    if (rc) {
        coke_dataset_free(d);
        return rc;
    }
    struct listing l = {.data = d, .json = o->json};
    if (o->json)
        l.out = coke_json_open(stdout, COKE_JSON_PRETTY);
    progress_init(&l.bar, o->quiet);
    struct coke_callbacks callbacks = progress_callbacks(&l.bar);
    callbacks.user = &l; /* begins with the bar */
    coke_json_begin_object(l.out, NULL);
    coke_json_begin_array(l.out, "bad");
    rc = coke_dataset_verify(d, &callbacks, list_bad, &v);
    progress_end(&l.bar);
    int written = o->json ? end_list(&l, &v) : COKE_OK;
    if (rc)
        rc = fail_library(rc);
    else if (written)
        rc = written;
    else if (v.bad)
        rc = talk_fail(COKE_EFORMAT, "%lld of %lld images cannot be read", (long long)v.bad,
                       (long long)(v.good + v.bad));
    else if (!o->json)
        printf("all %lld images can be read\n", (long long)v.good);
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_data_verify = {
    .name = "data verify",
    .usage = "DATA [options]",
    .summary = "decode every image and list those that cannot be read",
    .about = "Prints a line for each image that is damaged, truncated, too large or missing; "
             "exit code 3 if there are any. " SOURCES ".",
    .examples = "coke data verify photos > bad.txt\tthe list\n"
                "coke data verify 'train-{000000..000146}.tar' --json\tfor programs\n"
                "zstd -dc train.tar.zst | coke data verify -\ta stream",
    .group = {{coke_dataset_option_table, offsetof(struct verify_options, c.o)}},
    .arg = verify_args,
    .nargs = ARG_COUNT(verify_args),
    .size = sizeof(struct verify_options),
    .run = run_verify,
};

/* ---- pack ---- */

struct pack_options {
    struct common c;
    struct coke_pack_options p;
    const char *output;
    int64_t threads;
    int32_t force, json, quiet;
};

static const struct arg pack_args[] = {
    ARG_TEXT(struct pack_options, output, "output", 'o', "PREFIX",
             "writes PREFIX-000000.tar, PREFIX-000001.tar, ... and PREFIX-classes.txt"),
    ARG_CACHE(struct pack_options),
    ARG_FORCE(struct pack_options),
    ARG_THREADS(struct pack_options),
    ARG_JSON(struct pack_options),
    ARG_QUIET(struct pack_options),
};

static void warn_bad(void *user, int64_t i, const char *sentence)
{
    struct listing *l = user;
    (void)i;
    progress_end(&l->bar);
    talk_line("coke: left out: ", sentence);
}

/* Few images may be bad, as in training; more are an error, although the rest is there. */
static int judge_packed(const struct coke_packed *r)
{
    if (r->bad * 100 <= r->images + r->bad)
        return COKE_OK;
    return talk_fail(COKE_EFORMAT, "%lld of %lld images could not be packed, more than 1 %%",
                     (long long)r->bad, (long long)(r->images + r->bad));
}

static int print_packed(const struct pack_options *o, const struct coke_packed *r)
{
    if (o->json) {
        struct coke_json *j = coke_json_open(stdout, COKE_JSON_LINE);
        coke_json_begin_object(j, NULL);
        coke_json_put_int(j, "images", r->images);
        coke_json_put_int(j, "left_out", r->bad);
        coke_json_put_int(j, "shards", r->shards);
        coke_json_put_int(j, "bytes", r->bytes);
        int rc = emit_close(j);
        return rc ? rc : judge_packed(r);
    }
    printf("%lld images in %lld shard%s, %.1f MB, as ", (long long)r->images,
           (long long)r->shards, r->shards == 1 ? "" : "s", 1e-6 * (double)r->bytes);
    if (r->shards == 1)
        printf("%s-000000.tar\n", o->output);
    else
        printf("'%s-{000000..%06lld}.tar'\n", o->output, (long long)r->shards - 1);
    if (r->bad)
        printf("%lld images are left out\n", (long long)r->bad);
    return judge_packed(r);
}

static int run_pack(const void *options, int n, const char *const *source)
{
    const struct pack_options *o = options;
    struct coke_dataset *d = NULL;
    struct coke_packed result;
    struct listing l = {0};
    int rc = set_threads(o->threads);
    if (!rc && !o->output)
        rc = talk_fail(COKE_EUSAGE, "where to is missing, as in -o shards/train");
    if (!rc)
        rc = open_data(&d, &o->c, 1, n, source, o->quiet);
    if (rc) {
        coke_dataset_free(d);
        return rc;
    }
    progress_init(&l.bar, o->quiet);
    struct coke_callbacks callbacks = progress_callbacks(&l.bar);
    callbacks.user = &l;
    rc = coke_dataset_pack(d, o->output, &o->p, o->force, &callbacks, warn_bad, &result);
    progress_end(&l.bar);
    if (rc)
        rc = fail_library(rc);
    else
        rc = print_packed(o, &result);
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_data_pack = {
    .name = "data pack",
    .usage = "DATA -o PREFIX [options]",
    .summary = "resize images into tar shards that load several times faster",
    .about =
        "Writes tar shards in the WebDataset convention, in the order of the data set: an "
        "image and, where there are labels, a .cls file each. Images that are small enough "
        "and in the wanted format are copied byte for byte; the others are resized "
        "(bicubic, antialiased) and encoded. " SOURCES ".",
    .examples = "coke data pack photos -o shards/photos\tshort side at most 256, JPEG\n"
                "coke data pack photos -o shards/raw --format ppm\tno decoding at all\n"
                "coke data info 'shards/photos-{000000..000003}.tar'\twhat came of it",
    .group = {{coke_dataset_option_table, offsetof(struct pack_options, c.o)},
              {coke_pack_option_table, offsetof(struct pack_options, p)}},
    .arg = pack_args,
    .nargs = ARG_COUNT(pack_args),
    .size = sizeof(struct pack_options),
    .run = run_pack,
};

/* ---- preview ---- */

struct preview_options {
    struct common c;
    struct coke_view_options v;
    const char *output;
    int64_t rows, columns;
    int32_t force, quiet;
};

static const struct arg preview_args[] = {
    ARG_TEXT(struct preview_options, output, "output", 'o', "FILE", "the sheet, a PNG"),
    ARG_INT(struct preview_options, rows, "rows", 0, 8, 1, 1000, NULL, "images"),
    ARG_INT(struct preview_options, columns, "columns", 0, 4, 1, 1000, NULL,
            "drawings of each, as in so many epochs"),
    ARG_CACHE(struct preview_options),
    ARG_FORCE(struct preview_options),
    ARG_QUIET(struct preview_options),
};

static int run_preview(const void *options, int n, const char *const *source)
{
    const struct preview_options *o = options;
    struct coke_dataset *d = NULL;
    int rc = COKE_OK;
    if (!o->output)
        rc = talk_fail(COKE_EUSAGE, "where to is missing, as in -o sheet.png");
    if (!rc)
        rc = open_data(&d, &o->c, 0, n, source, o->quiet);
    if (!rc) {
        rc = coke_dataset_preview(d, &o->v, (int)o->rows, (int)o->columns, o->output, o->force);
        rc = rc ? talk_fail_library(rc) : COKE_OK;
    }
    if (!rc && !o->quiet)
        fprintf(stderr, "coke: %s: each row an image, whole and then in its views\n",
                o->output);
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_data_preview = {
    .name = "data preview",
    .usage = "DATA -o sheet.png [options]",
    .summary = "draw a sheet of augmented views, as training sees them",
    .about = "Each row of the sheet is an image and what the recipe makes of it in several "
             "epochs, with the same draws that training uses. " SOURCES ".",
    .examples =
        "coke data preview photos -o sheet.png\ttwo views at 224 pixels\n"
        "coke data preview data/cifar10 -o sheet.png --recipe cifar-small\twithout blur\n"
        "coke data preview photos -o sheet.png --recipe multi --columns 1\ttwo large and "
        "six small views",
    .group = {{coke_dataset_option_table, offsetof(struct preview_options, c.o)},
              {coke_view_option_table, offsetof(struct preview_options, v)}},
    .arg = preview_args,
    .nargs = ARG_COUNT(preview_args),
    .size = sizeof(struct preview_options),
    .run = run_preview,
};
