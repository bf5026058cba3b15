/* fuzz_sums.c - a list of checksums that may be anything, beside a file: the file is accepted, or
 * refused as damaged. The first byte chooses FILE.xxh3 or the list of the folder. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/sums.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[160];
    if (!size)
        return 0;
    const char *list =
        fuzz_path(data + 1, size - 1, data[0] & 1 ? "x.npy" CK_SUMS_END : CK_SUMS_LIST);
    snprintf(path, sizeof path, "%s/x.npy", fuzz_folder);
    int rc = ck_sums_check(path, "content", 7);
    if (rc && rc != COKE_EFORMAT)
        abort();
    /* Only a line that names the file refuses it. */
    if (rc && size - 1 < 1 << 20 && !memmem(data + 1, size - 1, "(x.npy)", 7))
        abort();
    return unlink(list) ? (abort(), 0) : 0;
}
