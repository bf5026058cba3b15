/* test_record.c - JSON read by keys, whole and line by line. */
#include "support.h"
#include "io/json.h"
#include "io/record.h"

#include <unistd.h>

static char path[] = "/tmp/coke-record-XXXXXX";

static int enter(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int leave(void **state)
{
    (void)state;
    return unlink(path);
}

static void save(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void collect(void *arg, const char *key, const char *value)
{
    char *all = arg;
    snprintf(all + strlen(all), 256 - strlen(all), "%s=%s;", key, value);
}

static int look(void *arg, struct ck_record r)
{
    char all[256] = "";
    (void)arg;
    assert_close(ck_record_number(r, "a"), 1.5, 0);
    assert_true(isnan(ck_record_number(r, "none")) && isnan(ck_record_number(r, "t")));
    assert_true(isnan(ck_record_number(r, "null")));
    assert_string_equal(ck_record_text(r, "t"), "\xc3\xa4");
    assert_string_equal(ck_record_text(r, "a"), "");
    assert_true(ck_record_has(r, "null") && !ck_record_has(r, "none"));
    assert_int_equal(ck_record_count(r, "list"), 2);
    assert_int_equal(ck_record_count(r, "a"), 0);
    assert_close(ck_record_number(ck_record_item(r, "list", 1), "b"), 7, 0);
    assert_true(isnan(ck_record_number(ck_record_item(r, "list", 2), "b")));
    assert_true(isnan(ck_record_number(ck_record_object(r, "none"), "b")));
    ck_record_each(ck_record_object(r, "o"), collect, all);
    assert_string_equal(all, "k=3, 4;on=yes;w=auto;x=0.4;");
    return COKE_OK;
}

static void values_come_by_their_keys(void **state)
{
    (void)state;
    save("{\"a\": 1.5, \"t\": \"\xc3\xa4\", \"null\": null, \"list\": [{\"b\": 3}, {\"b\": 7}],"
         "\"o\": {\"k\": [3, 4], \"on\": true, \"w\": \"auto\", \"x\": 0.4}}");
    assert_ok(ck_record_read(path, look, NULL));
}

static int add(void *arg, struct ck_record r)
{
    *(double *)arg += ck_record_number(r, "n");
    return COKE_OK;
}

static void line_without_its_end_does_not_count(void **state)
{
    (void)state;
    double sum = 0;
    save("{\"n\": 1}\n{\"n\": 2}\n{\"n\": 4");
    assert_ok(ck_record_read_lines(path, add, &sum));
    assert_close(sum, 3, 0);
    save("");
    assert_ok(ck_record_read_lines(path, add, &sum));
}

static void damage_is_told_with_its_line(void **state)
{
    (void)state;
    double sum = 0;
    save("{\"n\": 1}\n{\"n\": 2\n{\"n\": 4}\n");
    assert_fails(ck_record_read_lines(path, add, &sum), COKE_EFORMAT, "line 2");
    save("{\"n\": 1}\n[1]\n");
    assert_fails(ck_record_read_lines(path, add, &sum), COKE_EFORMAT, "not a JSON object");
    save("{\"a\": 1,\n");
    assert_fails(ck_record_read(path, add, &sum), COKE_EFORMAT, "line 2");
    assert_fails(ck_record_read("/nowhere/x.json", add, &sum), COKE_EIO, "/nowhere");
}

static int refuse(void *arg, struct ck_record r)
{
    (void)arg;
    (void)r;
    return COKE_EUSAGE;
}

static void reader_may_refuse(void **state)
{
    (void)state;
    save("{}\n{}\n");
    assert_int_equal(ck_record_read_lines(path, refuse, NULL), COKE_EUSAGE);
}

/* Three lines as a training writes them. */
static void make_lines(char out[512])
{
    out[0] = 0;
    for (int i = 1; i <= 4; i *= 2) {
        struct ck_json j;
        ck_json_init_style(&j, CK_JSON_LINE);
        ck_json_begin_object(&j, NULL);
        ck_json_put_int(&j, "n", i);
        ck_json_begin_array(&j, "open");
        assert_ok(ck_json_finish_line(&j));
        strncat(out, j.text, (size_t)j.n);
        ck_json_release(&j);
    }
}

static void flipped_lines_are_refused_but_for_the_newline_of_the_last(void **state)
{
    (void)state;
    char lines[512];
    double sum = 0;
    make_lines(lines);
    size_t n = strlen(lines);
    save(lines);
    assert_ok(ck_record_read_lines(path, add, &sum));
    assert_close(sum, 7, 0);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        lines[bit / 8] = (char)(lines[bit / 8] ^ 1 << bit % 8);
        save(lines);
        int rc = ck_record_read_lines(path, add, &sum), torn = bit / 8 == n - 1;
        if (lines[bit / 8]) /* a zero ends save() early */
            assert_int_equal(rc, torn ? COKE_OK : COKE_EFORMAT);
        lines[bit / 8] = (char)(lines[bit / 8] ^ 1 << bit % 8);
    }
}

static void edited_line_is_read_without_its_checksum(void **state)
{
    (void)state;
    char lines[512];
    double sum = 0;
    make_lines(lines);
    lines[strcspn(lines, "1")] = '8';
    save(lines);
    assert_fails(ck_record_read_lines(path, add, &sum), COKE_EFORMAT, "line 1 is damaged");
    char *from = strstr(lines, ", \"xxh3\""), *to = strchr(from, '}');
    memmove(from, to, strlen(to) + 1);
    save(lines);
    assert_ok(ck_record_read_lines(path, add, &sum));
    assert_close(sum, 14, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_by_their_keys),
        cmocka_unit_test(line_without_its_end_does_not_count),
        cmocka_unit_test(damage_is_told_with_its_line),
        cmocka_unit_test(reader_may_refuse),
        cmocka_unit_test(flipped_lines_are_refused_but_for_the_newline_of_the_last),
        cmocka_unit_test(edited_line_is_read_without_its_checksum),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
