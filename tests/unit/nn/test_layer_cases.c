/* test_layer_cases.c - every layer through one table of cases: against double arithmetic and
 * finite differences; equal bytes, accumulated gradients and memory. */
#include "support.h"
#include "layer_cases.h"
#include "core/mem.h"
#include "nn/conv_table.h"

#include <unistd.h>

/* Calls fn for every case, in evaluation and in training, on `threads` threads: several wait
 * for each other by spinning in oneDNN, slowly where cores are busy. clear: away from kinks. */
static void each_case(void (*fn)(struct layer_net *l, int train, const char *what), int clear,
                      int threads)
{
    assert_ok(coke_set_threads(threads));
    for (int i = 0; i < nlayer_cases; i++)
        for (int train = 0; train < 2 - layer_cases[i].only_eval; train++) {
            struct layer_net l;
            char what[128];
            snprintf(what, sizeof what, "%s, %s", layer_cases[i].name,
                     train ? "training" : "evaluation");
            if (clear)
                layer_net_init_clear(&l, &layer_cases[i], train);
            else
                layer_net_init(&l, &layer_cases[i], 1);
            fn(&l, train, what);
            layer_net_release(&l);
        }
}

/* ---- numbers ---- */

static void check_against_naive(struct layer_net *l, int train, const char *what)
{
    struct layer_result got, want;
    struct ck_plan_request r = layer_request(l, train);
    layer_result_naive(&want, l, &r);
    layer_result_by(&got, l, &r);
    assert_f32(&got, &want, what);
    layer_result_release(&got);
    layer_result_release(&want);
}

static void every_layer_is_what_the_naive_network_computes(void **state)
{
    (void)state;
    each_case(check_against_naive, 0, 2);
}

static void check_shape(const struct layer_case *c)
{
    struct layer_net l;
    layer_net_init(&l, c, 1);
    check_against_naive(&l, 0, c->name);
    layer_net_release(&l);
}

static void convolutions_of_any_small_shape_are_right(void **state)
{
    (void)state;
    assert_ok(coke_set_threads(1));
    each_conv_shape(check_shape);
}

/* A tuning file that selects one algorithm for every convolution of the case. */
static void write_tuning(const char *path, const struct layer_net *l, const char *way)
{
    static const char *const pass[] = {"forward", "data", "weights"};
    struct naive v;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    naive_init(&v, &l->net, l->c->n, l->c->h, l->c->w, 0);
    fprintf(f, "coke-tuning 1\n");
    for (int i = 0; i < 3 * l->net.nnodes; i++) {
        const struct ck_node *b = &l->net.node[i / 3];
        if (b->kind != CK_LAYER_CONV)
            continue;
        const struct naive_value *x = &v.value[b->in[0]];
        fprintf(f, "f32 %s %d %d %d %d %d %d %d %d %s\n", pass[i % 3], (int)v.n, (int)x->c,
                (int)x->h, (int)x->w, (int)b->channels, (int)b->kernel, (int)b->stride,
                (int)b->pad, way);
    }
    naive_release(&v);
    assert_int_equal(fclose(f), 0);
}

/* Whatever the table chooses for them. */
static void every_way_computes_3x3_convolutions(void **state)
{
    static const char *const way[] = {"direct", "winograd"};
    char path[] = "/tmp/coke-layers-XXXXXX";
    (void)state;
    assert_int_equal(close(mkstemp(path)), 0);
    for (int i = 0; i < 2 * nlayer_cases; i++) {
        const struct layer_case *c = &layer_cases[i / 2];
        struct layer_net l;
        if (!strstr(c->layers, "k3p1"))
            continue;
        layer_net_init(&l, c, 1);
        write_tuning(path, &l, way[i % 2]);
        assert_ok(ck_tuning_open(path));
        check_against_naive(&l, !c->only_eval, c->name);
        layer_net_release(&l);
    }
    assert_ok(ck_tuning_open(NULL));
    unlink(path);
}

static double objective(struct naive *v, const struct layer_net *l)
{
    double sum = 0;
    naive_forward(v);
    for (int i = 0; i < l->nout; i++)
        for (int64_t j = 0; j < v->value[l->out[i]].size; j++)
            sum += v->value[l->out[i]].x[j] * (double)l->seed[i][j];
    return sum;
}

