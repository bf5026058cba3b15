/* test_loss.c - the loss against a slow one in double, written from its definition, and its
 * gradient against that one's finite differences. */
#include "support.h"
#include "core/mem.h"
#include "core/workers.h"
#include "nn/loss.h"

enum { MAX_HEADS = 3, SLOTS = 3 };

struct problem {
    const char *name;
    int views, dim, heads;
    int64_t n, k[MAX_HEADS];
    int soft, no_pred;
    struct ck_loss_options o;
    int large;   /* 0: two, or all views if there are fewer */
    float *x[2]; /* proj, pred [views][n][dim] */
    float *centers[MAX_HEADS];
    struct ck_targets targets[MAX_HEADS];
};

static const struct problem problems[] = {
    {"single", 1, 8, 2, 5, {7, 4}, 0, 0, .o = {0.1, 0.2, 0.5, 0.5}},
    {"single, pred only", 1, 8, 1, 5, {7}, 0, 0, .o = {0.1, 0.2, 1, 0.5}},
    {"single, proj only", 1, 8, 1, 5, {7}, 0, 0, .o = {0.1, 0.2, 0, 0.5}},
    {"single without pred", 1, 8, 2, 5, {7, 9}, 0, 1, .o = {0.1, 0.2, 1, 0.5}},
    {"single, soft targets", 1, 8, 2, 5, {7, 12}, 1, 0, .o = {0.1, 0.2, 0.3, 0.5}},
    {"single, sharp", 1, 8, 1, 5, {30}, 0, 0, .o = {0.01, 0.2, 0.5, 0.5}},
    {"two views", 2, 8, 2, 5, {7, 12}, 0, 0, .o = {0.05, 0.2, 0.5, 0.5}},
    {"two views, unequal", 2, 7, 3, 4, {7, 12, 3}, 0, 0, .o = {0.1, 0.7, 0.8, 0.5}},
    {"two views, pred only", 2, 8, 1, 5, {7}, 0, 0, .o = {0.1, 0.2, 1, 0.5}},
    {"two views without pred", 2, 8, 1, 5, {7}, 0, 1, .o = {0.1, 0.2, 0.5, 0.5}},
    {"two views, labels only", 2, 8, 1, 5, {7}, 0, 0, .o = {0.1, 1, 0.5, 0.5}},
    {"two views, no labels", 2, 8, 1, 5, {7}, 0, 0, .o = {0.1, 0, 0.5, 0.5}},
    {"two views, soft targets", 2, 8, 2, 5, {7, 12}, 1, 0, .o = {0.1, 0.4, 0.5, 0.5}},
    {"2 + 3 views", 5, 8, 2, 4, {7, 12}, 0, 0, .o = {0.05, 0.2, 0.5, 0.5}},
    {"2 + 1 views, unequal", 3, 8, 2, 4, {7, 12}, 0, 0, .o = {0.1, 0.35, 0.3, 0.7}},
    {"2 + 2 views, large only", 4, 8, 1, 4, {7}, 0, 0, .o = {0.1, 0.35, 0.5, 1}},
    {"2 + 2 views, small only", 4, 8, 1, 4, {7}, 0, 0, .o = {0.1, 0.35, 0.5, 0}},
    {"three equal views", 3, 8, 2, 5, {7, 12}, 0, 0, .o = {0.05, 0.2, 0.5, 0.5}, .large = 3},
    {"five equal views, soft targets",
     5,
     7,
     1,
     4,
     {9},
     1,
     0,
     .o = {0.1, 0.6, 0.3, 0.5},
     .large = 5},
    {"3 + 2 views", 5, 8, 1, 4, {7}, 0, 1, .o = {0.1, 0.3, 0.5, 0.7}, .large = 3},
    {"one center", 2, 4, 1, 3, {1}, 0, 0, .o = {0.1, 0.2, 0.5, 0.5}},
    {"one dimension", 1, 1, 1, 3, {2}, 0, 0, .o = {0.5, 0.2, 0.5, 0.5}},
};

enum { PROBLEMS = sizeof problems / sizeof *problems };

/* ---- building a problem ---- */

