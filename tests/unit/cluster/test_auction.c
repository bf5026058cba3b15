/* test_auction.c - sizes and bound of the auction on lists that have all centers. */
#include "support.h"
#include "cluster/auction.h"

enum { N = 600, K = 12 };

static float score[N][K];
static int64_t min_size[K], max_size[K];

/* Similarities between -1 and 1, of which the first `copies` points have the same. */
static void make(int copies, uint64_t seed)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++)
            score[i][k] =
                i > 0 && i < copies
                    ? score[0][k]
                    : (float)(2 * test_unit(seed, (uint64_t)(i * K + k)) - 1) + (k ? 0 : 1);
}

/* Runs the auction from prices 0; checks the sizes and how near the labels come to the bound at
 * its prices. */
static void check(int upper, double epsilon)
{
    static int32_t label[N];
    static float own[N];
    static int64_t base[K], start[K + 1], first[N + 1];
    static struct ck_arc arc[N * K];
    static struct ck_choice choice[N * K];
    struct ck_exact e;
    assert_ok(ck_exact_init(&e, K, min_size, upper ? max_size : NULL));
    e.n = N;
    e.base = base, e.label = label, e.score = own;
    e.start = start, e.arc = arc, e.first = first, e.choice = choice;
    for (int k = 0; k < K; k++) {
        e.low[k] = upper ? -4 : 0;
        e.high[k] = 4;
        start[k + 1] = (k + 1) * N;
        for (int i = 0; i < N; i++) {
            arc[k * N + i] = (struct ck_arc){i, score[i][k]};
            choice[i * K + k] = (struct ck_choice){k, score[i][k]};
        }
    }
    for (int i = 0; i < N; i++) {
        first[i + 1] = (i + 1) * K;
        label[i] = 0;
        own[i] = score[i][0];
    }
    assert_ok(ck_auction_run(&e, epsilon, INT64_MAX / 2));
    double primal = 0, dual = 0;
    int64_t size[K] = {0};
    for (int i = 0; i < N; i++) {
        double best = -INFINITY;
        for (int k = 0; k < K; k++)
            best = fmax(best, (double)score[i][k] + e.price[k]);
        assert_true(own[i] == score[i][label[i]]);
        primal += (double)own[i];
        dual += best;
        size[label[i]]++;
    }
    for (int k = 0; k < K; k++) {
        assert_int_equal(size[k], e.size[k]);
        assert_true(size[k] >= min_size[k] && (!upper || size[k] <= max_size[k]));
        dual -= e.price[k] * (double)(e.price[k] >= 0 ? min_size[k] : max_size[k]);
    }
    assert_true(dual >= primal - 1e-6);
    /* with upper bounds more clusters compete, and steps may have grown in the last phase */
    assert_true(dual - primal <= (upper ? 40 : 4) * N * epsilon);
    ck_exact_release(&e);
}

static void bounds(int64_t least, int64_t most)
{
    for (int k = 0; k < K; k++) {
        min_size[k] = least;
        max_size[k] = most;
    }
}

static void sizes_are_kept_and_the_gap_is_small(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        make(0, seed);
        bounds(30, N);
        check(0, 1e-4);
        bounds(N / K, N);
        check(0, 1e-4);
    }
}

static void equal_points_spread(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        make(N / 2, seed);
        bounds(40, N);
        check(0, 1e-4);
        make(N, seed);
        check(0, 1e-4);
    }
}

static void upper_bounds_release_points(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        make(0, seed);
        bounds(0, 60);
        check(1, 1e-4);
        make(N / 4, seed);
        bounds(40, 60);
        check(1, 1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_kept_and_the_gap_is_small),
        cmocka_unit_test(equal_points_spread),
        cmocka_unit_test(upper_bounds_release_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
