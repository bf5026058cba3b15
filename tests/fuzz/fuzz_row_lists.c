/* fuzz_row_lists.c - names and classes of rows from a file that may be anything. */
#include "fuzz_file.h"
#include "data/row_lists.h"
#include "coke.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ck_row_classes c;
    struct ck_names names = {0};
    if (!size)
        return 0;
    int64_t n = data[0];
    const char *path = fuzz_path(data + 1, size - 1, "list");
    int rc = ck_row_classes_load(&c, path, n);
    if (rc && rc != COKE_EFORMAT)
        abort();
    for (int64_t i = 0; !rc && i < n; i++)
        if (c.class[i] < -1 || c.class[i] >= c.classes)
            abort();
    ck_row_classes_release(&c);
    rc = ck_row_names_load(&names, path, n);
    if ((rc && rc != COKE_EFORMAT) || (!rc && names.n != n))
        abort();
    ck_names_release(&names);
    return 0;
}
