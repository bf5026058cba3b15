/* test_zip.c - zip archives: what is written is read, and lies are refused. */
#include "io_test.h"
#include "io/zip.h"

enum { ROOM = 8192, LOCAL = 30, CENTRAL = 46, END = 22 };

static unsigned char bytes[ROOM];
static size_t size;

/* Three entries, one of them empty, into x.zip and bytes. */
static int write_archive(void)
{
    struct ck_writer w = {0};
    struct ck_zip_out z = {.file = &w};
    int rc = ck_writer_open(&w, "x.zip", 1);
    if (!rc)
        rc = ck_zip_add(&z, "a/data.pkl", "hello", 5);
    if (!rc)
        rc = ck_zip_add(&z, "a/data/0", NULL, 0);
    if (!rc)
        rc = ck_zip_add(&z, "a/data/10", "0123456789", 10);
    if (!rc)
        rc = ck_zip_end(&z);
    if (!rc)
        rc = ck_writer_commit(&w);
    ck_writer_abort(&w);
    ck_zip_out_release(&z);
    return rc;
}

static void fill(void)
{
    assert_ok(write_archive());
    size = read_file("x.zip", bytes, ROOM);
}

static unsigned char *end_record(void)
{
    return bytes + size - END;
}

static unsigned char *directory(int entry)
{
    unsigned char *p = bytes + end_record()[16] + end_record()[17] * 256;
    while (entry--)
        p += CENTRAL + p[28] + p[30];
    return p;
}

static void refused(const char *words)
{
    struct ck_zip z;
    assert_fails(ck_zip_init(&z, "x.zip", bytes, size), COKE_EFORMAT, words);
}

static void what_is_written_is_read(void **state)
{
    struct ck_zip z;
    (void)state;
    fill();
    assert_ok(ck_zip_init(&z, "x.zip", bytes, size));
    assert_int_equal(z.n, 3);
    const struct ck_zip_entry *e = ck_zip_find(&z, "a/", 2, "data/10");
    assert_non_null(e);
    assert_memory_equal(e->data, "0123456789", 10);
    assert_int_equal((e->data - bytes) % 64, 0);
    assert_ok(ck_zip_check(&z, e));
    assert_int_equal(ck_zip_find(&z, "", 0, "a/data/0")->size, 0);
    assert_null(ck_zip_find(&z, "a/", 2, "data/1"));
    assert_null(ck_zip_find(&z, "b/", 2, "data/0"));
    assert_null(ck_zip_find(&z, "a/data/100", 10, ""));
    bytes[e->data - bytes] ^= 1;
    assert_fails(ck_zip_check(&z, e), COKE_EFORMAT, "'a/data/10' is damaged");
    ck_zip_release(&z);
}

static void an_archive_cut_anywhere_is_refused(void **state)
{
    (void)state;
    fill();
    size_t whole = size;
    for (size = 0; size < whole; size++) {
        unsigned char *copy = malloc(size + 1); /* so that the sanitizer sees the end */
        struct ck_zip z;
        memcpy(copy, bytes, size);
        assert_int_equal(ck_zip_init(&z, "x.zip", copy, size), COKE_EFORMAT);
        free(copy);
    }
}

static void lies_in_the_directory_are_refused(void **state)
{
    (void)state;
    fill();
    end_record()[10] = 200;
    refused("a directory of 200 entries");
    fill();
    end_record()[10] = 4;
    refused("a directory of 4 entries");
    fill();
    end_record()[10] = 2; /* fewer: the rest is not looked at */
    struct ck_zip z;
    assert_ok(ck_zip_init(&z, "x.zip", bytes, size));
    ck_zip_release(&z);
    fill();
    end_record()[19] = 0x7f;
    refused("a directory of 3 entries");
    fill();
    directory(1)[0] = 0;
    refused("fewer entries than it claims");
    fill();
    directory(2)[29] = 0xff;
    refused("ends within an entry");
}

