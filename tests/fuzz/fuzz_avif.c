/* fuzz_avif.c - a AVIF signature and anything after it. */
#include "decode_bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 12);
    if (!file)
        return 0;
    memcpy(file,
           "\0\0\0\x1c"
           "ftypavif",
           12);
    memcpy(file + 12, data, size);
    decode_bytes(file, size + 12, (struct ck_decode_options){0});
    free(file);
    return 0;
}
