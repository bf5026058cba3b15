/* test_vecs.c - .fvecs and .bvecs, sound and broken. */
#include "unit/io/io_test.h"
#include "io/vecs.h"

static size_t put_record(unsigned char *out, int32_t d, size_t bytes)
{
    memcpy(out, &d, 4);
    memset(out + 4, 1, bytes);
    return 4 + bytes;
}

static int parse(struct ck_vecs *v, enum ck_dtype t, const unsigned char *data, size_t n)
{
    unsigned char *copy = calloc(n + !n, 1);
    memcpy(copy, data, n);
    int rc = ck_vecs_parse(v, "x.fvecs", t, copy, n);
    free(copy);
    return rc;
}

static void names_tell_the_type(void **state)
{
    (void)state;
    enum ck_dtype t;
    assert_true(ck_vecs_is_name("a/b.fvecs", &t) && t == CK_F32);
    assert_true(ck_vecs_is_name("B.BVECS", &t) && t == CK_U8);
    assert_false(ck_vecs_is_name("a.ivecs", &t));
    assert_false(ck_vecs_is_name("fvecs", &t));
    assert_false(ck_vecs_is_name("", &t));
}

static void sound_files_give_their_shape(void **state)
{
    (void)state;
    unsigned char file[64] = {0};
    struct ck_vecs v;
    size_t n = put_record(file, 3, 12);
    n += put_record(file + n, 3, 12);
    assert_ok(parse(&v, CK_F32, file, n));
    assert_true(v.n == 2 && v.dim == 3 && v.stride == 16);
    n = put_record(file, 5, 5);
    assert_ok(parse(&v, CK_U8, file, n));
    assert_true(v.n == 1 && v.dim == 5 && v.stride == 9);
}

static void broken_files_are_refused_in_words(void **state)
{
    (void)state;
    unsigned char file[64] = {0};
    struct ck_vecs v;
    assert_fails(parse(&v, CK_F32, file, 0), COKE_EFORMAT, "no rows");
    size_t n = put_record(file, 3, 12);
    assert_fails(parse(&v, CK_F32, file, 3), COKE_EFORMAT, "3 bytes are too few");
    assert_fails(parse(&v, CK_F32, file, n - 1), COKE_EFORMAT,
                 "15 bytes are not a multiple of the record, 4 + 3 x 4 = 16 bytes");
    n += put_record(file + n, 2, 12);
    assert_fails(parse(&v, CK_F32, file, n), COKE_EFORMAT, "row 1 has 2 elements, row 0 has 3");
    put_record(file, 0, 0);
    assert_fails(parse(&v, CK_F32, file, 4), COKE_EFORMAT, "claims 0 elements");
    put_record(file, -1, 0);
    assert_fails(parse(&v, CK_F32, file, 4), COKE_EFORMAT, "claims -1 elements");
    put_record(file, INT32_MAX, 0);
    assert_fails(parse(&v, CK_F32, file, 20), COKE_EFORMAT, "not a multiple");
    assert_fails(parse(&v, CK_U8, file, 20), COKE_EFORMAT, "not a multiple");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_the_type),
        cmocka_unit_test(sound_files_give_their_shape),
        cmocka_unit_test(broken_files_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
