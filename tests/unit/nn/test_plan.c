/* test_plan.c - guarantees of a plan: error messages, memory, shared weights. */
#include "support.h"
#include "layer_cases.h"
#include "core/mem.h"
#include "nn/plan_ops.h"
#include "nn/resnet.h"

static void step(struct layer_net *l, struct ck_plan *p, const float *images)
{
    assert_ok(ck_plan_forward(p, images));
    assert_ok(ck_plan_backward(p, (const float *const *)l->seed));
}

static void changed_weights_are_seen_by_all_plans(void **state)
{
    struct layer_net l, changed;
    struct layer_result got, want;
    struct ck_plan *p[2];
    (void)state;
    layer_net_init(&l, layer_case_named("two blocks"), 1);
    layer_net_init(&changed, l.c, 2);
    struct ck_plan_request r = layer_request(&l, 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(ck_plan_new(&p[i], &l.net, &r));
        step(&l, p[i], l.images);
    }
    for (int i = 0; i < l.net.nparams; i++) {
        struct ck_param *to = &l.net.param[i], *from = &changed.net.param[i];
        memcpy(to->value, from->value, (size_t)to->size * sizeof(float));
        memcpy(from->grad, to->grad, (size_t)to->size * sizeof(float));
        to->version++;
    }
    for (int i = 0; i < l.net.nbuffers; i++)
        memcpy(l.net.buffer[i].value, changed.net.buffer[i].value,
               (size_t)l.net.buffer[i].size * sizeof(float));
    layer_result_by(&want, &changed, &r);
    for (int i = 0; i < 2; i++) {
        ck_net_zero_grad(&l.net);
        memcpy(l.images, changed.images, (size_t)ck_plan_elements(p[i], 0) * sizeof(float));
        memcpy(l.seed[0], changed.seed[0],
               (size_t)ck_plan_elements(p[i], l.out[0]) * sizeof(float));
        layer_result_of(&got, &l, p[i]);
        assert_same_bytes(&got, &want, "changed weights");
        layer_result_release(&got);
        ck_plan_free(p[i]);
    }
    layer_result_release(&want);
    layer_net_release(&l);
    layer_net_release(&changed);
}

static void threads_may_become_fewer_after_a_plan_was_made(void **state)
{
    struct layer_net l;
    struct layer_result got, want;
    struct ck_plan *p;
    (void)state;
    layer_net_init(&l, layer_case_named("wide block"), 1);
    struct ck_plan_request r = layer_request(&l, 1);
    assert_ok(coke_set_threads(3));
    layer_result_naive(&want, &l, &r);
    assert_ok(ck_plan_new(&p, &l.net, &r));
    assert_ok(coke_set_threads(1));
    layer_result_of(&got, &l, p);
    assert_f32(&got, &want, "fewer threads");
    assert_ok(coke_set_threads(5)); /* more than the scratch was sized for */
    assert_fails(ck_plan_forward(p, l.images), COKE_EUSAGE, "made for 3 threads");
    assert_ok(coke_set_threads(3));
    assert_ok(ck_plan_forward(p, l.images));
    assert_ok(coke_set_threads(5));
    assert_fails(ck_plan_backward(p, (const float *const *)l.seed), COKE_EUSAGE,
                 "cannot run on 5");
    assert_ok(coke_set_threads(2));
    assert_ok(ck_plan_backward(p, (const float *const *)l.seed));
    ck_plan_free(p);
    layer_result_release(&got);
    layer_result_release(&want);
    layer_net_release(&l);
}

static int make_plan(void)
{
    struct layer_net l;
    struct ck_plan *p;
    layer_net_init(&l, layer_case_named("two blocks"), 1);
    struct ck_plan_request r = layer_request(&l, 1);
    r.recompute = 1;
    int rc = ck_plan_new(&p, &l.net, &r);
    ck_plan_free(p);
    layer_net_release(&l);
    return rc;
}

/* Skips the network's own allocations, which test_net.c covers. */
static void making_a_plan_survives_every_failed_allocation(void **state)
{
    struct layer_net l;
    int64_t calls = ck_mem_stats().calls, live = ck_mem_stats().live;
    (void)state;
    layer_net_init(&l, layer_case_named("two blocks"), 1);
    layer_net_release(&l);
    calls = ck_mem_stats().calls - calls;
    for (int64_t i = calls + 1;; i++) {
        int64_t before = ck_mem_stats().calls;
        ck_mem_fail_at(i);
        int rc = make_plan();
        ck_mem_fail_at(0);
        assert_int_equal(ck_mem_stats().live, live);
        if (ck_mem_stats().calls - before < i) {
            assert_ok(rc);
            assert_true(i > calls + 50);
            return;
        }
        if (rc != COKE_ENOMEM || !strstr(coke_last_error(), "memory"))
            fail_msg("allocation %lld: %d, \"%s\"", (long long)i, rc, coke_last_error());
        assert_true(i < 5000);
    }
}

