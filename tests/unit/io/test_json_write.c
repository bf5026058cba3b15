/* test_json_write.c - the one writer of JSON, in all styles; jansson reads what it writes. */
#include "unit/io/io_test.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/json.h"

#include <jansson.h>

#include <float.h>
#include <math.h>

static void same_text(struct ck_json *j, const char *expected)
{
    assert_ok(ck_json_finish(j));
    assert_int_equal(j->n, strlen(expected));
    assert_memory_equal(j->text, expected, strlen(expected));
    ck_json_release(j);
}

static void fill(struct ck_json *j)
{
    ck_json_begin_object(j, NULL);
    ck_json_put_int(j, "n", -3);
    ck_json_put_real(j, "whole", 2);
    ck_json_put_real(j, "small", 1.5e-7);
    ck_json_put_real(j, "none", (double)INFINITY);
    ck_json_put_fixed(j, "fixed", 0.5, 3);
    ck_json_begin_array(j, "list");
    ck_json_put_flag(j, NULL, 1);
    ck_json_begin_object(j, NULL);
    ck_json_end(j);
    ck_json_begin_array(j, NULL);
    ck_json_end(j);
    ck_json_put_text(j, NULL, "a<b");
    ck_json_end(j);
    ck_json_put_digits(j, "third", 1. / 3, 4);
}

static void each_style_has_its_spaces_and_numbers(void **state)
{
    (void)state;
    struct ck_json j;
    ck_json_init_style(&j, CK_JSON_FILE);
    fill(&j);
    same_text(&j,
              "{\n  \"n\": -3,\n  \"whole\": 2.0,\n  \"small\": 1.5e-7,\n  \"none\": null,\n"
              "  \"fixed\": 0.500,\n  \"list\": [\n    true,\n    {},\n    [],\n"
              "    \"a<b\"\n  ],\n  \"third\": 0.3333\n}\n");
    ck_json_init_style(&j, CK_JSON_PRETTY);
    fill(&j);
    same_text(&j, "{\n  \"n\": -3,\n  \"whole\": 2,\n  \"small\": 1.5e-07,\n  \"none\": null,\n"
                  "  \"fixed\": 0.500,\n  \"list\": [\n    true,\n    {},\n    [],\n"
                  "    \"a<b\"\n  ],\n  \"third\": 0.3333\n}\n");
    ck_json_init_style(&j, CK_JSON_LINE);
    fill(&j);
    same_text(&j, "{\"n\": -3, \"whole\": 2, \"small\": 1.5e-07, \"none\": null, \"fixed\": "
                  "0.500, \"list\": [true, {}, [], \"a<b\"], \"third\": 0.3333}\n");
    ck_json_init_style(&j, CK_JSON_SCRIPT);
    fill(&j);
    same_text(&j, "{\"n\":-3,\"whole\":2,\"small\":1.5e-07,\"none\":null,\"fixed\":0.500,"
                  "\"list\":[true,{},[],\"a\\u003cb\"],\"third\":0.3333}");
}

/* Files that jansson wrote stay what they were, byte by byte. */
static void reals_are_printed_as_jansson_does(void **state)
{
    (void)state;
    static const double values[] = {
        0,      -0.,     1,       0.4,  1e15,      123456789012345678.,
        1e16,   1e22,    1e100,   1e-4, 1.5e-5,    -2.25e-300,
        5e-324, DBL_MAX, DBL_MIN, 100,  0.1 + 0.2, -1e-10};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct ck_json j;
        json_t *list = json_array();
        json_array_append_new(list, json_real(values[i]));
        char *expected = json_dumps(list, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        ck_json_init_style(&j, CK_JSON_FILE);
        ck_json_begin_array(&j, NULL);
        ck_json_put_real(&j, NULL, values[i]);
        assert_ok(ck_json_finish(&j));
        assert_int_equal(j.n, strlen(expected) + 1);
        assert_memory_equal(j.text, expected, strlen(expected));
        ck_json_release(&j);
        free(expected);
        json_decref(list);
    }
}

/* Reads one object back, and compares its text with what it should be. */
static void text_comes_back(enum ck_json_style style, const char *text, const char *expected)
{
    struct ck_json j;
    ck_json_init_style(&j, style);
    ck_json_begin_object(&j, NULL);
    ck_json_put_text(&j, text, text);
    assert_ok(ck_json_finish(&j));
    json_t *doc = json_loadb(j.text, (size_t)j.n, 0, NULL);
    assert_non_null(doc);
    assert_string_equal(json_string_value(json_object_get(doc, expected)), expected);
    for (int64_t i = 0; i < j.n; i++)
        assert_true((unsigned char)j.text[i] >= ' ' || j.text[i] == '\n');
    json_decref(doc);
    ck_json_release(&j);
}