static void make_targets(struct problem *p, int h)
{
    int64_t k = p->k[h];
    int slots = p->soft ? SLOTS : 1;
    struct ck_targets *t = &p->targets[h];
    *t = (struct ck_targets){.n = p->n, .slots = slots};
    t->label = test_array((size_t)(p->n * slots), sizeof *t->label);
    if (p->soft)
        t->weight = test_array((size_t)(p->n * slots), sizeof *t->weight);
    for (int64_t i = 0; i < p->n; i++) {
        int32_t *label = t->label + i * slots;
        label[0] = (int32_t)((i * 5 + h + 1) % k);
        if (!p->soft)
            continue;
        float *weight = t->weight + i * slots; /* the middle slot is sometimes unused */
        label[1] = i % 2 ? -1 : (int32_t)((label[0] + 1) % k);
        label[2] = (int32_t)((label[0] + 2) % k);
        weight[0] = 0.5f;
        weight[1] = i % 2 ? 0 : 0.2f;
        weight[2] = 1 - weight[0] - weight[1];
    }
}

static struct problem make(struct problem p)
{
    if (p.large == 0)
        p.large = p.views < 2 ? p.views : 2;
    for (int o = 0; o < 2; o++)
        p.x[o] = test_vectors(p.views * p.n, p.dim, 0, 0, 11 + (uint64_t)o);
    for (int h = 0; h < p.heads; h++) {
        p.centers[h] = test_vectors(p.k[h], p.dim, 0, 0, 21 + (uint64_t)h);
        make_targets(&p, h);
    }
    return p;
}

static void destroy(struct problem *p)
{
    for (int o = 0; o < 2; o++)
        free(p->x[o]);
    for (int h = 0; h < p->heads; h++) {
        free(p->centers[h]);
        free(p->targets[h].label);
        free(p->targets[h].weight);
    }
}

static struct ck_loss_shape shape_of(const struct problem *p)
{
    return (struct ck_loss_shape){.views = p->views,
                                  .large = p->large,
                                  .max_n = p->n,
                                  .dim = p->dim,
                                  .heads = p->heads,
                                  .k = p->k};
}

static struct ck_loss_input input_of(const struct problem *p)
{
    return (struct ck_loss_input){.n = p->n,
                                  .proj = p->x[0],
                                  .pred = p->no_pred ? NULL : p->x[1],
                                  .centers = (const float *const *)p->centers,
                                  .targets = p->targets};
}

struct answer {
    double loss, head_loss[MAX_HEADS], accuracy[MAX_HEADS];
    float *grad[2];
};

/* The gradients start as NaN: whatever is not overwritten shows. */
static struct answer new_answer(const struct problem *p)
{
    struct answer a = {.loss = NAN};
    for (int o = 0; o < 2; o++) {
        int64_t n = p->views * p->n * p->dim;
        a.grad[o] = test_array((size_t)n, sizeof(float));
        for (int64_t i = 0; i < n; i++)
            a.grad[o][i] = NAN;
    }
    return a;
}

static void free_answer(struct answer *a)
{
    free(a->grad[0]);
    free(a->grad[1]);
}

static int step(struct ck_loss *l, const struct ck_loss_input *in, struct answer *a)
{
    struct ck_loss_output out = {.grad_proj = a->grad[0],
                                 .grad_pred = a->grad[1],
                                 .head_loss = a->head_loss,
                                 .accuracy = a->accuracy};
    int rc = ck_loss_step(l, in, &out);
    a->loss = out.loss;
    return rc;
}

static struct answer solve(const struct problem *p)
{
    struct ck_loss *l;
    struct ck_loss_shape shape = shape_of(p);
    struct ck_loss_input in = input_of(p);
    struct answer a = new_answer(p);
    assert_ok(ck_loss_new(&l, &shape, &p->o));
    assert_ok(step(l, &in, &a));
    ck_loss_free(l);
    return a;
}

/* ---- the reference in double ---- */

static const float *row_of(const struct problem *p, int o, int v, int64_t i)
{
    return p->x[o] + (v * p->n + i) * p->dim;
}

static void slow_log_softmax(const struct problem *p, int h, const double *x, double *out)
{
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < p->k[h]; k++) {
        out[k] = 0;
        for (int j = 0; j < p->dim; j++)
            out[k] += x[j] * (double)p->centers[h][k * p->dim + j];
        out[k] /= p->o.temperature;
        most = fmax(most, out[k]);
    }
    for (int64_t k = 0; k < p->k[h]; k++)
        sum += exp(out[k] - most);
    for (int64_t k = 0; k < p->k[h]; k++)
        out[k] -= most + log(sum);
}

