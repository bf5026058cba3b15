/* fuzz_tuning.c - a tuning file that may be anything. */
#include "coke.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int rc = coke_tune(fuzz_path(data, size, "tuning"));
    if (rc && rc != COKE_EFORMAT)
        abort();
    return coke_tune(NULL) ? (abort(), 0) : 0;
}
