/* bench_norm.c - the fused batch norm kernels against the speed of memory: GB/s of what a
 * kernel must read and write, and its ratio to plain loops that read, copy or add arrays of
 * that size. bench_norm [THREADS [REPEAT [ISA]]] */
#include "core/clock.h"
#include "core/mem.h"
#include "core/workers.h"
#include "kernels/kernels_layers.h"
#include "coke.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 5, PIECE = 131072 };

struct bench {
    struct ck_act_shape a;
    enum ck_dtype t;
    int64_t bytes; /* of an array */
    void *x[ARRAYS];
    float *coef[3];
    double *sum[2];
    _Atomic uint64_t sink;
};

static int64_t piece_bytes(const struct bench *b, int64_t chunk)
{
    int64_t left = b->bytes - chunk * PIECE;
    return left < PIECE ? left : PIECE;
}

static void read_piece(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct bench *b = arg;
    const uint64_t *x = (const uint64_t *)((char *)b->x[0] + chunk * PIECE);
    uint64_t sum = 0;
    int64_t n = piece_bytes(b, chunk) / 8;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    b->sink += sum;
}

static void copy_piece(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct bench *b = arg;
    memcpy((char *)b->x[1] + chunk * PIECE, (char *)b->x[0] + chunk * PIECE,
           (size_t)piece_bytes(b, chunk));
}

static void add_piece(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct bench *b = arg;
    const uint64_t *x = (const uint64_t *)((char *)b->x[0] + chunk * PIECE);
    const uint64_t *z = (const uint64_t *)((char *)b->x[1] + chunk * PIECE);
    uint64_t *restrict y = (uint64_t *)((char *)b->x[2] + chunk * PIECE);
    int64_t n = piece_bytes(b, chunk) / 8;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + z[i];
}

static void run_pieces(struct bench *b, void (*fn)(void *, int64_t, int))
{
    ck_parallel((b->bytes + PIECE - 1) / PIECE, fn, b);
}

static void plain_read(struct bench *b)
{
    run_pieces(b, read_piece);
}

static void plain_copy(struct bench *b)
{
    run_pieces(b, copy_piece);
}

static void plain_add(struct bench *b)
{
    run_pieces(b, add_piece);
}

static void sums(struct bench *b)
{
    ck_bn_sums(&b->a, b->t, b->x[0], b->sum[0], b->sum[1]);
}

static void apply_relu(struct bench *b)
{
    ck_bn_apply(&b->a, b->t, b->x[0], b->coef[0], b->coef[1], NULL, 1, b->x[1]);
}

static void apply_in_place(struct bench *b)
{
    ck_bn_apply(&b->a, b->t, b->x[4], b->coef[0], b->coef[1], NULL, 0, b->x[4]);
}

static void apply_residual(struct bench *b)
{
    const struct ck_bn_residual res = {.x = b->x[1]};
    ck_bn_apply(&b->a, b->t, b->x[0], b->coef[0], b->coef[1], &res, 1, b->x[2]);
}

static void apply_two_norms(struct bench *b)
{
    const struct ck_bn_residual res = {.x = b->x[1], .scale = b->coef[0], .shift = b->coef[1]};
    ck_bn_apply(&b->a, b->t, b->x[0], b->coef[0], b->coef[1], &res, 1, b->x[2]);
}

static void grad_sums_plain(struct bench *b)
{
    const struct ck_bn_grad in = {.dy = b->x[0], .x = b->x[1]};
    ck_bn_grad_sums(&b->a, b->t, &in, b->coef[0], b->coef[1], b->sum[0], b->sum[1], NULL);
}

static void grad_sums_mask_x(struct bench *b)
{
    const struct ck_bn_grad in = {
        .dy = b->x[0], .x = b->x[1], .scale = b->coef[0], .shift = b->coef[1]};
    ck_bn_grad_sums(&b->a, b->t, &in, b->coef[0], b->coef[1], b->sum[0], b->sum[1], NULL);
}

static void grad_sums_store(struct bench *b)
{
    const struct ck_bn_grad in = {.dy = b->x[0], .dy2 = b->x[1], .y = b->x[2], .x = b->x[3]};
    ck_bn_grad_sums(&b->a, b->t, &in, b->coef[0], b->coef[1], b->sum[0], b->sum[1], b->x[4]);
}

static void grad_apply_mask_x(struct bench *b)
{
    const struct ck_bn_grad in = {
        .dy = b->x[0], .x = b->x[1], .scale = b->coef[0], .shift = b->coef[1]};
    ck_bn_grad_apply(&b->a, b->t, &in, b->coef[0], b->coef[1], b->coef[2], b->x[2]);
}

static void grad_apply_mask_y(struct bench *b)
{
    const struct ck_bn_grad in = {.dy = b->x[0], .dy2 = b->x[1], .y = b->x[2], .x = b->x[3]};
    ck_bn_grad_apply(&b->a, b->t, &in, b->coef[0], b->coef[1], b->coef[2], b->x[4]);
}

/* The first three are the measure: a kernel is compared with the one that writes as it does and
 * reads one array, or several. */
