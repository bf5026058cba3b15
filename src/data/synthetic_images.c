/* synthetic_images.c - generated images. */
#include "core/error.h"
#include "data/dataset_kinds.h"

int ck_dataset_open_synthetic(struct ck_dataset **out, const char *spec,
                              const struct ck_dataset_options *o)
{
    (void)out;
    (void)o;
    return ck_fail(COKE_EUSAGE, "synthetic:%s is not there yet", spec);
}
