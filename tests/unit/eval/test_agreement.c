/* test_agreement.c - matching, NMI, ARI and purity against slow definitions. */
#include "support.h"
#include "core/mem.h"
#include "eval/agreement.h"

/* ---- slow definitions ---- */

/* The best one-to-one matching by trying all: cluster k takes a free class, or none. */
static int64_t try_all(const int64_t *count, int classes, int clusters, int k, unsigned taken)
{
    if (k == clusters)
        return 0;
    int64_t best = try_all(count, classes, clusters, k + 1, taken);
    for (int c = 0; c < classes; c++) {
        if (taken >> c & 1)
            continue;
        int64_t x =
            count[c * clusters + k] + try_all(count, classes, clusters, k + 1, taken | 1u << c);
        best = x > best ? x : best;
    }
    return best;
}

/* The Rand index, adjusted, by looking at all pairs. */
static double slow_ari(const int32_t *a, const int32_t *b, int n)
{
    double both = 0, in_a = 0, in_b = 0, pairs = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            both += a[i] == a[j] && b[i] == b[j];
            in_a += a[i] == a[j];
            in_b += b[i] == b[j];
            pairs++;
        }
    double expected = in_a * in_b / pairs;
    return (both - expected) / ((in_a + in_b) / 2 - expected);
}

static double slow_entropy(const int32_t *x, int n)
{
    double h = 0;
    for (int i = 0; i < n; i++) {
        int same = 0;
        for (int j = 0; j < n; j++)
            same += x[i] == x[j];
        h -= log((double)same / n) / n;
    }
    return h;
}

/* I(a, b) = H(a) + H(b) - H(a, b) */
static double slow_nmi(const int32_t *a, const int32_t *b, int n)
{
    int32_t *pair = test_array((size_t)n, sizeof *pair);
    for (int i = 0; i < n; i++)
        pair[i] = a[i] * 1000 + b[i];
    double ha = slow_entropy(a, n), hb = slow_entropy(b, n), both = slow_entropy(pair, n);
    free(pair);
    return 2 * (ha + hb - both) / (ha + hb);
}

static void random_labels(int32_t *x, int n, int k, uint64_t seed)
{
    for (int i = 0; i < n; i++)
        x[i] = (int32_t)(test_unit(seed, (uint64_t)i) * k);
}

/* ---- tests ---- */

enum { N = 120 };

static void check_against_slow(int classes, int clusters, uint64_t seed)
{
    int32_t truth[N], labels[N];
    int64_t *count = test_array((size_t)(classes * clusters), sizeof *count);
    struct ck_agreement a;
    random_labels(truth, N, classes, seed);
    random_labels(labels, N, clusters, seed + 1);
    for (int i = 0; i < N; i++) /* some agreement */
        if (test_unit(seed + 2, (uint64_t)i) < 0.5)
            labels[i] = (truth[i] * 3 + 1) % clusters;
    assert_ok(ck_agreement(truth, labels, N, classes, clusters, &a));
    assert_ok(ck_confusion(truth, labels, N, classes, clusters, count));
    assert_int_equal(a.n, N);
    assert_close(a.accuracy, (double)try_all(count, classes, clusters, 0, 0) / N, 1e-15);
    assert_close(a.ari, slow_ari(truth, labels, N), 1e-12);
    assert_close(a.nmi, slow_nmi(truth, labels, N), 1e-12);
    free(count);
}

static void measures_equal_their_definitions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        check_against_slow(5, 5, 10 * seed);
        check_against_slow(6, 3, 10 * seed + 3);
        check_against_slow(3, 7, 10 * seed + 6);
        check_against_slow(2, 2, 10 * seed + 9);
    }
}

