/* bench_winograd.c - our Winograd convolutions against oneDNN's direct and Winograd ones, f32:
 * GFLOP/s, counted as a direct convolution's, and the share of the time of the faster other.
 * bench_winograd [THREADS [REPEAT [NAME]]]; NAME s2 is those with stride 2, which also have a
 * ratio of their total time. */
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "kernels/winograd.h"
#include "nn/dnn.h"
#include "coke.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct layer {
    const char *name;
    struct ck_wino_shape s;
} layers[] = {
    {"r18_64x32", {128, 64, 64, 32, 32, 0}},      {"r18_128x16", {128, 128, 128, 16, 16, 0}},
    {"r18_256x8", {128, 256, 256, 8, 8, 0}},      {"r18_512x4", {128, 512, 512, 4, 4, 0}},
    {"w25_16x32", {128, 16, 16, 32, 32, 0}},      {"w25_32x16", {128, 32, 32, 16, 16, 0}},
    {"w25_64x8", {128, 64, 64, 8, 8, 0}},         {"w25_128x4", {128, 128, 128, 4, 4, 0}},
    {"r50_64x56", {16, 64, 64, 56, 56, 0}},       {"r50_128x28", {16, 128, 128, 28, 28, 0}},
    {"r50_256x14", {16, 256, 256, 14, 14, 0}},    {"r50_512x7", {16, 512, 512, 7, 7, 0}},
    {"s2_r18_64x32", {128, 64, 128, 32, 32, 1}},  {"s2_r18_128x16", {128, 128, 256, 16, 16, 1}},
    {"s2_r18_256x8", {128, 256, 512, 8, 8, 1}},   {"s2_w25_16x32", {128, 16, 32, 32, 32, 1}},
    {"s2_w25_32x16", {128, 32, 64, 16, 16, 1}},   {"s2_w25_64x8", {128, 64, 128, 8, 8, 1}},
    {"s2_r50_128x56", {16, 128, 128, 56, 56, 1}}, {"s2_r50_256x28", {16, 256, 256, 28, 28, 1}},
    {"s2_r50_512x14", {16, 512, 512, 14, 14, 1}},
};
enum { LAYERS = sizeof layers / sizeof *layers };

static const char *const pass_name[CK_WINO_PASSES] = {"forward", "data", "weights"};

enum { DIRECT, WINOGRAD, OURS, WAYS };

struct bench {
    struct ck_wino_shape s;
    enum ck_wino_pass pass;
    float *image[2], *w; /* input, output; also as gradients */
    struct ck_dnn_op *op[OURS];
    void *weights[OURS]; /* in oneDNN's layouts */
    void *scratch;
    double seconds[WAYS];
};

static void *array_of(size_t bytes)
{
    void *p = ck_alloc_array(bytes, 1);
    if (!p) {
        fprintf(stderr, "bench_winograd: %s\n", coke_last_error());
        exit(1);
    }
    ck_mem_large_pages(p, bytes);
    return memset(p, 0, bytes);
}

static float *filled(int64_t n)
{
    float *p = array_of((size_t)n * sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)((i * 2654435761u) >> 7 & 1023) / 512 - 1;
    return p;
}

static int64_t out_side(const struct ck_wino_shape *s, int64_t in)
{
    return s->halved ? (in + 1) / 2 : in;
}

/* oneDNN's ways, where there are such. */
static void ops_new(struct bench *b, size_t *scratch)
{
    const struct ck_wino_shape *s = &b->s;
    int64_t h = out_side(s, s->h), w = out_side(s, s->w);
    struct ck_conv_shape c = {s->n, s->ic, s->h, s->w, s->oc, h, w, 3, 1 + s->halved, 1};
    const int64_t in[] = {s->n, s->ic, s->h, s->w}, out[] = {s->n, s->oc, h, w};
    struct ck_format *src = NULL, *dst = NULL;
    if (ck_format_image(&src, in, CK_BLOCKED) || ck_format_image(&dst, out, CK_BLOCKED)) {
        fprintf(stderr, "bench_winograd: %s\n", coke_last_error());
        exit(1);
    }
    for (int way = 0; way < OURS; way++) {
        if (ck_dnn_conv_new(&b->op[way], &c, (enum ck_conv_pass)b->pass, src, dst,
                            way == WINOGRAD))
            continue;
        b->weights[way] =
            array_of(ck_format_bytes(ck_dnn_op_format(b->op[way], CK_ARG_WEIGHTS)));
        size_t bytes = ck_dnn_op_scratch(b->op[way]);
        *scratch = bytes > *scratch ? bytes : *scratch;
    }
    ck_format_free(src);
    ck_format_free(dst);
}