static void widen(const float *x, int dim, double *out)
{
    for (int j = 0; j < dim; j++)
        out[j] = (double)x[j];
}

/* target [k] += fraction * softmax of proj of view v. */
static void slow_add_q(const struct problem *p, int h, int v, int64_t i, double fraction,
                       double *target)
{
    double x[512], *q = test_array((size_t)p->k[h], sizeof *q);
    widen(row_of(p, 0, v, i), p->dim, x);
    slow_log_softmax(p, h, x, q);
    for (int64_t k = 0; k < p->k[h]; k++)
        target[k] += fraction * exp(q[k]);
    free(q);
}

static void slow_target(const struct problem *p, int h, int v, int64_t i, double *target)
{
    const struct ck_targets *t = &p->targets[h];
    double alpha = p->views > 1 ? p->o.alpha : 1;
    memset(target, 0, (size_t)p->k[h] * sizeof *target);
    for (int64_t s = i * t->slots; s < (i + 1) * t->slots; s++)
        if (!t->weight || t->weight[s] > 0)
            target[t->label[s]] += alpha * (t->weight ? (double)t->weight[s] : 1);
    for (int q = 0; p->views > 1 && q < p->large; q++)
        if (q != v)
            slow_add_q(p, h, q, i, (1 - alpha) / (p->large - (v < p->large)), target);
}

/* Cross-entropy of x in the place of output o of view v, image i. */
static double slow_cross_entropy(const struct problem *p, int h, const double *x,
                                 const double *target)
{
    double sum = 0, *z = test_array((size_t)p->k[h], sizeof *z);
    slow_log_softmax(p, h, x, z);
    for (int64_t k = 0; k < p->k[h]; k++)
        sum -= target[k] * z[k];
    free(z);
    return sum;
}

static double slow_weight(const struct problem *p, int o, int v)
{
    double beta = p->no_pred ? 0 : p->o.beta, output = o ? beta : 1 - beta;
    if (p->views == p->large)
        return output / p->views;
    if (v < p->large)
        return output * p->o.large_weight / p->large;
    return output * (1 - p->o.large_weight) / (p->views - p->large);
}

static double slow_head_loss(const struct problem *p, int h)
{
    double sum = 0, x[512], *target = test_array((size_t)p->k[h], sizeof *target);
    for (int o = 0; o < 2; o++)
        for (int v = 0; v < p->views; v++)
            for (int64_t i = 0; i < p->n && slow_weight(p, o, v) > 0; i++) {
                slow_target(p, h, v, i, target);
                widen(row_of(p, o, v, i), p->dim, x);
                sum += slow_weight(p, o, v) * slow_cross_entropy(p, h, x, target);
            }
    free(target);
    return sum / (double)p->n;
}

/* d loss / d x of one row [dim], the target held fast; central differences. */
static void slow_gradient(const struct problem *p, int o, int v, int64_t i, double *grad)
{
    double x[512], h = 1e-5;
    memset(grad, 0, (size_t)p->dim * sizeof *grad);
    widen(row_of(p, o, v, i), p->dim, x);
    for (int head = 0; head < p->heads && slow_weight(p, o, v) > 0; head++) {
        double *target = test_array((size_t)p->k[head], sizeof *target);
        slow_target(p, head, v, i, target);
        for (int j = 0; j < p->dim; j++) {
            double at = x[j];
            x[j] = at + h;
            double up = slow_cross_entropy(p, head, x, target);
            x[j] = at - h;
            double down = slow_cross_entropy(p, head, x, target);
            x[j] = at;
            grad[j] += slow_weight(p, o, v) * (up - down) / (2 * h) / (double)(p->n * p->heads);
        }
        free(target);
    }
}

