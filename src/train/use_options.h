/* use_options.h - the options of using, exporting and importing a trained encoder. */
#ifndef CK_USE_OPTIONS_H
#define CK_USE_OPTIONS_H

#include "core/option.h"

struct ck_use_options {
    int32_t best;      /* of a run folder: the best checkpoint instead of the last */
    int64_t size;      /* side of the images that the encoder sees; 0 = as in its training */
    int32_t normalize; /* enum ck_norm; auto = as in its training */
    int32_t bad;       /* enum ck_bad: error or skip */
};

const struct ck_option_table *ck_use_option_table(void);
struct ck_use_options ck_use_options_default(void);

struct ck_export_options {
    int32_t format; /* enum coke_export_format */
    int32_t part;   /* enum coke_part */
    int32_t names;  /* enum coke_names: of safetensors and .pth */
    int32_t best;   /* of a run folder: best.safetensors */
};

const struct ck_option_table *ck_export_option_table(void);

struct ck_import_options {
    int32_t part;       /* enum coke_part */
    const char *prefix; /* of conv1.weight; NULL = found out */
};

const struct ck_option_table *ck_import_option_table(void);

#endif
