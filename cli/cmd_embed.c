/* cmd_embed.c - coke embed: vectors of images from a trained encoder.
 *
 * The library writes the file while it computes; it appears under its name only when it is
 * complete. */
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"
#include "trained.h"

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "FILE", "output file: a .npy of float32 [n][dim]"),
    ARG_CHOICE(
        "features", "backbone|projection", 1,
        "features of the backbone, or projections (the unit vectors that were clustered)"),
    ARG_FORCE,
    ARGS_TRAINED,
};

/* Text goes to stderr if the vectors go to standard output. */
static int print_result(struct args *a, const struct coke_run *run,
                        const struct coke_embed_summary *r)
{
    const char *output = args_text(a, "output");
    FILE *to = outputs_words(output);
    if (!args_flag(a, "json")) {
        fprintf(to, "%lld x %lld in %s, from %s\n", (long long)r->images, (long long)r->dim,
                output, coke_run_weights(run));
        if (r->bad)
            fprintf(to, "%lld images could not be read: their rows are 0\n", (long long)r->bad);
        return COKE_OK;
    }
    struct coke_json *j = coke_json_open(to, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "weights", coke_run_weights(run));
    coke_json_put_int(j, "epoch", coke_run_epoch(run));
    coke_json_put_text(j, "output", output);
    coke_json_put_int(j, "images", r->images);
    coke_json_put_int(j, "dim", r->dim);
    coke_json_put_int(j, "bad", r->bad);
    return emit_close(j);
}

/* The work itself, with a progress bar. */
static int embed(struct coke_run *run, struct coke_dataset *d, struct args *a)
{
    struct progress bar;
    struct coke_embed_summary result = COKE_INIT(struct coke_embed_summary);
    progress_init(&bar, args_flag(a, "quiet"));
    struct coke_callbacks callbacks = progress_callbacks(&bar);
    int rc = coke_run_embed(
        run, d, args_number(a, "features") ? COKE_OUTPUT_PROJ : COKE_OUTPUT_FEATURES,
        args_text(a, "output"), args_flag(a, "force"), &callbacks, &result);
    progress_end(&bar);
    if (rc)
        return trained_fail(rc);
    return print_result(a, run, &result);
}

/* The output is checked first, then RUN, then DATA: cheap checks before slow ones. */
static int run(struct args *a, int n, const char *const *operands)
{
    struct coke_run *run = NULL;
    struct coke_dataset *d = NULL;
    const char *source = NULL, *output = args_text(a, "output");
    int rc = COKE_OK;
    if (!output)
        rc = talk_fail(COKE_EUSAGE, "missing output file: use -o x.npy");
    if (!rc)
        rc = outputs_check_file(output, args_flag(a, "force"));
    if (!rc)
        rc = trained_open(&run, &source, a, n, operands);
    if (!rc)
        rc = trained_open_data(&d, a, run, source, args_options(a, "dataset"));
    if (!rc)
        rc = embed(run, d, a);
    coke_dataset_free(d);
    coke_run_free(run);
    return rc;
}

const struct command cmd_embed = {
    .name = "embed",
    .usage = "RUN DATA -o x.npy [options]",
    .summary = "compute vectors of images with a trained encoder",
    .about =
        "Writes one row per image, in the order of the data set, as soon as it is computed: "
        "memory does not grow with the number of images; x-images.json beside x.npy says which "
        "images they are. " RUN_IS DATA_IS
        "Images are resized to the size of the training and cropped at the center.",
    .examples =
        "coke embed run photos -o x.npy\tfeatures of the backbone\n"
        "coke cluster x.npy -k 100 -o clusters\tand clusters of them\n"
        "coke embed run data/cifar10 --split test --features projection -o z.npy\tunit "
        "vectors\n"
        "coke embed --weights resnet50.safetensors photos -o x.npy\ta torchvision ResNet",
    .kind = {"use", "dataset"},
    .hidden = "one-pass",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
