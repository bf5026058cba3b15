/* test_tar.c - tar archives: names of all kinds, odd members, damage. */
#include "unit/data/data_test.h"
#include "io/tar.h"

#include <fcntl.h>

static struct ck_stream stream;
static struct ck_tar tar;

static void open_tar(const char *path)
{
    assert_ok(ck_stream_open(&stream, path));
    tar = (struct ck_tar){.in = &stream};
}

static void close_tar(void)
{
    ck_tar_release(&tar);
    ck_stream_close(&stream);
}

static void expect_member(const char *name, const char *text)
{
    struct ck_tar_member m;
    char data[256];
    size_t got;
    int more;
    assert_ok(ck_tar_next(&tar, &m, &more));
    assert_true(more);
    assert_string_equal(m.name, name);
    assert_int_equal(m.size, strlen(text));
    assert_ok(ck_tar_read(&tar, data, sizeof data, &got));
    assert_int_equal(got, strlen(text));
    assert_memory_equal(data, text, got);
}

static void expect_end(void)
{
    struct ck_tar_member m;
    int more = 1;
    assert_ok(ck_tar_next(&tar, &m, &more));
    assert_false(more);
    close_tar();
}

/* The status of reading all of it. */
static int read_all(const char *path)
{
    struct ck_tar_member m;
    int more = 1, rc = ck_stream_open(&stream, path);
    if (rc)
        return rc;
    tar = (struct ck_tar){.in = &stream};
    while (!rc && more)
        rc = ck_tar_next(&tar, &m, &more);
    close_tar();
    return rc;
}

static void add_typed(FILE *f, const char *name, char type, const char *data, size_t n)
{
    unsigned char h[512];
    tar_header(h, name, type, n);
    fwrite(h, 1, 512, f);
    tar_data(f, data, n);
}

static void members_in_order_with_or_without_an_end(void **state)
{
    (void)state;
    FILE *f = fopen("a.tar", "wb");
    tar_add(f, "one.txt", "1");
    tar_add(f, "../../etc/passwd", "tricks are just names");
    tar_add(f, "/absolute", "");
    fclose(f);
    for (int end = 0; end < 3; end++) { /* none, whole, one lone block */
        open_tar("a.tar");
        expect_member("one.txt", "1");
        expect_member("../../etc/passwd", "tricks are just names");
        expect_member("/absolute", "");
        expect_end();
        if (end == 0)
            assert_int_equal(truncate("a.tar", 5 * 512 + 1024), 0);
        if (end == 1)
            assert_int_equal(truncate("a.tar", 5 * 512 + 512), 0);
    }
}

static void last_padding_may_be_missing(void **state)
{
    (void)state;
    FILE *f = fopen("p.tar", "wb");
    tar_add(f, "one", "12345");
    fclose(f);
    assert_int_equal(truncate("p.tar", 517), 0);
    open_tar("p.tar");
    expect_member("one", "12345");
    expect_end();
    assert_int_equal(truncate("p.tar", 516), 0);
    assert_fails(read_all("p.tar"), COKE_EFORMAT, "p.tar: ends within a member");
}

static void archives_one_after_the_other_are_one(void **state)
{
    (void)state;
    FILE *f = fopen("c.tar", "wb");
    tar_add(f, "a", "1");
    fseek(f, 10240, SEEK_SET);
    tar_add(f, "b", "2");
    fseek(f, 1024, SEEK_CUR);
    fwrite("garbage behind the end", 1, 22, f);
    fclose(f);
    open_tar("c.tar");
    expect_member("a", "1");
    expect_member("b", "2");
    expect_end();
}