static double sign_of(uint64_t seed, int64_t i)
{
    return test_unit(seed, (uint64_t)i) < 0.5 ? -1 : 1;
}

/* The slope of the objective when x [n] moves in a random direction of signs. */
static double slope(struct naive *v, const struct layer_net *l, double *x, int64_t n,
                    uint64_t seed)
{
    double step = 1e-6, value[2];
    for (int side = 0; side < 2; side++) {
        double by = side ? -step : step;
        for (int64_t i = 0; i < n; i++)
            x[i] += by * sign_of(seed, i);
        value[side] = objective(v, l);
        for (int64_t i = 0; i < n; i++)
            x[i] -= by * sign_of(seed, i);
    }
    return (value[0] - value[1]) / (2 * step);
}

/* The part of the gradient of x [n] against slopes in two directions. */
static void check_slopes(struct naive *v, const struct layer_net *l, double *x,
                         const struct layer_result *r, const char *part, const char *what)
{
    int at = 0;
    while (strcmp(r->part[at].name, part) != 0)
        assert_true(++at < r->nparts);
    const double *g = r->v + r->part[at].from;
    int64_t n = r->part[at].n;
    for (uint64_t seed = 11; seed < 13; seed++) {
        double along = 0, square = 0, found = slope(v, l, x, n, seed);
        for (int64_t i = 0; i < n; i++) {
            along += g[i] * sign_of(seed, i);
            square += g[i] * g[i];
        }
        if (!(fabs(found - along) <= LAYER_NEAR * sqrt(square) + 1e-4))
            fail_msg("%s: %s: slope %.9g, by the gradient %.9g of length %g", what, part, found,
                     along, sqrt(square));
    }
}

static void check_against_differences(struct layer_net *l, int train, const char *what)
{
    struct naive v;
    struct layer_result got;
    struct ck_plan_request r = layer_request(l, train);
    naive_init(&v, &l->net, l->c->n, l->c->h, l->c->w, train);
    for (int64_t i = 0; i < v.value[0].size; i++)
        v.value[0].x[i] = (double)l->images[i];
    layer_result_by(&got, l, &r);
    check_slopes(&v, l, v.value[0].x, &got, "images", what);
    for (int i = 0; i < l->net.nparams; i++)
        check_slopes(&v, l, v.param[i], &got, l->net.param[i].name, what);
    layer_result_release(&got);
    naive_release(&v);
}

static void gradients_are_slopes_of_the_naive_network(void **state)
{
    (void)state;
    each_case(check_against_differences, 1, 1);
}

/* ---- bytes ---- */

/* The same numbers in a network of their own, so that its running statistics are fresh. */
static void run_fresh(struct layer_result *r, const struct layer_net *l,
                      const struct ck_plan_request *request)
{
    struct layer_net again;
    layer_net_init(&again, l->c, l->number);
    layer_result_by(r, &again, request);
    layer_net_release(&again);
}

static void check_recompute(struct layer_net *l, int train, const char *what)
{
    struct layer_result kept, recomputed;
    struct ck_plan_request r = layer_request(l, train);
    run_fresh(&kept, l, &r);
    r.recompute = 1;
    run_fresh(&recomputed, l, &r);
    assert_same_bytes(&recomputed, &kept, what);
    layer_result_release(&kept);
    layer_result_release(&recomputed);
}

static void computing_again_gives_the_same_bytes(void **state)
{
    (void)state;
    each_case(check_recompute, 0, 1);
}

static void check_poisoned(struct layer_net *l, int train, const char *what)
{
    struct layer_result clean, poisoned;
    struct ck_plan_request r = layer_request(l, train);
    run_fresh(&clean, l, &r);
    layer_result_poisoned(&poisoned, l, &r);
    assert_same_bytes(&poisoned, &clean, what);
    layer_result_release(&clean);
    layer_result_release(&poisoned);
}

static void what_memory_held_before_does_not_matter(void **state)
{
    (void)state;
    each_case(check_poisoned, 0, 1);
}

/* In evaluation the same plan may run again; in training its running statistics have
 * changed. */
