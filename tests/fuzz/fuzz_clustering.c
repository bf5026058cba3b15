/* fuzz_clustering.c - the folder of a clustering, whose summary.json may be anything, and whose
 * labels and model are the rest of the input. Three parts, divided by two bytes each: the lengths
 * of summary.json and of labels.npy. */
#include "coke.h"
#include "core/mem.h"
#include "fuzz_file.h"
#include "store/clustering_folder.h"

static volatile double sum;

static void read_all(const struct ck_clustering *c)
{
    for (int h = 0; h < c->heads; h++) {
        const struct ck_clustering_head *head = &c->head[h];
        for (int64_t i = 0; i < c->n; i++)
            sum += head->label[i];
        for (int64_t i = 0; head->center && i < head->k * c->dim; i++)
            sum += (double)head->center[i];
    }
}

static size_t part(const uint8_t *data, size_t left)
{
    size_t n = data[0] * 256u + data[1];
    return n < left ? n : left;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ck_clustering c;
    if (size < 5)
        return 0;
    size_t summary = part(data, size - 5), labels = part(data + 2, size - 5 - summary);
    fuzz_path(data + 5, summary, "summary.json");
    fuzz_path(data + 5 + summary, labels, "labels.npy");
    fuzz_path(data + 5 + summary + labels, size - 5 - summary - labels, "model.safetensors");
    ck_mem_reset_peak();
    int64_t before = ck_mem_stats().live_bytes;
    int rc = ck_clustering_read(&c, fuzz_folder, data[4] & 1);
    if (rc && rc != COKE_EFORMAT && rc != COKE_EIO) /* several heads have other names */
        abort();
    /* A file may not ask for more than a few times its size; JSON has large objects. */
    if (ck_mem_stats().peak_bytes - before > (int64_t)size * 256 + (1 << 20))
        abort();
    if (!rc)
        read_all(&c);
    ck_clustering_release(&c);
    return 0;
}
