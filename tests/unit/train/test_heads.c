/* test_heads.c - the heads of a training: targets, sums of an epoch, and what a checkpoint keeps
 * of them. */
#include "support.h"
#include "core/mem.h"
#include "io/safetensors.h"
#include "train/heads.h"

enum { IMAGES = 40, DIM = 8, BATCH = 8 };

static struct ck_train_options options(void)
{
    struct ck_train_options o = test_training();
    o.loader.batch = BATCH;
    o.encoder.dim = DIM;
    o.keep_best = 1;
    return o;
}

static void step(struct ck_heads *h, const float *x, int64_t at, int current)
{
    int64_t ids[BATCH];
    for (int64_t i = 0; i < BATCH; i++)
        ids[i] = at + i;
    assert_ok(ck_heads_update(h, x + at * DIM, ids, BATCH, current, NULL));
}

static void last_labels_are_the_targets_of_the_next_epoch(void **state)
{
    (void)state;
    struct ck_train_options o = options();
    struct ck_heads h;
    float *x = test_vectors(IMAGES, DIM, 4, 0.5, 3);
    int64_t ids[BATCH] = {5, 0, 39, 7, 8, 9, 10, 11};
    assert_ok(ck_heads_init(&h, &o, IMAGES));
    for (int64_t at = 0; at < IMAGES; at += BATCH) {
        step(&h, x, at, 1);
        assert_ptr_equal(h.target[1].label, h.label + BATCH); /* this step's own */
        assert_int_equal(h.target[1].first, 0);
    }
    assert_ok(ck_heads_epoch_end(&h));
    ck_heads_read(&h, ids, BATCH, 16, 0);
    for (int i = 0; i < h.n; i++) {
        assert_int_equal(h.target[i].n, BATCH);
        assert_int_equal(h.target[i].slots, 1);
        assert_int_equal(h.target[i].first, 16);
        assert_null(h.target[i].weight);
        for (int j = 0; j < BATCH; j++)
            assert_int_equal(h.target[i].label[j], ck_kmeans_label(h.head[i], ids[j]));
    }
    ck_heads_release(&h);
    free(x);
}

static void health_tells_sizes_changes_and_twins(void **state)
{
    (void)state;
    struct ck_train_options o = options();
    struct ck_heads h;
    struct ck_head_health health;
    float *x = test_vectors(IMAGES, DIM, 4, 0.5, 3);
    assert_ok(ck_heads_init(&h, &o, IMAGES));
    for (int64_t at = 0; at < IMAGES; at += BATCH)
        step(&h, x, at, 1);
    assert_ok(ck_heads_health(&h, 0, &health));
    assert_int_equal(health.k, 3);
    assert_true(health.size_min + health.size_median + health.size_max == IMAGES);
    assert_true(health.changed == 1); /* none had a label */
    assert_true(health.entropy > 0 && health.entropy <= 1 + 1e-12);
    assert_int_equal(health.duplicates, 0);
    assert_int_equal(health.bound, 5); /* floor(.4 * 40 / 3) */
    ck_heads_release(&h);
    free(x);
}

static void loaded_heads_go_on_like_those_that_were_saved(void **state)
{
    (void)state;
    struct ck_train_options o = options();
    struct ck_heads a, b;
    struct ck_state s = {0};
    float *x = test_vectors(IMAGES, DIM, 4, 0.5, 3);
    assert_ok(ck_heads_init(&a, &o, IMAGES));
    assert_ok(ck_heads_init(&b, &o, IMAGES));
    for (int64_t at = 0; at < IMAGES; at += BATCH)
        step(&a, x, at, 1);
    assert_ok(ck_heads_epoch_end(&a));
    step(&a, x, 0, 0);
    a.sums[0].loss = 1.0 / 3, a.sums[1].accuracy = 7;
    assert_ok(ck_heads_save(&a, &s));
    assert_null(ck_state_find(&s, "head0.epoch_sums"));
    assert_ok(ck_heads_load(&b, &s));
    for (int i = 0; i < a.n; i++) {
        assert_memory_equal(&a.sums[i], &b.sums[i], sizeof a.sums[i]);
        assert_memory_equal(a.kept[i], b.kept[i], IMAGES * sizeof(int32_t));
    }
    ck_state_release(&s);
    for (int64_t at = BATCH; at < IMAGES; at += BATCH) {
        step(&a, x, at, 0);
        step(&b, x, at, 0);
    }
    assert_ok(ck_heads_epoch_end(&a));
    assert_ok(ck_heads_epoch_end(&b));
    for (int i = 0; i < a.n; i++)
        assert_true(ck_kmeans_hash(a.head[i], 0) == ck_kmeans_hash(b.head[i], 0));
    ck_heads_release(&a);
    ck_heads_release(&b);
    free(x);
}

