/* test_job.c - a whole clustering: shared by several processes it is that of one, and labels are
 * indexed by row. */
#include "support.h"
#include "cluster/job.h"
#include "fake_share.h"

#include <math.h>

enum { N = 700, DIM = 9 };

static float *vectors; /* [N][DIM]; rows 3 and 500 are zero */

struct process {
    struct ck_cluster_options o;
    const float *centers;
    uint64_t hash;
    struct coke_head_summary summary; /* of the last head */
    int64_t epochs;                   /* of the first head */
    int32_t label[N];
    double distance; /* largest between a center and the mean of its rows */
};

/* Of the last head: a center must be the unit vector in the direction of its rows' sum. */
static double distance_to_means(const struct coke_cluster *c, const int32_t *label)
{
    double worst = 0;
    int h = c->heads - 1;
    for (int64_t k = 0; k < c->summary[h].k; k++) {
        double sum[DIM] = {0}, length = 0;
        for (int64_t i = 0; i < N; i++) {
            double square = 0;
            for (int d = 0; d < DIM && label[i] == k; d++)
                square += pow((double)vectors[i * DIM + d], 2);
            for (int d = 0; d < DIM && label[i] == k; d++)
                sum[d] += (double)vectors[i * DIM + d] / sqrt(square);
        }
        for (int d = 0; d < DIM; d++)
            length += sum[d] * sum[d];
        for (int d = 0; d < DIM; d++)
            worst =
                fmax(worst, fabs(sum[d] / sqrt(length) - (double)c->center[h][k * DIM + d]));
    }
    return worst;
}

static struct ck_cluster_options options(void)
{
    struct ck_cluster_options o = ck_cluster_options_default();
    o.k = (struct ck_ints){2, {5, 12}};
    o.bad = 1; /* skip */
    o.epochs = 3;
    o.batch = 64;
    o.restarts = 2; /* auto would take its second or two in every test */
    return o;
}

static int run(const struct ck_share *share, void *arg)
{
    struct process *p = arg;
    struct coke_rows *rows = NULL;
    struct coke_cluster *c = NULL;
    int rc = coke_rows_from_array(&rows, vectors, N, DIM);
    struct coke_cluster_input input = {.rows = rows, .centers = p->centers};
    if (!rc)
        rc = ck_cluster_run(&c, &input, &p->o, NULL, share);
    for (int h = 0; c && h < c->heads; h++)
        p->hash = ck_kmeans_hash(c->head[h], p->hash);
    for (int64_t i = 0; c && i < N; i++)
        p->label[i] = ck_kmeans_label(c->head[c->heads - 1], i);
    if (c) {
        p->summary = c->summary[c->heads - 1];
        p->epochs = c->summary[0].epochs;
        p->distance = distance_to_means(c, p->label);
    }
    coke_cluster_free(c);
    coke_rows_free(rows);
    return rc;
}

static void labels_are_indexed_by_row_and_bad_rows_have_none(void **state)
{
    (void)state;
    struct process p = {.o = options()};
    assert_ok(run(NULL, &p));
    for (int64_t i = 0; i < N; i++)
        assert_int_equal(p.label[i] < 0, i == 3 || i == 500);
    assert_int_equal(p.summary.n, N - 2);
    assert_int_equal(p.summary.skipped, 2);
    assert_true(p.summary.size_min >= p.summary.lower_bound_min);
}

/* `alone` by one process, then by 2 and 3: the same bits. */
static void compare_processes(struct process *alone)
{
    assert_ok(run(NULL, alone));
    for (int size = 2; size <= 3; size++) {
        struct process p[FAKE_MOST];
        void *arg[FAKE_MOST];
        for (int r = 0; r < size; r++) {
            p[r] = (struct process){.o = alone->o, .centers = alone->centers};
            arg[r] = &p[r];
        }
        assert_ok(fake_ranks(size, run, arg));
        for (int r = 0; r < size; r++) {
            assert_true(p[r].hash == alone->hash);
            assert_memory_equal(p[r].label, alone->label, sizeof alone->label);
            assert_true(p[r].summary.primal == alone->summary.primal);
        }
    }
}