static void check_repeat(struct layer_net *l, int train, const char *what)
{
    struct layer_result first, second;
    struct ck_plan *p;
    struct ck_plan_request r = layer_request(l, train);
    run_fresh(&first, l, &r);
    run_fresh(&second, l, &r);
    assert_same_bytes(&second, &first, what);
    layer_result_release(&second);
    assert_ok(ck_plan_new(&p, &l->net, &r));
    for (int i = 0; i < 3 && !train; i++) {
        ck_net_zero_grad(&l->net);
        layer_result_of(&second, l, p);
        assert_same_bytes(&second, &first, what);
        layer_result_release(&second);
    }
    ck_plan_free(p);
    layer_result_release(&first);
}

static void a_second_run_gives_the_same_bytes(void **state)
{
    (void)state;
    each_case(check_repeat, 0, 2);
}

/* ---- several passes ---- */

static float *all_grads(const struct ck_net *net)
{
    float *g = test_array((size_t)ck_net_size(net), sizeof *g), *at = g;
    for (int i = 0; i < net->nparams; i++) {
        const struct ck_param *p = &net->param[i];
        if (p->fixed)
            continue;
        memcpy(at, p->grad, (size_t)p->size * sizeof *g);
        at += p->size;
    }
    return g;
}

static void step(struct layer_net *l, struct ck_plan *p, const float *images)
{
    assert_ok(ck_plan_forward(p, images));
    assert_ok(ck_plan_backward(p, (const float *const *)l->seed));
}

/* Two views in flight, with a plan each: the second runs backward first. */
static void check_sum(struct layer_net *l, int train, const char *what)
{
    struct ck_plan *p[2];
    struct ck_plan_request r = layer_request(l, train);
    int64_t pixels = l->c->n * l->c->c * l->c->h * l->c->w;
    float *view = test_array((size_t)pixels, sizeof *view), *one[2], *both;
    for (int64_t i = 0; i < pixels; i++)
        view[i] = test_normal(5, (uint64_t)i);
    for (int i = 0; i < 2; i++) {
        assert_ok(ck_plan_new(&p[i], &l->net, &r));
        ck_net_zero_grad(&l->net);
        step(l, p[i], i ? view : l->images);
        one[i] = all_grads(&l->net);
    }
    ck_net_zero_grad(&l->net);
    assert_ok(ck_plan_forward(p[0], l->images));
    step(l, p[1], view);
    assert_ok(ck_plan_backward(p[0], (const float *const *)l->seed));
    both = all_grads(&l->net);
    for (int64_t i = 0; i < ck_net_size(&l->net); i++) {
        double want = (double)one[0][i] + (double)one[1][i];
        if (!(fabs((double)both[i] - want) <= 1e-5 * (1 + fabs(want))))
            fail_msg("%s: gradient %lld: %g, the sum is %g", what, (long long)i,
                     (double)both[i], want);
    }
    for (int i = 0; i < 2; i++) {
        ck_plan_free(p[i]);
        free(one[i]);
    }
    free(both);
    free(view);
}

static void gradients_add_up_over_passes(void **state)
{
    (void)state;
    each_case(check_sum, 0, 1);
}

static void check_allocations(struct layer_net *l, int train, const char *what)
{
    struct ck_plan *p;
    struct ck_plan_request r = layer_request(l, train);
    int images = 0;
    for (int i = 0; i < l->nout; i++)
        images |= !l->net.node[l->out[i]].is_vector;
    for (r.recompute = 0; r.recompute < 2 && !images; r.recompute++) {
        assert_ok(ck_plan_new(&p, &l->net, &r));
        int64_t calls = ck_mem_stats().calls;
        step(l, p, l->images);
        for (int i = 0; i < l->net.nparams; i++)
            l->net.param[i].version++; /* makes copies of the weights stale */
        step(l, p, l->images);
        if (ck_mem_stats().calls != calls)
            fail_msg("%s: %lld allocations in two steps", what,
                     (long long)(ck_mem_stats().calls - calls));
        ck_plan_free(p);
    }
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    each_case(check_allocations, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_is_what_the_naive_network_computes),
        cmocka_unit_test(convolutions_of_any_small_shape_are_right),
        cmocka_unit_test(every_way_computes_3x3_convolutions),
        cmocka_unit_test(gradients_are_slopes_of_the_naive_network),
        cmocka_unit_test(computing_again_gives_the_same_bytes),
        cmocka_unit_test(what_memory_held_before_does_not_matter),
        cmocka_unit_test(a_second_run_gives_the_same_bytes),
        cmocka_unit_test(gradients_add_up_over_passes),
        cmocka_unit_test(a_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