static void bench_new(struct bench *b)
{
    const struct ck_wino_shape *s = &b->s;
    size_t scratch = ck_wino_scratch(s, b->pass, ck_threads());
    b->image[0] = filled(s->n * s->ic * s->h * s->w);
    b->image[1] = filled(s->n * s->oc * out_side(s, s->h) * out_side(s, s->w));
    b->w = filled(s->oc * s->ic * 9);
    ops_new(b, &scratch);
    b->scratch = array_of(scratch);
}

static void bench_free(struct bench *b)
{
    for (int way = 0; way < OURS; way++) {
        ck_dnn_op_free(b->op[way]);
        ck_free(b->weights[way]);
    }
    ck_free(b->image[0]);
    ck_free(b->image[1]);
    ck_free(b->w);
    ck_free(b->scratch);
}

static void run_ours(const struct bench *b)
{
    if (b->pass == CK_WINO_FORWARD)
        ck_wino_forward(&b->s, b->image[0], b->w, b->image[1], NULL, b->scratch);
    else if (b->pass == CK_WINO_DATA)
        ck_wino_data(&b->s, b->image[1], b->w, b->image[0], NULL, b->scratch);
    else
        ck_wino_weights(&b->s, b->image[0], b->image[1], 0, b->w, b->scratch);
}

static void run_way(const struct bench *b, int way)
{
    void *arg[CK_DNN_ARGS] = {b->image[0], NULL, b->image[1]};
    if (way == OURS) {
        run_ours(b);
        return;
    }
    arg[CK_ARG_WEIGHTS] = b->weights[way];
    if (ck_dnn_op_run(b->op[way], arg, b->scratch)) {
        fprintf(stderr, "bench_winograd: %s\n", coke_last_error());
        exit(1);
    }
}

/* Best of `repeat` rounds over all ways, so that a busy moment hits all alike. */
static void measure(struct bench *b, int repeat)
{
    for (int way = 0; way < WAYS; way++)
        b->seconds[way] = INFINITY;
    for (int i = 0; i <= repeat; i++) /* the first round warms up */
        for (int way = 0; way < WAYS; way++)
            if (way == OURS || b->op[way]) {
                double start = ck_clock_seconds();
                run_way(b, way);
                double seconds = ck_clock_seconds() - start;
                b->seconds[way] = i ? fmin(b->seconds[way], seconds) : INFINITY;
            }
}

/* Seconds of all measured layers with stride 2: of the faster other, and ours. */
static double halved_total[2];

/* The ratio of the faster other's time to ours. */
static double bench_pass(const struct layer *l, enum ck_wino_pass pass, int repeat)
{
    struct bench b = {.s = l->s, .pass = pass};
    const struct ck_wino_shape *s = &l->s;
    double flops = 18e-9 * (double)(s->n * out_side(s, s->h) * out_side(s, s->w)) *
                   (double)(s->ic * s->oc);
    bench_new(&b);
    measure(&b, repeat);
    printf("%-12s %-8s %8.3f ms  ours %6.0f  direct %6.0f  winograd %6.0f GFLOP/s\n", l->name,
           pass_name[pass], 1e3 * b.seconds[OURS], flops / b.seconds[OURS],
           flops / b.seconds[DIRECT], flops / b.seconds[WINOGRAD]);
    fflush(stdout);
    bench_free(&b);
    double other = fmin(b.seconds[DIRECT], b.seconds[WINOGRAD]);
    halved_total[0] += s->halved ? other : 0;
    halved_total[1] += s->halved ? b.seconds[OURS] : 0;
    return other / b.seconds[OURS];
}

int main(int argc, char **argv)
{
    double ratio[LAYERS][CK_WINO_PASSES];
    const char *only = argc > 3 ? argv[3] : "";
    int repeat = argc > 2 ? atoi(argv[2]) : 10;
    if (argc > 1)
        coke_set_threads(atoi(argv[1]));
    for (int i = 0; i < LAYERS; i++)
        for (int p = 0; p < CK_WINO_PASSES && strstr(layers[i].name, only); p++)
            ratio[i][p] = bench_pass(&layers[i], (enum ck_wino_pass)p, repeat);
    for (int i = 0; i < LAYERS; i++)
        for (int p = 0; p < CK_WINO_PASSES && strstr(layers[i].name, only); p++)
            printf("ratio wino_%s_%s %.2f\n", layers[i].name, pass_name[p], ratio[i][p]);
    if (halved_total[1] > 0)
        printf("ratio wino_stride2 %.2f\n", halved_total[0] / halved_total[1]);
    return 0;
}
