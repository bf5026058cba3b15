/* test_npy.c - .npy headers, sound and broken; writing. */
#include "unit/io/io_test.h"
#include "io/npy.h"

#include <fcntl.h>

static int parse(struct ck_npy *a, int version, const char *dict, size_t bytes)
{
    unsigned char file[4096];
    static const unsigned char zeros[2048];
    size_t n = make_npy(file, version, dict, zeros, bytes);
    /* An exact heap copy, so that the sanitizer sees a read beyond the end. */
    unsigned char *copy = malloc(n);
    memcpy(copy, file, n);
    int rc = ck_npy_parse(a, "f.npy", copy, n);
    free(copy);
    return rc;
}

static void headers_of_all_spellings_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *dict;
        enum ck_dtype dtype;
        int ndim;
        int64_t shape[3];
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", CK_F32, 2, {3, 4}},
        {"{'shape': (3, 4), 'fortran_order': False, 'descr': '<f2'}", CK_F16, 2, {3, 4}},
        {"{\"descr\":\"<f8\",\"fortran_order\":False,\"shape\":(3,4)}", CK_F64, 2, {3, 4}},
        {" { 'descr' : '|u1' , 'fortran_order' : False , 'shape' : ( 3 , 4 , ) } \n",
         CK_U8,
         2,
         {3, 4}},
        {"{'descr': '|i1', 'fortran_order': True, 'shape': (5,), }", CK_I8, 1, {5}},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (), }", CK_I64, 0, {0}},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 1L, 3L)}",
         CK_I32,
         3,
         {2, 1, 3}},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (0, 9223372036854775807)}",
         CK_U16,
         2,
         {0, INT64_MAX}},
        {"{'descr': '=u4', 'fortran_order': False, 'shape': (1,)}", CK_U32, 1, {1}},
        {"{'descr': 'u8', 'fortran_order': False, 'shape': (1,)}", CK_U64, 1, {1}},
        {"{'descr': '>i1', 'fortran_order': False, 'shape': (1,)}", CK_I8, 1, {1}},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", CK_BOOL, 1, {1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version <= 3; version++) {
            struct ck_npy a;
            size_t bytes = ck_dtype_size(cases[i].dtype);
            for (int d = 0; d < cases[i].ndim; d++)
                bytes = cases[i].shape[d] ? bytes * (size_t)cases[i].shape[d] : 0;
            if (cases[i].shape[1] == INT64_MAX)
                bytes = 0;
            assert_ok(parse(&a, version, cases[i].dict, bytes));
            assert_int_equal(a.version, version);
            assert_int_equal(a.dtype, cases[i].dtype);
            assert_int_equal(a.ndim, cases[i].ndim);
            assert_int_equal(a.bytes, bytes);
            for (int d = 0; d < a.ndim; d++)
                assert_int_equal(a.shape[d], cases[i].shape[d]);
        }
}

#define D "{'descr': '<f4', 'fortran_order': False, 'shape': "