static void prefix_of_ustar_is_part_of_the_name(void **state)
{
    unsigned char h[512];
    (void)state;
    FILE *f = fopen("u.tar", "wb");
    tar_header(h, "name.jpg", '0', 0);
    memcpy(h + 345, "some/where", 10);
    tar_sum(h);
    fwrite(h, 1, 512, f);
    memcpy(h + 257, "ustar  ", 8); /* GNU has times there */
    tar_sum(h);
    fwrite(h, 1, 512, f);
    memset(h + 257, 0, 8); /* before ustar */
    h[156] = 0;
    tar_sum(h);
    fwrite(h, 1, 512, f);
    memset(h, 'n', 100); /* no final zero */
    memset(h + 345, 'p', 155);
    memcpy(h + 257, "ustar\00000", 8);
    tar_sum(h);
    fwrite(h, 1, 512, f);
    tar_end(f);
    open_tar("u.tar");
    expect_member("some/where/name.jpg", "");
    expect_member("name.jpg", "");
    expect_member("name.jpg", "");
    struct ck_tar_member m;
    int more;
    assert_ok(ck_tar_next(&tar, &m, &more));
    assert_int_equal(strlen(m.name), 256);
    expect_end();
}

static void long_names_of_gnu_and_pax(void **state)
{
    char name[301], record[512];
    (void)state;
    memset(name, 'x', 300);
    name[300] = 0;
    FILE *f = fopen("l.tar", "wb");
    add_typed(f, "././@LongLink", 'K', "a link's name", 14);
    add_typed(f, "././@LongLink", 'L', name, 301);
    tar_add(f, "short", "gnu");
    snprintf(record, sizeof record, "310 path=%s\n", name);
    add_typed(f, "PaxHeaders/x", 'x', record, 310);
    tar_add(f, "short", "pax");
    add_typed(f, "g", 'g', "17 comment=hello\n", 17);
    add_typed(f, "x", 'x', "11 path=\xc3\xa9\n9 size=3\n20 SCHILY.xattr.a=b\n", 40);
    tar_add(f, "short", "two");
    tar_add(f, "plain", "no longer");
    tar_end(f);
    open_tar("l.tar");
    expect_member(name, "gnu");
    expect_member(name, "pax");
    expect_member("\xc3\xa9", "two");
    expect_member("plain", "no longer");
    expect_end();
}

static void sizes_in_pax_and_base_256(void **state)
{
    unsigned char h[512];
    (void)state;
    FILE *f = fopen("s.tar", "wb");
    add_typed(f, "x", 'x', "10 size=5\n", 10);
    tar_header(h, "pax", '0', 0);
    fwrite(h, 1, 512, f);
    tar_data(f, "12345", 5);
    tar_header(h, "binary", '0', 0);
    memset(h + 124, 0, 12);
    h[124] = 0x80;
    h[135] = 6;
    tar_sum(h);
    fwrite(h, 1, 512, f);
    tar_data(f, "123456", 6);
    tar_header(h, "spaces", '0', 0);
    memcpy(h + 124, "         7 ", 12);
    tar_sum(h);
    fwrite(h, 1, 512, f);
    tar_data(f, "1234567", 7);
    tar_end(f);
    open_tar("s.tar");
    expect_member("pax", "12345");
    expect_member("binary", "123456");
    expect_member("spaces", "1234567");
    expect_end();
}

static void odd_members_are_passed_over_and_counted(void **state)
{
    unsigned char h[512];
    (void)state;
    FILE *f = fopen("o.tar", "wb");
    add_typed(f, "folder/", '5', "", 0);
    tar_header(h, "folder-with-size/", '5', 1000); /* has no data all the same */
    fwrite(h, 1, 512, f);
    add_typed(f, "old-folder/", '0', "", 0);
    tar_header(h, "hard", '1', 700);
    fwrite(h, 1, 512, f);
    add_typed(f, "soft", '2', "", 0);
    add_typed(f, "device", '3', "", 0);
    add_typed(f, "volume", 'V', "label", 5);
    tar_add(f, "file", "data");
    tar_end(f);
    open_tar("o.tar");
    expect_member("file", "data");
    assert_int_equal(tar.odd, 4);
    expect_end();
}