static void processes_that_share_the_rows_find_what_one_alone_does(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct process alone = {.o = options()};
        alone.o.batch = kind ? 350 : 64; /* sums, or rows are exchanged */
        compare_processes(&alone);
    }
}

static void processes_share_given_centers_and_samples_too(void **state)
{
    (void)state;
    for (int fit = 0; fit < 2; fit++) {
        struct process alone = {.o = options(), .centers = vectors + 4 * DIM};
        alone.o.k = (struct ck_ints){1, {7}};
        alone.o.fit_rows = fit ? 300 : 0;
        compare_processes(&alone);
        assert_true(alone.summary.fit_rows <= (fit ? 300 : N - 2));
        assert_int_equal(alone.summary.n, N - 2);
        assert_true(alone.summary.size_min >= (N - 2) * 2 / 5 / 7);
    }
}

static void processes_with_different_centers_are_refused(void **state)
{
    (void)state;
    struct process p[2] = {{.o = options(), .centers = vectors + 4 * DIM},
                           {.o = options(), .centers = vectors + 5 * DIM}};
    void *arg[2] = {&p[0], &p[1]};
    p[0].o.k = p[1].o.k = (struct ck_ints){1, {7}};
    assert_int_not_equal(fake_ranks(2, run, arg), COKE_OK);
}

static void given_centers_keep_their_numbers(void **state)
{
    (void)state;
    float x[60][3] = {{0}}, centers[3][3] = {{0, 0, 9}, {0, 9, 0}, {9, 0, 0}};
    int32_t label[60];
    const int64_t low[3] = {15, 25, 20};
    struct coke_rows *rows;
    struct coke_cluster *c;
    struct ck_cluster_options o = ck_cluster_options_default();
    for (int i = 0; i < 60; i++) {
        x[i][i % 3] = 1;
        x[i][(i + 1) % 3] = (float)i * 0.002f;
    }
    o.k = (struct ck_ints){1, {3}};
    assert_ok(coke_rows_from_array(&rows, x[0], 60, 3));
    struct coke_cluster_input in = {.rows = rows, .centers = centers[0]};
    assert_ok(ck_cluster_run(&c, &in, &o, NULL, NULL));
    ck_cluster_labels(c, 0, label);
    for (int i = 0; i < 60; i++)
        assert_int_equal(label[i], 2 - i % 3);
    coke_cluster_free(c);
    in.min_sizes = low;
    assert_ok(ck_cluster_run(&c, &in, &o, NULL, NULL));
    for (int i = 0; i < 3; i++)
        assert_int_equal(c->size[0][i], low[i]);
    coke_cluster_free(c);
    o.k = (struct ck_ints){2, {3, 4}};
    assert_fails(ck_cluster_run(&c, &in, &o, NULL, NULL), COKE_EUSAGE, "single k");
    coke_rows_free(rows);
}

/* Bounds of every kind, with and without a repair. */
static void centers_are_the_means_of_the_returned_clusters(void **state)
{
    (void)state;
    const struct {
        double ratio, max_ratio;
        int repair;
        int64_t polish;
    } c[] = {{0, 0, 1, -1},  {0.4, 0, 1, -1}, {1, 0, 1, -1}, {0.5, 1.5, 1, -1}, {0.4, 0, 0, -1},
             {0.4, 0, 1, 1}, {1, 1, 1, 2},    {0, 0, 1, 1},  {0.2, 1.2, 1, 50}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct process p = {.o = options()};
        p.o.kmeans.ratio = c[i].ratio;
        p.o.kmeans.max_ratio = c[i].max_ratio;
        p.o.repair = c[i].repair;
        p.o.polish = c[i].polish;
        assert_ok(run(NULL, &p));
        assert_true(!p.summary.repaired || fabs(p.summary.gap) < 1e-9 * p.summary.primal);
        assert_true(p.distance < 1e-6);
        assert_true(p.summary.polish >= 1);
        assert_true(c[i].polish < 0 || p.summary.polish <= c[i].polish);
    }
}