/* Gradients overwrite activations: a second backward pass must fail. */
static void a_second_backward_pass_needs_a_new_forward_pass(void **state)
{
    struct layer_net l;
    struct ck_plan *p;
    (void)state;
    layer_net_init(&l, layer_case_named("two blocks"), 1);
    struct ck_plan_request r = layer_request(&l, 1);
    for (r.recompute = 0; r.recompute < 2; r.recompute++) {
        float out[64];
        assert_ok(ck_plan_new(&p, &l.net, &r));
        assert_fails(ck_plan_backward(p, (const float *const *)l.seed), COKE_EUSAGE,
                     "a forward pass before it");
        step(&l, p, l.images);
        assert_ok(ck_plan_read(p, l.out[0], out)); /* outputs are still readable */
        assert_memory_equal(out, ck_plan_vector(p, l.out[0]), 2 * 5 * sizeof *out);
        assert_fails(ck_plan_backward(p, (const float *const *)l.seed), COKE_EUSAGE,
                     "a forward pass before it");
        step(&l, p, l.images);
        ck_plan_free(p);
    }
    layer_net_release(&l);
}

static void what_was_not_asked_for_is_not_there(void **state)
{
    struct layer_net l;
    struct ck_plan *p;
    float *room;
    (void)state;
    layer_net_init(&l, layer_case_named("outputs on the way"), 1);
    struct ck_plan_request r = layer_request(&l, 1);
    r.backward = r.input_grad = r.ngrad = 0;
    r.nwant = 1;
    assert_ok(ck_plan_new(&p, &l.net, &r));
    room = test_array((size_t)ck_plan_elements(p, l.out[0]), sizeof *room);
    assert_fails(ck_plan_read(p, l.out[0], room), COKE_EUSAGE, "node");
    assert_ok(ck_plan_forward(p, l.images));
    assert_ok(ck_plan_read(p, l.out[0], room));
    assert_fails(ck_plan_read(p, l.out[1], room), COKE_EUSAGE, "not requested");
    assert_null(ck_plan_vector(p, l.out[2])); /* a vector, but not wanted */
    assert_null(ck_plan_vector(p, l.out[0])); /* wanted, but images */
    assert_fails(ck_plan_backward(p, (const float *const *)l.seed), COKE_EUSAGE,
                 "a plan made for it");
    assert_fails(ck_plan_read_input_grad(p, room), COKE_EUSAGE, "gradients of the images");
    free(room);
    ck_plan_free(p);
    layer_net_release(&l);
}

/* A request for a case with something changed. */
static int try_plan(const char *name, void (*change)(struct ck_plan_request *r))
{
    struct layer_net l;
    struct ck_plan *p;
    layer_net_init(&l, layer_case_named(name), 1);
    struct ck_plan_request r = layer_request(&l, 1);
    change(&r);
    int rc = ck_plan_new(&p, &l.net, &r);
    if (!rc)
        ck_plan_free(p);
    else
        assert_null(p);
    layer_net_release(&l);
    return rc;
}

static void no_images(struct ck_plan_request *r)
{
    r->n = 0;
}

static void negative_height(struct ck_plan_request *r)
{
    r->h = -3;
}

static void no_outputs(struct ck_plan_request *r)
{
    r->nwant = r->ngrad = 0;
}

static void unknown_node(struct ck_plan_request *r)
{
    r->want[0] = 999;
}

static void small_images(struct ck_plan_request *r)
{
    r->h = r->w = 2;
}

static void seed_that_is_not_wanted(struct ck_plan_request *r)
{
    r->nwant = 1;
    r->want[0] = 1;
    r->grad[0] = 4;
}

static void too_large(struct ck_plan_request *r)
{
    r->n = 1 << 20;
    r->h = r->w = 32767;
}

