/* fuzz_bmp.c - "BM" and anything after it. */
#include "decode_bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 2);
    if (!file)
        return 0;
    memcpy(file, "BM", 2);
    memcpy(file + 2, data, size);
    decode_bytes(file, size + 2, (struct ck_decode_options){0});
    free(file);
    return 0;
}