static void signed_checksums_are_fine(void **state)
{
    unsigned char h[512];
    int sum = 0;
    (void)state;
    tar_header(h, "caf\xe9", '0', 0);
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (signed char)h[i];
    put_octal(h + 148, 6, (size_t)sum);
    h[154] = 0;
    write_file("g.tar", h, 512);
    open_tar("g.tar");
    expect_member("caf\xe9", "");
    expect_end();
}

/* A good member, then this header, changed at `at`. */
static int with_header(const unsigned char h[512])
{
    FILE *f = fopen("d.tar", "wb");
    tar_add(f, "first", "1");
    fwrite(h, 1, 512, f);
    tar_end(f);
    return read_all("d.tar");
}

static void damaged_headers_are_refused_with_their_place(void **state)
{
    unsigned char h[512];
    (void)state;
    tar_header(h, "x", '0', 0);
    h[3] ^= 1;
    assert_fails(with_header(h), COKE_EFORMAT, "d.tar: the tar header at byte 1024 is damaged");
    tar_header(h, "x", '0', 0);
    memcpy(h + 124, "12x", 3);
    tar_sum(h);
    assert_fails(with_header(h), COKE_EFORMAT, "header at byte 1024 has no valid size");
    h[124] = 0xff; /* negative */
    tar_sum(h);
    assert_fails(with_header(h), COKE_EFORMAT, "no valid size");
    memset(h + 124, 0xff, 12);
    h[124] = 0x80;
    tar_sum(h);
    assert_fails(with_header(h), COKE_EFORMAT, "no valid size");
    tar_header(h, "x", '0', (size_t)1 << 32);
    assert_fails(with_header(h), COKE_EFORMAT, "ends within a member of the archive");
    memset(h + 124, 0xff, 12); /* the largest that is a number */
    memset(h + 124, 0, 4);
    h[124] = 0x80;
    h[128] = 0x7f;
    tar_sum(h);
    assert_fails(with_header(h), COKE_EFORMAT, "ends within a member of the archive");
    tar_header(h, "x", 'S', 0);
    assert_fails(with_header(h), COKE_EFORMAT, "sparse");
    tar_header(h, "x", 'x', (size_t)2 << 20);
    assert_fails(with_header(h), COKE_EFORMAT, "an extended tar header of 2097152 bytes");
    write_file("d.tar", "not a tar", 9);
    assert_fails(read_all("d.tar"), COKE_EFORMAT, "d.tar: not a tar archive");
    memset(h, 'x', sizeof h);
    write_file("d.tar", h, sizeof h);
    assert_fails(read_all("d.tar"), COKE_EFORMAT, "d.tar: not a tar archive");
    write_file("d.tar", "", 0);
    assert_ok(read_all("d.tar"));
    FILE *f = fopen("d.tar", "wb");
    tar_add(f, "first", "1");
    fwrite(h, 1, 100, f);
    fclose(f);
    assert_fails(read_all("d.tar"), COKE_EFORMAT, "ends within a tar header, after 1124 bytes");
}

static void damaged_pax_records_are_refused(void **state)
{
    static const char *const records[] = {
        "path=x\n",    "999 path=x\n", "9 pathxx\n",  "10 path=x!",
        "2 \n",        "0 path=x\n",   "-5 path=x\n", "99999999999999999999 path=x\n",
        "10 size=x\n", "8 size=\n",    "11",          "26 GNU.sparse.size=100000\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        FILE *f = fopen("x.tar", "wb");
        add_typed(f, "x", 'x', records[i], strlen(records[i]));
        tar_add(f, "file", "data");
        tar_end(f);
        assert_fails(read_all("x.tar"), COKE_EFORMAT,
                     strstr(records[i], "sparse") ? "sparse files" : "a damaged pax header");
    }
}

