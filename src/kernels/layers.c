/* layers.c - elementwise arithmetic of layers, split over the team; selects the kernels'
 * version. */
#include "kernels/layers.h"
#include "core/workers.h"
#include "kernels/kernels.h"
#include "kernels/kernels_layers.h"

#include <string.h>

/* Not synchronised: tests and benchmarks set it while no other thread computes. */
static const struct ck_layer_kernels *forced;

static const struct ck_layer_kernels *version_for(const struct ck_kernels *k)
{
    k = ck_kernels_f32(k);
#if defined(__x86_64__)
    if (k == &ck_kernels_avx512)
        return &ck_layer_kernels_avx512;
    if (k == &ck_kernels_avx2)
        return &ck_layer_kernels_avx2;
#endif
    return k ? &ck_layer_kernels_ref : NULL;
}

const struct ck_layer_kernels *ck_layer_kernels(void)
{
    return forced ? forced : version_for(ck_kernels());
}

void ck_layer_kernels_force(const struct ck_layer_kernels *version)
{
    forced = version;
}

const struct ck_layer_kernels *ck_layer_kernels_named(const char *name)
{
    return version_for(ck_kernels_named(name));
}

/* Elements per task: long enough for the hardware prefetcher. */
enum { FLAT = 32768 };

enum flat_op { ADD, RELU, RELU_GRAD, TO_BF16, FROM_BF16, ZERO };

/* One call's arguments, on the caller's stack while the team works; b repeats a for operations
 * with one input. */
struct flat {
    enum flat_op op;
    enum ck_dtype t;
    int64_t n;
    const void *a, *b;
    void *out;
};

/* Chunks are disjoint, so workers need no synchronisation. f->t is the type of the inputs; a
 * conversion's output has the other. */
static void flat_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct flat *f = arg;
    const struct ck_layer_kernels *kn = ck_layer_kernels();
    int64_t i = chunk * FLAT, n = f->n - i < FLAT ? f->n - i : FLAT;
    const void *a = ck_at(f->t, f->a, i);
    switch (f->op) {
    case ADD:
        kn->add(f->t, n, a, ck_at(f->t, f->b, i), ck_at(f->t, f->out, i));
        break;
    case RELU:
        kn->relu(f->t, n, a, ck_at(f->t, f->out, i));
        break;
    case RELU_GRAD:
        kn->relu_grad(f->t, n, a, ck_at(f->t, f->b, i), ck_at(f->t, f->out, i));
        break;
    case TO_BF16:
        kn->to_bf16(n, a, (uint16_t *)f->out + i);
        break;
    case FROM_BF16:
        kn->from_bf16(n, a, (float *)f->out + i);
        break;
    case ZERO:
        memset((float *)f->out + i, 0, (size_t)n * sizeof(float));
        break;
    }
}

static void run_flat(struct flat f)
{
    ck_parallel((f.n + FLAT - 1) / FLAT, flat_chunk, &f);
}

void ck_add(enum ck_dtype t, int64_t n, const void *a, const void *b, void *out)
{
    run_flat((struct flat){ADD, t, n, a, b, out});
}

void ck_relu(enum ck_dtype t, int64_t n, const void *x, void *y)
{
    run_flat((struct flat){RELU, t, n, x, x, y});
}

void ck_relu_grad(enum ck_dtype t, int64_t n, const void *dy, const void *y, void *dx)
{
    run_flat((struct flat){RELU_GRAD, t, n, dy, y, dx});
}

void ck_accumulate_f32(int64_t n, const float *src, float *dst)
{
    ck_add(CK_F32, n, dst, src, dst);
}

void ck_to_bf16(int64_t n, const float *src, uint16_t *dst)
{
    run_flat((struct flat){TO_BF16, CK_F32, n, src, src, dst});
}

void ck_from_bf16(int64_t n, const uint16_t *src, float *dst)
{
    run_flat((struct flat){FROM_BF16, CK_BF16, n, src, src, dst});
}

void ck_zero_f32(int64_t n, float *out)
{
    run_flat((struct flat){ZERO, CK_F32, n, out, out, out});
}