static void check_rows(const struct problem *p, const struct answer *a, int64_t every)
{
    double grad[512];
    for (int o = 0; o < 2 - p->no_pred; o++)
        for (int v = 0; v < p->views; v++)
            for (int64_t i = 0; i < p->n; i += every) {
                slow_gradient(p, o, v, i, grad);
                for (int j = 0; j < p->dim; j++) {
                    double got = (double)a->grad[o][(v * p->n + i) * p->dim + j];
                    double room = 2e-6 / ((double)p->n * p->o.temperature) + 1e-6 * fabs(got);
                    if (!(fabs(got - grad[j]) <= room))
                        fail_msg("%s: output %d, view %d, row %d, [%d]: %.9g, not %.9g",
                                 p->name, o, v, (int)i, j, got, grad[j]);
                }
            }
}

static void check(const struct problem *p, const struct answer *a, int64_t every)
{
    double mean = 0;
    for (int h = 0; h < p->heads; h++) {
        double want = slow_head_loss(p, h);
        mean += want / p->heads;
        if (!(fabs(a->head_loss[h] - want) <= 1e-7 / p->o.temperature + 1e-7))
            fail_msg("%s: loss of head %d is %.9g, not %.9g", p->name, h, a->head_loss[h],
                     want);
    }
    assert_close(a->loss, mean, 1e-7 / p->o.temperature + 1e-7);
    check_rows(p, a, every);
}

/* ---- value and gradient ---- */

static void every_mode_has_the_defined_value_and_gradient(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct problem p = make(problems[i]);
        struct answer a = solve(&p);
        check(&p, &a, 1);
        free_answer(&a);
        destroy(&p);
    }
}

/* Centers are taken 128 at a time, images 48 at a time. */
static void sizes_around_the_chunks_are_right(void **state)
{
    (void)state;
    const int64_t ks[] = {127, 128, 129, 300}, ns[] = {1, 47, 48, 49, 97};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++) {
            struct problem p = {
                "chunks", 2, 5, 1, ns[j], {ks[i]}, 0, 0, .o = {0.1, 0.2, 0.5, 0.5}};
            p = make(p);
            struct answer a = solve(&p);
            check(&p, &a, 12);
            free_answer(&a);
            destroy(&p);
        }
}

/* The nearest center comes after or before the others: the running maximum rises late, or at
 * once and everything later vanishes. */
static void running_maximum_may_rise_at_any_chunk(void **state)
{
    (void)state;
    for (int64_t at = 0; at < 390; at += 130) {
        struct problem p = {"rise", 1, 6, 1, 3, {390}, 0, 0, .o = {0.01, 0.2, 0.5, 0.5}};
        p = make(p);
        memcpy(p.centers[0] + at * p.dim, p.x[0], (size_t)p.dim * sizeof(float));
        p.targets[0].label[0] = (int32_t)at;
        struct answer a = solve(&p);
        check(&p, &a, 1);
        free_answer(&a);
        destroy(&p);
    }
}

/* T so small that all but the nearest center have probability 0 in f32, and a label that is
 * the farthest: the loss is the distance over T. */
static void hopeless_labels_have_a_finite_loss(void **state)
{
    (void)state;
    struct problem p = {"hopeless", 1, 2, 1, 1, {2}, 0, 1, .o = {1e-4, 0.2, 0, 0.5}};
    p = make(p);
    const float opposite[4] = {1, 0, -1, 0};
    memcpy(p.x[0], opposite, 2 * sizeof(float));
    memcpy(p.centers[0], opposite, sizeof opposite);
    p.targets[0].label[0] = 1;
    struct answer a = solve(&p);
    assert_close(a.loss, 2e4, 1e-2);
    assert_close(a.grad[0][0], 2e4, 1e-2);
    assert_true(a.grad[0][1] == 0);
    free_answer(&a);
    destroy(&p);
}

static void without_gradients_the_loss_is_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct problem p = make(problems[i]);
        struct answer with = solve(&p), without = {.loss = NAN};
        struct ck_loss_shape shape = shape_of(&p);
        struct ck_loss_input in = input_of(&p);
        struct ck_loss *l;
        assert_ok(ck_loss_new(&l, &shape, &p.o));
        assert_ok(step(l, &in, &without));
        assert_true(with.loss == without.loss);
        assert_memory_equal(with.accuracy, without.accuracy, sizeof with.accuracy);
        ck_loss_free(l);
        free_answer(&with);
        destroy(&p);
    }
}

