/* test_stream_start.c - a stream from its first row to a model: unit rows, initial centers, a
 * step of the duals that keeps the sizes, and the model with repaired labels. */
#include "cluster/kmeans_internal.h"
#include "cluster/model.h"
#include "support.h"

#include <unistd.h>

enum { N = 4000, DIM = 16, K = 20, BATCH = 100, LEAST = N / K * 4 / 10 };

static float *x;               /* [N][DIM], unit rows of 8 unequal groups */
static float centers[K * DIM]; /* all from one group, by the first rows */
static int32_t label[N];

static int metric = COKE_METRIC_COSINE;

static struct coke_kmeans *new_head(double eta, double ratio)
{
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *km;
    o.n = N, o.k = K, o.dim = DIM;
    o.eta = eta;
    o.ratio = ratio;
    o.update = CK_UPDATE_MEAN;
    o.metric = metric;
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), centers, NULL, NULL));
    return km;
}

static void run_batches(struct coke_kmeans *km, int first, int last)
{
    for (int b = first; b < last; b++) {
        int64_t id[BATCH];
        int at = b % (N / BATCH) * BATCH;
        for (int i = 0; i < BATCH; i++)
            id[i] = at + i;
        assert_ok(coke_kmeans_step(km, x + at * DIM, id, BATCH, label + at));
        if (b % (N / BATCH) == N / BATCH - 1)
            assert_ok(coke_kmeans_epoch_end(km));
    }
}

static int64_t smallest(const int32_t *labels)
{
    int64_t size[K] = {0}, least = N;
    for (int i = 0; i < N; i++)
        size[labels[i]]++;
    for (int k = 0; k < K; k++)
        least = size[k] < least ? size[k] : least;
    return least;
}

/* ---- the step ---- */

static void default_options_keep_the_sizes(void **state)
{
    (void)state;
    struct coke_kmeans *km = new_head(0, 0.4);
    run_batches(km, 0, 5 * N / BATCH);
    assert_true(km->o.eta > 0);
    print_message("eta %g: the smallest cluster has %lld rows, the bound is %d\n", km->o.eta,
                  (long long)smallest(label), LEAST);
    assert_true(smallest(label) >= LEAST * 9 / 10);
    coke_kmeans_free(km);
    km = new_head(0, 0);
    run_batches(km, 0, 5 * N / BATCH);
    assert_true(km->o.eta == 0); /* there is nothing to control */
    assert_true(smallest(label) < LEAST / 2);
    coke_kmeans_free(km);
}

static void step_does_not_depend_on_threads(void **state)
{
    (void)state;
    double eta[2];
    for (int t = 0; t < 2; t++) {
        assert_ok(coke_set_threads(1 + 2 * t));
        struct coke_kmeans *km = new_head(0, 0.4);
        run_batches(km, 0, 1);
        eta[t] = km->o.eta;
        coke_kmeans_free(km);
    }
    assert_ok(coke_set_threads(1));
    assert_true(eta[0] == eta[1] && eta[0] > 0);
}

static void explicit_step_stays(void **state)
{
    (void)state;
    struct coke_kmeans *km = new_head(0.125, 0.4);
    run_batches(km, 0, 3);
    assert_true(km->o.eta == 0.125);
    coke_kmeans_free(km);
}

static void saved_state_has_the_step(void **state)
{
    (void)state;
    struct coke_kmeans *km = new_head(0, 0.4), *loaded;
    void *bytes;
    size_t size;
    run_batches(km, 0, 7);
    assert_ok(coke_kmeans_pack(km, &bytes, &size));
    assert_ok(coke_kmeans_unpack(&loaded, bytes, size));
    assert_true(loaded->o.eta == km->o.eta && loaded->duals.eta == km->duals.eta);
    run_batches(km, 7, 60);
    run_batches(loaded, 7, 60);
    assert_true(ck_kmeans_hash(km, 0) == ck_kmeans_hash(loaded, 0));
    coke_bytes_free(bytes);
    coke_kmeans_free(loaded);
    coke_kmeans_free(km);
}

/* Equal centers have no lead: the choice waits for a batch that tells them apart. */
static void equal_centers_delay_the_choice(void **state)
{
    (void)state;
    struct coke_kmeans *km = new_head(0, 0.4);
    for (int k = 0; k < K; k++)
        memcpy(km->cur + k * km->ld, km->cur, (size_t)km->ld * sizeof *km->cur);
    ck_kmeans_point_assigner(km);
    run_batches(km, 0, 1);
    assert_true(km->o.eta == 0);
    run_batches(km, 1, 2);
    assert_true(km->o.eta > 0);
    coke_kmeans_free(km);
}

/* ---- rows and centers ---- */

static void rows_become_unit_vectors(void **state)
{
    (void)state;
    float y[3][5] = {{3, 0, 4, 0, 0}, {1e-20f, 0, 0, 0, 0}, {1e20f, 1e20f, 0, 0, 0}};
    assert_ok(coke_normalize(y[0], 3, 5));
    assert_close((double)y[0][0], 0.6, 1e-7);
    assert_close((double)y[0][2], 0.8, 1e-7);
    assert_close((double)y[1][0], 1, 1e-7);
    assert_close((double)y[2][1], sqrt(0.5), 1e-7);
    assert_ok(coke_normalize(y[0], 0, 5));
    memset(y[1], 0, sizeof y[1]);
    assert_fails(coke_normalize(y[0], 3, 5), COKE_ENUMERIC, "row 1 has no direction");
    y[1][4] = NAN;
    assert_fails(coke_normalize(y[0], 3, 5), COKE_ENUMERIC, "row 1");
    assert_fails(coke_normalize(y[0], -1, 5), COKE_EUSAGE, "-1 rows");
    assert_fails(coke_normalize(y[0], 3, 0), COKE_EUSAGE, "0 numbers");
}

