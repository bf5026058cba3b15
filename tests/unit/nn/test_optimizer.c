/* test_optimizer.c - LARS and SGD against a reference in double, and the other guarantees of a
 * step. */
#include "support.h"
#include "core/mem.h"
#include "nn/optimizer.h"

enum { PARAMS = 5, STEPS = 6 };

static const struct {
    const char *name;
    int ndim;
    int64_t shape[4];
} layout[PARAMS] = {
    {"layer1.0.conv1.weight", 4, {3, 2, 3, 3}},
    {"bn1.weight", 1, {7}},
    {"bn1.running_mean", 1, {7}}, /* has no gradient */
    {"fc.weight", 2, {150, 230}}, /* several pieces */
    {"fc.bias", 1, {5}},
};

enum { CONV, NORM, RUNNING, FC, BIAS };

static void make(struct ck_param *param)
{
    for (int i = 0; i < PARAMS; i++) {
        struct ck_param *p = &param[i];
        memset(p, 0, sizeof *p);
        snprintf(p->name, sizeof p->name, "%s", layout[i].name);
        p->ndim = layout[i].ndim;
        p->size = 1;
        for (int d = 0; d < p->ndim; d++) {
            p->shape[d] = layout[i].shape[d];
            p->size *= p->shape[d];
        }
        p->value = test_array((size_t)p->size, sizeof(float));
        p->grad = i == RUNNING ? NULL : test_array((size_t)p->size, sizeof(float));
        for (int64_t j = 0; j < p->size; j++)
            p->value[j] = test_normal((uint64_t)i, (uint64_t)j);
    }
}

static void destroy(struct ck_param *param)
{
    for (int i = 0; i < PARAMS; i++) {
        free(param[i].value);
        free(param[i].grad);
    }
}

static void make_gradients(struct ck_param *param, int step)
{
    for (int i = 0; i < PARAMS; i++)
        for (int64_t j = 0; param[i].grad && j < param[i].size; j++)
            param[i].grad[j] = test_normal((uint64_t)(100 + i + 10 * step), (uint64_t)j);
}

static double rate_of(int step)
{
    return 0.5 / (1 + step);
}

/* ---- the reference in double ---- */

struct slow {
    double *p, *m;
};

static double length_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += x[j] * x[j];
    return sqrt(sum);
}

static void slow_step(struct slow *s, const struct ck_param *q, double rate, double grad_scale,
                      const struct ck_optimizer_options *o)
{
    int decays = o->kind == CK_SGD || q->ndim >= 2;
    double scale = 1, *dp = test_array((size_t)q->size, sizeof *dp);
    for (int64_t j = 0; j < q->size; j++)
        dp[j] = (double)q->grad[j] * grad_scale + (decays ? o->weight_decay * s->p[j] : 0);
    double p_length = length_of(s->p, q->size), dp_length = length_of(dp, q->size);
    if (o->kind == CK_LARS && q->ndim >= 2 && p_length > 0 && dp_length > 0)
        scale = o->trust * p_length / dp_length;
    for (int64_t j = 0; j < q->size; j++) {
        s->m[j] = o->momentum * s->m[j] + scale * dp[j];
        s->p[j] -= rate * s->m[j];
    }
    free(dp);
}

static void compare_with_slow_one(struct ck_optimizer_options o, double grad_scale,
                                  double bias_rate)
{
    struct ck_param param[PARAMS];
    struct slow slow[PARAMS];
    struct ck_optimizer *opt;
    make(param);
    for (int i = 0; i < PARAMS; i++) {
        slow[i].p = test_array((size_t)param[i].size, sizeof(double));
        slow[i].m = test_array((size_t)param[i].size, sizeof(double));
        for (int64_t j = 0; j < param[i].size; j++)
            slow[i].p[j] = (double)param[i].value[j];
    }
    assert_ok(ck_optimizer_new(&opt, param, PARAMS, &o));
    assert_ok(ck_optimizer_set_rate(opt, "fc.bias", bias_rate));
    for (int step = 0; step < STEPS; step++) {
        make_gradients(param, step);
        assert_ok(ck_optimizer_step(opt, rate_of(step), grad_scale, step));
        for (int i = 0; i < PARAMS; i++) {
            if (i != RUNNING)
                slow_step(&slow[i], &param[i], rate_of(step) * (i == BIAS ? bias_rate : 1),
                          grad_scale, &o);
            for (int64_t j = 0; j < param[i].size; j++)
                assert_close(param[i].value[j], slow[i].p[j], 2e-6 * (1 + fabs(slow[i].p[j])));
        }
    }
    ck_optimizer_free(opt);
    for (int i = 0; i < PARAMS; i++) {
        free(slow[i].p);
        free(slow[i].m);
    }
    destroy(param);
}

