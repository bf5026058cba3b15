/* cmd_info.c - coke info: what a file holds. */
#include "args.h"
#include "talk.h"

static const struct arg args[] = {
    ARG_JSON,
};

static int run(struct args *a, int n, const char *const *paths)
{
    int worst = COKE_OK, json = args_flag(a, "json");
    if (n == 0)
        return talk_fail(COKE_EUSAGE, "no file; 'coke info --help' has examples");
    if (json && n > 1)
        printf("[\n");
    for (int i = 0; i < n; i++) {
        if (json && i)
            printf(",\n");
        int rc = coke_info_print(paths[i], json, stdout);
        if (rc) {
            fflush(stdout); /* so that the sentence stands where the file would */
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
    .usage = "FILE... [--json]",
    .summary = "say what a model, .npy, .fvecs, .bvecs or safetensors file holds",
    .about = "Prints type, shape and a look at the values; of a model also the number and the "
             "sizes of its clusters, and whether its checksums are right. Several files with "
             "--json make a list, in which a file that cannot be read is null.",
    .examples = "coke info x.npy\ttype, shape, norms, NaN\n"
                "coke info out/model.safetensors --json\ttensors and metadata of a model",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