static void initial_centers_are_rows_that_differ(void **state)
{
    (void)state;
    struct coke_rows *rows;
    float c[K * DIM], again[K * DIM];
    assert_ok(coke_rows_from_array(&rows, x, N, DIM));
    assert_ok(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, K, 1, c));
    assert_ok(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, K, 1, again));
    assert_memory_equal(c, again, sizeof c);
    assert_ok(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, K, 2, again));
    assert_memory_not_equal(c, again, sizeof c);
    for (int k = 0; k < K; k++) {
        int found = 0;
        for (int i = 0; i < N && !found; i++) {
            float far = 0;
            for (int j = 0; j < DIM; j++)
                far = fmaxf(far, fabsf(c[k * DIM + j] - x[i * DIM + j]));
            found = far < 1e-6f;
        }
        assert_true(found);
        for (int l = 0; l < k; l++)
            assert_memory_not_equal(c + k * DIM, c + l * DIM, DIM * sizeof *c);
    }
    assert_fails(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, N + 1, 1, c), COKE_EUSAGE,
                 "4001 clusters");
    assert_fails(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, 0, 1, c), COKE_EUSAGE,
                 "0 clusters");
    coke_rows_free(rows);
}

/* ---- the model ---- */

static void stream_becomes_a_model_with_exact_sizes(void **state)
{
    (void)state;
    char path[] = "/tmp/coke-model-XXXXXX";
    struct coke_kmeans *km = new_head(0, 0.4);
    struct coke_model *m, *loaded;
    struct coke_head_summary s = COKE_INIT(struct coke_head_summary);
    struct coke_assign_job job = COKE_INIT(struct coke_assign_job);
    int32_t *again = malloc(N * sizeof *again);
    run_batches(km, 0, 2 * N / BATCH + 13); /* in the midst of an epoch */
    assert_ok(coke_kmeans_to_model(&m, km, NULL, NULL));
    assert_int_equal(coke_model_k(m), K);
    assert_int_equal(coke_model_dim(m), DIM);
    coke_model_free(m);
    assert_ok(coke_rows_from_array(&job.rows, x, N, DIM));
    job.labels = label;
    job.constrained = 1;
    assert_ok(coke_kmeans_to_model(&m, km, &job, &s));
    assert_true(smallest(label) >= LEAST);
    assert_true(s.repaired && s.gap <= 1e-4 * s.primal);
    for (int k = 0; k < K; k++)
        assert_true(m->size[k] >= LEAST && m->min_size[k] == LEAST);
    close(mkstemp(path));
    assert_fails(coke_model_save(m, path, 0), COKE_EUSAGE, path);
    assert_ok(coke_model_save(m, path, 1));
    assert_ok(coke_model_load(&loaded, path));
    job.labels = again;
    assert_ok(coke_model_assign(loaded, &job, NULL));
    assert_true(smallest(again) >= LEAST);
    assert_memory_equal(m->price, loaded->price, K * sizeof *m->price);
    assert_memory_equal(m->size, loaded->size, K * sizeof *m->size);
    unlink(path);
    coke_model_free(loaded);
    coke_model_free(m);
    coke_rows_free(job.rows);
    coke_kmeans_free(km);
    free(again);
}

static void euclidean_streams_do_all_this_too(void **state)
{
    metric = COKE_METRIC_EUCLIDEAN;
    default_options_keep_the_sizes(state);
    saved_state_has_the_step(state);
    stream_becomes_a_model_with_exact_sizes(state);
    metric = COKE_METRIC_COSINE;
}

static void models_need_rows_that_fit(void **state)
{
    (void)state;
    struct coke_kmeans *km = new_head(0, 0.4);
    struct coke_model *m;
    struct coke_assign_job job = COKE_INIT(struct coke_assign_job);
    job.labels = label;
    job.constrained = 1;
    assert_ok(coke_rows_from_array(&job.rows, x, N, DIM / 2));
    assert_fails(coke_kmeans_to_model(&m, km, &job, NULL), COKE_EUSAGE, "8 columns");
    assert_null(m);
    coke_rows_free(job.rows);
    memset(km->cur + 3 * km->ld, 0, (size_t)km->ld * sizeof *km->cur);
    assert_fails(coke_kmeans_to_model(&m, km, NULL, NULL), COKE_ENUMERIC, "centers: row 3");
    coke_kmeans_free(km);
}

static int enter(void **state)
{
    (void)state;
    x = test_vectors(N, DIM, 8, 0.3, 7);
    if (coke_normalize(x, N, DIM))
        return -1;
    for (int k = 0; k < K; k++) /* twins of a few rows: a bad start */
        for (int j = 0; j < DIM; j++)
            centers[k * DIM + j] = x[k % 3 * DIM + j] + 0.05f * x[(k + 9) * DIM + j];
    if (coke_normalize(centers, K, DIM))
        return -1;
    return coke_set_threads(1);
}

static int leave(void **state)
{
    (void)state;
    free(x);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_options_keep_the_sizes),
        cmocka_unit_test(step_does_not_depend_on_threads),
        cmocka_unit_test(explicit_step_stays),
        cmocka_unit_test(saved_state_has_the_step),
        cmocka_unit_test(equal_centers_delay_the_choice),
        cmocka_unit_test(rows_become_unit_vectors),
        cmocka_unit_test(initial_centers_are_rows_that_differ),
        cmocka_unit_test(stream_becomes_a_model_with_exact_sizes),
        cmocka_unit_test(euclidean_streams_do_all_this_too),
        cmocka_unit_test(models_need_rows_that_fit),
    };
    return cmocka_run_group_tests_name("stream_start", tests, enter, leave);
}
