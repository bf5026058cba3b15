/* fuzz_gif.c - "GIF89a" and anything after it. */
#include "decode_bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 6);
    if (!file)
        return 0;
    memcpy(file, "GIF89a", 6);
    memcpy(file + 6, data, size);
    decode_bytes(file, size + 6, (struct ck_decode_options){0});
    free(file);
    return 0;
}