static void lars_and_sgd_follow_their_definition(void **state)
{
    (void)state;
    for (int kind = CK_LARS; kind <= CK_SGD; kind++) {
        struct ck_optimizer_options o = ck_optimizer_options_default();
        o.kind = kind;
        compare_with_slow_one(o, 1, 1);
        o.weight_decay = 0.03;
        compare_with_slow_one(o, 0.125, 10);
        o.momentum = 0;
        compare_with_slow_one(o, 1, 0);
    }
}

/* ---- extremes ---- */

static void zero_parameters_and_zero_gradients_are_not_scaled(void **state)
{
    (void)state;
    struct ck_param param[PARAMS];
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct ck_optimizer *opt;
    make(param);
    make_gradients(param, 0);
    o.weight_decay = 0;
    memset(param[CONV].value, 0, (size_t)param[CONV].size * sizeof(float));
    memset(param[FC].grad, 0, (size_t)param[FC].size * sizeof(float));
    float before = param[FC].value[3];
    assert_ok(ck_optimizer_new(&opt, param, PARAMS, &o));
    assert_ok(ck_optimizer_step(opt, 0.5, 1, 1));
    assert_true(param[FC].value[3] == before);
    for (int64_t j = 0; j < param[CONV].size; j++)
        assert_true(param[CONV].value[j] == -0.5f * param[CONV].grad[j]);
    ck_optimizer_free(opt);
    destroy(param);
}

static void tiny_gradients_make_no_nan(void **state)
{
    (void)state;
    struct ck_param param[PARAMS];
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct ck_optimizer *opt;
    make(param);
    o.weight_decay = 0;
    param[FC].grad[0] = 1e-45f;
    assert_ok(ck_optimizer_new(&opt, param, PARAMS, &o));
    assert_ok(ck_optimizer_step(opt, 0.5, 1, 1));
    for (int64_t j = 0; j < param[FC].size; j++)
        assert_true(isfinite(param[FC].value[j]));
    ck_optimizer_free(opt);
    destroy(param);
}

static void bad_gradients_are_named_before_anything_changes(void **state)
{
    (void)state;
    struct ck_param param[PARAMS], before[PARAMS];
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct ck_optimizer *opt;
    make(param);
    make(before);
    make_gradients(param, 0);
    assert_ok(ck_optimizer_new(&opt, param, PARAMS, &o));
    param[FC].grad[5] = NAN;
    param[FC].grad[17000] = INFINITY; /* another piece */
    param[FC].grad[34499] = -INFINITY;
    assert_fails(ck_optimizer_step(opt, 0.5, 1, 12), COKE_ENUMERIC,
                 "step 12: gradient of fc.weight is not finite (3 of 34500 values)");
    for (int i = 0; i < PARAMS; i++) {
        assert_memory_equal(param[i].value, before[i].value,
                            (size_t)param[i].size * sizeof(float));
        assert_int_equal(param[i].version, 0);
    }
    make_gradients(param, 0);
    param[CONV].grad[53] = NAN;
    assert_fails(ck_optimizer_step(opt, 0.5, 1, 13), COKE_ENUMERIC,
                 "step 13: gradient of layer1.0.conv1.weight is not finite (1 of 54 values)");
    make_gradients(param, 0);
    assert_ok(ck_optimizer_step(opt, 0.5, 1, 14));
    ck_optimizer_free(opt);
    destroy(param);
    destroy(before);
}