static void broken_headers_are_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *dict;
        size_t bytes;
        const char *words;
    } cases[] = {
        {D "(1000, 128)}", 400,
         "f.npy: the header says 1000 x 128 f4 = 512000 bytes of data, the file has "
         "400"},
        {D "(2, 3)}", 25, "= 24 bytes of data, the file has more: 25"},
        {D "(2, 3)}", 0, "the file has 0"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", 24, "big-endian"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", 16, "Python objects"},
        {"{'descr': '|O8', 'fortran_order': False, 'shape': (2,)}", 16, "Python objects"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8, "structured"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", 16, "dtype '<c8'"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}", 24, "dtype '<U3'"},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,)}", 16, "dtype '<M8[ns]'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", 16, "dtype ''"},
        {"{'descr': '>', 'fortran_order': False, 'shape': (2,)}", 16, "'>'"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8, "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': Fals", 8, "neither True nor False"},
        {"{'descr': '<f4', 'shape': (2,)}", 8, "'fortran_order' is missing"},
        {"{'fortran_order': False, 'shape': (2,)}", 8, "'descr' is missing"},
        {"{'descr': '<f4', 'fortran_order': False}", 8, "'shape' is missing"},
        {"{}", 8, "'descr' is missing"},
        {"", 8, "not a dict"},
        {"   ", 8, "not a dict"},
        {"[1]", 8, "not a dict"},
        {"{'descr'", 8, "':' is missing"},
        {"{'descr", 8, "unterminated string"},
        {"{descr: 1}", 8, "a quoted string is missing"},
        {"{'descr': '<f4' 'shape': (2,)}", 8, "'}' is missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}", 8, "duplicate key 'descr'"},
        {"{'descr': '<f4', 'x': 1}", 8, "unknown key 'x'"},
        {"{'0123456789012345678901234567890123456789': 1}", 8, "invalid string"},
        {D "(2,)} x", 8, "trailing data"},
        {D "(2,)", 8, "'}' is missing"},
        {D "(2", 8, "not a tuple"},
        {D "(2)}", 8, "not a tuple"},
        {D "2}", 8, "'(' is missing"},
        {D "(-2,)}", 8, "not a tuple"},
        {D "(2 3)}", 8, "not a tuple"},
        {D "(2,,3)}", 8, "not a tuple"},
        {D "(,)}", 8, "not a tuple"},
        {D "(99999999999999999999,)}", 8, "too large"},
        {D "(9223372036854775807,)}", 8, "overflows 63 bits"},
        {D "(4294967296, 4294967296)}", 8, "overflows 63 bits"},
        {D "(1,1,1,1,1,1,1,1,1)}", 4, "more than 8 dimensions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ck_npy a;
        assert_fails(parse(&a, 1, cases[i].dict, cases[i].bytes), COKE_EFORMAT, cases[i].words);
        assert_fails(parse(&a, 2, cases[i].dict, cases[i].bytes), COKE_EFORMAT, cases[i].words);
    }
}

static void files_that_are_not_npy_are_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *words;
    } cases[] = {
        {"", 0, "f.npy: empty"},
        {"hello world, hello", 18, "not a .npy file"},
        {"\x93NUM", 4, "not a .npy file"},
        {"\x93NUMPY", 6, "ends within the .npy header, after 6 bytes"},
        {"\x93NUMPY\1\0\xff\xff{}", 12, "the .npy header ends at byte 65545, the file at 12"},
        {"\x93NUMPY\2\0\xff\xff\xff\xff", 12,
         "header of 4294967295 bytes; the limit is 1048576"},
        {"\x93NUMPY\0\0\2\0{}", 12, "version 0.0"},
        {"\x93NUMPY\4\1\2\0{}", 12, "version 4.1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ck_npy a;
        unsigned char *copy = malloc(cases[i].n + !cases[i].n);
        memcpy(copy, cases[i].bytes, cases[i].n);
        assert_fails(ck_npy_parse(&a, "f.npy", copy, cases[i].n), COKE_EFORMAT, cases[i].words);
        free(copy);
    }
}

static void every_truncation_and_flipped_byte_is_survived(void **state)
{
    (void)state;
    unsigned char file[256];
    const float x[6] = {1, 2, 3, 4, 5, 6};
    struct ck_npy a;
    size_t n = make_npy(file, 1, D "(2, 3), }       \n", x, sizeof x);
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *copy = malloc(cut + !cut);
        memcpy(copy, file, cut);
        assert_int_equal(ck_npy_parse(&a, "f", copy, cut), COKE_EFORMAT);
        free(copy);
    }
    unsigned char *copy = malloc(n);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, file, n);
            copy[i] ^= (unsigned char)(1 << bit);
            int rc = ck_npy_parse(&a, "f", copy, n);
            assert_true(rc == COKE_OK || rc == COKE_EFORMAT);
            if (rc == COKE_OK)
                assert_int_equal(a.offset + (size_t)a.bytes, n);
        }
    free(copy);
}

