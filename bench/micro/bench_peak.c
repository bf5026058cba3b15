/* bench_peak.c - what this machine's cores can do at most: f32 fused multiply-adds and 8-bit
 * products in registers, and both kinds of products of tiles, all threads. Prints one JSON
 * object. The measure of bench_assign. */
#include "core/clock.h"
#include "core/workers.h"
#include "coke.h"
#include "kernels/amx.h"
#include "kernels/amx_tiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOPS = 20000000, CHAINS = 12 };

/* Twelve chains hide the latency of 4 cycles on two ports. */
#define CHAIN12(OP)                                                                            \
    OP " %%zmm0, %%zmm0, %%zmm20\n\t" OP " %%zmm0, %%zmm0, %%zmm21\n\t" OP                     \
       " %%zmm0, %%zmm0, %%zmm22\n\t" OP " %%zmm0, %%zmm0, %%zmm23\n\t" OP                     \
       " %%zmm0, %%zmm0, %%zmm24\n\t" OP " %%zmm0, %%zmm0, %%zmm25\n\t" OP                     \
       " %%zmm0, %%zmm0, %%zmm26\n\t" OP " %%zmm0, %%zmm0, %%zmm27\n\t" OP                     \
       " %%zmm0, %%zmm0, %%zmm28\n\t" OP " %%zmm0, %%zmm0, %%zmm29\n\t" OP                     \
       " %%zmm0, %%zmm0, %%zmm30\n\t" OP " %%zmm0, %%zmm0, %%zmm31\n\t"

#define CLOBBERS                                                                               \
    "cc", "xmm0", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",      \
        "xmm28", "xmm29", "xmm30", "xmm31"

__attribute__((target("avx512f"))) static void run_fma(void *arg, int64_t chunk, int worker)
{
    (void)arg;
    (void)chunk;
    (void)worker;
    long n = LOOPS;
    __asm__ volatile(
        "vpxorq %%zmm0, %%zmm0, %%zmm0\n\t1:\n\t" CHAIN12("vfmadd231ps") "dec %0\n\tjnz 1b"
        : "+r"(n)
        :
        : CLOBBERS);
}

__attribute__((target("avx512f"))) static void run_dot8(void *arg, int64_t chunk, int worker)
{
    (void)arg;
    (void)chunk;
    (void)worker;
    long n = LOOPS;
    __asm__ volatile(
        "vpxorq %%zmm0, %%zmm0, %%zmm0\n\t1:\n\t" CHAIN12("vpdpbusd") "dec %0\n\tjnz 1b"
        : "+r"(n)
        :
        : CLOBBERS);
}

/* Four sums hide the latency of a product. */
#define TILES(name, product)                                                                   \
    static void name(void *arg, int64_t chunk, int worker)                                     \
    {                                                                                          \
        (void)arg;                                                                             \
        (void)chunk;                                                                           \
        (void)worker;                                                                          \
        struct ck_tile_config c = ck_tile_config_full();                                       \
        ck_tiles_configure(&c);                                                                \
        for (long i = 0; i < LOOPS / 16; i++) {                                                \
            product(0, 4, 5);                                                                  \
            product(1, 4, 6);                                                                  \
            product(2, 7, 5);                                                                  \
            product(3, 7, 6);                                                                  \
        }                                                                                      \
        ck_tiles_release();                                                                    \
    }
TILES(run_tiles8, ck_tile_s8s8)
TILES(run_tiles16, ck_tile_bf16)

/* 1e9 operations a second; a multiply-add counts two, as everywhere. */
static double measure(void (*fn)(void *, int64_t, int), double operations)
{
    double best = INFINITY;
    for (int r = 0; r < 5; r++) {
        double t = ck_clock_seconds();
        ck_parallel(ck_threads(), fn, NULL);
        best = fmin(best, ck_clock_seconds() - t);
    }
    return 1e-9 * operations * (double)CHAINS * (double)LOOPS * ck_threads() / best;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        coke_set_threads(atoi(argv[1]));
    double fma = __builtin_cpu_supports("avx512f") ? measure(run_fma, 32) : 0;
    double dot8 = __builtin_cpu_supports("avx512vnni") ? measure(run_dot8, 128) : 0;
    /* A product of tiles counts 2 * 16 * 16 * 64 operations; 4 of them per 16 loops. */
    double part = 4.0 / (16 * CHAINS), tile = ck_amx_obstacle() ? 0 : 2.0 * 16 * 16 * 64 * part;
    double tiles8 = tile > 0 ? measure(run_tiles8, tile) : 0;
    double tiles16 = tile > 0 ? measure(run_tiles16, tile / 2) : 0;
    printf(
        "{\"threads\": %d, \"f32_gflops\": %.0f, \"int8_gops\": %.0f, \"amx_int8_gops\": %.0f, "
        "\"amx_bf16_gflops\": %.0f}\n",
        ck_threads(), fma, dot8, tiles8, tiles16);
    return 0;
}
