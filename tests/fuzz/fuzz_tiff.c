/* fuzz_tiff.c - a TIFF signature and anything after it. */
#include "decode_bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 4);
    if (!file)
        return 0;
    memcpy(file, "II*", 4);
    memcpy(file + 4, data, size);
    decode_bytes(file, size + 4, (struct ck_decode_options){0});
    free(file);
    return 0;
}
