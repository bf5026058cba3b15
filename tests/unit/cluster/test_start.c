/* test_start.c - first centers from data points, and the gap that sizes the dual step. */
#include "support.h"
#include "cluster/start.h"

enum { N = 500, DIM = 7, LD = 16 };

struct source {
    float *x;
    struct coke_rows *rows;
    struct ck_scan scan;
};

static struct source open_source(float *x, const double *weight, int skip)
{
    struct source s = {.x = x};
    assert_ok(coke_rows_from_array(&s.rows, x, N, DIM));
    assert_ok(ck_scan_init(&s.scan, s.rows, ck_kernels(), weight, skip, 0));
    return s;
}

static void close_source(struct source *s)
{
    ck_scan_release(&s->scan);
    coke_rows_free(s->rows);
    free(s->x);
}

/* The row that a center is a copy of, or -1. */
static int row_of(const struct source *s, const float *center)
{
    for (int64_t i = 0; i < N; i++) {
        float x[LD + CK_TILE * LD];
        struct ck_scan plain = s->scan;
        plain.weight = NULL;
        if (!ck_scan_is_bad(&s->scan, i) && ck_scan_get(&plain, &i, 1, x) == COKE_OK &&
            memcmp(x, center, LD * sizeof *x) == 0)
            return (int)i;
    }
    return -1;
}

static void first_centers_are_different_rows(void **state)
{
    (void)state;
    double weight[N];
    for (int i = 0; i < N; i++)
        weight[i] = 1 + i % 3; /* weights do not lengthen centers */
    for (int how = CK_INIT_SAMPLE; how <= CK_INIT_PLUSPLUS; how++)
        for (int64_t k = 1; k <= N; k += k < 40 ? 13 : 230) {
            struct source s = open_source(test_vectors(N, DIM, 0, 0, 3), weight, 0);
            float *center = test_array((size_t)(k * LD), sizeof *center);
            uint8_t taken[N] = {0};
            assert_ok(ck_start_centers(&s.scan, (enum ck_init)how, 7, k, center, NULL));
            for (int64_t c = 0; c < k; c++) {
                int row = row_of(&s, center + c * LD);
                assert_true(row >= 0);
                assert_int_equal(taken[row]++, 0);
            }
            free(center);
            close_source(&s);
        }
}

static void bad_rows_are_never_taken(void **state)
{
    (void)state;
    for (int how = CK_INIT_SAMPLE; how <= CK_INIT_PLUSPLUS; how++) {
        float *x = test_vectors(N, DIM, 0, 0, 3), *center;
        for (int i = 0; i < N - 20; i++)
            x[i * DIM] = NAN;
        struct source s = open_source(x, NULL, 1);
        center = test_array(21 * LD, sizeof *center);
        assert_ok(ck_start_centers(&s.scan, (enum ck_init)how, 7, 20, center, NULL));
        for (int c = 0; c < 20; c++)
            assert_true(row_of(&s, center + c * LD) >= N - 20);
        free(center);
        close_source(&s);
    }
}

static void start_depends_on_the_seed_alone(void **state)
{
    (void)state;
    for (int how = CK_INIT_SAMPLE; how <= CK_INIT_PLUSPLUS; how++) {
        struct source s = open_source(test_vectors(N, DIM, 0, 0, 3), NULL, 0);
        float a[30 * LD], b[30 * LD];
        coke_set_threads(1);
        assert_ok(ck_start_centers(&s.scan, (enum ck_init)how, 7, 30, a, NULL));
        coke_set_threads(3);
        assert_ok(ck_start_centers(&s.scan, (enum ck_init)how, 7, 30, b, NULL));
        coke_set_threads(1);
        assert_memory_equal(a, b, sizeof a);
        assert_ok(ck_start_centers(&s.scan, (enum ck_init)how, 8, 30, b, NULL));
        assert_true(memcmp(a, b, sizeof a) != 0);
        close_source(&s);
    }
}

