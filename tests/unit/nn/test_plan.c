/* test_plan.c - what a compiled network promises, and batch norm over several processes. */
#include "support.h"
#include "layer_cases.h"
#include "core/error.h"
#include "core/mem.h"
#include "nn/plan_ops.h"
#include "nn/resnet.h"

#include <pthread.h>

/* Against double arithmetic, of the largest number in a tensor. */
#define NEAR 5e-5

static void step(struct layer_net *l, struct ck_plan *p, const float *images)
{
    assert_ok(ck_plan_forward(p, images));
    assert_ok(ck_plan_backward(p, (const float *const *)l->seed));
}

/* ---- batch norm over several processes -----------------------------------------------------
 */

enum { RANKS = 2, MOST_SUMS = 4096 };

/* Two ranks that meet in every sum. */
static struct {
    pthread_barrier_t meet;
    double slot[RANKS][MOST_SUMS];
} group;

static int group_sum(void *arg, double *v, int64_t n)
{
    int rank = *(int *)arg;
    memcpy(group.slot[rank], v, (size_t)n * sizeof *v);
    pthread_barrier_wait(&group.meet);
    for (int64_t i = 0; i < n; i++)
        v[i] = group.slot[0][i] + group.slot[1][i];
    pthread_barrier_wait(&group.meet);
    return COKE_OK;
}

struct rank {
    int number;
    struct layer_case c;
    struct layer_net l;
    struct ck_plan *plan;
    struct layer_result r;
};

static void *run_rank(void *arg)
{
    struct rank *k = arg;
    layer_result_of(&k->r, &k->l, k->plan);
    return NULL;
}

/* Images and seeds `from` .. `from + n - 1` of the whole batch. */
static void cut_batch(struct layer_net *part, const struct layer_net *whole, int64_t from)
{
    int64_t n = part->c->n, one = whole->c->c * whole->c->h * whole->c->w;
    memcpy(part->images, whole->images + from * one, (size_t)(n * one) * sizeof(float));
    for (int i = 0; i < whole->nout; i++) {
        int64_t dim = whole->net.node[whole->out[i]].channels;
        memcpy(part->seed[i], whole->seed[i] + from * dim, (size_t)(n * dim) * sizeof(float));
    }
}

static void start_rank(struct rank *k, const struct layer_net *whole, int number, int64_t from,
                       int64_t n)
{
    struct ck_reduce reduce = {group_sum, &k->number};
    k->number = number;
    k->c = *whole->c;
    k->c.n = n;
    layer_net_init(&k->l, &k->c, whole->number);
    cut_batch(&k->l, whole, from);
    struct ck_plan_request r = layer_request(&k->l, 1);
    assert_ok(ck_plan_new(&k->plan, &k->l.net, &r));
    ck_plan_synchronise(k->plan, &reduce);
}

static int is_by_image(const char *part)
{
    return strncmp(part, "output", 6) == 0 || strcmp(part, "images") == 0;
}

/* Outputs and images' gradients one behind the other, gradients of parameters added; running
 * statistics must be the same. */
static void join_ranks(struct layer_result *all, const struct layer_result *a,
                       const struct layer_result *b)
{
    for (int i = 0; i < all->nparts; i++) {
        const struct layer_part *p = &all->part[i], *pa = &a->part[i], *pb = &b->part[i];
        double *to = all->v + p->from;
        const double *va = a->v + pa->from, *vb = b->v + pb->from;
        if (is_by_image(p->name)) {
            assert_int_equal(pa->n + pb->n, p->n);
            memcpy(to, va, (size_t)pa->n * sizeof *to);
            memcpy(to + pa->n, vb, (size_t)pb->n * sizeof *to);
        } else if (strstr(p->name, "running")) {
            assert_memory_equal(va, vb, (size_t)p->n * sizeof *to);
            memcpy(to, va, (size_t)p->n * sizeof *to);
        } else {
            for (int64_t j = 0; j < p->n; j++)
                to[j] = va[j] + vb[j];
        }
    }
}

