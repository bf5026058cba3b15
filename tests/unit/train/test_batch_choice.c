/* test_batch_choice.c - batch and accumulate from images and memory. */
#include "support.h"
#include "train/batch_choice.h"

enum { IMAGE_BYTES = 1000000 };

/* A part's images take a megabyte each, a batch's a tenth of that in the loader. */
static int measure(void *arg, const struct ck_train_options *o, int64_t *bytes)
{
    int *calls = arg;
    ++*calls;
    *bytes = o->loader.batch / o->accumulate * IMAGE_BYTES + o->loader.batch * IMAGE_BYTES / 10;
    return COKE_OK;
}

struct outcome {
    int rc;
    int64_t batch, accumulate, bytes;
};

static struct outcome choose(struct ck_train_options o, int64_t images, int64_t memory,
                             int processes)
{
    int calls = 0;
    struct ck_batch_facts f = {
        images, processes, {memory, 2 * memory, "test"}, measure, &calls};
    struct outcome r = {0};
    r.rc = ck_batch_choose(&o, &f, &r.bytes);
    r.batch = o.loader.batch;
    r.accumulate = o.accumulate;
    assert_true(calls <= 32);
    return r;
}

static void few_images_make_small_batches(void **state)
{
    (void)state;
    static const int64_t expected[][2] = {{3, 3},      {16, 16},    {20, 16},
                                          {200, 16},   {300, 32},   {1000, 64},
                                          {2047, 128}, {2048, 256}, {50000, 256}};
    struct ck_train_options o = ck_train_options_default();
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct outcome r = choose(o, expected[i][0], INT64_C(1) << 40, 1);
        assert_int_equal(r.rc, COKE_OK);
        assert_int_equal(r.batch, expected[i][1]);
        assert_int_equal(r.accumulate, 1);
    }
    assert_int_equal(choose(o, 100, INT64_C(1) << 40, 32).batch, 64); /* two per process */
}

static void little_memory_makes_parts_then_smaller_batches(void **state)
{
    (void)state;
    struct ck_train_options o = ck_train_options_default();
    struct outcome r = choose(o, 50000, 200 * IMAGE_BYTES, 1); /* usable: 160 images */
    assert_int_equal(r.rc, COKE_OK);
    assert_int_equal(r.batch, 256);
    assert_int_equal(r.accumulate, 2);
    assert_true(r.bytes <= 160 * INT64_C(1000000));
    r = choose(o, 50000, 40 * IMAGE_BYTES, 1);
    assert_int_equal(r.rc, COKE_OK);
    assert_int_equal(r.batch, 128);
    assert_int_equal(r.accumulate, 8);
    o.labels = CK_COUPLING_CURRENT; /* no parts */
    r = choose(o, 50000, 100 * IMAGE_BYTES, 1);
    assert_int_equal(r.batch, 64);
    assert_int_equal(r.accumulate, 1);
}

static void given_values_stay_or_are_refused_by_name(void **state)
{
    (void)state;
    struct ck_train_options o = ck_train_options_default();
    o.loader.batch = 256;
    struct outcome r = choose(o, 50000, 100 * IMAGE_BYTES, 1);
    assert_int_equal(r.rc, COKE_OK);
    assert_int_equal(r.batch, 256);
    assert_int_equal(r.accumulate, 8);
    assert_fails(choose(o, 50000, 20 * IMAGE_BYTES, 1).rc, COKE_EUSAGE, "batch: 256");
    o.accumulate =
        1; /* both: only what could never fit is refused; the limit is twice as much */
    assert_int_equal(choose(o, 50000, 200 * IMAGE_BYTES, 1).rc, COKE_OK);
    assert_fails(choose(o, 50000, 100 * IMAGE_BYTES, 1).rc, COKE_EUSAGE, "accumulate");
    o.loader.batch = 0;
    r = choose(o, 50000, 200 * IMAGE_BYTES, 1);
    assert_int_equal(r.batch, 128);
    assert_int_equal(r.accumulate, 1);
    o.accumulate = 300;
    assert_fails(choose(o, 50000, INT64_C(1) << 40, 1).rc, COKE_EUSAGE, "accumulate: cannot split a batch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_images_make_small_batches),
        cmocka_unit_test(little_memory_makes_parts_then_smaller_batches),
        cmocka_unit_test(given_values_stay_or_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
