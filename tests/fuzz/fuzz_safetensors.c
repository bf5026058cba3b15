/* fuzz_safetensors.c - a safetensors file that may be anything, as a state, a model and an
 * encoder. */
#include "coke.h"
#include "core/mem.h"
#include "fuzz_file.h"
#include "io/safetensors.h"

/* Every byte that a tensor claims is there. */
static volatile unsigned sum;

static void read_state(const char *path)
{
    struct ck_state s = {0};
    int rc = ck_safetensors_read(path, &s);
    if (rc && rc != COKE_EFORMAT && rc != COKE_ENOMEM)
        abort();
    for (int i = 0; i < s.ntensors; i++) {
        const struct ck_tensor *t = &s.tensor[i];
        size_t n = (size_t)ck_tensor_elements(t) * ck_dtype_size(t->dtype);
        for (size_t j = 0; j < n; j++)
            sum += ((const unsigned char *)t->data)[j];
    }
    ck_state_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(data, size, "x.safetensors");
    struct coke_model *m;
    struct coke_kmeans *km;
    read_state(path);
    if (coke_model_load(&m, path) == COKE_OK)
        coke_model_free(m);
    if (coke_kmeans_load(&km, path) == COKE_OK)
        coke_kmeans_free(km);
    return 0;
}
