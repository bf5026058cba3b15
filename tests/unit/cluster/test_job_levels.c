/* test_job_levels.c - clusterings of two levels: sizes are exact, the certificate holds, and the
 * bytes do not depend on threads or processes. */
#include "support.h"
#include "cluster/job.h"
#include "core/rng.h"
#include "core/workers.h"
#include "fake_share.h"

#include <math.h>
#include <string.h>

enum { N = 2000, DIM = 12, K = 200, MANY = 2 * 16384 + 500 };

static float *vectors; /* [N][DIM] in 60 blobs */

struct process {
    struct ck_cluster_options o;
    const float *rows;
    int64_t n;
    const double *weights;
    const struct coke_callbacks *callbacks;
    uint64_t hash;
    struct coke_head_summary summary;
    int32_t label[N];
};

static void make_rows(float *x, int64_t n, int dim)
{
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < dim; j++) {
            double own[2], blob[2];
            ck_rng_normal(9, CK_RNG_DATA, (uint64_t)i, (uint32_t)j, own);
            ck_rng_normal(9, CK_RNG_DATA, (uint64_t)(i % 60), 1000u + (uint32_t)j, blob);
            x[i * dim + j] = (float)(blob[0] + 0.5 * own[0]);
        }
}

static int setup(void **state)
{
    (void)state;
    vectors = malloc((size_t)N * DIM * sizeof *vectors);
    make_rows(vectors, N, DIM);
    return vectors ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    free(vectors);
    return 0;
}

static int32_t metric = COKE_METRIC_COSINE;

static struct process levels(int32_t k, double ratio, double max_ratio)
{
    struct process p = {.o = ck_cluster_options_default(), .rows = vectors, .n = N};
    p.o.k = (struct ck_ints){1, {k}};
    p.o.kmeans.ratio = ratio;
    p.o.kmeans.max_ratio = max_ratio;
    p.o.levels = 2;
    p.o.epochs = 3;
    p.o.kmeans.metric = metric;
    return p;
}

static int run(const struct ck_share *share, void *arg)
{
    struct process *p = arg;
    struct coke_rows *rows = NULL;
    struct coke_cluster *c = NULL;
    int dim = p->n == MANY ? 3 : DIM;
    int rc = coke_rows_from_array(&rows, p->rows, p->n, dim);
    struct coke_cluster_input input = {.rows = rows, .weights = p->weights};
    if (!rc)
        rc = ck_cluster_run(&c, &input, &p->o, p->callbacks, share);
    if (c) {
        p->hash = ck_kmeans_hash(c->head[0], 0);
        p->summary = c->summary[0];
        for (int64_t i = 0; i < p->n && i < N; i++)
            p->label[i] = ck_kmeans_label(c->head[0], i);
    }
    coke_cluster_free(c);
    coke_rows_free(rows);
    return rc;
}

/* Labels are within the bounds, and the summary says so. */
static void check_sizes(const struct process *p, int64_t low, int64_t high)
{
    int64_t size[N] = {0}, rows = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (p->label[i] >= 0) {
            size[p->label[i]]++;
            rows++;
        }
    assert_int_equal(rows, p->summary.n);
    for (int32_t k = 0; k < p->o.k.v[0]; k++) {
        assert_true(size[k] >= low);
        assert_true(size[k] <= high);
    }
    assert_int_equal(p->summary.levels, 2);
    assert_true(p->summary.size_min >= low && p->summary.size_max <= high);
}

static void sizes_are_kept_exactly(void **state)
{
    (void)state;
    const double bound[][2] = {{0.4, 0}, {1, 0}, {1, 1}, {0, 1.2}, {0.5, 1.5}};
    for (int b = 0; b < 5; b++) {
        struct process p = levels(K, bound[b][0], bound[b][1]);
        assert_ok(run(NULL, &p));
        double each = (double)N / K;
        check_sizes(&p, (int64_t)floor(bound[b][0] * each + 1e-9),
                    bound[b][1] > 0 ? (int64_t)ceil(bound[b][1] * each - 1e-9) : N);
        assert_true(p.summary.beyond <= (bound[b][0] < 1 ? 0 : N / 50));
        assert_true(p.summary.gap >= 0);
        assert_true(p.summary.gap <
                    (metric == COKE_METRIC_COSINE ? 0.01 : 0.05) * p.summary.primal);
    }
}

