/* test_ids.c - image ids: stable, distinct, and compared with those of another time. */
#include "unit/data/data_test.h"
#include "data/dataset_kinds.h"

static void ids_follow_names_not_positions(void **state)
{
    (void)state;
    put("s/cat/b.jpg", "b");
    put("s/dog/c.jpg", "c");
    struct ck_dataset *before = open_set("s");
    put("s/cat/a.jpg", "a");
    put("s/ant/z.jpg", "z");
    unlink("s/dog/c.jpg");
    put("s/dog/d.jpg", "d");
    struct ck_dataset *after = open_set("s");
    struct ck_dataset_change change;
    int64_t then[4];
    assert_ok(ck_dataset_compare(after, before->id, before->n, &change, then));
    assert_int_equal(change.added, 3);
    assert_int_equal(change.removed, 1);
    assert_int_equal(change.moved, 1);
    assert_int_equal(then[0], -1); /* ant/z */
    assert_int_equal(then[1], -1); /* cat/a */
    assert_int_equal(then[2], 0);  /* cat/b */
    assert_int_equal(then[3], -1); /* dog/d */
    assert_ok(ck_dataset_compare(after, after->id, after->n, &change, NULL));
    assert_true(!change.added && !change.removed && !change.moved);
    assert_ok(ck_dataset_compare(after, NULL, 0, &change, then));
    assert_int_equal(change.added, 4);
    ck_dataset_free(before);
    ck_dataset_free(after);
}

static void folder_has_the_same_ids_wherever_it_is(void **state)
{
    (void)state;
    put("one/cat/b.jpg", "b");
    put("two/deep/cat/b.jpg", "b");
    struct ck_dataset *a = open_set("one"), *b = open_set("two/deep/");
    assert_true(a->id[0] == b->id[0]);
    assert_true(ck_dataset_fingerprint(a) == ck_dataset_fingerprint(b));
    ck_dataset_free(a);
    ck_dataset_free(b);
}

static void fingerprint_sees_labels_and_order(void **state)
{
    static const char *const text[] = {"a\t0\nb\t1\n", "a\t1\nb\t0\n", "b\t1\na\t0\n",
                                       "a\nb\n"};
    uint64_t print[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        put("f.txt", text[i]);
        struct ck_dataset *d = open_set("f.txt");
        print[i] = ck_dataset_fingerprint(d);
        ck_dataset_free(d);
        for (int j = 0; j < i; j++)
            assert_true(print[i] != print[j]);
    }
}

static void equal_names_get_different_ids(void **state)
{
    (void)state;
    put("twice.txt", "a.jpg\nb.jpg\na.jpg\na.jpg\n");
    struct ck_dataset *d = open_set("twice.txt");
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_true(d->id[i] != d->id[j]);
    put("once.txt", "a.jpg\n");
    struct ck_dataset *once = open_set("once.txt");
    assert_true(once->id[0] == d->id[0]);
    ck_dataset_free(once);
    ck_dataset_free(d);
}

/* A million equal names must not take a million squared steps. */
static void many_equal_names_take_no_longer(void **state)
{
    enum { N = 1000000 };
    (void)state;
    uint64_t *id = calloc(N, sizeof *id), *second = calloc(N, sizeof *second);
    assert_ok(ck_ids_distinct(id, N, NULL));
    assert_true(id[1] != id[2] && id[N - 1] != id[N - 2]);
    memset(id, 0, N * sizeof *id);
    for (int i = 0; i < N; i++)
        second[i] = (uint64_t)i % 1000 + 1;
    assert_ok(ck_ids_distinct(id, N, second));
    assert_true(id[0] == 0 && id[1] == 2 && id[N - 1] != id[N - 1001]);
    free(id);
    free(second);
}

static struct ck_dataset *job;

static int compare(void)
{
    struct ck_dataset_change change;
    return ck_dataset_compare(job, job->id, job->n, &change, NULL);
}

static void every_allocation_failing_is_an_error(void **state)
{
    (void)state;
    put("job.txt", "a.jpg\nb.jpg\n");
    job = open_set("job.txt");
    every_allocation_may_fail(compare);
    ck_dataset_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_follow_names_not_positions),
        cmocka_unit_test(folder_has_the_same_ids_wherever_it_is),
        cmocka_unit_test(fingerprint_sees_labels_and_order),
        cmocka_unit_test(equal_names_get_different_ids),
        cmocka_unit_test(many_equal_names_take_no_longer),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("ids", tests, enter, leave_folder);
}
