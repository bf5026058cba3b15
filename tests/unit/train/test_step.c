/* test_step.c - one step of a training: what it changes, and what its modes have in common. */
#include "support.h"
#include "train/session.h"

enum { IMAGES = 24, BATCH = 12 };

static struct coke_dataset *data;

static int enter(void **state)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    (void)state;
    assert_ok(coke_set_threads(1));
    return coke_dataset_open(&data, "synthetic:n=24,size=8", AS(dataset, &o));
}

static int leave(void **state)
{
    (void)state;
    coke_dataset_free(data);
    return 0;
}

static struct ck_train_options mode(enum ck_coupling labels, enum ck_coupling centers,
                                    int64_t accumulate)
{
    struct ck_train_options o = test_training();
    o.loader.batch = BATCH;
    o.encoder.width = 0.125;
    o.optimizer.weight_decay = 0;
    o.labels = (int32_t)labels;
    o.centers = (int32_t)centers;
    o.accumulate = accumulate;
    return o;
}

/* The next step of the loader; an epoch of the heads ends with its last one. */
static struct ck_step run(struct ck_session *s)
{
    struct coke_batch b = COKE_INIT(struct coke_batch);
    struct ck_step step;
    assert_ok(coke_loader_next(s->loader, &b));
    assert_ok(ck_session_step(s, &b, &step));
    assert_int_equal(step.images, BATCH);
    if (b.step == s->steps - 1)
        assert_ok(ck_heads_epoch_end(&s->heads));
    return step;
}

/* A session after epoch 0. */
static void begin(struct ck_session *s, const struct ck_train_options *o)
{
    assert_ok(ck_session_init(s, data, o));
    for (int64_t i = 0; i < s->steps; i++)
        run(s);
}

/* All weights, or their gradients, one after the other; the caller frees it. */
static float *copy_weights(const struct ck_session *s, int gradients)
{
    const struct ck_net *net = &s->encoder.net;
    float *all = test_array((size_t)ck_net_size(net), sizeof *all), *at = all;
    for (int i = 0; i < net->nparams; at += net->param[i].size, i++)
        memcpy(at, gradients ? net->param[i].grad : net->param[i].value,
               (size_t)net->param[i].size * sizeof *at);
    return all;
}

static int same_weights(const struct ck_session *s, const float *before)
{
    float *now = copy_weights(s, 0);
    int same = memcmp(now, before, (size_t)ck_net_size(&s->encoder.net) * sizeof *now) == 0;
    free(now);
    return same;
}

static void copy_labels(const struct ck_session *s, int h, int32_t labels[IMAGES])
{
    assert_ok(coke_kmeans_copy(s->heads.head[h], COKE_ARRAY_LABELS, labels, IMAGES));
}

static int same_labels(const struct ck_session *a, const struct ck_session *b)
{
    int32_t x[IMAGES], y[IMAGES];
    int same = 1;
    for (int h = 0; h < a->heads.n; h++) {
        copy_labels(a, h, x);
        copy_labels(b, h, y);
        same &= memcmp(x, y, sizeof x) == 0;
    }
    return same;
}

/* ---- epoch 0 ---- */

static void epoch_0_labels_all_images_and_changes_no_weights(void **state)
{
    (void)state;
    for (int64_t accumulate = 1; accumulate <= 2; accumulate++) {
        struct ck_train_options o = mode(CK_COUPLING_LAST, CK_COUPLING_LAST, accumulate);
        struct ck_session s;
        int32_t labels[IMAGES];
        assert_ok(ck_session_init(&s, data, &o));
        float *before = copy_weights(&s, 0);
        copy_labels(&s, 0, labels);
        for (int i = 0; i < IMAGES; i++)
            assert_int_equal(labels[i], -1);
        struct ck_step step = run(&s);
        assert_true(accumulate == 1 ? step.loss > 0 : step.loss == 0);
        run(&s);
        assert_true(same_weights(&s, before));
        for (int h = 0; h < 2; h++) {
            copy_labels(&s, h, labels);
            for (int i = 0; i < IMAGES; i++)
                assert_in_range(labels[i], 0, o.k.v[h] - 1);
        }
        free(before);
        ck_session_release(&s);
    }
}

