/* fuzz_torch.c - a file of torch.save that may be anything. Checksums stop nearly every change
 * of an archive's pickle; so the bytes are also taken for what follows the head of a file of
 * the older form. */
#include "fuzz_file.h"
#include "io/torch_file.h"
#include "coke.h"

#include <string.h>

/* Every byte that a tensor claims is there. */
static volatile unsigned sum;

static void read_bytes(const void *head, size_t head_size, const uint8_t *data, size_t size)
{
    struct ck_map map = {.size = head_size + size};
    struct ck_state s = {0};
    unsigned char *p =
        mmap(NULL, map.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    memcpy(p, head, head_size);
    memcpy(p + head_size, data, size);
    map.data = p;
    if (!ck_torch_is_file(&map)) {
        ck_map_release(&map);
        return;
    }
    int rc = ck_torch_read("fuzz", &map, &s);
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
    static const char head[] = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M"
                               "\xe9\x03.\x80\x02}.";
    if (size < 2)
        return 0;
    read_bytes(head, data[0] & 1 ? sizeof head - 1 : 0, data + 1, size - 1);
    return 0;
}