static void matching_finds_a_planted_permutation(void **state)
{
    (void)state;
    enum { K = 300 };
    int64_t *count = test_array((size_t)K * K, sizeof *count), right, planted = 0;
    int32_t match[K];
    for (int c = 0; c < K; c++)
        for (int k = 0; k < K; k++)
            count[c * K + k] = (int64_t)(test_unit(5, (uint64_t)(c * K + k)) * 50);
    for (int c = 0; c < K; c++) {
        count[c * K + (c * 7 + 3) % K] += 100;
        planted += count[c * K + (c * 7 + 3) % K];
    }
    assert_ok(ck_match(count, K, K, match, &right));
    assert_int_equal(right, planted);
    for (int c = 0; c < K; c++)
        assert_int_equal(match[(c * 7 + 3) % K], c);
    free(count);
}

/* That it is the best one too, for large tables, is for scipy to say: tests/py. */
static void matching_is_one_to_one_in_any_shape(void **state)
{
    (void)state;
    static const int shape[][2] = {{1, 1}, {1, 9}, {9, 1}, {20, 50}, {50, 20}};
    for (int s = 0; s < 5; s++) {
        int classes = shape[s][0], clusters = shape[s][1], matched = 0, seen[64] = {0};
        int64_t *count = test_array((size_t)(classes * clusters), sizeof *count), right,
                sum = 0;
        int32_t match[64];
        for (int i = 0; i < classes * clusters; i++)
            count[i] = (int64_t)(test_unit(6, (uint64_t)i) * 4);
        assert_ok(ck_match(count, classes, clusters, match, &right));
        for (int k = 0; k < clusters; k++) {
            if (match[k] < 0)
                continue;
            assert_true(match[k] < classes && !seen[match[k]]++);
            sum += count[match[k] * clusters + k];
            matched++;
        }
        assert_int_equal(matched, classes < clusters ? classes : clusters);
        assert_int_equal(sum, right);
        assert_ok(ck_match(count, classes, clusters, match, NULL));
        free(count);
    }
}

static void unknown_samples_are_left_out(void **state)
{
    (void)state;
    const int32_t truth[] = {0, 0, -1, 1, 1, 2, -1}, labels[] = {1, 1, 0, 0, -1, 2, -1};
    struct ck_agreement a;
    assert_ok(ck_agreement(truth, labels, 7, 3, 3, &a));
    assert_int_equal(a.n, 4);
    assert_close(a.accuracy, 1, 0);
    assert_close(a.many_to_one, 1, 0);
    assert_close(a.nmi, 1, 1e-15);
    assert_close(a.ari, 1, 0);
}

static void single_class_or_cluster_follows_the_convention(void **state)
{
    (void)state;
    const int32_t one[] = {2, 2, 2, 2}, two[] = {0, 0, 1, 1}, each[] = {0, 1, 2, 3};
    struct ck_agreement a;
    assert_ok(ck_agreement(one, one, 4, 3, 3, &a));
    assert_true(a.accuracy == 1 && a.nmi == 1 && a.ari == 1);
    assert_ok(ck_agreement(two, one, 4, 2, 3, &a));
    assert_true(a.accuracy == 0.5 && a.many_to_one == 0.5 && a.nmi == 0 && a.ari == 0);
    assert_ok(ck_agreement(one, two, 4, 3, 2, &a));
    assert_true(a.accuracy == 0.5 && a.many_to_one == 1 && a.nmi == 0 && a.ari == 0);
    assert_ok(ck_agreement(each, each, 4, 4, 4, &a));
    assert_true(a.accuracy == 1 && a.ari == 1);
    assert_close(a.nmi, 1, 1e-15);
    assert_ok(ck_agreement(one, each, 1, 3, 4, &a)); /* one sample */
    assert_true(a.accuracy == 1 && a.nmi == 1 && a.ari == 1);
}

static void nothing_known_measures_nothing(void **state)
{
    (void)state;
    const int32_t unknown[] = {-1, -1}, known[] = {0, 1};
    struct ck_agreement a;
    assert_ok(ck_agreement(unknown, known, 2, 2, 2, &a));
    assert_int_equal(a.n, 0);
    assert_true(isnan(a.accuracy) && isnan(a.many_to_one) && isnan(a.nmi) && isnan(a.ari));
    assert_ok(ck_agreement(NULL, NULL, 0, 1, 1, &a));
    assert_true(a.n == 0 && isnan(a.ari));
}