static void check_ranks(const struct layer_case *c, int64_t first)
{
    struct layer_net whole;
    struct layer_result want, joined;
    struct rank rank[RANKS];
    pthread_t thread[RANKS];
    layer_net_init_clear(&whole, c, 1);
    layer_result_naive(&want, &whole, 1);
    layer_result_naive(&joined, &whole, 1);
    start_rank(&rank[0], &whole, 0, 0, first);
    start_rank(&rank[1], &whole, 1, first, c->n - first);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_rank, &rank[i]), 0);
    for (int i = 0; i < RANKS; i++)
        pthread_join(thread[i], NULL);
    join_ranks(&joined, &rank[0].r, &rank[1].r);
    assert_near(&joined, &want, NEAR, c->name);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(rank[i].l.net.counter[0].value, 1);
        ck_plan_free(rank[i].plan);
        layer_result_release(&rank[i].r);
        layer_net_release(&rank[i].l);
    }
    layer_result_release(&want);
    layer_result_release(&joined);
    layer_net_release(&whole);
}

static void ranks_of_unequal_batch_are_one_large_batch(void **state)
{
    (void)state;
    assert_int_equal(pthread_barrier_init(&group.meet, NULL, RANKS), 0);
    check_ranks(layer_case_named("norm of vectors"), 2);
    check_ranks(layer_case_named("mlp of 3"), 4);
    check_ranks(layer_case_named("projection and prediction"), 2);
    check_ranks(layer_case_named("basic block of 1 pixel"), 3); /* one value alone in rank 1 */
    check_ranks(layer_case_named("small resnet"), 1);
    pthread_barrier_destroy(&group.meet);
}

static int fail_sum(void *arg, double *v, int64_t n)
{
    (void)arg, (void)v, (void)n;
    return ck_fail(COKE_EIO, "rank 1 is gone");
}

static void a_failed_sum_is_passed_on(void **state)
{
    struct layer_net l;
    struct ck_plan *p;
    struct ck_reduce reduce = {fail_sum, NULL};
    (void)state;
    layer_net_init(&l, layer_case_named("mlp of 3"), 1);
    struct ck_plan_request r = layer_request(&l, 1);
    assert_ok(ck_plan_new(&p, &l.net, &r));
    assert_ok(ck_plan_forward(p, l.images));
    ck_plan_synchronise(p, &reduce);
    assert_fails(ck_plan_backward(p, (const float *const *)l.seed), COKE_EIO, "rank 1 is gone");
    ck_plan_synchronise(p, NULL);
    step(&l, p, l.images);
    assert_ok(ck_plan_forward(p, l.images));
    ck_plan_synchronise(p, &reduce);
    assert_fails(ck_plan_forward(p, l.images), COKE_EIO, "rank 1 is gone");
    /* Half of the last pass and half of the one before it would be in the arena. */
    assert_fails(ck_plan_backward(p, (const float *const *)l.seed), COKE_EUSAGE,
                 "a forward pass before it");
    ck_plan_free(p);
    layer_net_release(&l);
}

static void a_single_value_cannot_be_normalised(void **state)
{
    static const char *const one[] = {"norm of 1 image of 1 pixel",
                                      "basic block, 1 image in evaluation"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct layer_net l;
        struct ck_plan *p;
        layer_net_init(&l, layer_case_named(one[i]), 1);
        struct ck_plan_request r = layer_request(&l, 1);
        assert_ok(ck_plan_new(&p, &l.net, &r));
        float *before = test_array((size_t)l.net.buffer[0].size, sizeof *before);
        memcpy(before, l.net.buffer[0].value, (size_t)l.net.buffer[0].size * sizeof *before);
        assert_fails(ck_plan_forward(p, l.images), COKE_EUSAGE, "single value per channel");
        assert_non_null(strstr(coke_last_error(), i ? "norm2: " : "norm1: "));
        assert_memory_equal(before, l.net.buffer[0].value,
                            (size_t)l.net.buffer[0].size * sizeof *before);
        assert_int_equal(l.net.counter[0].value, 0);
        free(before);
        ck_plan_free(p);
        layer_net_release(&l);
    }
}

static void batches_are_counted_in_training_only(void **state)
{
    struct layer_net l;
    struct ck_plan *train, *eval;
    (void)state;
    layer_net_init(&l, layer_case_named("norm add norm relu"), 1);
    struct ck_plan_request r = layer_request(&l, 1);
    assert_ok(ck_plan_new(&train, &l.net, &r));
    r.train = 0;
    assert_ok(ck_plan_new(&eval, &l.net, &r));
    for (int i = 0; i < 3; i++) {
        step(&l, train, l.images);
        step(&l, eval, l.images);
    }
    assert_int_equal(l.net.ncounters, 2);
    assert_int_equal(l.net.counter[0].value, 3);
    assert_int_equal(l.net.counter[1].value, 3);
    assert_string_equal(l.net.counter[0].name, "norm2.num_batches_tracked");
    ck_plan_free(train);
    ck_plan_free(eval);
    layer_net_release(&l);
}

