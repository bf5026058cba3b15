/* test_exemplars.c - exemplars of clusters against a slow and simple search. */
#include "support.h"
#include "core/mem.h"
#include "eval/exemplars.h"

enum { N = 700, K = 23, DIM = 9, MEMBERS = 5, NEAR = 4 };

static float *x, *center;
static int32_t label[N];

static int enter(void **state)
{
    (void)state;
    x = test_vectors(N, DIM, 11, 0.6, 3);
    center = test_vectors(K, DIM, 0, 1, 5);
    for (int i = 0; i < N; i++)
        label[i] = (int32_t)(test_unit(8, (uint64_t)i) * (K - 1)) - (i % 50 == 0);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    free(x);
    free(center);
    return 0;
}

static struct ck_exemplar_job job_of(void)
{
    return (struct ck_exemplar_job){.n = N,
                                    .k = K,
                                    .dim = DIM,
                                    .center = center,
                                    .label = label,
                                    .x = x,
                                    .members = MEMBERS,
                                    .neighbours = NEAR,
                                    .seed = 1};
}

static double cosine(const float *a, const float *b)
{
    double s = 0;
    for (int j = 0; j < DIM; j++)
        s += (double)a[j] * (double)b[j];
    return s;
}

static double margin_of(int64_t i)
{
    double other = -INFINITY;
    for (int c = 0; c < K; c++)
        if (c != label[i])
            other = fmax(other, cosine(x + i * DIM, center + c * DIM));
    return cosine(x + i * DIM, center + label[i] * DIM) - other;
}

/* The rank of row i in its cluster: members with a higher value come before it. */
static int rank(int64_t i, int by_margin)
{
    int before = 0;
    double mine = by_margin ? -margin_of(i) : cosine(x + i * DIM, center + label[i] * DIM);
    for (int64_t o = 0; o < N; o++) {
        if (label[o] != label[i])
            continue;
        double theirs =
            by_margin ? -margin_of(o) : cosine(x + o * DIM, center + label[o] * DIM);
        before += theirs > mine;
    }
    return before;
}

static void members_are_those_of_a_slow_search(void **state)
{
    (void)state;
    struct ck_exemplars e;
    struct ck_exemplar_job job = job_of();
    assert_ok(ck_exemplars(&e, &job));
    for (int64_t c = 0; c < K; c++) {
        int64_t size = 0;
        double sum = 0;
        for (int64_t i = 0; i < N; i++)
            if (label[i] == c) {
                size++;
                sum += cosine(x + i * DIM, center + c * DIM);
            }
        assert_int_equal(e.size[c], size);
        if (size)
            assert_close(e.tightness[c], sum / (double)size, 1e-6);
        else
            assert_true(isnan(e.tightness[c]));
        for (int m = 0; m < MEMBERS; m++) {
            const struct ck_exemplar *n = &e.nearest[c * MEMBERS + m];
            const struct ck_exemplar *b = &e.borderline[c * MEMBERS + m];
            assert_int_equal(n->row >= 0, m < size);
            assert_int_equal(b->row >= 0, m < size);
            if (m >= size)
                continue;
            assert_int_equal(label[n->row], c);
            assert_int_equal(rank(n->row, 0), m);
            assert_int_equal(label[b->row], c);
            assert_int_equal(rank(b->row, 1), m);
            assert_close((double)b->margin, margin_of(b->row), 1e-6);
        }
    }
    ck_exemplars_release(&e);
}

static void random_members_are_members_and_differ(void **state)
{
    (void)state;
    struct ck_exemplars e;
    struct ck_exemplar_job job = job_of();
    assert_ok(ck_exemplars(&e, &job));
    for (int64_t c = 0; c < K; c++)
        for (int m = 0; m < MEMBERS; m++) {
            int64_t row = e.random[c * MEMBERS + m].row;
            assert_int_equal(row >= 0, m < e.size[c]);
            for (int o = 0; row >= 0 && o < m; o++)
                assert_true(row != e.random[c * MEMBERS + o].row);
            if (row >= 0)
                assert_int_equal(label[row], c);
        }
    ck_exemplars_release(&e);
}