static void any_bytes_make_valid_text(void **state)
{
    (void)state;
    char all[256];
    for (int style = CK_JSON_FILE; style <= CK_JSON_SCRIPT; style++) {
        for (int i = 1; i < 128; i++)
            all[i - 1] = (char)i;
        all[127] = 0;
        text_comes_back((enum ck_json_style)style, all, all);
        text_comes_back((enum ck_json_style)style, "", "");
        text_comes_back((enum ck_json_style)style, "a \"quoted\" \\ </script>&",
                        "a \"quoted\" \\ </script>&");
        text_comes_back((enum ck_json_style)style, "caf\xc3\xa9 \xf0\x9f\x98\x80",
                        "caf\xc3\xa9 \xf0\x9f\x98\x80");
        text_comes_back((enum ck_json_style)style, "caf\xe9 \xc3\xa9 \xed\xa0\x80",
                        "caf? \xc3\xa9 ???");
    }
}

static void text_in_a_script_has_no_markup(void **state)
{
    (void)state;
    struct ck_json j;
    ck_json_init_style(&j, CK_JSON_SCRIPT);
    ck_json_put_text(&j, NULL, "</script> & '\"\\");
    same_text(&j, "\"\\u003c/script\\u003e \\u0026 \\u0027\\u0022\\u005c\"");
}

static void several_documents_are_several_lines(void **state)
{
    (void)state;
    struct ck_json j;
    ck_json_init_style(&j, CK_JSON_LINE);
    for (int i = 0; i < 3; i++) {
        ck_json_begin_object(&j, NULL);
        ck_json_put_int(&j, "i", i);
        ck_json_end(&j);
    }
    ck_json_end(&j); /* one too many does nothing */
    same_text(&j, "{\"i\": 0}\n{\"i\": 1}\n{\"i\": 2}\n");
}

static int write_into(void *arg, const char *bytes, size_t n)
{
    char *to = arg;
    if (strlen(to) + n > 20)
        return ck_fail(COKE_EIO, "20 bytes are enough");
    strncat(to, bytes, n);
    return COKE_OK;
}

static void the_first_failure_stays(void **state)
{
    (void)state;
    char text[64] = "";
    struct ck_json j;
    ck_json_init_to(&j, CK_JSON_LINE, write_into, text);
    ck_json_begin_array(&j, NULL);
    for (int i = 0; i < 10; i++)
        ck_json_put_int(&j, NULL, i);
    assert_string_equal(text, "[0, 1, 2, 3, 4, 5, 6");
    ck_fail(COKE_EFAIL, "another");
    assert_int_equal(ck_json_finish(&j), COKE_EIO);
    assert_string_equal(text, "[0, 1, 2, 3, 4, 5, 6");
}

static void what_is_open_is_ended(void **state)
{
    (void)state;
    FILE *f = fopen("open.json", "w+");
    unsigned char text[256] = {0};
    struct coke_json *j = coke_json_open(f, COKE_JSON_STYLE_LINE);
    coke_json_begin_object(j, NULL);
    coke_json_begin_array(j, "trials");
    coke_json_begin_object(j, NULL);
    coke_json_put_real(j, "loss", 1. / 3);
    coke_json_put_text(j, "name", NULL);
    coke_json_put_flag(j, "ok", 0);
    coke_json_put_fixed(j, "seconds", 2, 3);
    assert_ok(coke_json_close(j));
    fclose(f);
    read_file("open.json", text, sizeof text - 1);
    assert_string_equal((char *)text, "{\"trials\": [{\"loss\": 0.333333333, \"name\": \"\", "
                                      "\"ok\": false, \"seconds\": 2.000}]}\n");
    unlink("open.json");
}

static void failures_show_when_it_is_closed(void **state)
{
    (void)state;
    ck_mem_fail_at(1);
    struct coke_json *j = coke_json_open(stdout, COKE_JSON_STYLE_PRETTY);
    ck_mem_fail_at(0);
    assert_null(j);
    coke_json_begin_object(j, NULL);
    coke_json_put_int(j, "n", 1);
    coke_json_end(j);
    assert_fails(coke_json_close(j), COKE_ENOMEM, "out of memory");
    FILE *full = fopen("/dev/full", "w");
    setvbuf(full, NULL, _IONBF, 0);
    j = coke_json_open(full, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    assert_fails(coke_json_close(j), COKE_EIO, "No space left");
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_style_has_its_spaces_and_numbers),
        cmocka_unit_test(reals_are_printed_as_jansson_does),
        cmocka_unit_test(any_bytes_make_valid_text),
        cmocka_unit_test(text_in_a_script_has_no_markup),
        cmocka_unit_test(several_documents_are_several_lines),
        cmocka_unit_test(the_first_failure_stays),
        cmocka_unit_test(what_is_open_is_ended),
        cmocka_unit_test(failures_show_when_it_is_closed),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
