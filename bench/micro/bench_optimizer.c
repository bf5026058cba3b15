/* bench_optimizer.c - a step of LARS and SGD on the parameters of residual networks: ms, GB/s of
 * what a step must read and write, the fraction of the speed of memory, and the ratio to plain
 * loops in C. bench_optimizer [THREADS [REPEAT]] */
#include "core/clock.h"
#include "core/mem.h"
#include "core/workers.h"
#include "kernels/kernels.h"
#include "nn/optimizer.h"
#include "nn/resnet.h"
#include "coke.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 16384 };

struct bench {
    const char *name;
    enum ck_arch arch;
    struct ck_net net;
    struct ck_optimizer *o;
    int lars;
    /* The parameters of the plain loops, concatenated: [total] */
    float *p, *m, *g;
    int64_t total;
    double *square, *change; /* [pieces] */
    int64_t *bad;
    double trust;
};

static void die(void)
{
    fprintf(stderr, "bench_optimizer: %s\n", coke_last_error());
    exit(1);
}

static void bench_new(struct bench *b)
{
    struct ck_resnet_options r = {b->arch, CK_STEM_IMAGENET, 1, 3};
    struct ck_optimizer_options o = {.kind = b->lars ? CK_LARS : CK_SGD,
                                     .momentum = 0.9,
                                     .weight_decay = 1e-4,
                                     .trust = 1e-3};
    if (ck_resnet_build(&b->net, &r) < 0)
        die();
    ck_net_init(&b->net, 1);
    b->total = ck_net_size(&b->net);
    size_t pieces = (size_t)(b->total / PIECE + 1);
    b->p = ck_calloc_array((size_t)b->total, sizeof(float));
    b->m = ck_calloc_array((size_t)b->total, sizeof(float));
    b->g = ck_calloc_array((size_t)b->total, sizeof(float));
    b->square = ck_calloc_array(pieces, sizeof(double));
    b->change = ck_calloc_array(pieces, sizeof(double));
    b->bad = ck_calloc_array(pieces, sizeof(int64_t));
    if (!b->p || !b->m || !b->g || !b->square || !b->change || !b->bad ||
        ck_optimizer_new(&b->o, b->net.param, b->net.nparams, &o))
        die();
    for (int i = 0; i < b->net.nparams; i++)
        for (int64_t j = 0; j < b->net.param[i].size; j++)
            b->net.param[i].grad[j] = (float)((j * 2654435761u >> 7 & 1023) + 1) / 4096;
    for (int64_t i = 0; i < b->total; i++)
        b->p[i] = b->g[i] = (float)((i * 2654435761u >> 7 & 1023) + 1) / 4096;
}

static void bench_free(struct bench *b)
{
    ck_optimizer_free(b->o);
    ck_net_release(&b->net);
    ck_free(b->p);
    ck_free(b->m);
    ck_free(b->g);
    ck_free(b->square);
    ck_free(b->change);
    ck_free(b->bad);
}

/* ---- plain loops: check, norms, update ---- */

static int64_t end_of(const struct bench *b, int64_t piece)
{
    return (piece + 1) * PIECE < b->total ? (piece + 1) * PIECE : b->total;
}

static float change_of(const struct bench *b, int64_t i)
{
    return b->g[i] + 1e-4f * b->p[i];
}

static void plain_measure(void *arg, int64_t piece, int worker)
{
    struct bench *b = arg;
    int64_t end = end_of(b, piece), bad = 0;
    double square[4] = {0}, change[4] = {0};
    (void)worker;
    for (int64_t i = piece * PIECE; i < end; i++)
        bad += !isfinite(b->g[i]);
    b->bad[piece] = bad;
    for (int64_t i = piece * PIECE; b->lars && i < end; i += 4)
        for (int64_t l = 0; l < 4 && i + l < end; l++) {
            double dp = (double)change_of(b, i + l);
            square[l] += (double)b->p[i + l] * (double)b->p[i + l];
            change[l] += dp * dp;
        }
    b->square[piece] = square[0] + square[1] + square[2] + square[3];
    b->change[piece] = change[0] + change[1] + change[2] + change[3];
}