static void impossible_options_are_refused_in_words(void **state)
{
    (void)state;
    struct ck_param param[PARAMS];
    struct ck_optimizer *opt;
    make(param);
    struct ck_optimizer_options o = ck_optimizer_options_default(), good = o;
    o.momentum = 1;
    assert_fails(ck_optimizer_new(&opt, param, PARAMS, &o), COKE_EUSAGE, "momentum: 1 is not");
    o = good;
    o.weight_decay = -1;
    assert_fails(ck_optimizer_new(&opt, param, PARAMS, &o), COKE_EUSAGE,
                 "weight decay: -1 is not");
    o = good;
    o.trust = 0;
    assert_fails(ck_optimizer_new(&opt, param, PARAMS, &o), COKE_EUSAGE, "trust: 0 is not");
    assert_null(opt);
    assert_ok(ck_optimizer_new(&opt, param, PARAMS, &good));
    assert_fails(ck_optimizer_set_rate(opt, "fc.wait", 10), COKE_EUSAGE,
                 "no parameter fc.wait");
    assert_fails(ck_optimizer_set_rate(opt, "bn1.running_mean", 10), COKE_EUSAGE,
                 "no parameter bn1.running_mean");
    assert_fails(ck_optimizer_set_rate(opt, "fc.bias", -1), COKE_EUSAGE, "fc.bias: -1");
    assert_fails(ck_optimizer_step(opt, (double)NAN, 1, 3), COKE_EUSAGE,
                 "step 3: invalid learning rate nan");
    assert_fails(ck_optimizer_step(opt, 1, (double)INFINITY, 3), COKE_EUSAGE,
                 "gradient scale inf");
    ck_optimizer_free(opt);
    destroy(param);
}

/* ---- around a step ---- */

static void steps_raise_versions_and_keep_gradients(void **state)
{
    (void)state;
    struct ck_param param[PARAMS];
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct ck_optimizer *opt;
    make(param);
    make_gradients(param, 0);
    assert_ok(ck_optimizer_new(&opt, param, PARAMS, &o));
    assert_ok(ck_optimizer_step(opt, 0.5, 1, 1));
    assert_ok(ck_optimizer_step(opt, 0.5, 1, 2));
    for (int i = 0; i < PARAMS; i++) {
        assert_int_equal(param[i].version, i == RUNNING ? 0 : 2);
        for (int64_t j = 0; param[i].grad && j < param[i].size; j++)
            assert_true(param[i].grad[j] == test_normal((uint64_t)(100 + i), (uint64_t)j));
    }
    ck_optimizer_free(opt);
    destroy(param);
}

static void run(struct ck_param *param, int first, int last, struct ck_optimizer *opt)
{
    for (int step = first; step < last; step++) {
        make_gradients(param, step);
        assert_ok(ck_optimizer_step(opt, rate_of(step), 0.3, step));
    }
}

static void same_values(const struct ck_param *a, const struct ck_param *b)
{
    for (int i = 0; i < PARAMS; i++)
        assert_memory_equal(a[i].value, b[i].value, (size_t)a[i].size * sizeof(float));
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    struct ck_param one[PARAMS], more[PARAMS];
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct ck_optimizer *opt;
    coke_set_threads(1);
    make(one);
    assert_ok(ck_optimizer_new(&opt, one, PARAMS, &o));
    run(one, 0, STEPS, opt);
    ck_optimizer_free(opt);
    for (int threads = 2; threads <= 3; threads++) {
        coke_set_threads(threads);
        make(more);
        assert_ok(ck_optimizer_new(&opt, more, PARAMS, &o));
        run(more, 0, STEPS, opt);
        same_values(one, more);
        ck_optimizer_free(opt);
        destroy(more);
    }
    coke_set_threads(0);
    destroy(one);
}

static void saved_and_loaded_momentum_continues_with_the_same_bytes(void **state)
{
    (void)state;
    struct ck_param whole[PARAMS], part[PARAMS];
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct ck_optimizer *a, *b, *c;
    struct ck_state s = {0};
    make(whole);
    make(part);
    assert_ok(ck_optimizer_new(&a, whole, PARAMS, &o));
    assert_ok(ck_optimizer_new(&b, part, PARAMS, &o));
    run(whole, 0, STEPS, a);
    run(part, 0, 3, b);
    assert_ok(ck_state_add(&s, "fc.weight", CK_F32, 0, NULL, NULL)); /* not the optimizer's */
    assert_ok(ck_optimizer_save(b, &s));
    assert_int_equal(s.ntensors, 1 + PARAMS - 1);
    assert_string_equal(s.tensor[1].name, "momentum.layer1.0.conv1.weight");
    assert_int_equal(s.tensor[1].ndim, 4);
    assert_ok(ck_optimizer_new(&c, part, PARAMS, &o));
    assert_ok(ck_optimizer_load(c, &s));
    run(part, 3, STEPS, c);
    same_values(whole, part);
    ck_state_release(&s);
    ck_optimizer_free(a);
    ck_optimizer_free(b);
    ck_optimizer_free(c);
    destroy(whole);
    destroy(part);
}

