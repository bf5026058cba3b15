/* cmd_import.c - coke import: an encoder from other programs. The format is recognised by the
 * library; pickles are parsed, never executed. */
#include "args.h"
#include "exchanged.h"
#include "outputs.h"
#include "talk.h"

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "FILE", "output file; default encoder.safetensors"),
    ARG_FORCE,
    ARG_JSON,
    ARG_QUIET,
};

/* x.encoder is made by the library on success, and freed here after printing. */
static int run(struct args *a, int n, const char *const *paths)
{
    struct coke_exchange_summary x = COKE_INIT(struct coke_exchange_summary);
    const char *output = args_text(a, "output");
    const char *path = output ? output : "encoder.safetensors";
    int force = args_flag(a, "force");
    if (n != 1)
        return talk_fail(COKE_EUSAGE, "expected one file; 'coke import --help' has examples");
    int rc = outputs_check_file(path, force);
    if (rc)
        return rc;
    rc = coke_import(paths[0], path, args_options(a, "import"), force, &x);
    if (rc)
        return talk_fail_library(rc);
    rc = exchanged_print(&x, path, args_flag(a, "json"), args_flag(a, "quiet"));
    coke_options_free(x.encoder);
    return rc;
}

const struct command cmd_import = {
    .name = "import",
    .usage = "FILE [-o encoder.safetensors] [options]",
    .summary = "read the weights of a ResNet saved by PyTorch",
    .about =
        "Makes an encoder from a .pth or .safetensors file of torchvision's, MoCo's, "
        "DINO's, lightly's, solo-learn's or the authors' ResNet-18, 34 or 50 (also with other "
        "widths, channels or a stem for small "
        "images), with any prefix of the tensor names. Nothing in a .pth is executed: only "
        "tensors are read, and references to Python code are rejected. Every tensor is "
        "either used or reported as ignored.",
    .examples = "coke import resnet50.pth -o r50.safetensors\ttorchvision's weights\n"
                "coke import moco_v2_800ep.pth.tar --part backbone\twithout its MLP\n"
                "coke import dino.pth --prefix student.module.backbone.\tnot its teacher",
    .kind = {"import"},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
