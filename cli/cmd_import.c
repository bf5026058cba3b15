/* cmd_import.c - coke import: an encoder from other programs. */
#include "command.h"
#include "exchanged.h"
#include "outputs.h"
#include "talk.h"

struct options {
    const char *output, *prefix;
    int32_t part, force, json, quiet;
};

#define OWN struct options
static const struct arg args[] = {
    ARG_TEXT(OWN, output, "output", 'o', "FILE", "where to; without it encoder.safetensors"),
    ARG_CHOICE(OWN, part, "part", "all|backbone", 1,
               "the ResNet with what stands on it, or alone"),
    ARG_TEXT(OWN, prefix, "prefix", 0, "TEXT",
             "what stands before conv1.weight, where a file holds several networks"),
    ARG_FORCE(OWN),
    ARG_JSON(OWN),
    ARG_QUIET(OWN),
};

static int run(const void *options, int n, const char *const *paths)
{
    const struct options *o = options;
    struct coke_exchanged x;
    struct coke_import_options i = {o->part ? COKE_PART_BACKBONE : COKE_PART_ALL, o->prefix};
    const char *path = o->output ? o->output : "encoder.safetensors";
    if (n != 1)
        return talk_fail(COKE_EUSAGE, "one file is needed; 'coke import --help' has examples");
    int rc = outputs_check_file(path, o->force);
    if (rc)
        return rc;
    rc = coke_import(paths[0], path, &i, o->force, &x);
    if (rc)
        return talk_fail_library(rc);
    return exchanged_print(&x, path, o->json, o->quiet);
}

const struct command cmd_import = {
    .name = "import",
    .usage = "FILE [-o encoder.safetensors] [options]",
    .summary = "read the weights of a ResNet that PyTorch saved",
    .about =
        "Makes an encoder of a .pth or .safetensors file of torchvision's, MoCo's or the "
        "authors' ResNet-18, 34 or 50 (also with other widths, channels or a stem for small "
        "images), whatever its names begin with. Nothing in a .pth is run: only tensors are "
        "taken, and names of Python code are refused. Every tensor is used or said to be "
        "left out.",
    .examples = "coke import resnet50.pth -o r50.safetensors\ttorchvision's weights\n"
                "coke import moco_v2_800ep.pth.tar --part backbone\twithout its MLP\n"
                "coke import model.safetensors --prefix teacher.backbone.\tone of several",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .size = sizeof(struct options),
    .run = run,
};
