/* fuzz_pnm.c - "P" and anything after it. */
#include "decode_bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 1);
    if (!file)
        return 0;
    file[0] = 'P';
    memcpy(file + 1, data, size);
    decode_bytes(file, size + 1, (struct ck_decode_options){0});
    free(file);
    return 0;
}