static void lies_about_entries_are_refused(void **state)
{
    (void)state;
    fill();
    memcpy(directory(2) + 42, directory(0) + 42, 4); /* the place of the first */
    refused("a different name");
    fill();
    directory(2)[42]++;
    refused("not where the directory says");
    fill();
    directory(2)[23] = directory(2)[27] = 0x10;
    refused("beyond the archive");
    fill();
    memset(directory(2) + 20, 0xff, 8);
    refused("64-bit sizes");
    fill();
    directory(0)[8] |= 1;
    refused("encrypted");
    fill(); /* the first reaches into the second */
    directory(0)[20] = directory(0)[24] = 100;
    refused("overlaps");
    fill();
    directory(1)[CENTRAL + 2] = 'D';
    refused("a different name");
}

static void a_name_that_is_there_twice_is_refused(void **state)
{
    struct ck_writer w = {0};
    struct ck_zip_out z = {.file = &w};
    (void)state;
    assert_ok(ck_writer_open(&w, "x.zip", 1));
    assert_ok(ck_zip_add(&z, "a", "1", 1));
    assert_ok(ck_zip_add(&z, "b", "2", 1));
    assert_ok(ck_zip_add(&z, "a", "3", 1));
    assert_ok(ck_zip_end(&z));
    assert_ok(ck_writer_commit(&w));
    ck_zip_out_release(&z);
    size = read_file("x.zip", bytes, ROOM);
    refused("'a' occurs twice");
}

static void compressed_entries_are_refused_when_asked_for(void **state)
{
    struct ck_zip z;
    (void)state;
    fill();
    directory(0)[10] = 8;
    assert_ok(ck_zip_init(&z, "x.zip", bytes, size));
    assert_fails(ck_zip_check(&z, ck_zip_find(&z, "a/", 2, "data.pkl")), COKE_EFORMAT,
                 "compressed");
    ck_zip_release(&z);
}

/* The archive's directory described by a zip64 record, as of files over 4 GB. */
static void put64(unsigned char *p, uint64_t x)
{
    memcpy(p, &x, 8);
}

static void zip64_is_read_and_its_lies_are_refused(void **state)
{
    unsigned char record[56 + 20] = "PK\6\6", end[END];
    struct ck_zip z;
    (void)state;
    fill();
    memcpy(end, end_record(), END);
    uint64_t first = (uint64_t)(directory(0) - bytes), at = size - END;
    put64(record + 32, 3);
    put64(record + 40, at - first);
    put64(record + 48, first);
    memcpy(record + 56, "PK\6\7", 4);
    put64(record + 64, at);
    memset(end + 8, 0xff, 12);
    memcpy(bytes + at, record, sizeof record);
    memcpy(bytes + at + sizeof record, end, END);
    size += sizeof record;
    assert_ok(ck_zip_init(&z, "x.zip", bytes, size));
    assert_int_equal(z.n, 3);
    ck_zip_release(&z);
    put64(bytes + at + 32, UINT64_MAX / 2);
    refused("a directory of 9223372036854775807 entries");
    put64(bytes + at + 32, 3);
    put64(bytes + at + 48, UINT64_MAX - 8);
    refused("a directory of 3 entries");
    put64(bytes + at + 64, UINT64_MAX - 8);
    refused("no zip64 directory");
}

static int read_job(void)
{
    struct ck_zip z;
    int rc = ck_zip_init(&z, "x.zip", bytes, size);
    ck_zip_release(&z);
    return rc;
}

static void every_allocation_fails_in_words(void **state)
{
    (void)state;
    every_allocation_may_fail(write_archive);
    fill();
    every_allocation_may_fail(read_job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(an_archive_cut_anywhere_is_refused),
        cmocka_unit_test(lies_in_the_directory_are_refused),
        cmocka_unit_test(lies_about_entries_are_refused),
        cmocka_unit_test(a_name_that_is_there_twice_is_refused),
        cmocka_unit_test(compressed_entries_are_refused_when_asked_for),
        cmocka_unit_test(zip64_is_read_and_its_lies_are_refused),
        cmocka_unit_test(every_allocation_fails_in_words),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
