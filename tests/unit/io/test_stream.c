/* test_stream.c - bytes in order from files and pipes, compressed or not. */
#include "io_test.h"
#include "io/stream.h"
#include "core/hash.h"

#include <zlib.h>

enum { SIZE = 100000 };

static unsigned char content[SIZE];

static void write_both(void)
{
    for (unsigned i = 0; i < SIZE; i++)
        content[i] = (unsigned char)(i * i / 37);
    write_file("plain", content, SIZE);
    gzFile f = gzopen("packed", "wb");
    assert_int_equal(gzwrite(f, content, SIZE), SIZE);
    gzclose(f);
}

/* Reads and skips in uneven steps; all the same whatever is below. */
static void check_walk(struct ck_stream *s)
{
    unsigned char part[5000];
    size_t got = 0, want;
    for (int64_t at = 0, step = 1; at < SIZE; step = step * 3 % 4999 + 1) {
        assert_int_equal(s->position, at);
        want = SIZE - at < step ? (size_t)(SIZE - at) : (size_t)step;
        assert_ok(ck_stream_read(s, part, (size_t)step, &got));
        assert_int_equal(got, want);
        assert_memory_equal(part, content + at, got);
        at += (int64_t)got;
        int64_t skip = SIZE - at < step * 7 ? SIZE - at : step * 7;
        assert_ok(ck_stream_skip(s, skip, "nothing"));
        at += skip;
    }
    assert_ok(ck_stream_read(s, part, 1, &got));
    assert_int_equal(got, 0);
    assert_fails(ck_stream_skip(s, 1, "a thing"), COKE_EFORMAT,
                 "ends within a thing, after 100000 bytes");
    assert_fails(ck_stream_need(s, part, 1, "a thing"), COKE_EFORMAT, "ends within a thing");
}

static void files_and_pipes_give_the_same(void **state)
{
    struct ck_stream s;
    (void)state;
    write_both();
    assert_ok(ck_stream_open(&s, "plain"));
    assert_true(s.regular && !s.gzip);
    assert_int_equal(ck_stream_limit(&s), SIZE);
    check_walk(&s);
    ck_stream_close(&s);
    assert_ok(ck_stream_open(&s, "packed"));
    assert_true(s.gzip);
    assert_true(ck_stream_limit(&s) > SIZE);
    check_walk(&s);
    ck_stream_close(&s);
    for (int packed = 0; packed < 2; packed++) {
        FILE *p = popen(packed ? "cat packed" : "cat plain", "r");
        assert_ok(ck_stream_fd(&s, fileno(p), "a pipe"));
        assert_int_equal(ck_stream_limit(&s), -1);
        check_walk(&s);
        ck_stream_close(&s);
        pclose(p);
    }
}

static void file_that_shrinks_is_noticed(void **state)
{
    struct ck_stream s;
    unsigned char byte;
    (void)state;
    write_both();
    assert_ok(ck_stream_open(&s, "plain"));
    assert_int_equal(truncate("plain", 50000), 0);
    assert_ok(ck_stream_skip(&s, 90000, "a thing"));
    assert_fails(ck_stream_need(&s, &byte, 1, "a thing"), COKE_EFORMAT, "ends within a thing");
    ck_stream_close(&s);
}

/* gzip's own tools ignore zeros behind the last member, and so do we. */
static void padding_behind_gzip_is_ignored(void **state)
{
    struct ck_stream s;
    (void)state;
    write_both();
    assert_int_equal(system("head -c 5000 /dev/zero >> packed"), 0);
    assert_ok(ck_stream_open(&s, "packed"));
    check_walk(&s);
    ck_stream_close(&s);
}

static void hash_is_xxh3(void **state)
{
    (void)state;
    assert_true(ck_hash_text("") == UINT64_C(0x2d06800538d394c2));
    assert_true(ck_hash(NULL, 0, 0) == ck_hash_text(""));
    assert_true(ck_hash("ab", 2, 0) == ck_hash_text("ab"));
    assert_true(ck_hash("ab", 2, 1) != ck_hash("ab", 2, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_pipes_give_the_same),
        cmocka_unit_test(file_that_shrinks_is_noticed),
        cmocka_unit_test(padding_behind_gzip_is_ignored),
        cmocka_unit_test(hash_is_xxh3),
    };
    return cmocka_run_group_tests_name("stream", tests, enter_folder, leave_folder);
}
