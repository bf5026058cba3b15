/* bench_tiles.c - bf16 convolutions on tiles, shape by shape of the networks of bench_step:
 * microseconds and GFLOP/s; the gradient of the weights also against oneDNN's in f32 and our
 * Winograd's, and the products of heads. bench_tiles [THREADS [REPEAT [NAME]]] */
#include "core/clock.h"
#include "core/mem.h"
#include "core/workers.h"
#include "kernels/conv_tiles_weights.h"
#include "kernels/gemm_tiles.h"
#include "kernels/winograd.h"
#include "nn/dnn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct layer {
    const char *name;
    struct ck_tiles_shape s;
} layers[] = {
    {"r18_stem", {128, 3, 32, 32, 64, 32, 32, 3, 1, 1}},
    {"r18_64x32", {128, 64, 32, 32, 64, 32, 32, 3, 1, 1}},
    {"r18_64x32s2", {128, 64, 32, 32, 128, 16, 16, 3, 2, 1}},
    {"r18_64x32p2", {128, 64, 32, 32, 128, 16, 16, 1, 2, 0}},
    {"r18_128x16", {128, 128, 16, 16, 128, 16, 16, 3, 1, 1}},
    {"r18_128x16s2", {128, 128, 16, 16, 256, 8, 8, 3, 2, 1}},
    {"r18_256x8", {128, 256, 8, 8, 256, 8, 8, 3, 1, 1}},
    {"r18_256x8s2", {128, 256, 8, 8, 512, 4, 4, 3, 2, 1}},
    {"r18_512x4", {128, 512, 4, 4, 512, 4, 4, 3, 1, 1}},
    {"w25_16x32", {128, 16, 32, 32, 16, 32, 32, 3, 1, 1}},
    {"w25_32x16", {128, 32, 16, 16, 32, 16, 16, 3, 1, 1}},
    {"w25_64x8", {128, 64, 8, 8, 64, 8, 8, 3, 1, 1}},
    {"w25_128x4", {128, 128, 4, 4, 128, 4, 4, 3, 1, 1}},
    {"r50_stem", {16, 3, 224, 224, 64, 112, 112, 7, 2, 3}},
    {"r50_64x56", {16, 64, 56, 56, 64, 56, 56, 3, 1, 1}},
    {"r50_64x56up", {16, 64, 56, 56, 256, 56, 56, 1, 1, 0}},
    {"r50_256x56dn", {16, 256, 56, 56, 64, 56, 56, 1, 1, 0}},
    {"r50_128x56s2", {16, 128, 56, 56, 128, 28, 28, 3, 2, 1}},
    {"r50_128x28", {16, 128, 28, 28, 128, 28, 28, 3, 1, 1}},
    {"r50_128x28up", {16, 128, 28, 28, 512, 28, 28, 1, 1, 0}},
    {"r50_512x28p2", {16, 512, 28, 28, 1024, 14, 14, 1, 2, 0}},
    {"r50_256x14", {16, 256, 14, 14, 256, 14, 14, 3, 1, 1}},
    {"r50_256x14up", {16, 256, 14, 14, 1024, 14, 14, 1, 1, 0}},
    {"r50_512x7", {16, 512, 7, 7, 512, 7, 7, 3, 1, 1}},
    {"r50_2048x7dn", {16, 2048, 7, 7, 512, 7, 7, 1, 1, 0}},
};
enum { LAYERS = sizeof layers / sizeof *layers };

static void *array_of(size_t bytes)
{
    void *p = ck_alloc_array(bytes, 1);
    if (!p)
        exit(1);
    ck_mem_large_pages(p, bytes);
    return memset(p, 0, bytes);
}

static void bench(const struct layer *l, enum ck_tiles_pass pass, int repeat)
{
    struct ck_tiles_conv c;
    const struct ck_tiles_shape *s = &l->s;
    if (!ck_tiles_init(&c, s, pass)) {
        printf("%-14s not available here\n", l->name);
        return;
    }
    int64_t kernel = s->oc * s->ic * s->kernel * s->kernel;
    float *weights = array_of((size_t)kernel * sizeof *weights);
    void *packed = array_of(c.packed), *scratch = array_of(ck_tiles_scratch(&c, ck_threads()));
    void *src = array_of((size_t)(s->n * c.sc * c.sh * c.sw) * 64);
    void *dst = array_of((size_t)(s->n * c.dc * c.dh * c.dw) * 64);
    double *sum = array_of((size_t)c.dc * 32 * sizeof *sum);
    double *square = array_of((size_t)c.dc * 32 * sizeof *square);
    struct ck_tiles_sums sums = {sum, square};
    double best = 1e30, packing = 1e30;
    for (int64_t i = 0; i < kernel; i++)
        weights[i] = (float)((i * 2654435761u) >> 7 & 1023) / 512 - 1;
    for (int i = 0; i <= repeat; i++) {
        double start = ck_clock_seconds();
        ck_tiles_pack(&c, weights, packed);
        double packed_at = ck_clock_seconds();
        ck_tiles_run(&c, src, packed, dst, NULL, pass == CK_TILES_FORWARD ? &sums : NULL,
                     scratch);
        double end = ck_clock_seconds();
        packing = packed_at - start < packing ? packed_at - start : packing;
        best = end - packed_at < best ? end - packed_at : best;
    }
    double flops = 2.0 * (double)(s->n * s->oh * s->ow) * (double)kernel;
    printf("%-14s %-8s %9.0f us %8.0f GFLOP/s   packing %7.0f us   %lld images per chunk\n",
           l->name, pass ? "data" : "forward", best * 1e6, flops / best * 1e-9, packing * 1e6,
           (long long)c.group);
    ck_free(weights);
    ck_free(packed);
    ck_free(scratch);
    ck_free(src);
    ck_free(dst);
    ck_free(sum);
    ck_free(square);
}

