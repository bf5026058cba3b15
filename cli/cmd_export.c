/* cmd_export.c - coke export: an encoder for other programs. */
#include "command.h"
#include "exchanged.h"
#include "outputs.h"
#include "talk.h"

#include <string.h>

struct options {
    const char *output;
    int32_t format, part, names, best, force, json, quiet;
};

/* The rows of --format; AUTO is by the name of the file. */
enum { AUTO, SAFETENSORS, PTH, ONNX, DETECTRON2 };

static const struct {
    const char *file; /* without -o */
    const char *ending;
    enum coke_export_format format;
} formats[] = {
    [SAFETENSORS] = {"encoder.safetensors", ".safetensors", COKE_EXPORT_SAFETENSORS},
    [PTH] = {"encoder.pth", ".pth", COKE_EXPORT_PTH},
    [ONNX] = {"encoder.onnx", ".onnx", COKE_EXPORT_ONNX},
    [DETECTRON2] = {"encoder-detectron2.pth", NULL, COKE_EXPORT_DETECTRON2},
};

#define OWN struct options
static const struct arg args[] = {
    ARG_TEXT(OWN, output, "output", 'o', "FILE",
             "where to; without it encoder.safetensors, encoder.pth, encoder.onnx or "
             "encoder-detectron2.pth in this folder"),
    ARG_CHOICE(OWN, format, "format", "auto|safetensors|pth|onnx|detectron2", 4,
               "of the file; auto: by the ending of its name"),
    ARG_CHOICE(OWN, part, "part", "backbone|all", 1,
               "the ResNet alone, or with its projection and prediction MLPs (onnx: an output "
               "'projection' beside 'features')"),
    ARG_CHOICE(OWN, names, "names", "torchvision|authors", 1,
               "of the tensors in safetensors and pth; authors: module.encoder.*, in a dict "
               "with arch and state_dict"),
    ARG_FLAG(OWN, best, "best", 0, "of a run folder the best checkpoint instead of the last"),
    ARG_FORCE(OWN),
    ARG_JSON(OWN),
    ARG_QUIET(OWN),
};

/* A row of `formats`, or AUTO: not known. */
static int32_t find_format(const struct options *o)
{
    size_t n = o->output ? strlen(o->output) : 0;
    if (o->format != AUTO)
        return o->format;
    for (int32_t i = SAFETENSORS; i <= ONNX; i++) {
        size_t m = strlen(formats[i].ending);
        if (n > m && strcmp(o->output + n - m, formats[i].ending) == 0)
            return i;
    }
    return AUTO;
}

static int run(const void *options, int n, const char *const *paths)
{
    const struct options *o = options;
    struct coke_exchanged x;
    int32_t row = find_format(o);
    if (n != 1)
        return talk_fail(COKE_EUSAGE,
                         "one run folder or file is needed; 'coke export --help' has "
                         "examples");
    if (row == AUTO)
        return talk_fail(COKE_EUSAGE, "which format? As in --format pth, or -o x.onnx");
    const char *path = o->output ? o->output : formats[row].file;
    struct coke_export_options e = {(int32_t)formats[row].format, o->part, o->names, o->best};
    int rc = outputs_check_file(path, o->force);
    if (rc)
        return rc;
    rc = coke_export(paths[0], path, &e, o->force, &x);
    if (rc)
        return talk_fail_library(rc);
    return exchanged_print(&x, path, o->json, o->quiet);
}

const struct command cmd_export = {
    .name = "export",
    .usage = "RUN-or-FILE --format FORMAT [-o FILE] [options]",
    .summary = "write an encoder for PyTorch, ONNX or Detectron2",
    .about =
        "Writes the encoder of a training (its folder: the final weights, or the last ones "
        "while it runs; or a checkpoint or encoder file) for other programs, with "
        "torchvision's names. docs/export.md shows how each is loaded.",
    .examples =
        "coke export run --format pth -o r18.pth\ttorch.load and load_state_dict\n"
        "coke export run -o r18.onnx --part all\tfeatures and projection for onnxruntime\n"
        "coke export run --format pth --names authors\tfor the authors' scripts\n"
        "coke export run --format detectron2\tas backbone of a detector\n"
        "coke export run -o r18.safetensors --best\tof the best checkpoint",
    .arg = args,
    .nargs = ARG_COUNT(args),
    .size = sizeof(struct options),
    .run = run,
};
