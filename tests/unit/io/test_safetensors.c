/* test_safetensors.c - safetensors: round trips, checksums, and files that lie. */
#include "unit/io/io_test.h"
#include "io/safetensors.h"

static const float centers[6] = {1, 2, 3, 4, 5, 6};
static const int64_t counts[2] = {7, -8};
static const uint8_t flags[3] = {9, 10, 11};
static const double scalar = 0.5;

static void fill(struct ck_state *s)
{
    *s = (struct ck_state){0};
    assert_ok(ck_state_add(s, "flags", CK_U8, 1, (const int64_t[]){3}, flags));
    assert_ok(ck_state_add(s, "centers", CK_F32, 2, (const int64_t[]){2, 3}, centers));
    assert_ok(ck_state_add(s, "counts", CK_I64, 1, (const int64_t[]){2}, counts));
    assert_ok(ck_state_add(s, "a.scalar", CK_F64, 0, NULL, &scalar));
    assert_ok(ck_state_add(s, "empty", CK_F32, 2, (const int64_t[]){0, 3}, NULL));
    assert_ok(ck_state_add_meta(s, "format", "coke-kmeans"));
    assert_ok(ck_state_add_meta(s, "quoted", "a \"b\" \\ \xc3\xa9\n"));
}

static void state_comes_back_as_it_was_written(void **state)
{
    (void)state;
    struct ck_state s, t;
    fill(&s);
    assert_ok(ck_safetensors_write("m", &s, 0));
    assert_ok(ck_safetensors_read("m", &t));
    assert_int_equal(t.ntensors, 5);
    assert_int_equal(ck_safetensors_checked(&t), 5);
    assert_int_equal(ck_safetensors_checked(&s), 0);
    assert_int_equal(t.nmeta, 2);
    assert_string_equal(ck_state_meta(&t, "quoted"), "a \"b\" \\ \xc3\xa9\n");
    const char *order[] = {"a.scalar", "counts", "centers", "empty", "flags"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(t.tensor[i].name, order[i]);
    assert_int_equal((uintptr_t)t.tensor[0].data % 64, 0);
    float c[6];
    double d;
    assert_ok(ck_state_copy(&t, "centers", CK_F32, 2, (const int64_t[]){2, 3}, c));
    assert_memory_equal(c, centers, sizeof c);
    assert_ok(ck_state_copy(&t, "a.scalar", CK_F64, 0, NULL, &d));
    assert_true(d == scalar);
    assert_ok(ck_state_copy(&t, "empty", CK_F32, 2, (const int64_t[]){0, 3}, NULL));
    ck_state_release(&s);
    ck_state_release(&t);
    unlink("m");
}

static void same_state_gives_same_bytes_also_after_reading(void **state)
{
    (void)state;
    unsigned char a[4096], b[4096];
    struct ck_state s, t;
    fill(&s);
    assert_ok(ck_safetensors_write("m", &s, 0));
    assert_ok(ck_safetensors_read("m", &t));
    assert_ok(ck_safetensors_write("n", &t, 0));
    size_t n = read_file("m", a, sizeof a);
    assert_int_equal(read_file("n", b, sizeof b), n);
    assert_memory_equal(a, b, n);
    ck_state_release(&s);
    ck_state_release(&t);
    unlink("m");
    unlink("n");
}

static void empty_state_is_a_file_too(void **state)
{
    (void)state;
    struct ck_state s = {0};
    assert_ok(ck_safetensors_write("m", &s, 0));
    assert_ok(ck_safetensors_read("m", &s));
    assert_int_equal(s.ntensors, 0);
    ck_state_release(&s);
    unlink("m");
}

static void any_flipped_data_bit_is_found_by_the_checksum(void **state)
{
    (void)state;
    unsigned char file[4096];
    struct ck_state s, t;
    fill(&s);
    assert_ok(ck_safetensors_write("m", &s, 0));
    ck_state_release(&s);
    size_t n = read_file("m", file, sizeof file);
    for (size_t i = n - 3 - 24 - 24; i < n; i++) {
        file[i] ^= 4;
        write_file("m", file, n);
        assert_fails(ck_safetensors_read("m", &t), COKE_EFORMAT, "is damaged: checksum ");
        file[i] ^= 4;
    }
    unlink("m");
}

static void any_flipped_header_bit_is_survived(void **state)
{
    (void)state;
    unsigned char file[4096];
    struct ck_state s, t;
    fill(&s);
    assert_ok(ck_safetensors_write("m", &s, 0));
    ck_state_release(&s);
    size_t n = read_file("m", file, sizeof file);
    for (size_t i = 0; i < n - 51; i++)
        for (int bit = 0; bit < 8; bit += 1 + (i > 8)) {
            int64_t live = ck_mem_stats().live;
            file[i] ^= (unsigned char)(1 << bit);
            write_file("m", file, n);
            int rc = ck_safetensors_read("m", &t);
            assert_true(rc == COKE_OK || rc == COKE_EFORMAT);
            ck_state_release(&t);
            assert_int_equal(ck_mem_stats().live, live);
            file[i] ^= (unsigned char)(1 << bit);
        }
    for (size_t cut = 0; cut < n; cut += cut < 16 ? 1 : 7) {
        write_file("m", file, cut);
        assert_int_equal(ck_safetensors_read("m", &t), COKE_EFORMAT);
    }
    unlink("m");
}

/* A file with the given header and n zero bytes of data. */
static int read_made(const char *header, size_t n, struct ck_state *out)
{
    static unsigned char file[4096];
    uint64_t length = strlen(header);
    memset(file, 0, sizeof file);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, length);
    write_file("made", file, 8 + length + n);
    int rc = ck_safetensors_read("made", out);
    unlink("made");
    return rc;
}

