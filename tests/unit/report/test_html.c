/* test_html.c - text from data cannot leave its place in a page. */
#include "support.h"
#include "core/mem.h"
#include "report/html.h"

#include <unistd.h>

static char path[64] = "/tmp/coke-html-XXXXXX";

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

/* What write makes of text. */
static const char *made(void (*write)(struct ck_html *, const char *), const char *text)
{
    static char out[4096];
    struct ck_html h;
    assert_ok(ck_html_open(&h, path, 1));
    write(&h, text);
    int64_t bytes = h.bytes;
    assert_ok(ck_html_commit(&h));
    ck_html_abort(&h);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, sizeof out - 1, f);
    fclose(f);
    assert_int_equal(n, bytes);
    out[n] = 0;
    return out;
}

static void markup_becomes_entities(void **state)
{
    (void)state;
    assert_string_equal(made(ck_html_text, "<b a=\"1\" c='2'>&amp;"),
                        "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
    assert_string_equal(made(ck_html_text, "K\xc3\xa4tzchen \xe7\x8c\xab \xf0\x9f\x90\x88"),
                        "K\xc3\xa4tzchen \xe7\x8c\xab \xf0\x9f\x90\x88");
    assert_string_equal(made(ck_html_text, ""), "");
}

static void shorten(struct ck_html *h, const char *text)
{
    ck_html_short_text(h, text, 5);
}

static void long_names_keep_their_beginning(void **state)
{
    (void)state;
    assert_string_equal(made(shorten, "tench"), "tench");
    assert_string_equal(made(shorten, "tenches"), "tenc\xe2\x80\xa6");
    assert_string_equal(made(shorten, "<&>'\"x"), "&lt;&amp;&gt;&#39;\xe2\x80\xa6");
    assert_string_equal(made(shorten, "\xe7\x8c\xab\xe7\x8c\xab"), "\xe7\x8c\xab\xe7\x8c\xab");
    assert_string_equal(made(shorten, "\xe7\x8c\xab\xe7\x8c\xab\xe7\x8c\xab"),
                        "\xe7\x8c\xab\xe7\x8c\xab\xe2\x80\xa6");
}

static void control_characters_become_pictures(void **state)
{
    (void)state;
    assert_string_equal(made(ck_html_text, "a\nb\tc\x7f"), "a\xe2\x90\x8a"
                                                           "b\xe2\x90\x89"
                                                           "c\xe2\x90\xa1");
    /* U+202E turns the direction, U+2028 ends a line, U+0085 is a control. */
    assert_string_equal(made(ck_html_text, "\xe2\x80\xae|\xe2\x80\xa8|\xc2\x85"),
                        "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd");
}

static void bytes_that_are_no_text_are_replaced(void **state)
{
    (void)state;
    const char *bad[] = {"\xff",
                         "\x80",
                         "\xc0\xaf",
                         "\xc3",
                         "\xe2\x82",
                         "\xed\xa0\x80",
                         "\xf4\x90\x80\x80",
                         "\xf8\x88\x80\x80",
                         "\xe0\x80\xbc",
                         "\xf0\x80\x80\xbc"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *out = made(ck_html_text, bad[i]);
        assert_true(strlen(out) >= 3);
        for (const char *p = out; *p; p += 3)
            assert_memory_equal(p, "\xef\xbf\xbd", 3);
    }
    assert_string_equal(made(ck_html_text, "\xe2<b>"), "\xef\xbf\xbd&lt;b&gt;");
}

static void put_json(struct ck_html *h, const char *text)
{
    struct ck_json j;
    ck_html_json_begin(h, &j);
    ck_html_json_text(&j, NULL, text);
    ck_html_json_end(h, &j);
}

static void json_cannot_end_its_script(void **state)
{
    (void)state;
    assert_string_equal(made(put_json, "</script><!--"), "\"\\u003c/script\\u003e\\u003c!--\"");
    assert_string_equal(made(put_json, "a\"b\\c&d'e\n"),
                        "\"a\\u0022b\\u005cc\\u0026d\\u0027e\xe2\x90\x8a\"");
    assert_string_equal(made(put_json, "\xe2\x80\xa8"), "\"\xef\xbf\xbd\"");
}

static void urls_have_plain_letters(void **state)
{
    (void)state;
    assert_string_equal(made(ck_html_url, "a b<1>)'\"\\.jpg"), "a%20b%3C1%3E%29%27%22%5C.jpg");
    assert_string_equal(made(ck_html_url, "\xc3\xa4"), "%C3%A4");
}

static void put_base64(struct ck_html *h, const char *text)
{
    ck_html_base64(h, (const unsigned char *)text, strlen(text));
}

static void base64_is_that_of_the_rfc(void **state)
{
    (void)state;
    char line[3001];
    assert_string_equal(made(put_base64, ""), "");
    assert_string_equal(made(put_base64, "f"), "Zg==");
    assert_string_equal(made(put_base64, "fo"), "Zm8=");
    assert_string_equal(made(put_base64, "foobar"), "Zm9vYmFy");
    memset(line, 'f', sizeof line - 1);
    line[sizeof line - 1] = 0;
    assert_int_equal(strlen(made(put_base64, line)), 4000);
}

static void failed_allocation_in_json_is_kept(void **state)
{
    (void)state;
    struct ck_html h;
    assert_ok(ck_html_open(&h, path, 1));
    ck_mem_fail_at(1);
    put_json(&h, "cat");
    assert_fails(ck_html_commit(&h), COKE_ENOMEM, "out of memory");
    ck_html_abort(&h);
}

static void full_disk_is_told_at_the_end(void **state)
{
    (void)state;
    struct ck_html h;
    assert_ok(ck_html_open(&h, path, 1));
    ck_file_fail_write_at(1);
    for (int i = 0; i < 200000; i++)
        ck_html_put(&h, "0123456789");
    ck_file_fail_write_at(0);
    assert_int_equal(ck_html_commit(&h), COKE_EIO);
    ck_html_abort(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_becomes_entities),
        cmocka_unit_test(long_names_keep_their_beginning),
        cmocka_unit_test(control_characters_become_pictures),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
        cmocka_unit_test(json_cannot_end_its_script),
        cmocka_unit_test(urls_have_plain_letters),
        cmocka_unit_test(base64_is_that_of_the_rfc),
        cmocka_unit_test(failed_allocation_in_json_is_kept),
        cmocka_unit_test(full_disk_is_told_at_the_end),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