static void heads_without_memory_leave_nothing_behind(void **state)
{
    (void)state;
    struct ck_train_options o = options();
    struct ck_heads a, b;
    struct ck_state s = {0};
    assert_ok(ck_heads_init(&a, &o, IMAGES));
    assert_ok(ck_heads_init(&b, &o, IMAGES));
    assert_ok(ck_heads_save(&a, &s));
    int64_t live = ck_mem_stats().live;
    int rc = COKE_ENOMEM;
    for (int nth = 1; rc; nth++) {
        ck_mem_fail_at(nth);
        rc = ck_heads_load(&b, &s);
        ck_mem_fail_at(0);
        assert_true(rc == COKE_OK || rc == COKE_ENOMEM);
        if (rc)
            assert_int_equal(ck_mem_stats().live, live);
    }
    ck_state_release(&s);
    ck_heads_release(&a);
    ck_heads_release(&b);
}

/* Saved in the middle of epoch 3, before the sums of an epoch had names. */
static void an_old_checkpoint_still_loads(void **state)
{
    (void)state;
    char path[512];
    struct ck_train_options o = options();
    struct ck_heads h;
    struct ck_state s = {0};
    snprintf(path, sizeof path, "%s/tests/golden/old/checkpoint.safetensors",
             getenv("COKE_SOURCE"));
    assert_ok(ck_safetensors_read(path, &s));
    o.k = (struct ck_ints){2, {2, 3}};
    o.encoder.dim = 4;
    o.kmeans.stage = 2, o.kmeans.slots = 2;
    assert_ok(ck_heads_init(&h, &o, 26));
    assert_ok(ck_heads_load(&h, &s));
    assert_true(h.sums[0].fit == 7.901002350329836 && h.sums[1].fit == 10.752262691595813);
    assert_true(h.sums[0].old_fit == -0.35279946346553603);
    assert_true(h.sums[0].loss == 56.76952294551727 && h.sums[1].accuracy == 2);
    assert_int_equal(h.sums[0].changed, 8);
    assert_int_equal(h.sums[1].changed, 11);
    assert_int_equal(h.sums[0].seen, 12);
    assert_int_equal(ck_kmeans_epoch(h.head[0]), 3);
    int64_t ids[BATCH] = {0, 1, 2, 3, 22, 23, 24, 25};
    ck_heads_read(&h, ids, BATCH, 0, 0);
    assert_int_equal(h.target[1].slots, 2); /* beyond the first epoch of the second stage */
    for (int i = 0; i < BATCH; i++)
        assert_close((double)(h.target[1].weight[2 * i] + h.target[1].weight[2 * i + 1]), 1,
                     1e-6);
    ck_state_release(&s);
    ck_heads_release(&h);
}

/* After each round the centers of the loss are those that the images since then have. */
static void rounds_renew_the_centers_of_the_loss(void **state)
{
    (void)state;
    struct ck_train_options o = options();
    struct ck_heads h;
    struct ck_head_health health;
    float before[6 * DIM], *x = test_vectors(IMAGES, DIM, 4, 0.5, 3);
    o.keep_best = 0;
    o.round = 2 * BATCH;
    assert_ok(ck_heads_init(&h, &o, IMAGES));
    int64_t k = ck_kmeans_k(h.head[1]);
    assert_true(k * DIM <= 6 * DIM);
    for (int64_t at = 0; at < IMAGES; at += BATCH) {
        memcpy(before, h.center[1], (size_t)(k * DIM) * sizeof *before);
        step(&h, x, at, 1);
        int same = memcmp(before, h.center[1], (size_t)(k * DIM) * sizeof *before) == 0;
        assert_int_equal(same, (at + BATCH) % o.round != 0);
    }
    assert_ok(ck_heads_health(&h, 0, &health));
    assert_true(health.size_min + health.size_median + health.size_max == IMAGES);
    assert_int_equal(ck_kmeans_epoch(h.head[0]), 0);
    ck_heads_release(&h);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_labels_are_the_targets_of_the_next_epoch),
        cmocka_unit_test(health_tells_sizes_changes_and_twins),
        cmocka_unit_test(loaded_heads_go_on_like_those_that_were_saved),
        cmocka_unit_test(heads_without_memory_leave_nothing_behind),
        cmocka_unit_test(an_old_checkpoint_still_loads),
        cmocka_unit_test(rounds_renew_the_centers_of_the_loss),
    };
    coke_set_threads(1);
    return cmocka_run_group_tests_name("heads", tests, NULL, NULL);
}