static void neighbours_are_those_of_a_slow_search(void **state)
{
    (void)state;
    struct ck_exemplars e;
    struct ck_exemplar_job job = job_of();
    assert_ok(ck_exemplars(&e, &job));
    for (int64_t c = 0; c < K; c++)
        for (int m = 0; m < NEAR; m++) {
            int32_t other = e.near[c * NEAR + m];
            double mine = cosine(center + c * DIM, center + other * DIM);
            int before = 0;
            for (int64_t o = 0; o < K; o++)
                before += o != c && cosine(center + c * DIM, center + o * DIM) > mine;
            assert_int_equal(before, m);
            assert_close((double)e.near_similarity[c * NEAR + m], mine, 1e-6);
        }
    ck_exemplars_release(&e);
}

static void without_vectors_there_are_random_members(void **state)
{
    (void)state;
    struct ck_exemplars e;
    struct ck_exemplar_job job = job_of();
    job.x = NULL;
    assert_ok(ck_exemplars(&e, &job));
    assert_int_equal(e.nearest[0].row, -1);
    assert_true(e.random[0].row >= 0);
    assert_true(isnan(e.random[0].similarity) && isnan(e.tightness[0]));
    ck_exemplars_release(&e);
}

static void one_cluster_has_no_neighbours(void **state)
{
    (void)state;
    struct ck_exemplars e;
    struct ck_exemplar_job job = job_of();
    int32_t zero[N] = {0};
    job.k = 1;
    job.label = zero;
    assert_ok(ck_exemplars(&e, &job));
    assert_int_equal(e.near[0], -1);
    assert_true(isinf(e.borderline[0].margin));
    ck_exemplars_release(&e);
}

static void numbers_that_are_none_come_last(void **state)
{
    (void)state;
    struct ck_exemplars e;
    struct ck_exemplar_job job = job_of();
    float *bad = test_array(N * DIM, sizeof *bad);
    memcpy(bad, x, N * DIM * sizeof *bad);
    for (int i = 0; i < N; i += 2)
        bad[i * DIM] = NAN;
    job.x = bad;
    assert_ok(ck_exemplars(&e, &job));
    for (int64_t c = 0; c < K; c++)
        if (e.size[c] > 10)
            assert_int_equal(e.nearest[c * MEMBERS].row % 2, 1);
    ck_exemplars_release(&e);
    free(bad);
}

static void same_for_any_number_of_threads(void **state)
{
    (void)state;
    struct ck_exemplars a, b;
    struct ck_exemplar_job job = job_of();
    assert_ok(coke_set_threads(1));
    assert_ok(ck_exemplars(&a, &job));
    assert_ok(coke_set_threads(3));
    assert_ok(ck_exemplars(&b, &job));
    assert_memory_equal(a.tightness, b.tightness, 20 * sizeof(double));
    for (int i = 0; i < K * MEMBERS; i++) {
        assert_int_equal(a.nearest[i].row, b.nearest[i].row);
        assert_int_equal(a.random[i].row, b.random[i].row);
    }
    ck_exemplars_release(&a);
    ck_exemplars_release(&b);
}

static void failing_memory_leaves_nothing(void **state)
{
    (void)state;
    struct ck_exemplars e;
    struct ck_exemplar_job job = job_of();
    int rc = COKE_ENOMEM;
    int64_t live = ck_mem_stats().live;
    for (int at = 1; rc == COKE_ENOMEM; at++) {
        ck_mem_fail_at(at);
        rc = ck_exemplars(&e, &job);
        ck_mem_fail_at(0);
        if (rc)
            assert_int_equal(ck_mem_stats().live, live);
    }
    assert_ok(rc);
    ck_exemplars_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_those_of_a_slow_search),
        cmocka_unit_test(random_members_are_members_and_differ),
        cmocka_unit_test(neighbours_are_those_of_a_slow_search),
        cmocka_unit_test(without_vectors_there_are_random_members),
        cmocka_unit_test(one_cluster_has_no_neighbours),
        cmocka_unit_test(numbers_that_are_none_come_last),
        cmocka_unit_test(same_for_any_number_of_threads),
        cmocka_unit_test(failing_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