static void a_smaller_batch_may_follow_a_larger_one(void **state)
{
    (void)state;
    struct problem p = {"batch", 2, 8, 2, 60, {7, 12}, 0, 0, .o = {0.1, 0.2, 0.5, 0.5}};
    struct problem q = p;
    q.n = 7;
    p = make(p);
    q = make(q);
    struct answer alone = solve(&q), after = new_answer(&q), first = new_answer(&p);
    struct ck_loss_shape shape = shape_of(&p);
    struct ck_loss_input in = input_of(&p), in_q = input_of(&q);
    struct ck_loss *l;
    assert_ok(ck_loss_new(&l, &shape, &p.o));
    assert_ok(step(l, &in, &first));
    assert_ok(step(l, &in_q, &after));
    assert_true(alone.loss == after.loss);
    for (int o = 0; o < 2; o++)
        assert_memory_equal(alone.grad[o], after.grad[o], 2 * 7 * 8 * sizeof(float));
    ck_loss_free(l);
    free_answer(&alone);
    free_answer(&after);
    free_answer(&first);
    destroy(&p);
    destroy(&q);
}

/* ---- accuracy ---- */

static void accuracy_counts_the_nearest_centers(void **state)
{
    (void)state;
    struct problem p = {"accuracy", 2, 8, 1, 10, {20}, 0, 0, .o = {0.1, 0.2, 0.5, 0.5}};
    p = make(p);
    /* pred of view 0: images 0..6 lie on the centers of their labels; of view 1: 0..2. */
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < 10; i++) {
            int32_t label = p.targets[0].label[i], on = i < (v ? 3 : 7) ? label : label ^ 1;
            memcpy(p.x[1] + (v * 10 + i) * 8, p.centers[0] + on * 8, 8 * sizeof(float));
        }
    struct answer a = solve(&p);
    assert_close(a.accuracy[0], 0.5, 1e-12);
    free_answer(&a);
    p.no_pred = 1; /* then proj counts */
    memcpy(p.x[0], p.x[1], 2 * 10 * 8 * sizeof(float));
    a = solve(&p);
    assert_close(a.accuracy[0], 0.5, 1e-12);
    free_answer(&a);
    destroy(&p);
}

static void accuracy_asks_for_the_label_of_most_weight(void **state)
{
    (void)state;
    struct problem p = {"soft", 1, 8, 1, 6, {20}, 1, 1, .o = {0.1, 0.2, 0, 0.5}};
    p = make(p);
    for (int i = 0; i < 6; i++) {
        float *w = p.targets[0].weight + i * SLOTS;
        w[0] = 0.1f;
        w[1] = 0;
        w[2] = 0.9f;
        int32_t on = p.targets[0].label[i * SLOTS + (i < 4 ? 2 : 0)];
        memcpy(p.x[0] + i * 8, p.centers[0] + on * 8, 8 * sizeof(float));
    }
    struct answer a = solve(&p);
    assert_close(a.accuracy[0], 4.0 / 6, 1e-12);
    free_answer(&a);
    destroy(&p);
}

/* ---- threads and memory ---- */

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    struct problem p = {"threads", 3, 20, 2, 300, {150, 40}, 0, 0, .o = {0.05, 0.2, 0.5, 0.5}};
    p = make(p);
    coke_set_threads(1);
    struct answer one = solve(&p);
    for (int threads = 2; threads <= 3; threads++) {
        coke_set_threads(threads);
        struct answer a = solve(&p);
        assert_memory_equal(&a.loss, &one.loss, sizeof a.loss);
        assert_memory_equal(a.head_loss, one.head_loss, sizeof a.head_loss);
        for (int o = 0; o < 2; o++)
            assert_memory_equal(a.grad[o], one.grad[o], 3 * 300 * 20 * sizeof(float));
        free_answer(&a);
    }
    coke_set_threads(0);
    free_answer(&one);
    destroy(&p);
}

static void more_threads_than_at_first_are_refused(void **state)
{
    (void)state;
    struct problem p = make(problems[0]);
    struct ck_loss_shape shape = shape_of(&p);
    struct ck_loss_input in = input_of(&p);
    struct answer a = new_answer(&p);
    struct ck_loss *l;
    coke_set_threads(2);
    assert_ok(ck_loss_new(&l, &shape, &p.o));
    coke_set_threads(3);
    assert_fails(step(l, &in, &a), COKE_EUSAGE, "made for 2 threads and cannot run on 3");
    coke_set_threads(1);
    assert_ok(step(l, &in, &a));
    coke_set_threads(0);
    ck_loss_free(l);
    free_answer(&a);
    destroy(&p);
}

