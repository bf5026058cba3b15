/* fuzz_hdf5.c - names, types, shapes and places of data sets that may be anything, as a file of
 * HDF5 could make libhdf5 report them (hdf5_names.c). The first byte says whether a data set is
 * named, by the bytes up to the next 0; the rest is the file. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/info.h"
#include "io/rows_file.h"

#include <string.h>

static volatile float sum;

static void read_rows(struct coke_rows *rows)
{
    int64_t n = coke_rows_count(rows), dim = coke_rows_dim(rows);
    if (n > 4096 || dim > 4096)
        return;
    float *x = malloc((size_t)dim * sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        if (ck_rows_read(rows, &i, 1, x) == COKE_OK)
            sum += x[dim - 1];
    free(x);
}

static void take(const char *path)
{
    static FILE *null;
    struct coke_rows *rows;
    int rc = coke_rows_open(&rows, &path, 1, NULL);
    if (rc && rc != COKE_EFORMAT && rc != COKE_ENOMEM && rc != COKE_EIO && rc != COKE_EUSAGE)
        abort();
    if (!rc)
        read_rows(rows);
    coke_rows_free(rows);
    if (!null)
        null = fopen("/dev/null", "w");
    ck_info_print(path, NULL, 0, null);
    ck_info_print(path, NULL, 1, null);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[1 << 16] = "\x89HDF\r\n\x1a\n";
    char path[512], name[256] = "";
    setenv("COKE_HDF5", HDF5_NAMES, 1);
    if (size < 2 || size > sizeof file - 8)
        return 0;
    size_t n = data[0] & 1 ? strnlen((const char *)data + 1, size - 1) : 0;
    snprintf(name, sizeof name, "%.*s", (int)n, (const char *)data + 1);
    memcpy(file + 8, data + 1 + n, size - 1 - n);
    snprintf(path, sizeof path, "%s%s%s", fuzz_path(file, size - 1 - n + 8, "x.h5"),
             n ? ":" : "", name);
    take(path);
    return 0;
}
