/* fuzz_rows.c - a file of rows in any of our formats: the first byte chooses the name, the rest is
 * the file. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/rows_part.h"

static volatile float sum;

static int read_rows(struct ck_part *p)
{
    struct ck_spooled spooled = {.dir = "/dev/shm"};
    float *x;
    if (p->vecs.n * (int64_t)p->vecs.stride > 1 << 24 || ck_part_settle(p, &spooled))
        return 0;
    x = malloc((size_t)p->vecs.dim * sizeof *x);
    for (int64_t i = 0; x && i < p->vecs.n; i++)
        if (ck_part_row(p, i, x) == COKE_OK)
            sum += x[p->vecs.dim - 1] + (float)ck_part_value(p, i, 0);
    free(x);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char names[][16] = {"x.npy",         "x.npz",  "x.npz:a",
                               "x.safetensors", "x.fbin", "x.i8bin",
                               "x.fvecs",       "x.dat",  "x"};
    static const struct ck_raw raw = {CK_F16, 3, 5};
    enum { NAMES = sizeof names / sizeof *names };
    if (size < 2)
        return 0;
    char *name = names[data[0] % NAMES];
    struct ck_part part = {.map = {.data = data + 1, .size = size - 1}};
    setenv("COKE_HDF5", "/nowhere", 1);
    if (ck_part_name(&part, name))
        return 0;
    if (data[0] % NAMES == 2) { /* there is no such file to find the array by */
        part.path[5] = 0;
        part.array = part.name + 6;
    }
    int rc = ck_part_parse(&part, data[0] % NAMES == 7 ? &raw : NULL);
    if (rc && rc != COKE_EFORMAT && rc != COKE_ENOMEM && rc != COKE_EFAIL)
        abort();
    if (!rc)
        read_rows(&part);
    if (part.map.data == data + 1) /* borrowed */
        part.map = (struct ck_map){0};
    ck_part_release(&part);
    return 0;
}