/* Makes the sanitizer's malloc return NULL, too, instead of aborting. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void impossible_requests_are_errors_in_words(void **state)
{
    (void)state;
    assert_fails(try_plan("conv 1x1", no_images), COKE_EUSAGE, "a batch of 0 images");
    assert_fails(try_plan("conv 1x1", negative_height), COKE_EUSAGE, "-3x4 is invalid");
    assert_fails(try_plan("conv 1x1", no_outputs), COKE_EUSAGE, "can return 1..8 nodes, not 0");
    assert_fails(try_plan("conv 1x1", unknown_node), COKE_EUSAGE, "node 999 does not exist");
    assert_fails(try_plan("conv 3x3, no padding", small_images), COKE_EUSAGE,
                 "conv1: an image of 2x2 is too small for a window of 3x3");
    assert_true(try_plan("conv 1x1", too_large) < 0);
    assert_fails(try_plan("mlp of 3", seed_that_is_not_wanted), COKE_EUSAGE, "node 4");
}

static void images_of_two_sizes_cannot_be_added(void **state)
{
    struct ck_net net = {0};
    struct ck_plan *p;
    (void)state;
    int x = ck_net_input(&net, 3);
    int y = ck_net_add(&net, x, ck_net_conv(&net, "a", x, 3, 3, 2, 1));
    struct ck_plan_request r = ck_plan_request_default();
    r.n = 2, r.h = 5, r.w = 4, r.nwant = 1, r.want[0] = y;
    assert_fails(ck_plan_new(&p, &net, &r), COKE_EUSAGE, "cannot add images of 5x4 and 3x2");
    ck_net_release(&net);
}

static void a_node_has_at_most_four_users(void **state)
{
    struct ck_net net = {0};
    struct ck_plan *p;
    (void)state;
    int x = ck_net_relu(&net, ck_net_input(&net, 3)), sum = x;
    for (int i = 0; i < 4; i++)
        sum = ck_net_add(&net, sum, ck_net_relu(&net, x));
    struct ck_plan_request r = ck_plan_request_default();
    r.n = r.h = r.w = 2, r.nwant = r.ngrad = 1, r.want[0] = r.grad[0] = sum;
    assert_ok(ck_plan_new(&p, &net, &r));
    ck_plan_free(p);
    r.backward = 1;
    assert_fails(ck_plan_new(&p, &net, &r), COKE_EUSAGE, "more than 4 readers");
    ck_net_release(&net);
}

static struct ck_plan *resnet_plan(struct ck_net *net, int recompute)
{
    struct ck_plan *p;
    struct ck_resnet_options o = {CK_RESNET18, CK_STEM_CIFAR, 0.25, 3};
    struct ck_plan_request r = ck_plan_request_default();
    memset(net, 0, sizeof *net);
    r.want[0] = r.grad[0] = ck_resnet_build(net, &o);
    r.n = 4, r.h = r.w = 32, r.train = r.backward = r.nwant = r.ngrad = 1;
    r.recompute = recompute;
    ck_net_init(net, 1);
    assert_ok(ck_plan_new(&p, net, &r));
    return p;
}

/* The largest sum of bytes that are live in one step. */
static size_t most_alive(const struct ck_plan *p)
{
    size_t most = 0;
    for (int now = 0; now <= 2 * p->nops; now++) {
        size_t live = 0;
        for (int i = 0; i < p->nbuffers; i++)
            if (p->buffer[i].span.first <= now && now <= p->buffer[i].span.last)
                live += p->buffer[i].span.bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* The lifetimes of a real graph: the arena is as large as what must be live at once. */
static void the_arena_of_a_resnet_is_nearly_least(void **state)
{
    size_t bytes[2];
    (void)state;
    for (int recompute = 0; recompute < 2; recompute++) {
        struct ck_net net;
        struct ck_plan *p = resnet_plan(&net, recompute);
        size_t least = most_alive(p);
        if (!((double)p->arena_bytes <= 1.05 * (double)least))
            fail_msg("%zu bytes, %zu are alive at once", p->arena_bytes, least);
        assert_int_equal(ck_plan_bytes(p), p->arena_bytes + p->scratch_bytes);
        bytes[recompute] = p->arena_bytes;
        ck_plan_free(p);
        ck_net_release(&net);
    }
    if (!((double)bytes[1] < 0.8 * (double)bytes[0]))
        fail_msg("%zu bytes, and %zu with recomputing", bytes[0], bytes[1]);
}

static void costs_name_every_layer_and_pass(void **state)
{
    struct ck_net net;
    struct ck_plan_cost row[256];
    (void)state;
    struct ck_plan *p = resnet_plan(&net, 0);
    float *images = test_array(4 * 3 * 32 * 32, sizeof *images);
    float *seed = test_array(4 * 128, sizeof *seed);
    const float *seeds[] = {seed};
    assert_int_equal(ck_plan_costs(p, row, 256), 0);
    assert_ok(ck_plan_forward(p, images));
    assert_ok(ck_plan_backward(p, seeds));
    int n = ck_plan_costs(p, row, 256), convs = 0;
    assert_in_range(n, 60, 256);
    assert_int_equal(ck_plan_costs(p, row, 3), n); /* room for 3 */
    for (int i = 0; i < n; i++) {
        assert_true(row[i].seconds > 0);
        if (strcmp(row[i].layer, "layer1.0.conv1") != 0)
            continue;
        convs++;
        assert_true(row[i].how[0]);
        assert_close(row[i].flops, 2.0 * 4 * 16 * 16 * 9 * 32 * 32, 1);
    }
    assert_int_equal(convs, 3);
    free(images);
    free(seed);
    ck_plan_free(p);
    ck_net_release(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_weights_are_seen_by_all_plans),
        cmocka_unit_test(threads_may_become_fewer_after_a_plan_was_made),
        cmocka_unit_test(making_a_plan_survives_every_failed_allocation),
        cmocka_unit_test(a_second_backward_pass_needs_a_new_forward_pass),
        cmocka_unit_test(what_was_not_asked_for_is_not_there),
        cmocka_unit_test(impossible_requests_are_errors_in_words),
        cmocka_unit_test(images_of_two_sizes_cannot_be_added),
        cmocka_unit_test(a_node_has_at_most_four_users),
        cmocka_unit_test(the_arena_of_a_resnet_is_nearly_least),
        cmocka_unit_test(costs_name_every_layer_and_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
