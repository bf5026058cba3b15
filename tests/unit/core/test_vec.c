/* test_vec.c - growable arrays. */
#include "support.h"
#include "core/mem.h"
#include "core/vec.h"

static void items_survive_growing(void **state)
{
    (void)state;
    double *v = NULL;
    int64_t n = 0, room = 0, calls = ck_mem_stats().calls;
    for (; n < 100000; n++) {
        assert_ok(CK_VEC_RESERVE(v, room, n + 1));
        assert_true(room > n);
        v[n] = (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        assert_true(v[i] == (double)i);
    assert_true(ck_mem_stats().calls - calls < 12); /* 512 items first, then doubled */
    ck_free(v);
}

static void a_large_need_is_met_at_once(void **state)
{
    (void)state;
    char(*big)[10000] = NULL;
    int64_t room = 0;
    assert_ok(CK_VEC_RESERVE(big, room, 1)); /* an item larger than the first room */
    assert_int_equal(room, 1);
    assert_ok(CK_VEC_RESERVE(big, room, 7));
    assert_int_equal(room, 7);
    assert_ok(CK_VEC_RESERVE(big, room, 8));
    assert_int_equal(room, 14);
    assert_ok(CK_VEC_RESERVE(big, room, 0));
    assert_int_equal(room, 14);
    ck_free(big);
}

static void a_failure_leaves_the_array(void **state)
{
    (void)state;
    int *v = NULL;
    int64_t room = 0;
    assert_ok(CK_VEC_RESERVE(v, room, 1));
    int64_t before = room;
    v[0] = 7;
    ck_mem_fail_at(1);
    assert_fails(CK_VEC_RESERVE(v, room, before + 1), COKE_ENOMEM, "out of memory");
    assert_int_equal(room, before);
    assert_int_equal(v[0], 7);
    ck_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_survive_growing),
        cmocka_unit_test(a_large_need_is_met_at_once),
        cmocka_unit_test(a_failure_leaves_the_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
