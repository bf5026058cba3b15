/* cmd_embed.c - coke embed: vectors of images from a trained encoder. */
#include "emit.h"
#include "outputs.h"
#include "progress.h"
#include "talk.h"
#include "trained.h"

struct options {
    struct trained t;
    struct coke_dataset_options d;
    const char *output;
    int32_t which, force;
};

#define OWN struct options
static const struct arg args[] = {
    ARG_TEXT(OWN, output, "output", 'o', "FILE", "the vectors, a .npy of float32 [n][dim]"),
    ARG_CHOICE(OWN, which, "features", "backbone|projection", 1,
               "which vectors: of the backbone, or the unit vectors that were clustered"),
    ARG_FORCE(OWN),
    ARGS_TRAINED(OWN),
};

static int print_result(const struct options *o, const struct coke_run *run,
                        const struct coke_embedded *r)
{
    FILE *to = outputs_words(o->output);
    if (!o->t.json) {
        fprintf(to, "%lld x %lld in %s, from %s\n", (long long)r->images, (long long)r->dim,
                o->output, coke_run_weights(run));
        if (r->bad)
            fprintf(to, "%lld images could not be read: their rows are 0\n", (long long)r->bad);
        return COKE_OK;
    }
    struct coke_json *j = coke_json_open(to, COKE_JSON_PRETTY);
    coke_json_begin_object(j, NULL);
    coke_json_put_text(j, "weights", coke_run_weights(run));
    coke_json_put_int(j, "epoch", coke_run_epoch(run));
    coke_json_put_text(j, "output", o->output);
    coke_json_put_int(j, "images", r->images);
    coke_json_put_int(j, "dim", r->dim);
    coke_json_put_int(j, "bad", r->bad);
    return emit_close(j);
}

static int embed(struct coke_run *run, struct coke_dataset *d, const struct options *o)
{
    struct progress bar;
    struct coke_embedded result;
    progress_init(&bar, o->t.quiet);
    struct coke_callbacks callbacks = progress_callbacks(&bar);
    int rc = coke_run_embed(run, d, o->which ? COKE_PROJ : COKE_FEATURES, o->output, o->force,
                            &callbacks, &result);
    progress_end(&bar);
    if (rc)
        return trained_fail(rc);
    return print_result(o, run, &result);
}

static int run(const void *options, int n, const char *const *operands)
{
    const struct options *o = options;
    struct coke_run *run = NULL;
    struct coke_dataset *d = NULL;
    const char *source = NULL;
    int rc = COKE_OK;
    if (!o->output)
        rc = talk_fail(COKE_EUSAGE, "where to is missing, as in -o x.npy");
    if (!rc)
        rc = outputs_check_file(o->output, o->force);
    if (!rc)
        rc = trained_open(&run, &source, &o->t, n, operands);
    if (!rc)
        rc = trained_open_data(&d, &o->t, run, source, &o->d);
    if (!rc)
        rc = embed(run, d, o);
    coke_dataset_free(d);
    coke_run_free(run);
    return rc;
}

const struct command cmd_embed = {
    .name = "embed",
    .usage = "RUN DATA -o x.npy [options]",
    .summary = "write the vectors that a trained encoder makes of images",
    .about = "Writes a row for each image, in the order of the data set, as it is computed: "
             "memory does not grow with the number of images. " RUN_IS DATA_IS
             "Images are seen in the size of the training, cut from the middle.",
    .examples =
        "coke embed run photos -o x.npy\tfeatures of the backbone\n"
        "coke cluster x.npy -k 100 -o clusters\tand clusters of them\n"
        "coke embed run data/cifar10 --split test --features projection -o z.npy\tunit "
        "vectors\n"
        "coke embed --weights resnet50.safetensors photos -o x.npy\ta torchvision ResNet",
    .group = {{coke_use_option_table, offsetof(OWN, t.use)},
              {trained_data_table, offsetof(OWN, d)}},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .size = sizeof(OWN),
    .run = run,
};
