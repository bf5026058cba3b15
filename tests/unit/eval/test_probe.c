/* test_probe.c - cross-entropy, its gradient, ranks, and steps of the linear probe. */
#include "support.h"
#include "core/mem.h"
#include "eval/probe.h"
#include "eval/score.h"

static double loss_of(const float *z, const int32_t *label, int64_t n, int32_t classes)
{
    struct ck_score s = {0};
    assert_ok(ck_score(z, label, n, classes, NULL, &s));
    return s.loss / (double)s.asked;
}

static void gradient_is_that_of_the_mean_loss(void **state)
{
    (void)state;
    enum { N = 5, C = 7 };
    float z[N * C], grad[N * C];
    const int32_t label[N] = {3, 0, -1, 6, 6};
    struct ck_score s = {0};
    for (int i = 0; i < N * C; i++)
        z[i] = 2 * test_normal(1, (uint64_t)i);
    assert_ok(ck_score(z, label, N, C, grad, &s));
    assert_int_equal(s.asked, 4);
    for (int i = 0; i < N * C; i++) {
        float was = z[i], h = 1.0f / 64;
        z[i] = was + h;
        double up = loss_of(z, label, N, C);
        z[i] = was - h;
        double down = loss_of(z, label, N, C);
        z[i] = was;
        assert_close((double)grad[i], (up - down) / (2 * (double)h), 2e-5);
    }
}

static void ranks_count_the_classes_before(void **state)
{
    (void)state;
    const float z[] = {
        5, 4, 3, 2, 1, 0, /* */
        5, 4, 3, 2, 1, 0, /* */
        1, 1, 1, 1, 1, 1, /* ties: the lower class comes first */
        1, 1, 1, 1, 1, 1, /* */
    };
    const int32_t label[] = {0, 4, 0, 5};
    struct ck_score s = {0};
    assert_ok(ck_score(z, label, 4, 6, NULL, &s));
    assert_int_equal(s.asked, 4);
    assert_int_equal(s.top1, 2);
    assert_int_equal(s.top5, 3);
}

static void large_logits_stay_finite_and_nan_is_told(void **state)
{
    (void)state;
    float z[] = {1e30f, -1e30f, 700};
    const int32_t label[] = {0};
    struct ck_score s = {0};
    assert_ok(ck_score(z, label, 1, 3, NULL, &s));
    assert_close(s.loss, 0, 1e-12);
    z[1] = NAN;
    assert_fails(ck_score(z, label, 1, 3, NULL, &s), COKE_ENUMERIC, "no longer finite");
}

static void means_and_deviations(void **state)
{
    (void)state;
    const double x[] = {1, 2, 4};
    double mean, deviation;
    ck_mean_deviation(x, 3, &mean, &deviation);
    assert_close(mean, 7.0 / 3, 1e-15);
    assert_close(deviation, sqrt(7.0 / 3), 1e-12);
    ck_mean_deviation(x, 1, &mean, &deviation);
    assert_true(mean == 1 && deviation == 0);
}

/* The same steps in doubles, written down once more. */
enum { N = 40, DIM = 6, CLASSES = 4, STEPS = 20 };

struct slow {
    double w[CLASSES][DIM + 1], v[CLASSES][DIM + 1]; /* the bias is the last column */
};

static void slow_step(struct slow *s, const float *x, const int32_t *label, double rate,
                      double decay)
{
    double grad[CLASSES][DIM + 1] = {{0}};
    for (int i = 0; i < N; i++) {
        double z[CLASSES], sum = 0;
        for (int c = 0; c < CLASSES; c++) {
            z[c] = s->w[c][DIM];
            for (int d = 0; d < DIM; d++)
                z[c] += s->w[c][d] * (double)x[i * DIM + d];
            sum += exp(z[c]);
        }
        for (int c = 0; c < CLASSES; c++)
            for (int d = 0; d <= DIM; d++)
                grad[c][d] += (exp(z[c]) / sum - (c == label[i])) *
                              (d < DIM ? (double)x[i * DIM + d] : 1) / N;
    }
    for (int c = 0; c < CLASSES; c++)
        for (int d = 0; d <= DIM; d++) {
            s->v[c][d] = 0.9 * s->v[c][d] + grad[c][d] + decay * s->w[c][d];
            s->w[c][d] -= rate * s->v[c][d];
        }
}

