/* fuzz_braces.c - names of shards that may be anything. */
#include "fuzz_file.h"
#include "data/braces.h"
#include "coke.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char pattern[256];
    struct ck_names names = {0};
    size_t n = size < sizeof pattern - 1 ? size : sizeof pattern - 1;
    memcpy(pattern, data, n);
    pattern[n] = 0;
    ck_braces_expand(pattern, &names);
    ck_names_release(&names);
    return 0;
}