static void refuse_load(struct ck_optimizer *o, struct ck_state *s, const char *words)
{
    struct ck_state before = {0};
    assert_ok(ck_optimizer_save(o, &before));
    const float *conv = before.tensor[0].data;
    float first = conv[0];
    assert_fails(ck_optimizer_load(o, s), COKE_EFORMAT, words);
    assert_true(conv[0] == first); /* unchanged, at the same address */
    ck_state_release(&before);
}

static void state_that_does_not_fit_is_refused_and_nothing_loaded(void **state)
{
    (void)state;
    struct ck_param param[PARAMS];
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct ck_optimizer *opt, *other;
    struct ck_state s = {0};
    make(param);
    assert_ok(ck_optimizer_new(&opt, param, PARAMS, &o));
    assert_ok(ck_optimizer_new(&other, param, PARAMS, &o));
    run(param, 0, 1, opt);
    assert_ok(ck_optimizer_save(other, &s));
    s.tensor[3].shape[0] = 6;
    refuse_load(opt, &s, "tensor 'momentum.fc.bias': dimension 0 is 6, not 5");
    s.tensor[3].shape[0] = 5;
    assert_ok(
        ck_state_add(&s, "momentum.fc2.bias", CK_F32, 1, param[BIAS].shape, param[BIAS].value));
    refuse_load(opt, &s, "tensor 'momentum.fc2.bias' belongs to no parameter");
    memcpy(s.tensor[4].name, "elsewhere", 10);
    assert_ok(ck_optimizer_load(opt, &s));
    memcpy(s.tensor[3].name, "elsewhere", 10);
    refuse_load(opt, &s, "tensor 'momentum.fc.bias' is missing");
    ck_state_release(&s);
    ck_optimizer_free(opt);
    ck_optimizer_free(other);
    destroy(param);
}

/* ---- memory ---- */

static void every_allocation_may_fail_and_a_step_makes_none(void **state)
{
    (void)state;
    struct ck_param param[PARAMS];
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct ck_optimizer *opt = NULL;
    struct ck_state s = {0};
    make(param);
    make_gradients(param, 0);
    int64_t live = ck_mem_stats().live;
    int rc = COKE_ENOMEM;
    for (int64_t nth = 1; rc; nth++) {
        ck_mem_fail_at(nth);
        rc = ck_optimizer_new(&opt, param, PARAMS, &o);
        ck_mem_fail_at(0);
        assert_true(rc == COKE_OK || (rc == COKE_ENOMEM && ck_mem_stats().live == live));
    }
    int64_t calls = ck_mem_stats().calls;
    assert_ok(ck_optimizer_step(opt, 0.5, 1, 1));
    assert_int_equal(ck_mem_stats().calls, calls);
    assert_ok(ck_optimizer_save(opt, &s));
    ck_mem_fail_at(1);
    assert_int_equal(ck_optimizer_load(opt, &s), COKE_ENOMEM);
    ck_mem_fail_at(1);
    assert_int_equal(ck_optimizer_save(opt, &s), COKE_ENOMEM);
    ck_state_release(&s);
    ck_optimizer_free(opt);
    ck_optimizer_free(NULL);
    assert_int_equal(ck_mem_stats().live, live);
    destroy(param);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lars_and_sgd_follow_their_definition),
        cmocka_unit_test(zero_parameters_and_zero_gradients_are_not_scaled),
        cmocka_unit_test(tiny_gradients_make_no_nan),
        cmocka_unit_test(bad_gradients_are_named_before_anything_changes),
        cmocka_unit_test(impossible_options_are_refused_in_words),
        cmocka_unit_test(steps_raise_versions_and_keep_gradients),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(saved_and_loaded_momentum_continues_with_the_same_bytes),
        cmocka_unit_test(state_that_does_not_fit_is_refused_and_nothing_loaded),
        cmocka_unit_test(every_allocation_may_fail_and_a_step_makes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
