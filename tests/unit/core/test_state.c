/* test_state.c - named tensors and text. */
#include "support.h"
#include "core/mem.h"
#include "core/state.h"

static void tensors_are_found_by_name_and_checked(void **state)
{
    (void)state;
    struct ck_state s = {0};
    float x[6] = {1, 2, 3, 4, 5, 6}, out[6];
    int64_t shape[2] = {2, 3}, other[2] = {3, 2};
    for (int i = 0; i < 40; i++) { /* more than one growth */
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        assert_ok(ck_state_add(&s, name, CK_F32, 2, shape, x));
    }
    assert_int_equal(s.ntensors, 40);
    assert_int_equal(ck_tensor_elements(ck_state_find(&s, "t39")), 6);
    assert_null(ck_state_find(&s, "t40"));
    assert_ok(ck_state_copy(&s, "t7", CK_F32, 2, shape, out));
    assert_memory_equal(x, out, sizeof x);
    assert_fails(ck_state_copy(&s, "t40", CK_F32, 2, shape, out), COKE_EFORMAT,
                 "'t40' is missing");
    assert_fails(ck_state_copy(&s, "t7", CK_I32, 2, shape, out), COKE_EFORMAT, "F32, not I32");
    assert_fails(ck_state_copy(&s, "t7", CK_F32, 1, shape, out), COKE_EFORMAT,
                 "2 dimensions, not 1");
    assert_fails(ck_state_copy(&s, "t7", CK_F32, 2, other, out), COKE_EFORMAT,
                 "dimension 0 is 2, not 3");
    void *own;
    assert_ok(ck_state_copy_new(&s, "t7", CK_F32, 2, shape, &own));
    assert_memory_equal(x, own, sizeof x);
    ck_free(own);
    ck_mem_reset_peak();
    int64_t peak = ck_mem_stats().peak_bytes, many[2] = {1 << 24, 65536};
    assert_fails(ck_state_copy_new(&s, "t7", CK_F32, 2, many, &own), COKE_EFORMAT,
                 "dimension 0 is 2, not 16777216");
    assert_null(own);
    assert_int_equal(ck_mem_stats().peak_bytes, peak);
    ck_state_release(&s);
    assert_int_equal(s.ntensors, 0);
}

static void numbers_in_metadata_are_exact(void **state)
{
    (void)state;
    struct ck_state s = {0};
    const double x[] = {0.1, 1.0 / 3, 1e-300, 9007199254740992.0, -0.0};
    for (int i = 0; i < 5; i++) {
        char key[16];
        double back;
        snprintf(key, sizeof key, "n%d", i);
        assert_ok(ck_state_add_meta_number(&s, key, x[i]));
        assert_ok(ck_state_meta_number(&s, key, &back));
        assert_memory_equal(&back, &x[i], sizeof back);
    }
    double back;
    assert_ok(ck_state_add_meta(&s, "word", "12a"));
    assert_fails(ck_state_meta_number(&s, "word", &back), COKE_EFORMAT, "'12a', not a number");
    assert_fails(ck_state_meta_number(&s, "none", &back), COKE_EFORMAT, "'none' is missing");
    assert_null(ck_state_meta(&s, "none"));
    assert_string_equal(ck_state_meta(&s, "word"), "12a");
    ck_state_release(&s);
}

static void failed_allocations_leave_the_state_whole(void **state)
{
    (void)state;
    int64_t live = ck_mem_stats().live, shape[1] = {1};
    float x = 1;
    for (int i = 1; i <= 12; i++) {
        struct ck_state s = {0};
        ck_mem_fail_at(i);
        int bad = 0;
        for (int j = 0; j < 3; j++) {
            bad |= ck_state_add(&s, "a", CK_F32, 1, shape, &x);
            bad |= ck_state_add_meta(&s, "k", "v");
        }
        ck_mem_fail_at(0);
        assert_true(bad == (i <= 11 ? COKE_ENOMEM : 0));
        ck_state_release(&s);
        assert_int_equal(ck_mem_stats().live, live);
    }
}

static void dtypes_have_sizes_and_names(void **state)
{
    (void)state;
    assert_int_equal(ck_dtype_size(CK_F64), 8);
    assert_int_equal(ck_dtype_size(CK_BF16), 2);
    assert_int_equal(ck_dtype_size(CK_BOOL), 1);
    assert_string_equal(ck_dtype_name(CK_U16), "U16");
    for (int t = 0; t < CK_DTYPES; t++)
        assert_true(ck_dtype_size((enum ck_dtype)t) > 0 && ck_dtype_name((enum ck_dtype)t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_found_by_name_and_checked),
        cmocka_unit_test(numbers_in_metadata_are_exact),
        cmocka_unit_test(failed_allocations_leave_the_state_whole),
        cmocka_unit_test(dtypes_have_sizes_and_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
