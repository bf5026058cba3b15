/* fuzz_list.c - a list of images that may be anything: .csv, .tsv or .txt. */
#include "fuzz_file.h"
#include "data/dataset.h"
#include "coke.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"list.csv", "list.tsv", "list.txt"};
    struct ck_dataset *d = NULL;
    char name[64];
    if (!size)
        return 0;
    int rc = ck_dataset_open(&d, fuzz_path(data + 1, size - 1, names[data[0] % 3]), NULL);
    if (rc && rc != COKE_EFORMAT && rc != COKE_EUSAGE)
        abort();
    for (int64_t i = 0; !rc && i < d->n; i++) {
        int32_t label = ck_dataset_label(d, i);
        ck_dataset_name(d, i, name, sizeof name);
        if (label < -1 || label >= d->classes || !name[0])
            abort();
    }
    for (int32_t c = 0; !rc && c < d->classes; c++)
        if (!d->class_name[c][0])
            abort();
    ck_dataset_free(d);
    return 0;
}