static uint64_t hash_of(const struct ck_session *s)
{
    uint64_t hash = 0;
    assert_ok(ck_session_hash(s, &hash));
    return hash;
}

static void epoch_0_is_the_same_in_all_modes(void **state)
{
    (void)state;
    uint64_t first = 0;
    for (int m = 0; m < 4; m++) {
        struct ck_train_options o = mode(m & 1 ? CK_COUPLING_CURRENT : CK_COUPLING_LAST,
                                         m & 2 ? CK_COUPLING_CURRENT : CK_COUPLING_LAST, 1);
        struct ck_session s;
        begin(&s, &o);
        first = m == 0 ? hash_of(&s) : first;
        assert_true(hash_of(&s) == first);
        ck_session_release(&s);
    }
}

/* ---- learning ---- */

static void a_step_changes_weights_and_stores_labels(void **state)
{
    (void)state;
    struct ck_train_options o = mode(CK_COUPLING_LAST, CK_COUPLING_LAST, 1);
    struct ck_session s;
    begin(&s, &o);
    float *before = copy_weights(&s, 0);
    struct coke_batch b = COKE_INIT(struct coke_batch);
    struct ck_step step;
    int32_t labels[IMAGES];
    assert_ok(coke_loader_next(s.loader, &b));
    assert_ok(ck_session_step(&s, &b, &step));
    assert_true(step.loss > 0 && isfinite(step.loss));
    assert_true(step.rate > 0);
    assert_false(same_weights(&s, before));
    copy_labels(&s, 1, labels);
    for (int64_t i = 0; i < b.n; i++)
        assert_int_equal(labels[b.index[i]], s.heads.label[b.n + i]);
    free(before);
    ck_session_release(&s);
}

/* The modes differ in what the loss reads. Features and clusters of the first step come from
 * the weights before it, so they are the same; the weights after it are not. */
static void modes_cluster_alike_and_learn_differently(void **state)
{
    (void)state;
    struct ck_session s[4];
    float *weights[4];
    for (int m = 0; m < 4; m++) {
        struct ck_train_options o = mode(m & 1 ? CK_COUPLING_CURRENT : CK_COUPLING_LAST,
                                         m & 2 ? CK_COUPLING_CURRENT : CK_COUPLING_LAST, 1);
        begin(&s[m], &o);
        run(&s[m]);
        weights[m] = copy_weights(&s[m], 0);
        assert_true(same_labels(&s[m], &s[0]));
        for (int h = 0; h < 2; h++)
            assert_true(ck_kmeans_hash(s[m].heads.head[h], 0) ==
                        ck_kmeans_hash(s[0].heads.head[h], 0));
    }
    for (int m = 1; m < 4; m++)
        for (int other = 0; other < m; other++)
            assert_false(same_weights(&s[m], weights[other]));
    for (int m = 0; m < 4; m++) {
        free(weights[m]);
        ck_session_release(&s[m]);
    }
}

/* ---- accumulation ---- */

/* Gradients of a part of the first batch after epoch 0, run as a batch of its own. */
static float *gradients_of(int64_t accumulate, int64_t from, int64_t n)
{
    struct ck_train_options o = mode(CK_COUPLING_LAST, CK_COUPLING_LAST, 1);
    struct ck_session s;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    struct ck_step step;
    begin(&s, &o);
    s.o.accumulate = accumulate; /* from the same epoch 0 */
    assert_ok(coke_loader_next(s.loader, &b));
    b.index += from;
    b.x[0] += from * b.channels * b.width[0] * b.height[0];
    b.n = n;
    assert_ok(ck_session_step(&s, &b, &step));
    float *g = copy_weights(&s, 1);
    ck_session_release(&s);
    return g;
}