/* Small data ends where neither an assignment nor means change anything: one more round finds the
 * same labels, and the certificate is that of the returned centers. */
static void small_data_is_polished_until_nothing_changes(void **state)
{
    (void)state;
    struct process p = {.o = options()}, none = {.o = options()};
    assert_ok(run(NULL, &p));
    assert_true(p.summary.settled && p.summary.converged);
    assert_close(p.summary.primal / (double)p.summary.n, p.summary.labels_objective, 1e-6);
    none.o.polish = 0;
    none.o.restarts = 1;
    assert_ok(run(NULL, &none));
    assert_int_equal(none.summary.polish, 0);
    assert_true(!none.summary.settled && none.distance > 1e-4);
    assert_true(p.summary.labels_objective > none.summary.labels_objective);
}

static void more_starts_are_never_worse(void **state)
{
    (void)state;
    double last = 0;
    for (int64_t starts = 1; starts <= 16; starts *= 4) {
        struct process p = {.o = options()};
        p.o.kmeans.ratio = 0.8;
        p.o.restarts = starts;
        assert_ok(run(NULL, &p));
        assert_int_equal(p.summary.restarts, starts);
        assert_true(p.summary.size_min >= p.summary.lower_bound_min);
        assert_true(p.summary.labels_objective >= last);
        last = p.summary.labels_objective;
    }
}

static void balanced_sizes_are_rounded_down_or_up(void **state)
{
    (void)state;
    struct process p = {.o = options()};
    p.o.balanced = 1;
    assert_ok(run(NULL, &p));
    assert_int_equal(p.summary.size_min, (N - 2) / 12);
    assert_int_equal(p.summary.size_max, (N - 2 + 11) / 12);
    p.o.kmeans.max_ratio = 2;
    assert_int_equal(run(NULL, &p), COKE_EUSAGE);
}

static void heads_stop_when_they_have_converged(void **state)
{
    (void)state;
    struct process p = {.o = options()};
    p.o.epochs = 0;
    p.o.k = (struct ck_ints){2, {40, 5}};
    assert_ok(run(NULL, &p));
    assert_true(p.summary.converged && p.summary.epochs < p.epochs);
}

static void processes_with_different_options_are_refused(void **state)
{
    (void)state;
    struct process p[2] = {{.o = options()}, {.o = options()}};
    void *arg[2] = {&p[0], &p[1]};
    p[1].o.kmeans.ratio = 0.5;
    assert_int_not_equal(fake_ranks(2, run, arg), COKE_OK);
}

static int enter(void **state)
{
    (void)state;
    vectors = test_vectors(N, DIM, 6, 0.6, 9);
    memset(vectors + 3 * DIM, 0, DIM * sizeof *vectors);
    memset(vectors + 500 * DIM, 0, DIM * sizeof *vectors);
    return coke_set_threads(1);
}

static int leave(void **state)
{
    (void)state;
    free(vectors);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_indexed_by_row_and_bad_rows_have_none),
        cmocka_unit_test(processes_that_share_the_rows_find_what_one_alone_does),
        cmocka_unit_test(processes_share_given_centers_and_samples_too),
        cmocka_unit_test(centers_are_the_means_of_the_returned_clusters),
        cmocka_unit_test(small_data_is_polished_until_nothing_changes),
        cmocka_unit_test(more_starts_are_never_worse),
        cmocka_unit_test(balanced_sizes_are_rounded_down_or_up),
        cmocka_unit_test(heads_stop_when_they_have_converged),
        cmocka_unit_test(processes_with_different_options_are_refused),
        cmocka_unit_test(processes_with_different_centers_are_refused),
        cmocka_unit_test(given_centers_keep_their_numbers),
    };
    return cmocka_run_group_tests_name("job", tests, enter, leave);
}
