/* test_silhouette.c - silhouettes against their definition, pair by pair. */
#include "support.h"
#include "eval/silhouette.h"

enum { N = 150, DIM = 7, K = 9 };

static double distance(const float *a, const float *b, int euclidean)
{
    double dot = 0, square = 0;
    for (int j = 0; j < DIM; j++) {
        dot += (double)a[j] * (double)b[j];
        square += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    }
    return euclidean ? sqrt(square) : 1 - dot;
}

static double mean_distance(const float *x, const int32_t *label, int i, int c, int euclidean)
{
    double sum = 0, n = 0;
    for (int j = 0; j < N; j++)
        if (label[j] == c && j != i) {
            sum += distance(x + (ptrdiff_t)i * DIM, x + (ptrdiff_t)j * DIM, euclidean);
            n++;
        }
    return n > 0 ? sum / n : (double)NAN;
}

static double slow(const float *x, const int32_t *label, int euclidean)
{
    double sum = 0, rows = 0;
    for (int i = 0; i < N; i++) {
        double own, next = INFINITY;
        if (label[i] < 0)
            continue;
        rows++;
        own = mean_distance(x, label, i, label[i], euclidean);
        for (int c = 0; c < K; c++)
            if (c != label[i])
                next = fmin(next, mean_distance(x, label, i, c, euclidean)); /* ignores NaN */
        sum += isnan(own) ? 0 : (next - own) / fmax(own, next);
    }
    return sum / rows;
}

/* One head with an empty cluster, a cluster of one row and rows in none; one with a single
 * cluster, whose silhouette is not defined. */
static void it_is_what_its_definition_says(void **state)
{
    (void)state;
    int32_t label[2][N];
    const int32_t *const list[] = {label[0], label[1]};
    static const int64_t k[] = {K, 3};
    for (int i = 0; i < N; i++) {
        label[0][i] = i == 0 ? 6 : i % 20 == 7 ? -1 : (i * i) % 5;
        label[1][i] = 2;
    }
    for (int euclidean = 0; euclidean < 2; euclidean++) {
        float *x = test_vectors(N, DIM, 4, 0.5, 9);
        double score[2];
        for (int i = 0; i < N * DIM && euclidean; i++)
            x[i] = 100 + 3 * x[i];
        struct ck_silhouette_job job = {.n = N,
                                        .dim = DIM,
                                        .x = x,
                                        .euclidean = euclidean,
                                        .heads = 2,
                                        .label = list,
                                        .k = k};
        assert_ok(ck_silhouette(&job, score));
        assert_close(score[0], slow(x, label[0], euclidean), 1e-5);
        assert_true(isnan(score[1]));
        free(x);
    }
}

static void equal_rows_in_two_clusters_are_undecided(void **state)
{
    (void)state;
    float x[4 * 2] = {1, 0, 1, 0, 1, 0, 1, 0};
    int32_t label[] = {0, 0, 1, 1};
    const int32_t *const list[] = {label};
    static const int64_t k[] = {2};
    double score;
    struct ck_silhouette_job job = {
        .n = 4, .dim = 2, .x = x, .heads = 1, .label = list, .k = k};
    assert_ok(ck_silhouette(&job, &score));
    assert_close(score, 0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_its_definition_says),
        cmocka_unit_test(equal_rows_in_two_clusters_are_undecided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
