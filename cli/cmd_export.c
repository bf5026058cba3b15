/* cmd_export.c - coke export: an encoder for other programs.
 *
 * The program's --format has one choice more than the library's (auto), which is resolved here
 * by the extension of the output file. */
#include "args.h"
#include "exchanged.h"
#include "outputs.h"
#include "talk.h"

#include <string.h>

/* Choices of --format; AUTO = by the extension of the file. */
enum { AUTO, SAFETENSORS, PTH, ONNX, DETECTRON2 };

static const struct {
    const char *file; /* default without -o */
    const char *ending;
    const char *format; /* the library's name */
} formats[] = {
    [SAFETENSORS] = {"encoder.safetensors", ".safetensors", "safetensors"},
    [PTH] = {"encoder.pth", ".pth", "pth"},
    [ONNX] = {"encoder.onnx", ".onnx", "onnx"},
    [DETECTRON2] = {"encoder-detectron2.pth", NULL, "detectron2"},
};

static const struct arg args[] = {
    ARG_TEXT("output", 'o', "FILE",
             "output file; default encoder.safetensors, encoder.pth, encoder.onnx or "
             "encoder-detectron2.pth in the current folder"),
    ARG_CHOICE("format", "auto|safetensors|pth|onnx|detectron2", 4,
               "format of the file; auto: by its extension"),
    ARG_FORCE,
    ARG_JSON,
    ARG_QUIET,
};

/* Returns a row of `formats`, or AUTO: unknown. Files for Detectron2 end in .pth too, so that
 * format must be named. */
static int find_format(int format, const char *output)
{
    size_t n = output ? strlen(output) : 0;
    if (format != AUTO)
        return format;
    for (int i = SAFETENSORS; i <= ONNX; i++) {
        size_t m = strlen(formats[i].ending);
        if (n > m && strcmp(output + n - m, formats[i].ending) == 0)
            return i;
    }
    return AUTO;
}

/* The output is checked before the weights are read. */
static int run(struct args *a, int n, const char *const *paths)
{
    struct coke_exchange_summary x = COKE_INIT(struct coke_exchange_summary);
    struct coke_options *o = args_options(a, "export");
    const char *output = args_text(a, "output");
    int row = find_format((int)args_number(a, "format"), output), force = args_flag(a, "force");
    if (n != 1)
        return talk_fail(COKE_EUSAGE,
                         "expected one run folder or file; 'coke export --help' has "
                         "examples");
    if (row == AUTO)
        return talk_fail(COKE_EUSAGE, "missing format: use --format pth, or -o x.onnx");
    const char *path = output ? output : formats[row].file;
    int rc = outputs_check_file(path, force);
    if (rc)
        return rc;
    rc = coke_options_set(o, "format", formats[row].format);
    if (!rc)
        rc = coke_export(paths[0], path, o, force, &x);
    if (rc)
        return talk_fail_library(rc);
    rc = exchanged_print(&x, path, args_flag(a, "json"), args_flag(a, "quiet"));
    coke_options_free(x.encoder);
    return rc;
}

const struct command cmd_export = {
    .name = "export",
    .usage = "RUN-or-FILE --format FORMAT [-o FILE] [options]",
    .summary = "write an encoder for PyTorch, ONNX or Detectron2",
    .about =
        "Writes the encoder of a training (its folder: the final weights, or the last ones "
        "while it is running; or a checkpoint or encoder file) for other programs, with "
        "torchvision's names. docs/export.md shows how to load each format.",
    .examples =
        "coke export run --format pth -o r18.pth\ttorch.load and load_state_dict\n"
        "coke export run -o r18.onnx --part all\tfeatures and projection for onnxruntime\n"
        "coke export run --format pth --names authors\tfor the authors' scripts\n"
        "coke export run --format detectron2\tas backbone of a detector\n"
        "coke export run -o r18.safetensors --best\tof the best checkpoint",
    .kind = {"export"},
    .arg = args,
    .nargs = ARG_COUNT(args),
    .run = run,
};
