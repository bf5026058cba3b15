/* use_options.h - the options of using, exporting and importing a trained encoder. */
#ifndef CK_USE_OPTIONS_H
#define CK_USE_OPTIONS_H

#include "core/option.h"

struct ck_use_options {
    int32_t best; /* of a run folder: the best checkpoint instead of the last */
    int64_t size; /* side of the images that the encoder sees; 0 = as in its training */
    struct ck_numbers normalize; /* see CK_NORMALIZE_ROW; auto = as in its training */
    int64_t views; /* vectors are means over that many crops of an image; 1 = the usual view */
    int32_t bad;   /* enum ck_bad: error or skip */
    int32_t precision; /* enum ck_precision */
};

const struct ck_option_table *ck_use_option_table(void);
struct ck_use_options ck_use_options_default(void);

enum ck_export_format {
    CK_EXPORT_SAFETENSORS,
    CK_EXPORT_PTH,       /* as torch.save writes it */
    CK_EXPORT_ONNX,      /* opset 13; any batch and image size */
    CK_EXPORT_DETECTRON2 /* a .pth with its names */
};
enum ck_export_part {
    CK_PART_BACKBONE,
    CK_PART_ALL /* with projector and predictor; ONNX: with the projector */
};
enum ck_export_names {
    CK_EXPORT_NAMES_TORCHVISION, /* conv1.weight, layer1.0.bn1.bias, ..., fc.*, predictor.* */
    CK_EXPORT_NAMES_AUTHORS,     /* module.encoder.*, as the authors' scripts expect it */
    CK_EXPORT_NAMES_LIGHTLY,     /* those of the checkpoints of other programs */
    CK_EXPORT_NAMES_SOLO,
    CK_EXPORT_NAMES_MOCO,
    CK_EXPORT_NAMES_DINO,
    CK_EXPORT_NAMES_VISSL
};

struct ck_export_options {
    int32_t format; /* enum ck_export_format */
    int32_t part;   /* enum ck_export_part */
    int32_t names;  /* enum ck_export_names: of safetensors and .pth */
    int32_t best;   /* of a run folder: best.safetensors */
};

const struct ck_option_table *ck_export_option_table(void);

struct ck_import_options {
    int32_t part;       /* enum ck_export_part */
    const char *prefix; /* of conv1.weight; NULL = found out */
};

const struct ck_option_table *ck_import_option_table(void);

#endif
