/* test_idx.c - IDX arrays: every header, every end. */
#include "io_test.h"
#include "io/idx.h"

#include <sys/stat.h>

static int load_bytes(const void *bytes, size_t n, struct ck_idx *a)
{
    write_file("x", bytes, n);
    return ck_idx_load(a, "x");
}

static void arrays_of_one_to_four_dimensions(void **state)
{
    struct ck_idx a;
    (void)state;
    for (int ndim = 1; ndim <= CK_IDX_DIMS; ndim++) {
        size_t size = 1, head = 4 + 4 * (size_t)ndim;
        unsigned char bytes[64] = {0, 0, 8, (unsigned char)ndim};
        for (int i = 0; i < ndim; i++) {
            bytes[7 + 4 * i] = (unsigned char)(2 + i % 2);
            size *= 2 + (size_t)i % 2;
        }
        for (size_t i = 0; i < size; i++)
            bytes[head + i] = (unsigned char)(100 + i);
        assert_ok(load_bytes(bytes, head + size, &a));
        assert_int_equal(a.ndim, ndim);
        assert_int_equal(a.shape[0], 2);
        assert_int_equal(a.bytes, size);
        assert_int_equal(a.data[size - 1], 100 + size - 1);
        ck_idx_release(&a);
        assert_fails(load_bytes(bytes, head + size - 1, &a), COKE_EFORMAT, "IDX header says");
        assert_fails(load_bytes(bytes, head + size + 1, &a), COKE_EFORMAT, "IDX header says");
        for (size_t cut = 0; cut < head; cut++)
            assert_fails(load_bytes(bytes, cut, &a), COKE_EFORMAT,
                         "ends within the IDX header");
    }
}

static void other_headers_are_refused(void **state)
{
    struct ck_idx a;
    (void)state;
    assert_fails(load_bytes("\1\0\10\1", 4, &a), COKE_EFORMAT, "does not begin with two zeros");
    assert_fails(load_bytes("\0\0\15\1", 4, &a), COKE_EFORMAT, "type 0x0d is not supported");
    assert_fails(load_bytes("\0\0\10\0", 4, &a), COKE_EFORMAT, "has 0 dimensions");
    assert_fails(load_bytes("\0\0\10\5", 4, &a), COKE_EFORMAT, "has 5 dimensions");
    assert_null(a.data);
    assert_fails(ck_idx_load(&a, "nothing"), COKE_EIO, "nothing: No such file");
    assert_fails(ck_idx_load(&a, "."), COKE_EIO, "Is a directory");
    assert_int_equal(mkfifo("fifo", 0666), 0);
    assert_fails(ck_idx_load(&a, "fifo"), COKE_EIO,
                 "fifo: not a regular file"); /* no waiting */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_one_to_four_dimensions),
        cmocka_unit_test(other_headers_are_refused),
    };
    return cmocka_run_group_tests_name("idx", tests, enter_folder, leave_folder);
}