/* 20 x 100 000 scores would be 8 MB per view; memory is as documented, and a step allocates
 * none. */
static void hundred_thousand_centers_need_little_memory(void **state)
{
    (void)state;
    struct problem p = {"many", 2, 4, 1, 20, {100000}, 0, 0, .o = {0.1, 0.2, 0.5, 0.5}};
    p = make(p);
    struct ck_loss_shape shape = shape_of(&p);
    struct ck_loss_input in = input_of(&p);
    struct answer a = new_answer(&p);
    struct ck_loss *l;
    ck_mem_reset_peak();
    struct ck_mem_stats before = ck_mem_stats();
    assert_ok(ck_loss_new(&l, &shape, &p.o));
    int64_t calls = ck_mem_stats().calls;
    assert_ok(step(l, &in, &a));
    struct ck_mem_stats after = ck_mem_stats();
    assert_int_equal(after.calls, calls);
    assert_int_equal(after.peak_bytes - before.live_bytes, ck_loss_bytes(l));
    assert_true(ck_loss_bytes(l) < (int64_t)ck_threads() * 31000 + 1000);
    ck_loss_free(l);
    assert_int_equal(ck_mem_stats().live, before.live);
    assert_close(a.head_loss[0], slow_head_loss(&p, 0), 1e-5);
    free_answer(&a);
    destroy(&p);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p = make(problems[0]);
    struct ck_loss_shape shape = shape_of(&p);
    struct ck_loss *l = NULL;
    int64_t live = ck_mem_stats().live;
    int rc = COKE_ENOMEM;
    for (int64_t nth = 1; rc; nth++) {
        ck_mem_fail_at(nth);
        rc = ck_loss_new(&l, &shape, &p.o);
        ck_mem_fail_at(0);
        if (rc) {
            assert_int_equal(rc, COKE_ENOMEM);
            assert_null(l);
            assert_int_equal(ck_mem_stats().live, live);
        }
    }
    ck_loss_free(l);
    ck_loss_free(NULL);
    destroy(&p);
}

/* ---- invalid input ---- */

static void refuse_setup(struct ck_loss_options o, struct ck_loss_shape s, const char *words)
{
    struct ck_loss *l;
    assert_fails(ck_loss_new(&l, &s, &o), COKE_EUSAGE, words);
    assert_null(l);
}

static void impossible_options_are_refused_in_words(void **state)
{
    (void)state;
    const int64_t k[2] = {5, 0};
    const struct ck_loss_shape s = {
        .views = 1, .large = 1, .max_n = 4, .dim = 3, .heads = 1, .k = k};
    const double bad[] = {0, -1, (double)NAN, 1e-50};
    for (int i = 0; i < 4; i++) {
        struct ck_loss_options o = ck_loss_options_default();
        o.temperature = bad[i];
        refuse_setup(o, s, "temperature: ");
    }
    struct ck_loss_options o = ck_loss_options_default(), good = o;
    o.alpha = 1.5;
    refuse_setup(o, s, "alpha: 1.5 is not within 0..1");
    o = good;
    o.beta = -0.1;
    refuse_setup(o, s, "beta: -0.1 is not within 0..1");
    o = good;
    o.large_weight = (double)NAN;
    refuse_setup(o, s, "large_weight: ");
    struct ck_loss_shape t = s;
    t.views = 0;
    refuse_setup(good, t, "invalid loss: 0 views");
    t = s;
    t.large = 2;
    refuse_setup(good, t, "invalid loss: 2 large views of 1");
    t = s;
    t.heads = 2;
    refuse_setup(good, t, "head 1: invalid number of centers: 0");
}

static void refuse_input(struct problem *p, int status, const char *words)
{
    struct ck_loss_shape shape = shape_of(p);
    struct ck_loss_input in = input_of(p);
    struct answer a = new_answer(p);
    struct ck_loss *l;
    assert_ok(ck_loss_new(&l, &shape, &p->o));
    assert_fails(step(l, &in, &a), status, words);
    ck_loss_free(l);
    free_answer(&a);
}

