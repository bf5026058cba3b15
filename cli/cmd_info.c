/* cmd_info.c - coke info: describes files. Continues after an unreadable file; the exit code
 * is that of the first failure. */
#include "args.h"
#include "talk.h"

static const struct arg args[] = {
    ARG_JSON,
};

/* The program itself: what it runs on here. */
static int describe_program(int json)
{
    if (!json) {
        talk_program(stdout);
        printf("threads %d\n", coke_threads());
        return COKE_OK;
    }
    struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "version", coke_version());
    coke_json_put_text(j, "isa", coke_isa());
    coke_json_put_text(j, "amx", coke_amx_missing() ? coke_amx_missing() : "in use");
    coke_json_put_int(j, "threads", coke_threads());
    coke_json_end(j);
    return coke_json_close(j) ? talk_fail_library(COKE_EIO) : COKE_OK;
}

/* With --json: one object, or a list for several files. It is written by hand because the
 * library prints each object itself. */
static int run(struct args *a, int n, const char *const *paths)
{
    int worst = COKE_OK, json = args_flag(a, "json");
    if (n == 0)
        return describe_program(json);
    if (json && n > 1)
        printf("[\n");
    for (int i = 0; i < n; i++) {
        if (json && i)
            printf(",\n");
        int rc = coke_info_print_rows(paths[i], args_options(a, "rows"), json, stdout);
        if (rc) {
            fflush(stdout); /* keeps the message in order with the output */
            talk_fail_library(rc);
            if (json && n > 1)
                printf("null\n");
        }
        worst = worst ? worst : rc;
    }
    if (json && n > 1)
        printf("]\n");
    return worst;
}

const struct command cmd_info = {
    .name = "info",
    .usage = "[FILE|RUN...] [--raw TYPE:COLUMNS] [--json]",
    .summary = "describe a run, a model or a file of rows",
    .about =
        "Files of rows are .npy, .npz, .fvecs, .bvecs, .fbin, .f16bin, .u8bin, .i8bin, "
        "safetensors and HDF5. Prints type, shape and statistics of the values; of a "
        "model also the number and "
        "sizes of its clusters and whether its checksums match; of a run folder its data, "
        "progress, encoder, heads, last metrics and options. Several files with --json "
        "give a list, in which an unreadable file is null. Without a file: the version, the "
        "instruction set in use and why it is not AMX, and the number of threads.",
    .examples = "coke info\tthe instruction set in use here\n"
                "coke info x.npy\ttype, shape, norms, NaN\n"
                "coke info x.h5\tthe data sets of an HDF5 file; x.h5:/train: one of them\n"
                "coke info x.dat --raw f16:768\trows of 768 half floats, no header\n"
                "coke info out/model.safetensors --json\ttensors and metadata of a model\n"
                "coke info run\thow far a training is, and with which options",
    .kind = {"rows"},
    .hidden = "one-pass spool",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