static void accumulated_gradients_are_the_mean_over_the_parts(void **state)
{
    (void)state;
    float *whole = gradients_of(2, 0, BATCH);
    float *a = gradients_of(1, 0, BATCH / 2), *b = gradients_of(1, BATCH / 2, BATCH / 2);
    struct ck_train_options o = mode(CK_COUPLING_LAST, CK_COUPLING_LAST, 1);
    struct ck_session s;
    double largest = 0;
    assert_ok(ck_session_init(&s, data, &o));
    for (int64_t i = 0; i < ck_net_size(&s.encoder.net); i++) {
        double mean = 0.5 * ((double)a[i] + (double)b[i]);
        assert_close((double)whole[i], mean, 1e-6 + 1e-4 * fabs(mean));
        largest = fmax(largest, fabs(mean));
    }
    assert_true(largest > 1e-3);
    ck_session_release(&s);
    free(whole);
    free(a);
    free(b);
}

static void accumulation_is_refused_where_clusters_move_first(void **state)
{
    (void)state;
    for (int m = 1; m < 4; m++) {
        struct ck_train_options o = mode(m & 1 ? CK_COUPLING_CURRENT : CK_COUPLING_LAST,
                                         m & 2 ? CK_COUPLING_CURRENT : CK_COUPLING_LAST, 2);
        struct ck_session s;
        assert_fails(ck_session_init(&s, data, &o), COKE_EUSAGE, "accumulate");
        ck_session_release(&s);
    }
}

/* The definition: copies in epoch 0 and after the first step, then the decay grows to its end. */
static void averaged_weights_follow_the_definition(void **state)
{
    (void)state;
    struct ck_train_options o = mode(CK_COUPLING_LAST, CK_COUPLING_LAST, 1);
    struct ck_session s;
    o.ema = 0.3;
    begin(&s, &o);
    int64_t n = ck_net_size(&s.encoder.net);
    double *want = test_array((size_t)n, sizeof *want);
    for (int t = 0; t < 6; t++) {
        double decay = fmin(0.3, t / (t + 9.0));
        run(&s);
        float *w = copy_weights(&s, 0);
        for (int64_t i = 0; i < n; i++)
            want[i] = (double)(float)(decay * want[i] + (1 - decay) * (double)w[i]);
        free(w);
        int64_t at = 0;
        for (int p = 0; p < s.average.net.nparams; p++)
            for (int64_t i = 0; i < s.average.net.param[p].size; i++, at++)
                assert_close((double)s.average.net.param[p].value[i], want[at], 1e-6);
        assert_int_equal(at, n);
    }
    free(want);
    ck_session_release(&s);
}

/* Plans of one size make room for those of the next. */
static void views_grow_with_the_schedule(void **state)
{
    (void)state;
    struct ck_train_options o = mode(CK_COUPLING_LAST, CK_COUPLING_LAST, 1);
    struct ck_session s;
    o.loader.view.size = 0;
    o.epochs = 4;
    o.warmup = 1;
    o.size_schedule = (struct ck_ints){2, {8, 12}};
    assert_ok(ck_session_init(&s, data, &o));
    for (int64_t i = 0; i < 4 * s.steps; i++) {
        run(&s);
        for (int p = 0; p < CK_PLAN_SETS; p++)
            if (s.plans.set[p].n)
                assert_int_equal(s.plans.set[p].size, i < 2 * s.steps ? 8 : 12);
    }
    ck_session_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epoch_0_labels_all_images_and_changes_no_weights),
        cmocka_unit_test(epoch_0_is_the_same_in_all_modes),
        cmocka_unit_test(a_step_changes_weights_and_stores_labels),
        cmocka_unit_test(modes_cluster_alike_and_learn_differently),
        cmocka_unit_test(accumulated_gradients_are_the_mean_over_the_parts),
        cmocka_unit_test(accumulation_is_refused_where_clusters_move_first),
        cmocka_unit_test(averaged_weights_follow_the_definition),
        cmocka_unit_test(views_grow_with_the_schedule),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
