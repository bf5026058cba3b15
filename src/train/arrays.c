/* arrays.c - the arrays that a method keeps, released together. */
#include "train/arrays.h"
#include "coke/types.h"
#include "core/mem.h"

#include <assert.h>

static void *add(struct ck_arrays *a, size_t n, size_t size)
{
    assert(a->n < CK_ARRAYS);
    void *block = a->block[a->n++] = ck_calloc_array(n, size);
    a->failed |= !block;
    return block;
}

double *ck_arrays_doubles(struct ck_arrays *a, size_t n)
{
    return add(a, n, sizeof(double));
}

float *ck_arrays_floats(struct ck_arrays *a, size_t n)
{
    return add(a, n, sizeof(float));
}

int ck_arrays_status(const struct ck_arrays *a)
{
    return a->failed ? COKE_ENOMEM : COKE_OK;
}

void ck_arrays_release(struct ck_arrays *a)
{
    for (int i = 0; i < a->n; i++)
        ck_free(a->block[i]);
}