static void more_clusters_than_classes_count_many_to_one(void **state)
{
    (void)state;
    const int32_t truth[] = {0, 0, 0, 0, 1, 1}, labels[] = {0, 1, 1, 2, 3, 2};
    struct ck_agreement a;
    assert_ok(ck_agreement(truth, labels, 6, 2, 5, &a));
    assert_close(a.accuracy, 3 / 6.0, 1e-15);
    assert_close(a.many_to_one, 5 / 6.0, 1e-15);
}

static void purity_names_the_major_class(void **state)
{
    (void)state;
    const int32_t truth[] = {0, 0, 1, 1, 1, 1}, labels[] = {0, 0, 0, 1, 3, 3};
    const int32_t tie_truth[] = {1, 0};
    int64_t count[2 * 4];
    double purity[4];
    int32_t major[4];
    assert_ok(ck_confusion(truth, labels, 6, 2, 4, count));
    ck_purity(count, 2, 4, purity, major);
    assert_close(purity[0], 2 / 3.0, 1e-15);
    assert_true(purity[1] == 1 && isnan(purity[2]) && purity[3] == 1);
    assert_true(major[0] == 0 && major[1] == 1 && major[2] == -1 && major[3] == 1);
    assert_ok(ck_confusion(tie_truth, truth, 2, 2, 4, count));
    ck_purity(count, 2, 4, NULL, major);
    assert_int_equal(major[0], 0);
    ck_purity(count, 2, 4, purity, NULL);
    assert_close(purity[0], 0.5, 0);
}

/* 3e9 equal samples: squares beyond 63 bits. */
static void large_counts_do_not_overflow(void **state)
{
    (void)state;
    int64_t count[4] = {3000000000, 1000000000, 1000000000, 3000000000};
    struct ck_agreement a;
    assert_ok(ck_agreement_of_counts(count, 2, 2, &a));
    assert_close(a.accuracy, 0.75, 1e-15);
    assert_close(a.ari, 0.25, 1e-9); /* the limit for many samples */
}

static void labels_out_of_range_are_refused(void **state)
{
    (void)state;
    const int32_t x[] = {0, 1, 2}, y[] = {0, 0, 0};
    struct ck_agreement a;
    assert_fails(ck_agreement(x, y, 3, 2, 1, &a), COKE_EUSAGE,
                 "class of sample 2 is 2, outside 0..1");
    assert_fails(ck_agreement(y, x, 3, 1, 2, &a), COKE_EUSAGE,
                 "cluster of sample 2 is 2, outside 0..1");
    assert_fails(ck_agreement(x, y, 3, 0, 1, &a), COKE_EUSAGE, "0 classes with 1 clusters");
    assert_fails(ck_agreement(x, y, 3, 3, -1, &a), COKE_EUSAGE, "3 classes with -1 clusters");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const int32_t x[] = {0, 1, 2, 1};
    struct ck_agreement a;
    for (int i = 1;; i++) {
        struct ck_mem_stats before = ck_mem_stats();
        ck_mem_fail_at(i);
        int rc = ck_agreement(x, x, 4, 3, 3, &a);
        ck_mem_fail_at(0);
        assert_int_equal(ck_mem_stats().live, before.live);
        if (ck_mem_stats().calls - before.calls < i) {
            assert_int_equal(rc, COKE_OK);
            assert_true(i > 8);
            return;
        }
        assert_int_equal(rc, COKE_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_equal_their_definitions),
        cmocka_unit_test(matching_finds_a_planted_permutation),
        cmocka_unit_test(matching_is_one_to_one_in_any_shape),
        cmocka_unit_test(unknown_samples_are_left_out),
        cmocka_unit_test(single_class_or_cluster_follows_the_convention),
        cmocka_unit_test(nothing_known_measures_nothing),
        cmocka_unit_test(more_clusters_than_classes_count_many_to_one),
        cmocka_unit_test(purity_names_the_major_class),
        cmocka_unit_test(large_counts_do_not_overflow),
        cmocka_unit_test(labels_out_of_range_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
