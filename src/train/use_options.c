/* use_options.c - the options of using, exporting and importing a trained encoder. */
#include "train/use_options.h"
#include "data/data_options.h"
#include "nn/nn_options.h"

/* ---- use ---- */

#define ROW(type, field, name, def, min, max, choices, help)                                   \
    CK_OPT(type, struct ck_use_options, field, name, def, min, max, choices, help)

static const struct ck_option use_rows[] = {
    ROW(CK_OPT_FLAG, best, "best", 0, 0, 1, NULL,
        "use the best checkpoint of a run folder instead of the last"),
    ROW(CK_OPT_INT, size, "size", 0, 0, 4096, "auto",
        "image size in pixels for the encoder; auto: as in its training"),
    CK_NORMALIZE_ROW(struct ck_use_options,
                     "mean and deviation for normalising pixels (0 to 1), as words or "
                     "numbers: M,S or three of each; auto: as in its training"),
    ROW(CK_OPT_INT, views, "views", 1, 1, 1000, NULL,
        "vectors are means over that many views of each image: the usual one and random crops "
        "as in the training, without changes of color; eval prints both results"),
    ROW(CK_OPT_CHOICE, bad, "bad", CK_BAD_ERROR, 0, CK_BAD_SKIP, "error|skip",
        "unreadable images and invalid rows: fail, or skip them"),
    ROW(CK_OPT_CHOICE, precision, "precision", CK_PRECISION_F32, 0, CK_PRECISIONS - 1,
        CK_PRECISION_CHOICES,
        "precision of the activations inside the network; auto: the faster one, measured now"),
};

const struct ck_option_table *ck_use_option_table(void)
{
    static const struct ck_option_table t = CK_OPTION_TABLE(use_rows, struct ck_use_options);
    return &t;
}

struct ck_use_options ck_use_options_default(void)
{
    struct ck_use_options o;
    ck_options_default(ck_use_option_table(), &o);
    return o;
}

/* ---- export and import ---- */

#undef ROW
#define ROW(type, field, name, max, choices, help)                                             \
    CK_OPT(type, struct ck_export_options, field, name, 0, 0, max, choices, help)

static const struct ck_option export_rows[] = {
    ROW(CK_OPT_CHOICE, format, "format", 3, "safetensors|pth|onnx|detectron2",
        "format of the output file"),
    ROW(CK_OPT_CHOICE, part, "part", 1, "backbone|all",
        "the ResNet alone, or with projector and predictor (onnx: an output 'projection' "
        "beside 'features')"),
    ROW(CK_OPT_CHOICE, names, "names", CK_EXPORT_NAMES_VISSL,
        "torchvision|authors|lightly|solo-learn|moco|dino|vissl",
        "tensor names in safetensors and pth; authors: module.encoder.*, in a dict with arch "
        "and state_dict; others: as in the checkpoints of these programs"),
    ROW(CK_OPT_FLAG, best, "best", 1, NULL,
        "use the best checkpoint of a run folder instead of the last"),
};

const struct ck_option_table *ck_export_option_table(void)
{
    static const struct ck_option_table t =
        CK_OPTION_TABLE(export_rows, struct ck_export_options);
    return &t;
}

#undef ROW
#define ROW(type, field, name, def, max, choices, help)                                        \
    CK_OPT(type, struct ck_import_options, field, name, def, 0, max, choices, help)

static const struct ck_option import_rows[] = {
    ROW(CK_OPT_CHOICE, part, "part", 1, 1, "backbone|all",
        "the ResNet alone, or with projector and predictor"),
    ROW(CK_OPT_TEXT, prefix, "prefix", 0, 0, "TEXT",
        "prefix of the name conv1.weight, if the file holds several networks"),
};

const struct ck_option_table *ck_import_option_table(void)
{
    static const struct ck_option_table t =
        CK_OPTION_TABLE(import_rows, struct ck_import_options);
    return &t;
}
