/* test_layer_batch_norm.c - batch norm in plans: statistics over several processes, batch
 * counters, and undefined cases. */
#include "support.h"
#include "layer_cases.h"
#include "core/error.h"

#include <pthread.h>

static void step(struct layer_net *l, struct ck_plan *p, const float *images)
{
    assert_ok(ck_plan_forward(p, images));
    assert_ok(ck_plan_backward(p, (const float *const *)l->seed));
}

/* ---- batch norm over several processes ---- */

enum { RANKS = 2, MOST_SUMS = 4096 };

/* Two ranks, as threads, that meet in every all-reduce. */
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
    struct ck_reduce reduce = {group_sum, &k->number, 0};
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

/* Concatenates outputs and gradients of the images, adds the parameters' gradients, and
 * compares the running statistics, which must be equal. */
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
    struct ck_plan_request r = layer_request(&whole, 1);
    layer_result_naive(&want, &whole, &r);
    layer_result_naive(&joined, &whole, &r);
    start_rank(&rank[0], &whole, 0, 0, first);
    start_rank(&rank[1], &whole, 1, first, c->n - first);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_rank, &rank[i]), 0);
    for (int i = 0; i < RANKS; i++)
        pthread_join(thread[i], NULL);
    join_ranks(&joined, &rank[0].r, &rank[1].r);
    assert_f32(&joined, &want, c->name);
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
    check_ranks(layer_case_named("basic block of 1 pixel"), 3); /* rank 1 has a single value */
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
    struct ck_reduce reduce = {fail_sum, NULL, 0};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_unequal_batch_are_one_large_batch),
        cmocka_unit_test(a_failed_sum_is_passed_on),
        cmocka_unit_test(a_single_value_cannot_be_normalised),
        cmocka_unit_test(batches_are_counted_in_training_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
