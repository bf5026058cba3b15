/* fuzz_numbers.c - a list of numbers, as text or .npy (--weights, --min-sizes). */
#include "coke.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    double *number;
    int64_t *count, n;
    const char *path = fuzz_path(data, size, "numbers");
    int rc = coke_numbers_load(path, &number, &n);
    if (!rc)
        coke_numbers_free(number);
    int again = coke_counts_load(path, &count, &n);
    if (!again)
        coke_counts_free(count);
    if ((rc && rc != COKE_EFORMAT) || (again && again != COKE_EFORMAT && again != COKE_EUSAGE))
        abort();
    return 0;
}
