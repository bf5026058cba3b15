/* fuzz_idx.c - an IDX file that may be anything, plain or gzipped. */
#include "fuzz_file.h"
#include "io/idx.h"
#include "core/mem.h"
#include "coke.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ck_stream in;
    struct ck_idx a = {0};
    ck_mem_reset_peak();
    int64_t before = ck_mem_stats().live_bytes;
    int rc = ck_stream_fd(&in, fuzz_fd(data, size), "fuzz");
    if (!rc)
        rc = ck_idx_read(&a, &in);
    if (rc && rc != COKE_EFORMAT && rc != COKE_EUSAGE)
        abort();
    /* no more than deflate can make of it, and what the stream itself needs */
    if (ck_mem_stats().peak_bytes - before > (int64_t)size * 1032 + (1 << 17))
        abort();
    static volatile unsigned sum; /* all of it can be read */
    for (int64_t i = 0; !rc && i < a.bytes; i++)
        sum = sum + a.data[i];
    ck_idx_release(&a);
    ck_stream_close(&in);
    return 0;
}
