/* test_twin.c - two views at the same time, each on one thread, are two views one after the other. */
#include "support.h"
#include "layer_cases.h"
#include "core/workers.h"
#include "nn/plan.h"
#include "nn/twin.h"

enum { VIEWS = 3 };

struct views {
    struct layer_net l;
    struct ck_net twin[VIEWS]; /* of views 1 and on */
    struct ck_plan *plan[VIEWS];
    float *images[VIEWS];
    int threads[VIEWS]; /* that each view saw */
};

static void views_init(struct views *v, const char *name, int twins)
{
    memset(v, 0, sizeof *v);
    layer_net_init(&v->l, layer_case_named(name), 1);
    struct ck_plan_request r = layer_request(&v->l, 1);
    r.input_grad = 0;
    for (int i = 0; i < VIEWS; i++) {
        struct ck_net *net = twins && i ? &v->twin[i] : &v->l.net;
        if (twins && i)
            assert_ok(ck_twin_init(net, &v->l.net));
        int before = ck_set_alone(twins);
        assert_ok(ck_plan_new(&v->plan[i], net, &r));
        ck_set_alone(before);
        int64_t n = ck_plan_elements(v->plan[i], 0);
        v->images[i] = test_array((size_t)n, sizeof(float));
        for (int64_t j = 0; j < n; j++)
            v->images[i][j] = v->l.images[(j + i * 7) % n] * (float)(1 + i);
    }
}

static void views_release(struct views *v)
{
    for (int i = 0; i < VIEWS; i++) {
        ck_plan_free(v->plan[i]);
        free(v->images[i]);
    }
    for (int i = 0; i < VIEWS; i++)
        ck_twin_release(&v->twin[i]);
    layer_net_release(&v->l);
}

static void forward(void *arg, int64_t i)
{
    struct views *v = arg;
    v->threads[i] = ck_threads();
    assert_ok(ck_plan_forward(v->plan[i], v->images[i]));
}

static void backward(void *arg, int64_t i)
{
    struct views *v = arg;
    assert_ok(ck_plan_backward(v->plan[i], (const float *const *)v->l.seed));
}

static void step_in_turn(struct views *v)
{
    ck_net_zero_grad(&v->l.net);
    for (int i = 0; i < VIEWS; i++)
        forward(v, i);
    for (int i = 0; i < VIEWS; i++)
        backward(v, i);
}

static void step_at_once(struct views *v)
{
    struct ck_net *net = &v->l.net;
    ck_net_zero_grad(net);
    for (int i = 1; i < VIEWS; i++)
        ck_twin_begin(&v->twin[i], net);
    ck_lanes(VIEWS, forward, v);
    for (int i = 1; i < VIEWS; i++)
        ck_twin_add_statistics(net, &v->twin[i]);
    ck_lanes(VIEWS, backward, v);
    for (int i = 1; i < VIEWS; i++)
        ck_twin_add_gradients(net, &v->twin[i]);
}

static void compare(const float *got, const float *want, int64_t n, const char *name)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= 1e-4 * largest + 1e-6))
            fail_msg("%s[%lld]: %g, not %g", name, (long long)i, (double)got[i],
                     (double)want[i]);
}

static void compare_nets(const struct ck_net *got, const struct ck_net *want)
{
    for (int i = 0; i < want->nparams; i++)
        compare(got->param[i].grad, want->param[i].grad, want->param[i].size,
                want->param[i].name);
    for (int i = 0; i < want->nbuffers; i++)
        compare(got->buffer[i].value, want->buffer[i].value, want->buffer[i].size,
                want->buffer[i].name);
    for (int i = 0; i < want->ncounters; i++)
        assert_int_equal(got->counter[i].value, want->counter[i].value);
}

/* Two steps with other weights in between: twins see the change and begin from zero again. */
static void check_case(const char *name)
{
    struct views one, other;
    views_init(&one, name, 0);
    views_init(&other, name, 1);
    for (int round = 0; round < 2; round++) {
        step_in_turn(&one);
        step_at_once(&other);
        compare_nets(&other.l.net, &one.l.net);
        for (int i = 0; i < VIEWS; i++)
            assert_int_equal(other.threads[i], 1);
        for (int i = 0; i < one.l.net.nparams; i++) {
            struct ck_param *p[] = {&one.l.net.param[i], &other.l.net.param[i]};
            for (int j = 0; j < 2; j++, p[j - 1]->version++)
                for (int64_t c = 0; c < p[j]->size; c++)
                    p[j]->value[c] *= 1.1f;
        }
    }
    views_release(&one);
    views_release(&other);
}

static void views_at_once_are_views_in_turn(void **state)
{
    (void)state;
    assert_ok(coke_set_threads(2));
    check_case("two blocks");
    check_case("wide block");
    assert_int_equal(ck_threads(), 2);
}

static void nothing(void *arg, int64_t i)
{
    (void)arg;
    (void)i;
}

static void the_default_team_stays_as_large_as_it_was(void **state)
{
    (void)state;
    assert_ok(coke_set_threads(0));
    int before = ck_threads();
    ck_lanes(2, nothing, NULL);
    assert_int_equal(ck_threads(), before);
    ck_set_alone(ck_set_alone(1));
    assert_int_equal(ck_threads(), before);
}

static void bytes_do_not_depend_on_the_thread_that_was_first(void **state)
{
    struct views v[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(coke_set_threads(i ? 1 : 3));
        views_init(&v[i], "two blocks", 1);
        step_at_once(&v[i]);
    }
    for (int i = 0; i < v[0].l.net.nparams; i++)
        assert_memory_equal(v[0].l.net.param[i].grad, v[1].l.net.param[i].grad,
                            (size_t)v[0].l.net.param[i].size * sizeof(float));
    for (int i = 0; i < 2; i++)
        views_release(&v[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_team_stays_as_large_as_it_was),
        cmocka_unit_test(views_at_once_are_views_in_turn),
        cmocka_unit_test(bytes_do_not_depend_on_the_thread_that_was_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