#define T(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void headers_that_lie_are_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t bytes;
        const char *words;
    } cases[] = {
        {"{" T("a", "F32", "[2]", "[4,12]") "}", 12, "leaves a hole from 0"},
        {"{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[2,6]") "}", 6,
         "data are taken up to 4"},
        {"{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[0,4]") "}", 4,
         "data are taken up to 4"},
        {"{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[8,12]") "}", 12,
         "tensor 'b' begins at byte 8, which leaves a hole from 4"},
        {"{" T("a", "F32", "[1]", "[0,4]") "," T("a", "F32", "[1]", "[4,8]") "}", 8,
         "duplicate"},
        {"{" T("a", "F32", "[1]", "[0,4]") "}", 5, "tensors end at byte 4, the data at 5"},
        {"{" T("a", "F32", "[2]", "[0,8]") "}", 4, "bytes 0 to 8 of 4 bytes"},
        {"{" T("a", "F32", "[3]", "[0,8]") "}", 8, "needs 12 bytes by its shape but has 8"},
        {"{" T("a", "F32", "[1]", "[4,0]") "}", 8, "bytes 4 to 0"},
        {"{" T("a", "F32", "[1]", "[-4,0]") "}", 8, "bytes -4 to 0"},
        {"{" T("a", "F32", "[-1]", "[0,4]") "}", 4, "dimension 0 is not a length"},
        {"{" T("a", "F32", "[1.0]", "[0,4]") "}", 4, "dimension 0 is not a length"},
        {"{" T("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", 4, "overflows 63 bits"},
        {"{" T("a", "F32", "[99999999999999999999]", "[0,4]") "}", 4, "header: "},
        {"{" T("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4,
         "9 dimensions; the limit is 8"},
        {"{" T("a", "F8_E4M3", "[4]", "[0,4]") "}", 4, "dtype 'F8_E4M3' is not supported"},
        {"{" T("a", "f32", "[1]", "[0,4]") "}", 4, "dtype 'f32' is not supported"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "has no dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "has no shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "has no data_offsets"},
        {"{" T("a", "F32", "[1]", "[0,4,8]") "}", 4, "has no data_offsets"},
        {"{" T("a", "F32", "[1]", "[0,\"4\"]") "}", 4, "has no data_offsets"},
        {"{\"a\":7}", 4, "has no dtype"},
        {"{\"__metadata__\":7}", 0, "not an object"},
        {"{\"__metadata__\":{\"a\":7}}", 0, "metadata 'a' is not text"},
        {"{}", 1, "tensors end at byte 0, the data at 1"},
        {"{\"a\\u0000b\":{}}", 0, "header: "},
        {"{\"\xff\":{}}", 0, "header: "},
        {"{} x", 0, "header: "},
        {"{", 1, "header: "},
        {" {}", 0, "does not begin with {"},
        {"[]", 0, "does not begin with {"},
        {"", 10, "does not begin with {"},
        {"{\"__metadata__\":{\"xxh3.a\":\"0\"}," T("a", "F32", "[1]", "[0,4]") "}", 4,
         "tensor 'a' is damaged: checksum 48b2c92616fc193d does not match 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ck_state s;
        int64_t live = ck_mem_stats().live;
        assert_fails(read_made(cases[i].header, cases[i].bytes, &s), COKE_EFORMAT,
                     cases[i].words);
        assert_int_equal(ck_mem_stats().live, live);
    }
}

static void files_of_other_writers_are_read(void **state)
{
    (void)state;
    struct ck_state s;
    assert_ok(
        read_made("{" T("b", "F32", "[1]", "[0,4]") "," T("e", "I32", "[0,5]", "[4,4]") "," T(
                      "a", "BOOL", "[2,1]", "[4,6]") "}     ",
                  6, &s));
    assert_int_equal(s.ntensors, 3);
    assert_int_equal(ck_safetensors_checked(&s), 0);
    assert_string_equal(s.tensor[2].name, "a");
    ck_state_release(&s);
}

static void files_without_a_sound_length_are_refused(void **state)
{
    (void)state;
    struct ck_state s;
    unsigned char file[32] = {0};
    uint64_t lengths[] = {100000001, UINT64_MAX, UINT64_MAX - 7, 25, 4194305};
    const char *words[] = {"the limit is 4194304", "the limit is", "the limit is",
                           "the file has 32", "the limit is"};
    file[8] = '{';
    for (int i = 0; i < 5; i++) {
        memcpy(file, &lengths[i], 8);
        write_file("made", file, sizeof file);
        assert_fails(ck_safetensors_read("made", &s), COKE_EFORMAT, words[i]);
    }
    write_file("made", file, 0);
    assert_fails(ck_safetensors_read("made", &s), COKE_EFORMAT, "0 bytes are too few");
    unlink("made");
    assert_fails(ck_safetensors_read("made", &s), COKE_EIO, "made: No such file");
}

static void states_that_cannot_be_written_are_refused(void **state)
{
    (void)state;
    struct ck_state s = {0};
    const int64_t one = 1;
    assert_ok(ck_state_add(&s, "a", CK_F32, 1, &one, centers));
    assert_ok(ck_state_add(&s, "a", CK_I64, 1, &one, counts));
    assert_fails(ck_safetensors_write("m", &s, 0), COKE_EFAIL, "m: duplicate name 'xxh3.a'");
    ck_state_release(&s);
    assert_ok(ck_state_add(&s, "__metadata__", CK_F32, 1, &one, centers));
    assert_fails(ck_safetensors_write("m", &s, 0), COKE_EFAIL, "duplicate name '__metadata__'");
    ck_state_release(&s);
    assert_ok(ck_state_add(&s, "\xff", CK_F32, 1, &one, centers));
    assert_fails(ck_safetensors_write("m", &s, 0), COKE_EFAIL, "is not UTF-8");
    ck_state_release(&s);
    assert_ok(ck_state_add_meta(&s, "a", "\xff"));
    assert_fails(ck_safetensors_write("m", &s, 0), COKE_EFAIL, "text of 'a' is not UTF-8");
    ck_state_release(&s);
    assert_int_equal(count_files(), 0);
}

static struct ck_state filled;

static int write_filled(void)
{
    return ck_safetensors_write("m", &filled, 1);
}

static int read_filled(void)
{
    struct ck_state s;
    int rc = ck_safetensors_read("m", &s);
    ck_state_release(&s);
    return rc;
}

static void failed_allocations_and_full_disks_are_survived(void **state)
{
    (void)state;
    fill(&filled);
    for (int i = 1;; i++) {
        ck_file_fail_write_at(i);
        int rc = write_filled();
        ck_file_fail_write_at(0);
        if (rc == COKE_OK)
            break;
        assert_int_equal(rc, COKE_EIO);
        assert_int_equal(count_files(), 0);
    }
    every_allocation_may_fail(write_filled);
    /* jansson takes a token it has no memory for as a syntax error. */
    every_allocation_may_fail_as(read_filled, COKE_EFORMAT);
    ck_state_release(&filled);
    unlink("m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_comes_back_as_it_was_written),
        cmocka_unit_test(same_state_gives_same_bytes_also_after_reading),
        cmocka_unit_test(empty_state_is_a_file_too),
        cmocka_unit_test(any_flipped_data_bit_is_found_by_the_checksum),
        cmocka_unit_test(any_flipped_header_bit_is_survived),
        cmocka_unit_test(headers_that_lie_are_refused_in_words),
        cmocka_unit_test(files_of_other_writers_are_read),
        cmocka_unit_test(files_without_a_sound_length_are_refused),
        cmocka_unit_test(states_that_cannot_be_written_are_refused),
        cmocka_unit_test(failed_allocations_and_full_disks_are_survived),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
