/* test_rng.c - Philox's known answers, and permutations without memory. */
#include "support.h"

/* Random123's known-answer vectors for philox4x32-10: counter, key, result. In our layout the
 * counter is (a low, a high, b, stream) and the key the seed. */
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        uint64_t seed = (uint64_t)kat[i].key[1] << 32 | kat[i].key[0];
        uint64_t a = (uint64_t)kat[i].counter[1] << 32 | kat[i].counter[0];
        ck_rng_words(seed, kat[i].counter[3], a, kat[i].counter[2], out);
        assert_memory_equal(out, kat[i].want, sizeof out);
        assert_int_equal(ck_rng_u32(seed, kat[i].counter[3], a, kat[i].counter[2]), out[0]);
    }
}

static void check_bijection(uint64_t n, uint64_t epoch)
{
    struct ck_perm p;
    uint8_t *seen = test_array(n, 1);
    ck_perm_init(&p, 3, CK_RNG_ORDER, epoch, n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = ck_perm_at(&p, i);
        assert_true(at < n);
        assert_int_equal(seen[at]++, 0);
    }
    free(seen);
}

static void permutation_is_a_bijection(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 200; n++)
        for (uint64_t epoch = 0; epoch < 3; epoch++)
            check_bijection(n, epoch);
    for (uint64_t power = 4; power <= 1 << 18; power *= 4)
        for (uint64_t n = power - 1; n <= power + 1; n++)
            check_bijection(n, n);
}

static void large_permutations_stay_within(void **state)
{
    (void)state;
    const uint64_t sizes[] = {(uint64_t)1 << 31, ((uint64_t)1 << 32) + 1, 1000000000000000};
    for (int s = 0; s < 3; s++) {
        struct ck_perm p;
        double mean = 0;
        ck_perm_init(&p, 3, CK_RNG_ORDER, 0, sizes[s]);
        for (uint64_t i = 0; i < 2000; i++) {
            uint64_t at = ck_perm_at(&p, i);
            assert_true(at < sizes[s]);
            mean += (double)at / (double)sizes[s] / 2000;
        }
        assert_close(mean, 0.5, 0.05);
    }
}

static void numbers_have_their_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    double mean = 0, square = 0, m = 0, v = 0, corr = 0;
    int64_t below[7] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double g[2], u = ck_rng_unit(1, 9, i, 0);
        assert_true(u >= 0 && u < 1);
        mean += u / N;
        square += u * u / N;
        ck_rng_normal(1, 9, i, 1, g);
        assert_true(isfinite(g[0]) && isfinite(g[1]));
        m += (g[0] + g[1]) / (2 * N);
        v += (g[0] * g[0] + g[1] * g[1]) / (2 * N);
        corr += g[0] * g[1] / N;
        below[ck_rng_below(1, 9, i, 2, 7)]++;
    }
    assert_close(mean, 0.5, 0.005);
    assert_close(square, 1.0 / 3, 0.005);
    assert_close(m, 0, 0.01);
    assert_close(v, 1, 0.01);
    assert_close(corr, 0, 0.01);
    for (int i = 0; i < 7; i++)
        assert_close((double)below[i], N / 7.0, 800);
    assert_int_equal(ck_rng_below(1, 9, 5, 2, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(permutation_is_a_bijection),
        cmocka_unit_test(large_permutations_stay_within),
        cmocka_unit_test(numbers_have_their_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