static void bad_labels_are_named(void **state)
{
    (void)state;
    struct problem p = make(problems[0]);
    p.targets[1].label[3] = 4;
    refuse_input(&p, COKE_EUSAGE, "head 1, image 3: label 4 is not within 0..3");
    p.targets[1].label[3] = -1;
    refuse_input(&p, COKE_EUSAGE, "head 1, image 3: label -1");
    p.targets[1].label[3] = 0;
    p.targets[0].n = 4;
    refuse_input(&p, COKE_EUSAGE, "head 0: targets of 4 images with 1 slots for a batch of 5");
    destroy(&p);
    p = make(problems[4]);
    p.targets[1].label[2 * SLOTS + 1] = 99;
    refuse_input(&p, COKE_EUSAGE, "head 1, image 2: label 99");
    p.targets[1].label[2 * SLOTS + 1] = 0;
    p.targets[1].weight[2 * SLOTS] = 0.4f;
    refuse_input(&p, COKE_EUSAGE, "head 1, image 2: the weights sum to 0.9, not to 1");
    p.targets[1].weight[2 * SLOTS] = -0.5f;
    refuse_input(&p, COKE_EUSAGE, "head 1, image 2: invalid weight -0.5");
    p.targets[1].weight[2 * SLOTS] = NAN;
    refuse_input(&p, COKE_EUSAGE, "head 1, image 2: invalid weight ");
    destroy(&p);
}

static void what_is_not_finite_is_named(void **state)
{
    (void)state;
    struct problem p = make(problems[6]); /* two views, 8 dimensions, 5 images */
    float *at = p.x[0] + (1 * 5 + 2) * 8 + 3, was = *at;
    *at = NAN;
    refuse_input(&p, COKE_ENUMERIC, "proj of view 1, image 2 is not finite");
    *at = was;
    at = p.x[1] + 4 * 8;
    was = *at;
    *at = INFINITY;
    refuse_input(&p, COKE_ENUMERIC, "pred of view 0, image 4 is not finite");
    *at = was;
    p.centers[1][11 * 8 + 7] = -INFINITY;
    refuse_input(&p, COKE_ENUMERIC, "head 1: center 11 is not finite");
    destroy(&p);
}

static void overflow_of_vectors_that_are_no_unit_vectors_is_noticed(void **state)
{
    (void)state;
    struct problem p = make(problems[0]);
    p.x[1][0] = p.x[1][1] = 3e38f;
    p.centers[0][0] = p.centers[0][1] = 3e38f;
    refuse_input(&p, COKE_ENUMERIC, "head 0: the loss is not finite");
    destroy(&p);
}

static void batches_of_another_size_are_refused(void **state)
{
    (void)state;
    struct problem p = make(problems[0]);
    struct ck_loss_shape shape = shape_of(&p);
    struct ck_loss_input in = input_of(&p);
    struct answer a = new_answer(&p);
    struct ck_loss *l;
    shape.max_n = 4;
    assert_ok(ck_loss_new(&l, &shape, &p.o));
    assert_fails(step(l, &in, &a), COKE_EUSAGE, "batch of 5 images is not within 1..4");
    in.n = 0;
    assert_fails(step(l, &in, &a), COKE_EUSAGE, "batch of 0 images");
    ck_loss_free(l);
    free_answer(&a);
    destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_has_the_defined_value_and_gradient),
        cmocka_unit_test(sizes_around_the_chunks_are_right),
        cmocka_unit_test(running_maximum_may_rise_at_any_chunk),
        cmocka_unit_test(hopeless_labels_have_a_finite_loss),
        cmocka_unit_test(without_gradients_the_loss_is_the_same),
        cmocka_unit_test(a_smaller_batch_may_follow_a_larger_one),
        cmocka_unit_test(accuracy_counts_the_nearest_centers),
        cmocka_unit_test(accuracy_asks_for_the_label_of_most_weight),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(more_threads_than_at_first_are_refused),
        cmocka_unit_test(hundred_thousand_centers_need_little_memory),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(impossible_options_are_refused_in_words),
        cmocka_unit_test(bad_labels_are_named),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(overflow_of_vectors_that_are_no_unit_vectors_is_noticed),
        cmocka_unit_test(batches_of_another_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
