/* fuzz_npy.c - a .npy header that may be anything. */
#include "fuzz_file.h"
#include "io/npy.h"
#include "coke.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ck_npy a;
    int rc = ck_npy_parse(&a, "fuzz", data, size);
    if (rc && rc != COKE_EFORMAT && rc != COKE_EUSAGE && rc != COKE_ENOMEM)
        abort();
    if (!rc && a.offset + (size_t)a.bytes != size) /* exactly what was promised is there */
        abort();
    return 0;
}