static void plain_move(void *arg, int64_t piece, int worker)
{
    struct bench *b = arg;
    float *restrict p = b->p, *restrict m = b->m;
    int64_t end = end_of(b, piece);
    float trust = (float)b->trust;
    (void)worker;
    for (int64_t i = piece * PIECE; i < end; i++) {
        m[i] = 0.9f * m[i] + (b->g[i] + 1e-4f * p[i]) * trust;
        p[i] -= 1e-3f * m[i];
    }
}

static void plain_step(struct bench *b)
{
    int64_t pieces = (b->total + PIECE - 1) / PIECE, bad = 0;
    double square = 0, change = 0;
    ck_parallel(pieces, plain_measure, b);
    for (int64_t i = 0; i < pieces; i++) {
        square += b->square[i];
        change += b->change[i];
        bad += b->bad[i];
    }
    b->trust = b->lars ? 1e-3 * sqrt(square) / sqrt(change) : 1;
    if (!bad)
        ck_parallel(pieces, plain_move, b);
}

static void our_step(struct bench *b)
{
    if (ck_optimizer_step(b->o, 1e-3, 1, 1))
        die();
}

/* The measure of memory: two arrays read, one of them written. */
static void add_piece(void *arg, int64_t piece, int worker)
{
    struct bench *b = arg;
    float *restrict m = b->m;
    const float *restrict g = b->g;
    int64_t end = end_of(b, piece);
    (void)worker;
    for (int64_t i = piece * PIECE; i < end; i++)
        m[i] += g[i];
}

static void add(struct bench *b)
{
    ck_parallel((b->total + PIECE - 1) / PIECE, add_piece, b);
}

/* ---- timing ---- */

enum { ADD, PLAIN, OURS, RUNS };

/* Best of `repeat` rounds over all, so that a busy moment hits all alike. */
static void measure(struct bench *b, int repeat, double seconds[RUNS])
{
    static void (*const run[RUNS])(struct bench *) = {add, plain_step, our_step};
    for (int k = 0; k < RUNS; k++)
        seconds[k] = INFINITY;
    for (int r = 0; r < repeat; r++)
        for (int k = 0; k < RUNS; k++) {
            double t = ck_clock_seconds();
            run[k](b);
            seconds[k] = fmin(seconds[k], ck_clock_seconds() - t);
        }
}

/* Arrays that a step must read and write: LARS reads p and its gradient twice, because the norms
 * come first; the check of SGD reads the gradient. */
static int streams(const struct bench *b)
{
    return b->lars ? 7 : 6;
}

int main(int argc, char **argv)
{
    struct bench all[] = {{.name = "resnet18_lars", .arch = CK_RESNET18, .lars = 1},
                          {.name = "resnet18_sgd", .arch = CK_RESNET18},
                          {.name = "resnet50_lars", .arch = CK_RESNET50, .lars = 1},
                          {.name = "resnet50_sgd", .arch = CK_RESNET50}};
    enum { N = sizeof all / sizeof *all };
    double ratio[N];
    if (argc > 1)
        coke_set_threads(atoi(argv[1]));
    int repeat = argc > 2 ? atoi(argv[2]) : 15;
    for (int i = 0; i < N; i++) {
        struct bench *b = &all[i];
        double t[RUNS];
        bench_new(b);
        measure(b, repeat, t);
        double bytes = (double)b->total * sizeof(float), memory = 3 * bytes / t[ADD];
        double speed = streams(b) * bytes / t[OURS];
        printf("%s, %.1f MB per array, %d threads, %s: %.2f ms, %.1f GB/s, %.2f of memory's "
               "%.1f GB/s, plain loops %.2f ms\n",
               b->name, 1e-6 * bytes, ck_threads(), ck_isa(), 1e3 * t[OURS], 1e-9 * speed,
               speed / memory, 1e-9 * memory, 1e3 * t[PLAIN]);
        ratio[i] = t[PLAIN] / t[OURS];
        bench_free(b);
    }
    for (int i = 0; i < N; i++)
        printf("ratio optimizer_%s %.2f\n", all[i].name, ratio[i]);
    return 0;
}
