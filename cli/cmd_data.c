/* cmd_data.c - coke data info, verify, pack, preview: inspect and prepare images before
 * training.
 *
 * Four commands with one way to open DATA. info, verify and pack read every image at most once
 * and in order, so they also accept streams; preview needs random access. */
#include "args.h"
#include "emit.h"
#include "progress.h"
#include "talk.h"

#include <stdlib.h>
#include <string.h>

#define SOURCES                                                                                \
    "DATA is a folder of images (one class per subfolder, or none), a list of files, tar "     \
    "shards x-{000..146}.tar, CIFAR or IDX (MNIST) files, a .npy of u8 images, or synthetic:"

/* Opens the only operand. one_pass: sources that can be read only once are accepted. The caller
 * frees *out. */
static int open_data(struct coke_dataset **out, const struct args *a, int one_pass, int n,
                     const char *const *source)
{
    struct coke_options *o = args_options(a, "dataset");
    if (n != 1)
        return talk_fail(COKE_EUSAGE,
                         n ? "more than one data set (%d)"
                           : "missing data set; "
                             "'coke data --help' has examples",
                         n);
    int rc = coke_options_set_int(o, "one-pass", one_pass);
    if (!rc)
        rc = coke_dataset_open(out, source[0], o);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

/* Prints the note of the data set, if it has one. */
static void say_note(const struct coke_dataset *d, const struct args *a)
{
    if (!args_flag(a, "quiet") && coke_dataset_note(d)[0])
        talk_line("coke: ", coke_dataset_note(d));
}

/* Prints the library's message. A stop becomes exit code 1: 75 would promise that a second run
 * resumes, but these commands start over. */
static int fail_library(int rc)
{
    return talk_fail_library(rc) == COKE_ESTOPPED ? COKE_EFAIL : rc;
}

/* ---- info ---- */

static const struct arg info_args[] = {
    ARG_THREADS,
    ARG_JSON,
};

/* Reads names, labels and some headers, but decodes no image. */
static int run_info(struct args *a, int n, const char *const *source)
{
    struct coke_dataset *d = NULL;
    int rc = args_use_threads(a);
    if (!rc)
        rc = open_data(&d, a, 1, n, source);
    if (!rc) {
        rc = coke_dataset_print(d, args_flag(a, "json"), stdout);
        rc = rc ? talk_fail_library(rc) : COKE_OK;
    }
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_data_info = {
    .name = "data info",
    .usage = "DATA [options]",
    .summary = "describe a set of images",
    .about =
        "Prints the number of images, their sizes and kinds of files (from the headers of "
        "the first 1000), the classes, and a fingerprint of names and labels. " SOURCES ".",
    .examples = "coke data info photos\tclasses from the subfolders\n"
                "coke data info data/cifar10 --split test\tthe official binary files\n"
                "coke data info 'train-{000000..000146}.tar'\tWebDataset shards\n"
                "coke data info synthetic: --json\tthe built-in images",
    .kind = {"dataset"},
    .hidden = "one-pass",
    .arg = info_args,
    .nargs = ARG_COUNT(info_args),
    .run = run_info,
};

/* ---- verify ---- */

static const struct arg verify_args[] = {
    ARG_THREADS,
    ARG_JSON,
    ARG_QUIET,
};

/* Argument of the callbacks. `bar` must be the first member: the callbacks of progress.c get
 * the same pointer. The list is data, so it goes to stdout. */
struct listing {
    struct progress bar;
    const struct coke_dataset *data;
    struct coke_json *out; /* NULL = text */
};

/* Callback per unreadable image, in order; removes the bar before it prints. */
static void list_bad(void *user, int64_t i, const char *sentence)
{
    struct listing *l = user;
    char name[1024];
    progress_end(&l->bar);
    if (!l->out) {
        puts(sentence);
        return;
    }
    coke_dataset_name(l->data, i, name, sizeof name);
    coke_json_begin_object(l->out, NULL);
    coke_json_put_int(l->out, "index", i);
    coke_json_put_text(l->out, "name", name);
    coke_json_put_text(l->out, "error", sentence);
    coke_json_end(l->out);
}

/* Completes the document, also after a failure or a stop. */
static int end_list(struct listing *l, const struct coke_verify_summary *v)
{
    coke_json_end(l->out);
    coke_json_put_int(l->out, "images", v->good + v->bad);
    coke_json_put_int(l->out, "unreadable", v->bad);
    return emit_close(l->out);
}

/* Unreadable images make the command fail, after the list is complete. */
static int judge_verified(const struct coke_verify_summary *v, int json)
{
    if (v->bad)
        return talk_fail(COKE_EFORMAT, "%lld of %lld images cannot be read", (long long)v->bad,
                         (long long)(v->good + v->bad));
    if (!json)
        printf("all %lld images can be read\n", (long long)v->good);
    return COKE_OK;
}

/* The JSON writer accepts NULL, so the calls below need no condition for text output. */
static int verify(struct coke_dataset *d, const struct args *a)
{
    struct coke_verify_summary v = COKE_INIT(struct coke_verify_summary);
    struct listing l = {.data = d};
    int json = args_flag(a, "json");
    if (json)
        l.out = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
    progress_init(&l.bar, args_flag(a, "quiet"));
    struct coke_callbacks callbacks = progress_callbacks(&l.bar);
    callbacks.user = &l; /* its first member is the bar */
    callbacks.bad_image = list_bad;
    coke_json_begin_object(l.out, NULL);
    coke_json_begin_array(l.out, "bad");
    int rc = coke_dataset_verify(d, &callbacks, &v);
    progress_end(&l.bar);
    int written = json ? end_list(&l, &v) : COKE_OK;
    if (rc)
        return fail_library(rc);
    return written ? written : judge_verified(&v, json);
}

/* Accepts streams: tar files on standard input are checked as they arrive. */
static int run_verify(struct args *a, int n, const char *const *source)
{
    struct coke_dataset *d = NULL;
    int rc = args_use_threads(a);
    if (!rc)
        rc = open_data(&d, a, 1, n, source);
    if (!rc) {
        say_note(d, a);
        rc = verify(d, a);
    }
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_data_verify = {
    .name = "data verify",
    .usage = "DATA [options]",
    .summary = "decode every image and list those that cannot be read",
    .about = "Prints one line per image that is damaged, truncated, too large or missing; "
             "exit code 3 if there are any. " SOURCES ".",
    .examples = "coke data verify photos > bad.txt\tthe list\n"
                "coke data verify 'train-{000000..000146}.tar' --json\tfor programs\n"
                "zstd -dc train.tar.zst | coke data verify -\ta stream",
    .kind = {"dataset"},
    .hidden = "one-pass",
    .arg = verify_args,
    .nargs = ARG_COUNT(verify_args),
    .run = run_verify,
};

/* ---- pack ---- */

static const struct arg pack_args[] = {
    ARG_TEXT("output", 'o', "PREFIX",
             "writes PREFIX-000000.tar, PREFIX-000001.tar, ... and PREFIX-classes.txt"),
    ARG_FORCE,
    ARG_THREADS,
    ARG_JSON,
    ARG_QUIET,
};

/* Callback per skipped image: a message, because stdout has only the result. */
static void warn_bad(void *user, int64_t i, const char *sentence)
{
    struct listing *l = user;
    (void)i;
    progress_end(&l->bar);
    talk_line("coke: skipped: ", sentence);
}

/* Up to 1 % of the images may be bad, as in training; more is an error, although the shards
 * have been written. */
static int judge_packed(const struct coke_pack_summary *r)
{
    if (r->bad * 100 <= r->images + r->bad)
        return COKE_OK;
    return talk_fail(COKE_EFORMAT, "%lld of %lld images could not be packed, more than 1 %%",
                     (long long)r->bad, (long long)(r->images + r->bad));
}

/* The pattern printed is what the other commands take as DATA. */
static int print_packed(struct args *a, const struct coke_pack_summary *r)
{
    const char *output = args_text(a, "output");
    if (args_flag(a, "json")) {
        struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_LINE);
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
        printf("%s-000000.tar\n", output);
    else
        printf("'%s-{000000..%06lld}.tar'\n", output, (long long)r->shards - 1);
    if (r->bad)
        printf("%lld images were skipped\n", (long long)r->bad);
    return judge_packed(r);
}

/* `data` and `out` of the listing are not used here. */
static int pack(struct coke_dataset *d, struct args *a)
{
    struct coke_pack_summary result = COKE_INIT(struct coke_pack_summary);
    struct listing l = {0};
    progress_init(&l.bar, args_flag(a, "quiet"));
    struct coke_callbacks callbacks = progress_callbacks(&l.bar);
    callbacks.user = &l;
    callbacks.bad_image = warn_bad;
    int rc = coke_dataset_pack(d, args_text(a, "output"), args_options(a, "pack"),
                               args_flag(a, "force"), &callbacks, &result);
    progress_end(&l.bar);
    return rc ? fail_library(rc) : print_packed(a, &result);
}

static int run_pack(struct args *a, int n, const char *const *source)
{
    struct coke_dataset *d = NULL;
    int rc = args_use_threads(a);
    if (!rc && !args_text(a, "output"))
        rc = talk_fail(COKE_EUSAGE, "missing output prefix: use -o shards/train");
    if (!rc)
        rc = open_data(&d, a, 1, n, source);
    if (!rc) {
        say_note(d, a);
        rc = pack(d, a);
    }
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_data_pack = {
    .name = "data pack",
    .usage = "DATA -o PREFIX [options]",
    .summary = "resize images into tar shards that load several times faster",
    .about =
        "Writes tar shards in the WebDataset convention, in the order of the data set: per "
        "sample an image and, if it has a label, a .cls file. Images that are small enough "
        "and in the requested format are copied byte for byte; the others are resized "
        "(bicubic, antialiased) and encoded. " SOURCES ".",
    .examples = "coke data pack photos -o shards/photos\tshort side at most 256, JPEG\n"
                "coke data pack photos -o shards/raw --format ppm\tno decoding at all\n"
                "coke data info 'shards/photos-{000000..000003}.tar'\tdescribes the result",
    .kind = {"dataset", "pack"},
    .hidden = "one-pass",
    .arg = pack_args,
    .nargs = ARG_COUNT(pack_args),
    .run = run_pack,
};

/* ---- preview ---- */

static const struct arg preview_args[] = {
    ARG_TEXT("output", 'o', "FILE", "output file: a PNG"),
    ARG_INT("rows", 8, 1, 1000, NULL, "number of images"),
    ARG_INT("columns", 4, 1, 1000, NULL, "random draws per image, as in that many epochs"),
    ARG_FORCE,
    ARG_QUIET,
};

/* Not one-pass: it draws the same images for several epochs. */
static int run_preview(struct args *a, int n, const char *const *source)
{
    struct coke_dataset *d = NULL;
    const char *output = args_text(a, "output");
    int rc = COKE_OK;
    if (!output)
        rc = talk_fail(COKE_EUSAGE, "missing output file: use -o sheet.png");
    if (!rc)
        rc = open_data(&d, a, 0, n, source);
    if (!rc) {
        say_note(d, a);
        rc =
            coke_dataset_preview(d, args_options(a, "view"), (int)args_number(a, "rows"),
                                 (int)args_number(a, "columns"), output, args_flag(a, "force"));
        rc = rc ? talk_fail_library(rc) : COKE_OK;
    }
    if (!rc && !args_flag(a, "quiet"))
        fprintf(stderr, "coke: %s: each row shows an image, whole, then its views\n", output);
    coke_dataset_free(d);
    return rc;
}

const struct command cmd_data_preview = {
    .name = "data preview",
    .usage = "DATA -o sheet.png [options]",
    .summary = "draw a sheet of augmented views as training uses them",
    .about =
        "Each row of the sheet shows an image and its views in several epochs, with the same "
        "random draws that training uses. " SOURCES ".",
    .examples =
        "coke data preview photos -o sheet.png\ttwo views at 224 pixels\n"
        "coke data preview data/cifar10 -o sheet.png --recipe cifar-small\twithout blur\n"
        "coke data preview photos -o sheet.png --recipe multi --columns 1\ttwo large and "
        "six small views",
    .kind = {"dataset", "view"},
    .hidden = "one-pass",
    .arg = preview_args,
    .nargs = ARG_COUNT(preview_args),
    .run = run_preview,
};
