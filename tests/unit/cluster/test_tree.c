/* test_tree.c - the search of two levels is exact over its candidates, and so are near lists;
 * quotas are those of the largest remainders. */
#include "support.h"
#include "cluster/tree.h"
#include "cluster/tree_start.h"
#include "core/rng.h"
#include "core/workers.h"

#include <math.h>
#include <stdlib.h>

enum { K = 200, GROUPS = 14, DIM = 19, LD = 32, N = 333 };

static float leaf[K * LD], group[GROUPS * LD], row[(N + CK_TILE) * LD], bias[K];
static int64_t first[GROUPS + 1];
static const struct ck_frame frame = {.metric = COKE_METRIC_COSINE, .dim = DIM, .ld = LD};

static void fill(float *x, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < DIM; j++) {
            double g[2];
            ck_rng_normal(3, CK_RNG_DATA, (uint64_t)i, (uint32_t)(stream * 1000) + (uint32_t)j,
                          g);
            x[i * LD + j] = (float)g[0];
        }
    for (int64_t i = 0; i < n; i++)
        ck_normalize(ck_kernels(), x + i * LD, LD);
}

static int setup(void **state)
{
    (void)state;
    fill(leaf, K, 1);
    fill(group, GROUPS, 2);
    fill(row, N, 3);
    for (int g = 0; g <= GROUPS; g++) /* groups of 1, of 12 and of many leaves */
        first[g] = g == 0 ? 0 : g == GROUPS ? K : 1 + 12 * (g - 1);
    for (int k = 0; k < K; k++)
        bias[k] = (float)(0.2 * ck_rng_unit(4, CK_RNG_DATA, (uint64_t)k, 0));
    for (int j = 0; j < LD; j++) /* equal leaves: the lowest index wins */
        leaf[30 * LD + j] = leaf[90 * LD + j] = leaf[31 * LD + j];
    bias[30] = bias[31] = bias[90];
    return 0;
}

static float score(const float *x, const float *c)
{
    return ck_kernels()->dot(x, c, LD);
}

/* Is g among the nearest groups of the row? By counting those before it. */
static int is_probed(const struct ck_tree *t, const float *x, int64_t g)
{
    int before = 0;
    for (int64_t o = 0; o < t->groups; o++) {
        float a = score(x, group + o * LD), b = score(x, group + g * LD);
        before += a > b || (a == b && o < g);
    }
    return before < t->probes;
}

/* Best candidate of a row by trying all leaves. */
static int32_t best_of(const struct ck_tree *t, const float *x, float *value)
{
    int32_t best = -1;
    for (int64_t k = 0; k < K; k++) {
        float v = score(x, leaf + k * LD) + bias[k];
        if (is_probed(t, x, ck_tree_group_of(t, k)) && (best < 0 || v > *value)) {
            best = (int32_t)k;
            *value = v;
        }
    }
    return best;
}

static struct ck_tree *make(void)
{
    struct ck_tree *t = NULL;
    assert_ok(ck_tree_new(&t, &frame, group, GROUPS, first, leaf, CK_TREE_PROBES));
    assert_ok(ck_tree_reserve(t, N));
    ck_tree_settle(t, bias);
    ck_tree_route(t, 0, row, N);
    return t;
}

static void labels_are_the_best_of_all_candidates(void **state)
{
    (void)state;
    int threads = ck_threads();
    for (int team = 1; team <= 3; team++) {
        int32_t label[N];
        float s[N];
        ck_set_threads(team);
        struct ck_tree *t = make();
        ck_tree_assign(t, row, N, label, s);
        for (int i = 0; i < N; i++) {
            float value = 0;
            assert_int_equal(label[i], best_of(t, row + i * LD, &value));
            assert_true(s[i] == score(row + i * LD, leaf + label[i] * LD));
        }
        ck_tree_free(t);
    }
    ck_set_threads(threads);
}

static void lists_have_every_candidate_within_the_margin(void **state)
{
    (void)state;
    const float margin = 0.25f;
    struct ck_tree *t = make();
    struct ck_tree_lists l = {.margin = margin, .most = K};
    int32_t label[N];
    float s[N];
    int64_t id[N];
    for (int i = 0; i < N; i++)
        id[i] = i;
    assert_ok(ck_tree_near(t, row, id, N, label, s, &l));
    for (int i = 0; i < N; i++) {
        const float *x = row + i * LD;
        float best = 0;
        int64_t at = l.first[i];
        assert_int_equal(label[i], best_of(t, x, &best));
        for (int64_t k = 0; k < K; k++) {
            float v = score(x, leaf + k * LD) + bias[k];
            if (!is_probed(t, x, ck_tree_group_of(t, k)) || v < best - margin)
                continue;
            assert_true(at < l.first[i + 1]);
            assert_int_equal(l.item[at].k, k);
            assert_true(l.item[at++].score == score(x, leaf + k * LD));
        }
        assert_int_equal(at, l.first[i + 1]);
    }
    ck_tree_lists_release(&l);
    ck_tree_free(t);
}