/* Two centers in one group and none in another: drawn anew, one of the two goes there. */
static void redraw_finds_the_group_without_a_center(void **state)
{
    (void)state;
    struct source s = open_source(test_vectors(N, DIM, 12, 0.01, 3), NULL, 0);
    float center[12 * LD], before[12 * LD];
    uint8_t redraw[12] = {[7] = 1}, found[12] = {0};
    for (int64_t c = 0; c < 12; c++) {
        int64_t row = c == 7 ? 12 + 3 : c;
        assert_ok(ck_scan_get(&s.scan, &row, 1, center + c * LD));
    }
    memcpy(before, center, sizeof center);
    assert_ok(ck_start_redraw(&s.scan, CK_INIT_PLUSPLUS, 1, redraw, 12, center, NULL));
    for (int c = 0; c < 12; c++) {
        found[row_of(&s, center + c * LD) % 12] = 1;
        if (!redraw[c])
            assert_memory_equal(center + c * LD, before + c * LD, LD * sizeof *center);
    }
    for (int g = 0; g < 12; g++)
        assert_int_equal(found[g], 1);
    close_source(&s);
}

/* Twelve tight groups: k-means++ finds each of them, a plain sample would not. */
static void plus_plus_spreads_out(void **state)
{
    (void)state;
    struct source s = open_source(test_vectors(N, DIM, 12, 0.01, 3), NULL, 0);
    float center[12 * LD];
    uint8_t found[12] = {0};
    assert_ok(ck_start_centers(&s.scan, CK_INIT_PLUSPLUS, 1, 12, center, NULL));
    for (int c = 0; c < 12; c++)
        found[row_of(&s, center + c * LD) % 12] = 1;
    for (int g = 0; g < 12; g++)
        assert_int_equal(found[g], 1);
    close_source(&s);
}

/* So many centers that several are chosen from the same candidates: rows of MANY groups. */
enum { MANY = 700, MANY_ROWS = 6000, MANY_DIM = 128 };

static void draw_many(float *x, int metric, int threads, float *center)
{
    struct coke_rows *rows;
    struct ck_scan scan;
    assert_ok(coke_rows_from_array(&rows, x, MANY_ROWS, MANY_DIM));
    assert_ok(ck_scan_init(&scan, rows, ck_kernels(), NULL, 0, metric));
    assert_ok(ck_scan_fit(&scan, NULL));
    float *inner = test_array((size_t)MANY * (size_t)scan.ld, sizeof *inner);
    coke_set_threads(threads);
    assert_ok(ck_start_centers(&scan, CK_INIT_PLUSPLUS, 5, MANY, inner, NULL));
    coke_set_threads(1);
    for (int64_t c = 0; c < MANY; c++)
        ck_frame_center_out(&scan.frame, inner + c * scan.ld, center + c * MANY_DIM);
    free(inner);
    ck_scan_release(&scan);
    coke_rows_free(rows);
}