static void the_objective_is_close_to_that_of_one_level(void **state)
{
    (void)state;
    struct process two = levels(K, 0.4, 0), one = levels(K, 0.4, 0);
    one.o.levels = 1;
    one.o.restarts = one.o.polish = 1;
    assert_ok(run(NULL, &two));
    assert_ok(run(NULL, &one));
    assert_int_equal(one.summary.levels, 1);
    double quality = two.summary.labels_objective / one.summary.labels_objective;
    assert_true(metric == COKE_METRIC_COSINE ? quality > 0.985 : quality < 1.03);
}

static void any_number_of_clusters_works(void **state)
{
    (void)state;
    const int32_t k[] = {1, 2, 3, 9, N / 2, N};
    for (int i = 0; i < 6; i++) {
        struct process p = levels(k[i], 1, 0);
        assert_ok(run(NULL, &p));
        check_sizes(&p, N / k[i], N);
    }
}

static void equal_rows_are_divided(void **state)
{
    (void)state;
    float *x = malloc((size_t)N * DIM * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < N * DIM; i++)
        x[i] = 1;
    for (int part = 0; part < 3; part++) { /* all of them; then a half, others differ */
        struct process p = levels(50, part == 2 ? 0.4 : 1, 0);
        p.rows = x;
        if (part)
            memcpy(x, vectors, (size_t)N / 2 * DIM * sizeof *x);
        assert_ok(run(NULL, &p));
        check_sizes(&p, part == 2 ? 16 : 40, N);
        if (part == 0)
            assert_true(metric == COKE_METRIC_COSINE ? p.summary.labels_objective > 0.99999
                                                     : p.summary.inertia < 1e-9);
    }
    free(x);
}

static void bad_rows_have_no_label_and_weights_count(void **state)
{
    (void)state;
    float *x = malloc((size_t)N * DIM * sizeof *x);
    double *weight = malloc(N * sizeof *weight);
    assert_true(x && weight);
    memcpy(x, vectors, (size_t)N * DIM * sizeof *x);
    for (int64_t i = 0; i < N; i++)
        weight[i] = i % 2 ? 4 : 0.5;
    for (int j = 0; j < DIM; j++)
        x[7 * DIM + j] = 0;
    x[100 * DIM] = NAN;
    struct process p = levels(40, 0.9, 0);
    p.rows = x;
    p.weights = weight;
    assert_int_equal(run(NULL, &p), COKE_ENUMERIC);
    p.o.bad = 1;
    assert_ok(run(NULL, &p));
    assert_int_equal(p.label[7], -1);
    assert_int_equal(p.label[100], -1);
    check_sizes(&p, 44, N);
    free(x);
    free(weight);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    int threads = ck_threads();
    struct process alone = levels(K, 0.8, 1.4);
    ck_set_threads(1);
    assert_ok(run(NULL, &alone));
    for (int team = 2; team <= 3; team++) {
        struct process p = levels(K, 0.8, 1.4);
        ck_set_threads(team);
        assert_ok(run(NULL, &p));
        assert_true(p.hash == alone.hash);
        assert_memory_equal(p.label, alone.label, sizeof p.label);
        assert_true(p.summary.dual == alone.summary.dual);
    }
    ck_set_threads(threads);
}

