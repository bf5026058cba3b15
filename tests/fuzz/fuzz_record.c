/* fuzz_record.c - JSON that coke wrote and reads again: a document, and lines with checksums. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/record.h"

static volatile double sum;

static void take_value(void *arg, const char *key, const char *value)
{
    (void)arg;
    sum += key[0] + value[0];
}

static int take(void *arg, struct ck_record r)
{
    (void)arg;
    sum += ck_record_number(r, "epoch") + ck_record_text(r, "text")[0];
    for (int64_t i = 0; i < ck_record_count(r, "heads"); i++)
        sum += ck_record_number(ck_record_item(r, "heads", i), "k");
    ck_record_each(r, take_value, NULL);
    return COKE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(data, size, "metrics.jsonl");
    int rc = ck_record_read_lines(path, take, NULL);
    if (!rc || rc == COKE_EFORMAT || rc == COKE_ENOMEM)
        rc = ck_record_read(path, take, NULL);
    if (rc && rc != COKE_EFORMAT && rc != COKE_ENOMEM)
        abort();
    return 0;
}