/* ---- what a plan promises ------------------------------------------------------------------
 */

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
    layer_net_init_clear(&l, layer_case_named("wide block"), 1);
    layer_result_naive(&want, &l, 1);
    struct ck_plan_request r = layer_request(&l, 1);
    assert_ok(coke_set_threads(3));
    assert_ok(ck_plan_new(&p, &l.net, &r));
    assert_ok(coke_set_threads(1));
    layer_result_of(&got, &l, p);
    assert_near(&got, &want, NEAR, "fewer threads");
    assert_ok(coke_set_threads(5)); /* for whom there is no scratch */
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

/* The network's own allocations are let pass: test_net.c has them. */
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

/* Gradients lie where activations were: what is left of the forward pass will not do. */
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
        assert_ok(ck_plan_read(p, l.out[0], out)); /* outputs are still there */
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
    r.backward = r.input_grad = r.nseed = 0;
    r.nwant = 1;
    assert_ok(ck_plan_new(&p, &l.net, &r));
    room = test_array((size_t)ck_plan_elements(p, l.out[0]), sizeof *room);
    assert_fails(ck_plan_read(p, l.out[0], room), COKE_EUSAGE, "node");
    assert_ok(ck_plan_forward(p, l.images));
    assert_ok(ck_plan_read(p, l.out[0], room));
    assert_fails(ck_plan_read(p, l.out[1], room), COKE_EUSAGE, "not asked for");
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
    r->nwant = r->nseed = 0;
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
    r->seed[0] = 4;
}

static void too_large(struct ck_plan_request *r)
{
    r->n = 1 << 20;
    r->h = r->w = 32767;
}

/* The sanitizer's malloc, too, says no instead of stopping the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void impossible_requests_are_errors_in_words(void **state)
{
    (void)state;
    assert_fails(try_plan("conv 1x1", no_images), COKE_EUSAGE, "a batch of 0 images");
    assert_fails(try_plan("conv 1x1", negative_height), COKE_EUSAGE, "-3x4 is impossible");
    assert_fails(try_plan("conv 1x1", no_outputs), COKE_EUSAGE, "yields 1..8 nodes, not 0");
    assert_fails(try_plan("conv 1x1", unknown_node), COKE_EUSAGE, "no node 999");
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
    assert_fails(ck_plan_new(&p, &net, &r), COKE_EUSAGE, "5x4 and 3x2 cannot be added");
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
    r.n = r.h = r.w = 2, r.nwant = r.nseed = 1, r.want[0] = r.seed[0] = sum;
    assert_ok(ck_plan_new(&p, &net, &r));
    ck_plan_free(p);
    r.backward = 1;
    assert_fails(ck_plan_new(&p, &net, &r), COKE_EUSAGE, "more than 4 users");
    ck_net_release(&net);
}

static struct ck_plan *resnet_plan(struct ck_net *net, int recompute)
{
    struct ck_plan *p;
    struct ck_resnet_options o = {CK_RESNET18, CK_STEM_CIFAR, 0.25, 3};
    struct ck_plan_request r = ck_plan_request_default();
    memset(net, 0, sizeof *net);
    r.want[0] = r.seed[0] = ck_resnet_build(net, &o);
    r.n = 4, r.h = r.w = 32, r.train = r.backward = r.nwant = r.nseed = 1;
    r.recompute = recompute;
    ck_net_init(net, 1);
    assert_ok(ck_plan_new(&p, net, &r));
    return p;
}

/* The largest sum of bytes that are alive in one step. */
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

/* The lives of a real graph: the arena is as large as what must be alive at once. */
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
        cmocka_unit_test(ranks_of_unequal_batch_are_one_large_batch),
        cmocka_unit_test(a_failed_sum_is_passed_on),
        cmocka_unit_test(a_single_value_cannot_be_normalised),
        cmocka_unit_test(batches_are_counted_in_training_only),
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