static void compressed_and_piped_archives_are_the_same(void **state)
{
    (void)state;
    FILE *f = fopen("z.tar", "wb");
    for (int i = 0; i < 3; i++)
        tar_add(f, "file", "data that is not read, or is");
    tar_end(f);
    assert_int_equal(system("gzip -kf z.tar && cat z.tar.gz z.tar.gz > zz.gz"), 0);
    open_tar("z.tar.gz");
    struct ck_tar_member m;
    int more;
    assert_ok(ck_tar_next(&tar, &m, &more)); /* skipped */
    expect_member("file", "data that is not read, or is");
    assert_int_equal(stream.position, 1024 + 512 + 28);
    expect_member("file", "data that is not read, or is");
    expect_end();
    open_tar("zz.gz"); /* two gzip members, two archives */
    for (int i = 0; i < 6; i++)
        expect_member("file", "data that is not read, or is");
    expect_end();
    FILE *p = popen("cat z.tar", "r");
    assert_ok(ck_stream_fd(&stream, fileno(p), "pipe"));
    tar = (struct ck_tar){.in = &stream};
    for (int i = 0; i < 3; i++)
        expect_member("file", "data that is not read, or is");
    expect_end();
    pclose(p);
    assert_int_equal(truncate("z.tar.gz", 40), 0);
    assert_fails(read_all("z.tar.gz"), COKE_EFORMAT,
                 "z.tar.gz: the compressed data are truncated");
}

static void foreign_compressions_are_named(void **state)
{
    (void)state;
    write_file("x.tar.zst", "\x28\xb5\x2f\xfd....", 8);
    assert_fails(read_all("x.tar.zst"), COKE_EUSAGE,
                 "compressed with zstd, which is not read; open - instead and pipe in the "
                 "output of: zstd -dc x.tar.zst");
    write_file("x.tar.xz",
               "\xfd"
               "7zXZ\0..",
               8);
    assert_fails(read_all("x.tar.xz"), COKE_EUSAGE, "output of: xz -dc x.tar.xz");
    write_file("x.tar.bz2", "BZh91AY", 7);
    assert_fails(read_all("x.tar.bz2"), COKE_EUSAGE, "bzip2 -dc");
    assert_fails(read_all("."), COKE_EIO, "Is a directory");
    assert_fails(read_all("nothing.tar"), COKE_EIO, "nothing.tar: No such file");
}

static int read_job(void)
{
    return read_all("job.tar.gz");
}

static void every_allocation_failing_is_an_error(void **state)
{
    char name[301], record[512];
    (void)state;
    memset(name, 'x', 300);
    name[300] = 0;
    FILE *f = fopen("job.tar", "wb");
    add_typed(f, "././@LongLink", 'L', name, 301);
    tar_add(f, "short", "gnu");
    snprintf(record, sizeof record, "310 path=%s\n", name);
    add_typed(f, "PaxHeaders/x", 'x', record, 310);
    tar_add(f, "short", "pax");
    tar_end(f);
    assert_int_equal(system("gzip job.tar"), 0);
    every_allocation_may_fail(read_job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_in_order_with_or_without_an_end),
        cmocka_unit_test(last_padding_may_be_missing),
        cmocka_unit_test(archives_one_after_the_other_are_one),
        cmocka_unit_test(prefix_of_ustar_is_part_of_the_name),
        cmocka_unit_test(long_names_of_gnu_and_pax),
        cmocka_unit_test(sizes_in_pax_and_base_256),
        cmocka_unit_test(odd_members_are_passed_over_and_counted),
        cmocka_unit_test(signed_checksums_are_fine),
        cmocka_unit_test(damaged_headers_are_refused_with_their_place),
        cmocka_unit_test(damaged_pax_records_are_refused),
        cmocka_unit_test(compressed_and_piped_archives_are_the_same),
        cmocka_unit_test(foreign_compressions_are_named),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("tar", tests, enter, leave_folder);
}
