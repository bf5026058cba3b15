/* fuzz_raw.c - names of arrays in files (x.h5:/train) and the form of --raw, which may be anything;
 * the rows of a file of some size in that form. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/rows_part.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256];
    struct ck_part part = {0};
    struct ck_raw raw;
    struct ck_vecs rows;
    size_t n = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, n);
    text[n] = 0;
    if (ck_part_name(&part, text) == COKE_OK && part.array &&
        (part.array < part.name || part.array > part.name + strlen(part.name)))
        abort();
    ck_part_release(&part);
    if (ck_raw_parse(&raw, text) || ck_raw_view(&rows, &raw, "x", size << (size % 40)))
        return 0;
    if (rows.n < 1 || (size_t)rows.n * rows.stride + (size_t)raw.offset != size << (size % 40))
        abort();
    return 0;
}
