/* fuzz_vecs.c - .fvecs and .bvecs bytes that may be anything. */
#include "coke.h"
#include "fuzz_file.h"
#include "io/vecs.h"

static volatile unsigned sum;

static void read_rows(const struct ck_vecs *v, const uint8_t *data)
{
    const unsigned char *row;
    size_t bytes = v->stride - sizeof(int32_t);
    for (int64_t i = 0; i < v->n; i++)
        if (ck_vecs_row(v, "fuzz", data, i, &row) == COKE_OK)
            for (size_t j = 0; j < bytes; j++)
                sum += row[j];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum ck_dtype dtypes[] = {CK_F32, CK_U8};
    for (int i = 0; i < 2; i++) {
        struct ck_vecs v;
        int rc = ck_vecs_parse(&v, "fuzz", dtypes[i], data, size);
        if (rc && rc != COKE_EFORMAT && rc != COKE_EUSAGE)
            abort();
        if (!rc)
            read_rows(&v, data);
    }
    return 0;
}
