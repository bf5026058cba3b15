/* fuzz_exif.c - EXIF blocks. */
#include "image/exif.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int orientation = ck_exif_orientation(data, size);
    if (orientation < 1 || orientation > 8)
        abort();
    return 0;
}