static void short_lists_keep_the_label_and_the_best(void **state)
{
    (void)state;
    struct ck_tree *t = make();
    struct ck_tree_lists l = {.margin = 1, .most = 3};
    int32_t label[N];
    int64_t id[N];
    for (int i = 0; i < N; i++)
        id[i] = i;
    assert_ok(ck_tree_near(t, row, id, N, label, NULL, &l));
    for (int i = 0; i < N; i++) {
        int own = 0;
        assert_true(l.first[i + 1] - l.first[i] <= 3);
        for (int64_t a = l.first[i]; a < l.first[i + 1]; a++)
            own += l.item[a].k == label[i];
        assert_int_equal(own, 1);
    }
    ck_tree_lists_release(&l);
    ck_tree_free(t);
}

static void groups_move_to_the_mean_of_their_leaves(void **state)
{
    (void)state;
    struct ck_tree *t = make();
    int64_t count[K] = {0};
    for (int64_t k = first[3]; k < first[4]; k++)
        count[k] = k % 3;
    ck_tree_recenter(t, leaf, count);
    double sum[LD] = {0}, length = 0;
    for (int64_t k = first[3]; k < first[4]; k++)
        for (int j = 0; j < LD; j++)
            sum[j] += (double)(k % 3) * (double)leaf[k * LD + j];
    for (int j = 0; j < LD; j++)
        length += sum[j] * sum[j];
    for (int j = 0; j < LD; j++) {
        assert_true(fabs((double)t->center[3 * LD + j] - sum[j] / sqrt(length)) < 1e-6);
        assert_true(t->center[5 * LD + j] == group[5 * LD + j] ||
                    fabs((double)(t->center[5 * LD + j] - group[5 * LD + j])) < 1e-6);
    }
    ck_tree_free(t);
}

static void quotas_are_those_of_the_largest_remainders(void **state)
{
    (void)state;
    const int64_t size[] = {50, 30, 0, 19, 1}, small[] = {1000, 1, 1, 1};
    int64_t quota[5];
    double scratch[5];
    ck_tree_quotas(size, 5, 10, quota, scratch);
    const int64_t expected[] = {5, 3, 0, 1, 1}; /* 5, 3, 0, 1.9, .1: at least one each */
    for (int g = 0; g < 5; g++)
        assert_int_equal(quota[g], expected[g]);
    ck_tree_quotas(size, 5, 33, quota, scratch); /* 16.5, 9.9, 0, 6.27, .33 */
    const int64_t more[] = {16, 10, 0, 6, 1};
    for (int g = 0; g < 5; g++)
        assert_int_equal(quota[g], more[g]);
    ck_tree_quotas(small, 4, 4, quota, scratch);
    for (int g = 0; g < 4; g++)
        assert_int_equal(quota[g], 1);
}

static void levels_depend_on_the_cost_of_an_epoch(void **state)
{
    (void)state;
    assert_int_equal(ck_levels_choose(CK_LEVELS_AUTO, 500000, 10000, 96), 1);
    assert_int_equal(ck_levels_choose(CK_LEVELS_AUTO, 1000000, 50000, 128), 2);
    assert_int_equal(ck_levels_choose(CK_LEVELS_AUTO, 1000000000, 1000, 96), 1);
    assert_int_equal(ck_levels_choose(CK_LEVELS_ONE, 1000000, 50000, 128), 1);
    assert_int_equal(ck_levels_choose(CK_LEVELS_TWO, 10, 2, 16), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_the_best_of_all_candidates),
        cmocka_unit_test(lists_have_every_candidate_within_the_margin),
        cmocka_unit_test(short_lists_keep_the_label_and_the_best),
        cmocka_unit_test(groups_move_to_the_mean_of_their_leaves),
        cmocka_unit_test(quotas_are_those_of_the_largest_remainders),
        cmocka_unit_test(levels_depend_on_the_cost_of_an_epoch),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
