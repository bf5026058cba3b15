/* fuzz_tar.c - a tar file that may be anything: samples found by looking only are those found
 * by reading, and their bytes are where it is said. */
#include "fuzz_file.h"
#include "data/tar_samples.h"
#include "coke.h"

#include <string.h>

/* Checksums stop nearly every change; those of blocks that look like headers are set right. */
static void mend_checksums(uint8_t *data, size_t size)
{
    for (uint8_t *h = data; h + 512 <= data + size; h += 512) {
        unsigned sum = 0;
        if (memcmp(h + 257, "ustar", 5) != 0)
            continue;
        memset(h + 148, ' ', 8);
        for (int i = 0; i < 512; i++)
            sum += h[i];
        for (int i = 5; i >= 0; i--, sum >>= 3)
            h[148 + i] = (uint8_t)('0' + (sum & 7));
    }
}

/* Samples in a row, as one hash of what they are. */
static uint64_t read_samples(int fd, struct ck_item *item)
{
    struct ck_stream in = {0};
    struct ck_samples samples = {0};
    struct ck_sample s;
    uint64_t hash = 0;
    int more = 1, rc = lseek(fd, 0, SEEK_SET) ? COKE_EFAIL : ck_stream_fd(&in, fd, "fuzz");
    samples.tar.in = &in;
    while (!rc && more) {
        rc = ck_samples_next(&samples, item, &s, &more);
        if (rc || !more)
            break;
        hash = hash * 31 + (uint64_t)s.offset * 7 + (uint64_t)s.size * 3 + (uint64_t)s.label +
               strlen(s.key);
        if (item && (!item->bytes || (int64_t)item->size != s.size))
            abort();
        uint8_t byte;
        if (item && s.size && !in.gzip &&
            (pread(fd, &byte, 1, s.offset) != 1 || byte != item->bytes[0]))
            abort();
    }
    if (rc && rc != COKE_EFORMAT && rc != COKE_EUSAGE)
        abort();
    ck_samples_release(&samples);
    ck_stream_close(&in);
    return rc ? 0 : hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ck_item item;
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    mend_checksums(copy, size);
    int fd = fuzz_fd(copy, size);
    uint64_t looked = read_samples(fd, NULL), was_read = read_samples(fd, &item);
    if (was_read && looked != was_read)
        abort();
    free(copy);
    return 0;
}