static int nearest_row(const float *x, const float *center)
{
    double least = INFINITY;
    int best = 0;
    for (int i = 0; i < MANY_ROWS; i++) {
        double sum = 0;
        for (int d = 0; d < MANY_DIM && sum < least; d++)
            sum += pow((double)(x[i * MANY_DIM + d] - center[d]), 2);
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}

/* A random sample would meet 63 of 100 groups. With spread 0 the groups consist of copies. */
static void a_pool_finds_nearly_all_groups(void **state)
{
    (void)state;
    size_t bytes = (size_t)MANY * MANY_DIM * sizeof(float);
    float *a = test_array(bytes, 1), *b = test_array(bytes, 1);
    for (int metric = COKE_METRIC_COSINE; metric <= COKE_METRIC_EUCLIDEAN; metric++)
        for (int copies = 0; copies < 2; copies++) {
            float *x = test_vectors(MANY_ROWS, MANY_DIM, MANY, copies ? 0 : 0.2, 3);
            uint8_t taken[MANY_ROWS] = {0}, found[MANY] = {0};
            int groups = 0;
            draw_many(x, metric, 1, a);
            draw_many(x, metric, 3, b);
            assert_memory_equal(a, b, bytes);
            for (int c = 0; c < MANY; c++) {
                int row = nearest_row(x, a + c * MANY_DIM);
                assert_int_equal(taken[row]++, 0);
                groups += !found[row % MANY];
                found[row % MANY] = 1;
            }
            assert_in_range(groups, copies ? MANY : MANY * 97 / 100, MANY);
            free(x);
        }
    free(a);
    free(b);
}

/* Only the shape counts. */
static int is_cheap(int64_t n, int dim, int64_t k)
{
    struct coke_rows rows = {.n = n, .dim = dim};
    return ck_start_is_cheap(&(struct ck_scan){.rows = &rows, .ld = dim}, k);
}

static void plus_plus_is_cheap_with_enough_rows_per_center(void **state)
{
    (void)state;
    assert_true(is_cheap(150, 16, 3));
    assert_true(is_cheap(100000, 768, 1000));
    assert_false(is_cheap(60000, 768, 1000));
    assert_true(is_cheap(200000, 128, 1000));
    assert_false(is_cheap(100000, 128, 1000));
    assert_true(is_cheap(20000000, 96, 50000));
    assert_false(is_cheap(200000000, 96, 500000)); /* a sample beyond 256 MB */
    struct coke_rows stream = {.n = 100000, .dim = 768, .head = 4096, .one_pass = 1};
    assert_false(ck_start_is_cheap(&(struct ck_scan){.rows = &stream, .ld = 768}, 10));
}

static void gap_is_the_median_lead(void **state)
{
    (void)state;
    struct source s = open_source(test_vectors(N, DIM, 0, 0, 3), NULL, 0);
    float center[9 * LD];
    double lead[N], gap;
    assert_ok(ck_start_centers(&s.scan, CK_INIT_SAMPLE, 1, 9, center, NULL));
    assert_ok(ck_start_gap(&s.scan, 1, center, 9, &gap));
    for (int i = 0; i < N; i++) {
        double best = -2, second = -2;
        for (int c = 0; c < 9; c++) {
            double v = 0;
            for (int j = 0; j < DIM; j++)
                v += (double)s.x[i * DIM + j] * (double)center[c * LD + j];
            second = v > best ? best : fmax(second, v);
            best = fmax(best, v);
        }
        lead[i] = best - second;
    }
    int below = 0;
    for (int i = 0; i < N; i++)
        below += lead[i] < gap - 1e-6;
    assert_int_equal(below, N / 2); /* all rows are the sample */
    assert_ok(ck_start_gap(&s.scan, 1, center, 1, &gap));
    assert_true(gap == 0);
    /* one row a cluster and batch: a quarter of the gap moves in as many rows as clusters */
    assert_close(ck_start_eta(0.1, 1000, 1000, 100000), 0.25 * 0.1 * 1000, 1e-9);
    /* smaller batches step in proportion, larger ones less than that */
    assert_close(ck_start_eta(0.1, 250, 1000, 100000), 0.25 * 0.1 * 250, 1e-9);
    assert_true(ck_start_eta(0.1, 16000, 1000, 100000) < 0.25 * 0.1 * 16000 / 7.9);
    /* few rows a cluster: twice the step for half the rows */
    assert_close(ck_start_eta(0.1, 1000, 1000, 24000), 2 * 0.25 * 0.1 * 1000, 1e-9);
    close_source(&s);
}

int main(void)
{
    coke_set_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_centers_are_different_rows),
        cmocka_unit_test(bad_rows_are_never_taken),
        cmocka_unit_test(start_depends_on_the_seed_alone),
        cmocka_unit_test(plus_plus_spreads_out),
        cmocka_unit_test(a_pool_finds_nearly_all_groups),
        cmocka_unit_test(plus_plus_is_cheap_with_enough_rows_per_center),
        cmocka_unit_test(redraw_finds_the_group_without_a_center),
        cmocka_unit_test(gap_is_the_median_lead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