static void written_arrays_are_read_back(void **state)
{
    (void)state;
    unsigned char got[512];
    struct ck_npy a;
    const int32_t x[5] = {1, -2, 3, -4, 5};
    const float y[6] = {1, 2, 3, 4, 5, 6};
    assert_ok(coke_npy_write_i32("x.npy", x, 5, 0));
    size_t n = read_file("x.npy", got, sizeof got);
    assert_ok(ck_npy_parse(&a, "x", got, n));
    assert_int_equal(a.offset % 64, 0);
    assert_true(a.ndim == 1 && a.shape[0] == 5 && a.dtype == CK_I32);
    assert_memory_equal(got + a.offset, x, sizeof x);
    assert_fails(coke_npy_write_f32("x.npy", y, 2, 3, 0), COKE_EUSAGE, "x.npy exists");
    assert_ok(coke_npy_write_f32("x.npy", y, 2, 3, 1));
    n = read_file("x.npy", got, sizeof got);
    assert_ok(ck_npy_parse(&a, "x", got, n));
    assert_true(a.ndim == 2 && a.shape[0] == 2 && a.shape[1] == 3 && a.dtype == CK_F32);
    assert_memory_equal(got + a.offset, y, sizeof y);
    assert_ok(coke_npy_write_i32("x.npy", NULL, 0, 1));
    n = read_file("x.npy", got, sizeof got);
    assert_ok(ck_npy_parse(&a, "x", got, n));
    assert_int_equal(a.elements, 0);
    assert_fails(coke_npy_write_i32("x.npy", x, -1, 1), COKE_EUSAGE, "cannot hold this array");
    assert_fails(coke_npy_write_i32(NULL, x, 1, 1), COKE_EUSAGE, "NULL");
    unlink("x.npy");
}

/* numpy 1.24: numpy.save(f, numpy.array([[1.5, -2]], '<f4')), byte for byte. */
static void bytes_are_those_of_numpy(void **state)
{
    (void)state;
    unsigned char expected[136], got[200];
    const float x[2] = {1.5f, -2};
    memset(expected, ' ', 128);
    memcpy(expected, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(expected + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", 59);
    expected[127] = '\n';
    memcpy(expected + 128, x, 8);
    assert_ok(coke_npy_write_f32("x.npy", x, 1, 2, 0));
    assert_int_equal(read_file("x.npy", got, sizeof got), sizeof expected);
    assert_memory_equal(got, expected, sizeof expected);
    unlink("x.npy");
}

static int read_through_fd(void)
{
    struct ck_npy a;
    unsigned char *head;
    int fd = open("x.npy", O_RDONLY);
    int rc = ck_npy_read_header(&a, "x.npy", fd, &head);
    close(fd);
    ck_free(head);
    return rc;
}

static void header_is_read_from_a_pipe_and_refused_alike(void **state)
{
    (void)state;
    const float y[6] = {1, 2, 3, 4, 5, 6};
    assert_ok(coke_npy_write_f32("x.npy", y, 2, 3, 0));
    every_allocation_may_fail(read_through_fd);
    write_file("x.npy", "\x93NUMPY\1\0\xff\xff{}", 12);
    assert_fails(read_through_fd(), COKE_EFORMAT, "header ends at byte 65545");
    write_file("x.npy", "\x93NUMPY\1\0\1\0{}", 12);
    assert_fails(read_through_fd(), COKE_EFORMAT, "'descr' is missing");
    write_file("x.npy", "", 0);
    assert_fails(read_through_fd(), COKE_EFORMAT, "x.npy: empty");
    unlink("x.npy");
}

static int write_one(void)
{
    const int32_t x[3] = {1, 2, 3};
    return coke_npy_write_i32("x.npy", x, 3, 1);
}

static void writing_survives_full_disk_and_no_memory(void **state)
{
    (void)state;
    every_allocation_may_fail(write_one);
    unlink("x.npy");
    unlink("x.npy.xxh3");
    for (int i = 1;; i++) {
        ck_file_fail_write_at(i);
        int rc = write_one();
        ck_file_fail_write_at(0);
        if (rc == COKE_OK)
            break;
        assert_int_equal(rc, COKE_EIO);
        assert_int_equal(count_files(), 0);
    }
    unlink("x.npy");
    unlink("x.npy.xxh3");
    assert_fails(coke_npy_write_i32("/dev/full", (const int32_t[]){1}, 1, 0), COKE_EIO,
                 "No space left on device");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_all_spellings_are_understood),
        cmocka_unit_test(broken_headers_are_refused_in_words),
        cmocka_unit_test(files_that_are_not_npy_are_refused_in_words),
        cmocka_unit_test(every_truncation_and_flipped_byte_is_survived),
        cmocka_unit_test(written_arrays_are_read_back),
        cmocka_unit_test(bytes_are_those_of_numpy),
        cmocka_unit_test(header_is_read_from_a_pipe_and_refused_alike),
        cmocka_unit_test(writing_survives_full_disk_and_no_memory),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
