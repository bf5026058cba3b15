/* rng.h - counter-based random numbers: Philox4x32-10 keyed by (seed, stream), and permutations
 * in constant memory.
 *
 * Pure functions without state: the same arguments give the same numbers on every thread, in
 * any order. That is why results do not depend on the number of threads, and why a resumed job
 * needs no generator state. Saved runs
 * and golden traces rely on the exact numbers. */
#ifndef CK_RNG_H
#define CK_RNG_H

#include <stdint.h>

/* The purpose of a draw; each has its own stream. */
enum ck_rng_stream {
    CK_RNG_ORDER = 1, /* row order of an epoch */
    CK_RNG_INIT,      /* first centers */
    CK_RNG_SAMPLE,    /* rows sampled for statistics, defaults and reports */
    CK_RNG_DATA,      /* built-in data sets */
    CK_RNG_WEIGHTS,   /* initial weights of a network */
    CK_RNG_AUGMENT,   /* augmentation of an image in a view */
    CK_RNG_REPLACE,   /* which image replaces an unreadable one */
    CK_RNG_PARTNER,   /* which of its partners an image is shown with */
};

/* Four random words for counter (a, b) under (seed, stream). */
void ck_rng_words(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b, uint32_t out[4]);

uint32_t ck_rng_u32(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b);
double ck_rng_unit(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b); /* [0, 1) */
/* 0..n-1; bias below n / 2^64. */
uint64_t ck_rng_below(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b, uint64_t n);
/* Two independent standard normal numbers (Box-Muller). */
void ck_rng_normal(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b, double out[2]);

/* Is i in a sample of this fraction? Decided by a cheap hash of (seed, i). */
int ck_rng_in_sample(uint64_t seed, uint64_t i, double fraction);

/* A pseudo-random permutation of 0..n-1: position -> item, in O(1) memory, so that any batch of
 * any epoch can be computed without the ones before it. Read-only after init: any thread. */
struct ck_perm {
    uint64_t n;
    uint32_t half_bits; /* the Feistel network works on 2 * half_bits bits */
    uint32_t key[6];
};

void ck_perm_init(struct ck_perm *p, uint64_t seed, uint32_t stream, uint64_t epoch,
                  uint64_t n);
uint64_t ck_perm_at(const struct ck_perm *p, uint64_t position);

#endif