static void steps_are_those_of_sgd_with_momentum(void **state)
{
    (void)state;
    float *x = test_vectors(N, DIM, CLASSES, 0.5, 3);
    int32_t label[N];
    struct slow slow = {0};
    struct ck_probe *p;
    struct ck_probe_shape shape = {DIM, CLASSES, N};
    assert_ok(ck_probe_new(&p, &shape, 0.01, 5));
    for (int i = 0; i < N; i++)
        label[i] = i % CLASSES;
    for (int i = 0; i < CLASSES * DIM; i++)
        slow.w[i / DIM][i % DIM] = (double)ck_probe_weight(p)[i];
    for (int t = 0; t < STEPS; t++) {
        struct ck_score s = {0};
        assert_ok(ck_probe_step(p, x, label, N, 0.7, &s));
        slow_step(&slow, x, label, 0.7, 0.01);
    }
    for (int c = 0; c < CLASSES; c++) {
        assert_close((double)ck_probe_bias(p)[c], slow.w[c][DIM], 1e-5);
        for (int d = 0; d < DIM; d++)
            assert_close((double)ck_probe_weight(p)[c * DIM + d], slow.w[c][d], 1e-5);
    }
    struct ck_score s = {0};
    assert_ok(ck_probe_judge(p, x, label, N, &s));
    assert_true(s.top1 > N * 3 / 4); /* groups that lie apart are told apart */
    ck_probe_free(p);
    free(x);
}

static void first_weights_are_small_and_follow_the_seed(void **state)
{
    (void)state;
    struct ck_probe *a, *b, *c;
    struct ck_probe_shape shape = {500, 20, 1};
    double square = 0;
    assert_ok(ck_probe_new(&a, &shape, 0, 5));
    assert_ok(ck_probe_new(&b, &shape, 0, 5));
    assert_ok(ck_probe_new(&c, &shape, 0, 6));
    size_t bytes = 500 * 20 * sizeof(float);
    assert_memory_equal(ck_probe_weight(a), ck_probe_weight(b), bytes);
    assert_int_not_equal(memcmp(ck_probe_weight(a), ck_probe_weight(c), bytes), 0);
    for (int i = 0; i < 500 * 20; i++)
        square += (double)ck_probe_weight(a)[i] * (double)ck_probe_weight(a)[i];
    assert_close(sqrt(square / 10000), 0.01, 0.0003);
    ck_probe_free(a);
    ck_probe_free(b);
    ck_probe_free(c);
}

static void memory_that_is_missing_leaks_none(void **state)
{
    (void)state;
    struct ck_probe_shape shape = {DIM, CLASSES, N};
    for (int nth = 1; nth < 20; nth++) {
        struct ck_probe *p;
        int64_t live = ck_mem_stats().live;
        ck_mem_fail_at(nth);
        int rc = ck_probe_new(&p, &shape, 0, 1);
        ck_mem_fail_at(0);
        assert_true(rc == COKE_OK || rc == COKE_ENOMEM);
        ck_probe_free(p);
        assert_int_equal(ck_mem_stats().live, live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_that_of_the_mean_loss),
        cmocka_unit_test(ranks_count_the_classes_before),
        cmocka_unit_test(large_logits_stay_finite_and_nan_is_told),
        cmocka_unit_test(means_and_deviations),
        cmocka_unit_test(steps_are_those_of_sgd_with_momentum),
        cmocka_unit_test(first_weights_are_small_and_follow_the_seed),
        cmocka_unit_test(memory_that_is_missing_leaks_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
