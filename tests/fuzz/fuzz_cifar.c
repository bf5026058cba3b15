/* fuzz_cifar.c - a CIFAR file of any length and any labels. */
#include "fuzz_file.h"
#include "data/dataset.h"
#include "coke.h"

#include <string.h>

/* Records are long: the first byte says how many, the second of which kind, the third how much
 * too long the file is; the others are repeated. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"train.bin", "data_batch_1.bin", "mine.bin"};
    struct ck_dataset_options o = {0};
    struct ck_dataset *d = NULL;
    struct ck_item item = {0};
    if (size < 5)
        return 0;
    size_t record = 3073 + (data[1] & 1), n = (size_t)(data[0] % 8) * record;
    n += data[2] < 200 ? 0 : data[2];
    uint8_t *file = malloc(n + 1);
    if (!file)
        return 0;
    for (size_t i = 0; i < n; i++)
        file[i] = data[4 + i % (size - 4)];
    o.coarse = data[3] & 1;
    int rc = ck_dataset_open(&d, fuzz_path(file, n, names[data[1] / 2 % 3]), &o);
    if (rc && rc != COKE_EFORMAT && rc != COKE_EUSAGE) /* coarse labels of CIFAR-10 */
        abort();
    for (int64_t i = 0; !rc && i < d->n; i++)
        if (ck_dataset_label(d, i) >= d->classes || ck_dataset_read(d, i, &item) ||
            item.pixels.width != 32)
            abort();
    ck_item_release(&item);
    ck_dataset_free(d);
    free(file);
    return 0;
}
