/* test_labels.c - label store of 16 and 32 bits; slots of the second stage. */
#include "support.h"
#include "cluster/labels.h"
#include "core/mem.h"

static void labels_take_16_bits_where_k_allows(void **state)
{
    (void)state;
    const int64_t ks[] = {1, 2, 65534, 65535, 65536, 70000};
    for (int i = 0; i < 6; i++) {
        struct ck_labels l;
        int64_t before = ck_mem_stats().live_bytes;
        assert_ok(ck_labels_init(&l, 100, ks[i]));
        assert_int_equal(ck_mem_stats().live_bytes - before, ks[i] < 65535 ? 200 : 400);
        for (int64_t j = 0; j < 100; j++)
            assert_int_equal(ck_labels_get(&l, j), -1);
        ck_labels_set(&l, 7, (int32_t)ks[i] - 1);
        ck_labels_set(&l, 8, 0);
        assert_int_equal(ck_labels_get(&l, 7), ks[i] - 1);
        assert_int_equal(ck_labels_get(&l, 8), 0);
        ck_labels_set(&l, 7, -1);
        assert_int_equal(ck_labels_get(&l, 7), -1);
        ck_labels_release(&l);
    }
}

static void assert_row(const struct ck_slots *s, const int32_t *label, const double *weight)
{
    for (int j = 0; j < s->slots; j++) {
        assert_int_equal(s->label[j], label[j]);
        assert_close((double)s->weight[j], weight[j], 1e-6);
    }
}

static void slots_follow_the_rule_by_hand(void **state)
{
    (void)state;
    struct ck_slots s;
    assert_ok(ck_slots_init(&s, 1, 2));
    assert_row(&s, (int32_t[]){-1, -1}, (double[]){0, 0});
    ck_slots_update(&s, 0, 5, 1); /* the stage's first epoch */
    assert_row(&s, (int32_t[]){5, -1}, (double[]){1, 0});
    ck_slots_update(&s, 0, 3, 0.5); /* a free slot goes first */
    assert_row(&s, (int32_t[]){5, 3}, (double[]){0.5, 0.5});
    ck_slots_update(&s, 0, 5, 1.0 / 3); /* a label that has a slot */
    assert_row(&s, (int32_t[]){5, 3}, (double[]){0.5 * 2 / 3 + 1.0 / 3, 1.0 / 3});
    ck_slots_update(&s, 0, 9, 0.25); /* the least is evicted, the rest rescaled */
    assert_row(&s, (int32_t[]){5, 9}, (double[]){0.75, 0.25});
    ck_slots_release(&s);
}

static void ties_evict_the_lowest_slot(void **state)
{
    (void)state;
    struct ck_slots s;
    assert_ok(ck_slots_init(&s, 1, 2));
    ck_slots_update(&s, 0, 5, 1);
    ck_slots_update(&s, 0, 3, 0.5);
    ck_slots_update(&s, 0, 7, 1.0 / 3);
    assert_row(&s, (int32_t[]){7, 3}, (double[]){1.0 / 3, 2.0 / 3});
    ck_slots_release(&s);
}

/* Both weights are .5 in exact arithmetic before the last label comes. What is evicted then was
 * recorded from PyTorch 1.13; other orders of rounding evict the other slot. */
static void ties_by_rounding_evict_as_pytorch_does(void **state)
{
    static const struct {
        int n;
        int32_t label[9], left[2];
    } row[] = {
        {5, {0, 1, 1, 0, 2}, {2, 1}},       {5, {0, 1, 2, 2, 3}, {3, 1}},
        {7, {0, 1, 1, 0, 1, 0, 2}, {2, 1}}, {7, {0, 0, 1, 2, 2, 2, 3}, {0, 3}},
        {7, {0, 1, 0, 2, 2, 2, 3}, {0, 3}}, {9, {0, 1, 0, 0, 0, 1, 1, 1, 2}, {2, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct ck_slots s;
        assert_ok(ck_slots_init(&s, 1, 2));
        for (int e = 0; e < row[i].n; e++) {
            if (e == row[i].n - 1)
                assert_close((double)s.weight[0], 0.5, 2e-7);
            ck_slots_update(&s, 0, row[i].label[e], 1.0 / (e + 1));
        }
        assert_memory_equal(s.label, row[i].left, sizeof row[i].left);
        ck_slots_release(&s);
    }
}

static void weights_sum_to_one_and_labels_are_distinct(void **state)
{
    (void)state;
    for (int slots = 2; slots <= 6; slots++) {
        struct ck_slots s;
        float target[12];
        assert_ok(ck_slots_init(&s, 40, slots));
        for (int e = 0; e < 30; e++)
            for (int64_t i = 0; i < 40; i++) {
                double u = test_unit((uint64_t)i, (uint64_t)e), sum = 0, mass = 0;
                ck_slots_update(&s, i, (int32_t)(u * 12), 1.0 / (e + 1));
                for (int j = 0; j < slots; j++) {
                    sum += (double)s.weight[i * slots + j];
                    for (int m = 0; m < j; m++)
                        assert_true(s.label[i * slots + j] < 0 ||
                                    s.label[i * slots + j] != s.label[i * slots + m]);
                }
                assert_close(sum, 1, 1e-5);
                ck_slots_target(&s, i, 0.5f, target, 12);
                for (int k = 0; k < 12; k++)
                    mass += (double)target[k];
                assert_close(mass, 1, 1e-5);
            }
        ck_slots_release(&s);
    }
}

static void one_slot_keeps_hard_labels(void **state)
{
    (void)state;
    struct ck_slots s;
    float target[4];
    assert_ok(ck_slots_init(&s, 1, 1));
    for (int e = 0; e < 10; e++) {
        int32_t label = e * 7 % 4;
        ck_slots_update(&s, 0, label, 1.0 / (e + 1));
        ck_slots_target(&s, 0, 0.5f, target, 4);
        for (int k = 0; k < 4; k++)
            assert_true(target[k] == (float)(k == label));
    }
    ck_slots_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_take_16_bits_where_k_allows),
        cmocka_unit_test(slots_follow_the_rule_by_hand),
        cmocka_unit_test(ties_evict_the_lowest_slot),
        cmocka_unit_test(ties_by_rounding_evict_as_pytorch_does),
        cmocka_unit_test(weights_sum_to_one_and_labels_are_distinct),
        cmocka_unit_test(one_slot_keeps_hard_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
