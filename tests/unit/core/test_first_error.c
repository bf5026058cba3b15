/* test_first_error.c - one error of a team, with its own sentence. */
#include "support.h"
#include "core/first_error.h"
#include "core/workers.h"

static void nothing_is_raised_without_a_failure(void **state)
{
    (void)state;
    struct ck_first_error e = {0};
    ck_fail(COKE_EIO, "an older sentence");
    ck_first_error_keep(&e, COKE_OK);
    assert_ok(ck_first_error_raise(&e));
    assert_string_equal(coke_last_error(), "an older sentence");
}

static void the_first_of_several_is_kept(void **state)
{
    (void)state;
    struct ck_first_error e = {0};
    ck_first_error_keep(&e, ck_fail(COKE_EFORMAT, "chunk %d is bad", 3));
    ck_first_error_keep(&e, ck_fail(COKE_EIO, "disk full"));
    assert_fails(ck_first_error_raise(&e), COKE_EFORMAT, "chunk 3 is bad");
    assert_string_equal(coke_last_error(), "chunk 3 is bad");
}

static void fail_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    ck_first_error_keep(arg, ck_fail(-1 - (int)chunk % 7, "chunk %d", (int)chunk));
}

/* Whoever is first: status and sentence are of the same thread. */
static void a_team_keeps_one_error_whole(void **state)
{
    (void)state;
    assert_ok(coke_set_threads(4));
    for (int round = 0; round < 50; round++) {
        struct ck_first_error e = {0};
        int chunk = -1;
        ck_parallel(64, fail_chunk, &e);
        int rc = ck_first_error_raise(&e);
        assert_int_equal(sscanf(coke_last_error(), "chunk %d", &chunk), 1);
        assert_int_equal(rc, -1 - chunk % 7);
    }
    assert_ok(coke_set_threads(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_raised_without_a_failure),
        cmocka_unit_test(the_first_of_several_is_kept),
        cmocka_unit_test(a_team_keeps_one_error_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
