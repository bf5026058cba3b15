/* fuzz_import.c - tensors with names and shapes that may be anything, as the weights of a foreign
 * network: refused, or an encoder. Per tensor: the length of the name, the name, a byte of
 * dimensions and one per length; the values are 0. */
#include "coke.h"
#include "core/mem.h"
#include "core/state.h"
#include "fuzz_file.h"
#include "nn/foreign.h"

#include <string.h>

enum { TENSORS = 64, NAME = 96, MOST = 1 << 16 };
static const float zeros[MOST];

struct input {
    const uint8_t *at, *end;
};

static int take_byte(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* 0 = the input ends. */
static int add(struct ck_state *s, struct input *in)
{
    char name[NAME + 1];
    int64_t shape[CK_MAX_DIMS], elements = 1;
    size_t n = (size_t)take_byte(in) % (NAME + 1);
    if ((size_t)(in->end - in->at) < n || !n)
        return 0;
    memcpy(name, in->at, n);
    name[n] = 0;
    in->at += n;
    int ndim = take_byte(in) % 5;
    for (int i = 0; i < ndim; i++) {
        shape[i] = take_byte(in);
        elements *= shape[i];
    }
    return elements <= MOST && !ck_state_add(s, name, CK_F32, ndim, shape, zeros);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ck_state s = {0};
    struct coke_encoder e;
    struct input in = {data + 1, data + size};
    char note[CK_FOREIGN_NOTE];
    if (size < 2)
        return 0;
    struct ck_foreign_options o = {.heads = data[0] & 1, .ignore = data[0] & 2 ? "fc." : NULL};
    for (int i = 0; i < TENSORS && add(&s, &in); i++)
        ;
    int64_t before = ck_mem_stats().live_bytes;
    int rc = ck_foreign_load(&e, &s, "fuzz", &o, note);
    if (rc && rc != COKE_EFORMAT && rc != COKE_EUSAGE && rc != COKE_ENOMEM)
        abort();
    if (!rc)
        ck_encoder_release(&e);
    if (ck_mem_stats().live_bytes != before)
        abort();
    ck_state_release(&s);
    return 0;
}
