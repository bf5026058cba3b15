/* rng.c - counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011) and a Feistel
 * permutation with cycle walking. */
#include "core/rng.h"

#include <math.h>

static void philox_round(uint32_t c[4], const uint32_t key[2])
{
    uint64_t p0 = (uint64_t)0xD2511F53u * c[0];
    uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ key[0], (uint32_t)p1,
                        (uint32_t)(p0 >> 32) ^ c[3] ^ key[1], (uint32_t)p0};
    for (int i = 0; i < 4; i++)
        c[i] = next[i];
}

void ck_rng_words(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b, uint32_t out[4])
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    out[0] = (uint32_t)a;
    out[1] = (uint32_t)(a >> 32);
    out[2] = b;
    out[3] = stream;
    for (int r = 0; r < 10; r++) {
        philox_round(out, key);
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
}

uint32_t ck_rng_u32(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b)
{
    uint32_t w[4];
    ck_rng_words(seed, stream, a, b, w);
    return w[0];
}

double ck_rng_unit(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b)
{
    uint32_t w[4];
    ck_rng_words(seed, stream, a, b, w);
    return (double)((((uint64_t)w[0] << 32) | w[1]) >> 11) * 0x1p-53;
}

uint64_t ck_rng_below(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b, uint64_t n)
{
    uint32_t w[4];
    ck_rng_words(seed, stream, a, b, w);
    uint64_t x = ((uint64_t)w[0] << 32) | w[1];
    return (uint64_t)(((unsigned __int128)x * n) >> 64);
}

void ck_rng_normal(uint64_t seed, uint32_t stream, uint64_t a, uint32_t b, double out[2])
{
    uint32_t w[4];
    ck_rng_words(seed, stream, a, b, w);
    double u = ((double)((((uint64_t)w[0] << 32) | w[1]) >> 11) + 1) * 0x1p-53; /* (0, 1] */
    double v = (double)((((uint64_t)w[2] << 32) | w[3]) >> 11) * 0x1p-53;
    double r = sqrt(-2 * log(u));
    out[0] = r * cos(6.283185307179586 * v);
    out[1] = r * sin(6.283185307179586 * v);
}

/* The finalizer of SplitMix64. */
int ck_rng_in_sample(uint64_t seed, uint64_t i, double fraction)
{
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u + seed * 0xD1B54A32D192ED03u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53 < fraction;
}

enum { ROUNDS = 6 }; /* of the Feistel network, one key each */

void ck_perm_init(struct ck_perm *p, uint64_t seed, uint32_t stream, uint64_t epoch, uint64_t n)
{
    p->n = n;
    p->half_bits = 1;
    while (p->half_bits < 31 && ((uint64_t)1 << (2 * p->half_bits)) < n)
        p->half_bits++;
    uint32_t w[4];
    ck_rng_words(seed, stream, epoch, 0, w);
    for (int i = 0; i < 4; i++)
        p->key[i] = w[i];
    ck_rng_words(seed, stream, epoch, 1, w);
    p->key[4] = w[0];
    p->key[5] = w[1];
}

/* A 32-bit integer hash; the round function of the Feistel network. */
static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    return x ^ (x >> 16);
}

/* The network is a bijection of 2^(2 half_bits) numbers. Applying it again while the result is
 * >= n (cycle walking) makes it one of 0..n-1, in at most 4 applications on average. */
uint64_t ck_perm_at(const struct ck_perm *p, uint64_t position)
{
    uint32_t mask = ((uint32_t)1 << p->half_bits) - 1;
    uint64_t x = position;
    do {
        uint32_t left = (uint32_t)(x >> p->half_bits), right = (uint32_t)x & mask;
        for (int r = 0; r < ROUNDS; r++) {
            uint32_t t = left ^ (mix(right ^ p->key[r]) & mask);
            left = right;
            right = t;
        }
        x = ((uint64_t)left << p->half_bits) | right;
    } while (x >= p->n);
    return x;
}
