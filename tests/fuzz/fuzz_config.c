/* fuzz_config.c - a --config file that may be anything, for the largest kind of options. */
#include "coke.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct coke_options *o;
    if (coke_options_new(&o, "train"))
        abort();
    int rc = coke_options_load_json(o, fuzz_path(data, size, "c.json"));
    if (rc && rc != COKE_EFORMAT && rc != COKE_EUSAGE && rc != COKE_ENOMEM)
        abort();
    coke_options_free(o);
    return 0;
}