/* ---- the gradient of the weights ---- */

enum { TILES, DIRECT, WINOGRAD, WAYS };

/* f32 arrays serve bf16 as well; blocks of 16 channels need no more room than those of 32. */
struct weights_bench {
    struct ck_tiles_shape s;
    struct ck_tiles_gradient g;
    struct ck_wino_shape wino; /* n = 0: no such convolution */
    struct ck_dnn_op *op;      /* NULL: the same */
    float *x, *dy, *dw;
    void *scratch;
};

static int64_t room(int64_t n, int64_t channels, int64_t pixels)
{
    return n * ((channels + 31) / 32 * 32) * pixels;
}

static size_t direct_new(struct weights_bench *b)
{
    const struct ck_tiles_shape *s = &b->s;
    struct ck_conv_shape c = {s->n,  s->ic, s->ih,     s->iw,     s->oc,
                              s->oh, s->ow, s->kernel, s->stride, s->pad};
    const int64_t in[] = {s->n, s->ic, s->ih, s->iw}, out[] = {s->n, s->oc, s->oh, s->ow};
    struct ck_format *src = NULL, *dst = NULL;
    if (ck_format_image(&src, in, s->ic < 16 ? CK_PLAIN : CK_BLOCKED) ||
        ck_format_image(&dst, out, CK_BLOCKED) ||
        ck_dnn_conv_new(&b->op, &c, CK_CONV_WEIGHTS, src, dst, 0))
        b->op = NULL;
    ck_format_free(src);
    ck_format_free(dst);
    return b->op ? ck_dnn_op_scratch(b->op) : 0;
}

static int weights_new(struct weights_bench *b)
{
    const struct ck_tiles_shape *s = &b->s;
    if (!ck_tiles_gradient_init(&b->g, s))
        return 0;
    size_t scratch = ck_tiles_gradient_scratch(&b->g, ck_threads()), other = direct_new(b);
    scratch = other > scratch ? other : scratch;
    if (s->kernel == 3 && s->stride == 1 && s->ic >= 16 && ck_wino_is_fast()) {
        b->wino = (struct ck_wino_shape){s->n, s->ic, s->oc, s->ih, s->iw, 0};
        other = ck_wino_scratch(&b->wino, CK_WINO_WEIGHTS, ck_threads());
        scratch = other > scratch ? other : scratch;
    }
    b->x = array_of((size_t)room(s->n, s->ic, s->ih * s->iw) * sizeof(float));
    b->dy = array_of((size_t)room(s->n, s->oc, s->oh * s->ow) * sizeof(float));
    b->dw =
        array_of((size_t)room(s->kernel * s->kernel, s->ic, room(1, s->oc, 1)) * sizeof(float));
    b->scratch = array_of(scratch);
    return 1;
}

static void weights_free(struct weights_bench *b)
{
    ck_dnn_op_free(b->op);
    ck_free(b->x);
    ck_free(b->dy);
    ck_free(b->dw);
    ck_free(b->scratch);
}

static void run_weights(struct weights_bench *b, int way)
{
    void *arg[CK_DNN_ARGS] = {b->x, b->dw, b->dy};
    if (way == TILES)
        ck_tiles_gradient_run(&b->g, b->x, b->dy, 0, b->dw, b->scratch);
    else if (way == WINOGRAD && b->wino.n)
        ck_wino_weights(&b->wino, b->x, b->dy, 0, b->dw, b->scratch);
    else if (way == DIRECT && b->op && ck_dnn_op_run(b->op, arg, b->scratch))
        exit(1);
}