enum { READ, COPY, ADD };
static const struct kernel {
    const char *name;
    void (*run)(struct bench *b);
    int arrays; /* read and written, each once */
    int measure;
} kernels[] = {
    {"read", plain_read, 1, READ},
    {"copy", plain_copy, 2, COPY},
    {"add", plain_add, 3, ADD},
    {"sums", sums, 1, READ},
    {"apply_relu", apply_relu, 2, COPY},
    {"apply_in_place", apply_in_place, 2, COPY},
    {"apply_residual_relu", apply_residual, 3, ADD},
    {"apply_two_norms_relu", apply_two_norms, 3, ADD},
    {"grad_sums", grad_sums_plain, 2, READ},
    {"grad_sums_mask_x", grad_sums_mask_x, 2, READ},
    {"grad_sums_mask_y_store", grad_sums_store, 5, ADD},
    {"grad_apply_mask_x", grad_apply_mask_x, 3, ADD},
    {"grad_apply_mask_y", grad_apply_mask_y, 5, ADD},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Numbers of either sign that the kernels keep finite. */
static void fill(struct bench *b)
{
    int64_t channels = ck_act_channels(&b->a), n = ck_act_size(&b->a);
    for (int k = 0; k < ARRAYS; k++)
        for (int64_t i = 0; i < n; i++) {
            float v = (float)((i * 2654435761u + (unsigned)k * 40503u) >> 7 & 1023) / 512 - 1;
            if (b->t == CK_F32)
                ((float *)b->x[k])[i] = v;
            else
                ck_layer_kernels_ref.to_bf16(1, &v, (uint16_t *)b->x[k] + i);
        }
    for (int64_t c = 0; c < channels; c++) {
        b->coef[0][c] = 0.5f;
        b->coef[1][c] = 0.25f;
        b->coef[2][c] = 0.125f;
    }
}

static void bench_new(struct bench *b)
{
    size_t size = b->t == CK_F32 ? 4 : 2, channels = (size_t)ck_act_channels(&b->a);
    b->bytes = ck_act_size(&b->a) * (int64_t)size;
    int ok = 1;
    for (int k = 0; k < ARRAYS; k++)
        ok &= (b->x[k] = ck_alloc_array((size_t)ck_act_size(&b->a), size)) != NULL;
    for (int k = 0; k < 3; k++)
        ok &= (b->coef[k] = ck_alloc_array(channels, sizeof(float))) != NULL;
    for (int k = 0; k < 2; k++)
        ok &= (b->sum[k] = ck_alloc_array(channels, sizeof(double))) != NULL;
    if (!ok) {
        fprintf(stderr, "bench_norm: %s\n", coke_last_error());
        exit(1);
    }
    fill(b);
}

static void bench_free(struct bench *b)
{
    for (int k = 0; k < ARRAYS; k++)
        ck_free(b->x[k]);
    for (int k = 0; k < 3; k++)
        ck_free(b->coef[k]);
    for (int k = 0; k < 2; k++)
        ck_free(b->sum[k]);
}

/* Best of `repeat` rounds over all kernels, so that a busy moment hits all alike. */
static void measure(struct bench *b, int repeat, double seconds[KERNELS])
{
    for (int k = 0; k < KERNELS; k++)
        seconds[k] = INFINITY;
    for (int r = 0; r < repeat; r++)
        for (int k = 0; k < KERNELS; k++) {
            double t = ck_clock_seconds();
            kernels[k].run(b);
            seconds[k] = fmin(seconds[k], ck_clock_seconds() - t);
        }
}

int main(int argc, char **argv)
{
    static const struct ck_act_shape shapes[] = {
        {128, 4, 1024, 16}, {128, 32, 16, 16}, {16, 16, 3136, 16}, {16, 1, 3136, 256}};
    if (argc > 1)
        coke_set_threads(atoi(argv[1]));
    int repeat = argc > 2 ? atoi(argv[2]) : 15;
    if (argc > 3)
        ck_layer_kernels_force(ck_layer_kernels_named(argv[3]));
    double ratio[2 * 4][KERNELS];
    char name[2 * 4][64];
    for (int i = 0; i < 8; i++) {
        struct bench b = {.a = shapes[i / 2], .t = i % 2 ? CK_BF16 : CK_F32};
        double seconds[KERNELS];
        bench_new(&b);
        measure(&b, repeat, seconds);
        snprintf(name[i], sizeof name[i], "%lldx%lldx%lldx%lld_%s", (long long)b.a.n,
                 (long long)b.a.cb, (long long)b.a.s, (long long)b.a.blk,
                 i % 2 ? "bf16" : "f32");
        printf("%s, %.1f MB an array, %d threads, %s\n", name[i], 1e-6 * (double)b.bytes,
               ck_threads(), ck_layer_kernels()->name);
        for (int k = 0; k < KERNELS; k++) {
            const struct kernel *m = &kernels[kernels[k].measure];
            ratio[i][k] =
                seconds[kernels[k].measure] / m->arrays * kernels[k].arrays / seconds[k];
            printf("  %-24s %8.3f ms %7.1f GB/s\n", kernels[k].name, 1e3 * seconds[k],
                   1e-9 * (double)b.bytes * kernels[k].arrays / seconds[k]);
        }
        bench_free(&b);
    }
    for (int i = 0; i < 8; i++)
        for (int k = ADD + 1; k < KERNELS; k++)
            printf("ratio %s_%s %.2f\n", kernels[k].name, name[i], ratio[i][k]);
    return 0;
}