/* Three batches of a scan, so that every process has one; and a fit on a sample. */
static void processes_that_share_the_rows_find_what_one_alone_does(void **state)
{
    (void)state;
    float *x = malloc((size_t)MANY * 3 * sizeof *x);
    assert_non_null(x);
    make_rows(x, MANY, 3);
    for (int fit = 0; fit < 2; fit++) {
        struct process alone = levels(60, 0.9, 0), p[3];
        void *arg[3] = {&p[0], &p[1], &p[2]};
        alone.rows = x;
        alone.n = MANY;
        alone.o.epochs = 1;
        alone.o.fit_rows = fit ? 2000 : 0;
        for (int r = 0; r < 3; r++)
            p[r] = alone;
        assert_ok(run(NULL, &alone));
        assert_ok(fake_ranks(3, run, arg));
        assert_int_equal(alone.summary.levels, 2);
        assert_true(alone.summary.size_min >= (int64_t)(0.9 * MANY / 60));
        for (int r = 0; r < 3; r++) {
            assert_true(p[r].hash == alone.hash);
            assert_memory_equal(p[r].label, alone.label, sizeof alone.label);
            assert_true(p[r].summary.primal == alone.summary.primal);
            assert_true(p[r].summary.dual == alone.summary.dual);
        }
    }
    free(x);
}

static int calls, stop_at;

static int maybe_stop(void *user, const struct coke_progress *p)
{
    (void)user;
    (void)p;
    return calls++ == stop_at ? COKE_ANSWER_STOP : COKE_ANSWER_CONTINUE;
}

static void every_phase_can_be_stopped(void **state)
{
    (void)state;
    struct coke_callbacks cb = {.size = sizeof cb, .progress = maybe_stop};
    stop_at = -1;
    calls = 0;
    struct process p = levels(K, 1, 0);
    p.callbacks = &cb;
    assert_ok(run(NULL, &p));
    for (int total = calls, at = 0; at < total; at += 1 + total / 12) {
        struct process q = levels(K, 1, 0);
        q.callbacks = &cb;
        calls = 0;
        stop_at = at;
        assert_int_equal(run(NULL, &q), COKE_ESTOPPED);
        assert_int_equal(calls, at + 1);
    }
}

static int check_unit(void *user, const struct coke_progress *p)
{
    int *reports = user;
    (*reports)++;
    if ((!p->unit || strcmp(p->unit, "rows") == 0) && strcmp(p->phase, "init") != 0)
        assert_int_equal(p->total, N);
    else if (p->unit && strcmp(p->unit, "clusters") == 0)
        assert_int_equal(p->total % K, 0);
    return COKE_ANSWER_CONTINUE;
}

static void progress_counts_what_its_unit_says(void **state)
{
    (void)state;
    int reports = 0;
    struct coke_callbacks cb = {.size = sizeof cb, .user = &reports, .progress = check_unit};
    struct process p = levels(K, 1, 0);
    p.callbacks = &cb;
    assert_ok(run(NULL, &p));
    assert_true(reports > 0);
}

static void given_centers_need_one_level(void **state)
{
    (void)state;
    struct process p = levels(5, 0.4, 0);
    struct coke_rows *rows = NULL;
    struct coke_cluster *c = NULL;
    assert_ok(coke_rows_from_array(&rows, vectors, N, DIM));
    struct coke_cluster_input input = {.rows = rows, .centers = vectors};
    assert_int_equal(ck_cluster_run(&c, &input, &p.o, NULL, NULL), COKE_EUSAGE);
    p.o.levels = 0;
    assert_ok(ck_cluster_run(&c, &input, &p.o, NULL, NULL));
    coke_cluster_free(c);
    coke_rows_free(rows);
}

/* The same with distances, where zero rows are legal and lengths count. */
static void euclidean_clusterings_do_all_this_too(void **state)
{
    metric = COKE_METRIC_EUCLIDEAN;
    sizes_are_kept_exactly(state);
    the_objective_is_close_to_that_of_one_level(state);
    equal_rows_are_divided(state);
    processes_that_share_the_rows_find_what_one_alone_does(state);
    metric = COKE_METRIC_COSINE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_kept_exactly),
        cmocka_unit_test(the_objective_is_close_to_that_of_one_level),
        cmocka_unit_test(any_number_of_clusters_works),
        cmocka_unit_test(equal_rows_are_divided),
        cmocka_unit_test(bad_rows_have_no_label_and_weights_count),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(processes_that_share_the_rows_find_what_one_alone_does),
        cmocka_unit_test(every_phase_can_be_stopped),
        cmocka_unit_test(progress_counts_what_its_unit_says),
        cmocka_unit_test(given_centers_need_one_level),
        cmocka_unit_test(euclidean_clusterings_do_all_this_too),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
