/* fuzz_stream.c - rows of a pipe that may be anything: read once, in order. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/rows_file.h"

static volatile float sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct coke_rows *rows;
    float x[4096];
    int fd = dup(fuzz_fd(data, size));
    if (fd < 0)
        abort();
    int rc = ck_rows_open_stream(&rows, fd, "fuzz");
    if (rc && rc != COKE_EFORMAT && rc != COKE_ENOMEM)
        abort();
    for (int64_t i = 0; !rc && i < rows->n && rows->dim <= 4096; i++) {
        rc = rows->get(rows, &i, 1, x, rows->dim);
        if (!rc)
            sum += x[rows->dim - 1] + (float)rows->value(rows, i, rows->dim - 1);
    }
    ck_rows_free(rows);
    return 0;
}