/* The ratio of the faster other's time to that of tiles; 0 = not available. */
static double bench_weights(const struct layer *l, int repeat)
{
    struct weights_bench b = {.s = l->s};
    const struct ck_tiles_shape *s = &l->s;
    double best[WAYS] = {INFINITY, INFINITY, INFINITY};
    if (!weights_new(&b))
        return 0;
    for (int i = 0; i <= repeat; i++)
        for (int way = 0; way < WAYS; way++) {
            double start = ck_clock_seconds();
            run_weights(&b, way);
            double seconds = ck_clock_seconds() - start;
            best[way] = i ? fmin(best[way], seconds) : INFINITY;
        }
    best[DIRECT] = b.op ? best[DIRECT] : INFINITY;
    best[WINOGRAD] = b.wino.n ? best[WINOGRAD] : INFINITY;
    double flops = 2.0 * (double)(s->n * s->oh * s->ow) * (double)(s->oc * s->ic) *
                   (double)(s->kernel * s->kernel);
    printf("%-14s weights  %9.0f us %8.0f GFLOP/s   f32: oneDNN %6.0f, Winograd %6.0f\n",
           l->name, best[TILES] * 1e6, flops / best[TILES] * 1e-9, flops / best[DIRECT] * 1e-9,
           flops / best[WINOGRAD] * 1e-9);
    weights_free(&b);
    return fmin(best[DIRECT], best[WINOGRAD]) / best[TILES];
}

/* ---- the products of a head: forward, data, weights ---- */

/* The ratio of oneDNN's f32 to tiles, all three together; 0 = not available. */
static double bench_head(int64_t n, int64_t in, int64_t out, int repeat)
{
    if (!ck_gemm_tiles_exist())
        return 0;
    float *x = array_of((size_t)(n * in) * sizeof(float));
    float *y = array_of((size_t)(n * out) * sizeof(float));
    float *w = array_of((size_t)(in * out) * sizeof(float));
    float *dw = array_of((size_t)(in * out) * sizeof(float));
    void *scratch =
        array_of(ck_gemm_tiles_scratch(n, in, out) + ck_gemm_tiles_scratch(out, in, n));
    const struct ck_tile_product p[] = {
        {n, out, in, {x, in, 0}, {w, in, 1}, 1, y, out},
        {n, in, out, {y, out, 0}, {w, in, 0}, 0, x, in},
        {out, in, n, {y, out, 1}, {x, in, 0}, 1, dw, in},
    };
    double best[2] = {INFINITY, INFINITY};
    for (int i = 0; i <= repeat; i++)
        for (int f32 = 0; f32 < 2; f32++) {
            double start = ck_clock_seconds();
            for (int k = 0; k < 3; k++)
                if (!f32)
                    ck_gemm_tiles(&p[k], scratch);
                else if (ck_gemm(p[k].m, p[k].n, p[k].k, 1, p[k].a, p[k].b,
                                 p[k].accumulate ? 1 : 0, p[k].c, p[k].ldc))
                    exit(1);
            double seconds = ck_clock_seconds() - start;
            best[f32] = i ? fmin(best[f32], seconds) : INFINITY;
        }
    double flops = 6e-9 * (double)(n * in) * (double)out;
    printf("head %lld x %lld x %lld  %9.0f us %8.0f GFLOP/s   f32: oneDNN %6.0f\n",
           (long long)n, (long long)in, (long long)out, best[0] * 1e6, flops / best[0],
           flops / best[1]);
    ck_free(x);
    ck_free(y);
    ck_free(w);
    ck_free(dw);
    ck_free(scratch);
    return best[1] / best[0];
}

int main(int argc, char **argv)
{
    ck_set_threads(argc > 1 ? atoi(argv[1]) : 0);
    int repeat = argc > 2 ? atoi(argv[2]) : 10;
    printf("%s, %d threads\n", ck_tiles_how() ? ck_tiles_how() : "no bf16", ck_threads());
    double ratio[LAYERS] = {0};
    for (int i = 0; i < LAYERS; i++)
        if (argc <= 3 || strstr(layers[i].name, argv[3])) {
            for (int pass = 0; pass < 2; pass++)
                bench(&layers[i], (enum ck_tiles_pass)pass, repeat);
            ratio[i] = bench_weights(&layers[i], repeat);
        }
    int heads = argc <= 3 || strstr("heads", argv[3]);
    double small = heads ? bench_head(128, 512, 128, repeat) : 0;
    double large = heads ? bench_head(128, 2048, 2048, repeat) : 0;
    for (int i = 0; i < LAYERS; i++)
        if (ratio[i] > 0)
            printf("ratio tiles_%s_weights %.2f\n", layers[i].name, ratio[i]);
    if (small > 0)
        printf("ratio tiles_head_512x128 %.2f\nratio tiles_head_2048x2048 %.2f\n", small,
               large);
    return 0;
}
