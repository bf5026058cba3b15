/* cmd_import.c - coke import: an encoder from other programs. */
#include "args.h"
#include "exchanged.h"
#include "outputs.h"
#include "talk.h"

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "FILE", "the encoder; default encoder.safetensors"),
    ARG_FORCE,
    ARG_JSON,
    ARG_QUIET,
};

static int run(struct args *a, int n, const char *const *paths)
{
    struct coke_exchanged x;
    const char *output = args_text(a, "output");
    const char *path = output ? output : "encoder.safetensors";
    int force = args_flag(a, "force");
    if (n != 1)
        return talk_fail(COKE_EUSAGE, "one file is needed; 'coke import --help' has examples");
    int rc = outputs_check_file(path, force);
    if (rc)
        return rc;
    rc = coke_import(paths[0], path, AS_STRUCT(args_options(a, "import")), force, &x);
    if (rc)
        return talk_fail_library(rc);
    return exchanged_print(&x, path, args_flag(a, "json"), args_flag(a, "quiet"));
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
    .kind = {"import"},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
