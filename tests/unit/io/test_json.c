/* test_json.c - options from and to JSON; small documents. */
#include "unit/io/io_test.h"

#include <jansson.h>
#include "core/option.h"
#include "io/json.h"

#include <math.h>

struct opts {
    int64_t count, batch;
    double rate, eta;
    int32_t fast, form;
    struct ck_ints k;
};

static const struct ck_option rows[] = {
    CK_OPT(CK_OPT_INT, struct opts, count, "count", 10, 1, 1e15, NULL, ""),
    CK_OPT(CK_OPT_INT, struct opts, batch, "batch", 0, 0, 1000, "auto", ""),
    CK_OPT(CK_OPT_FLOAT, struct opts, rate, "rate", 0.4, 0, 1, NULL, ""),
    CK_OPT(CK_OPT_FLOAT, struct opts, eta, "eta", 0, 0, 1e9, "auto", ""),
    CK_OPT(CK_OPT_FLAG, struct opts, fast, "fast", 1, 0, 1, NULL, ""),
    CK_OPT(CK_OPT_CHOICE, struct opts, form, "form", 1, 0, 2, "a|b|c", ""),
    CK_OPT(CK_OPT_INTS, struct opts, k, "k", 5, 1, 1000, NULL, ""),
};
static const struct ck_option_table table = CK_OPTION_TABLE(rows, struct opts);

static int load(const char *text, struct opts *o)
{
    write_file("c.json", text, strlen(text));
    ck_options_default(&table, o);
    int rc = ck_options_load_json(&table, o, "c.json");
    unlink("c.json");
    return rc;
}

static void options_of_every_type_are_loaded(void **state)
{
    (void)state;
    struct opts o;
    assert_ok(load("{\"count\": 123456789012, \"batch\": \"auto\", \"rate\": 0.1, \"eta\": 2,"
                   " \"fast\": false, \"form\": \"c\", \"k\": [3, 4]}",
                   &o));
    assert_true(o.count == 123456789012 && o.batch == 0 && o.rate == 0.1 && o.eta == 2);
    assert_true(o.fast == 0 && o.form == 2 && o.k.n == 2 && o.k.v[1] == 4);
    assert_ok(load("{\"count\": 1e3, \"k\": 7, \"rate\": \"0.5\"}", &o));
    assert_true(o.count == 1000 && o.k.n == 1 && o.k.v[0] == 7 && o.rate == 0.5);
    assert_ok(load("{}", &o));
    assert_int_equal(o.count, 10);
}

static void wrong_options_name_the_file_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
        const char *words;
    } cases[] = {
        {"{\"coutn\": 1}", COKE_EUSAGE,
         "c.json: unknown option 'coutn'; the nearest is 'count'"},
        {"{\"count\": \"many\"}", COKE_EUSAGE, "c.json: count: 'many' is not an integer"},
        {"{\"count\": 0}", COKE_EUSAGE, "c.json: count: 0 is not within"},
        {"{\"count\": true}", COKE_EUSAGE, "c.json: count: 'true' is not an integer"},
        {"{\"count\": null}", COKE_EUSAGE, "c.json: count: neither a number"},
        {"{\"count\": {}}", COKE_EUSAGE, "c.json: count: neither a number"},
        {"{\"k\": [1, 2.5]}", COKE_EUSAGE, "c.json: k: '2.5' is not an integer"},
        {"{\"k\": []}", COKE_EUSAGE, "c.json: k: "},
        {"{\"count\": 3, \"rate\": 7}", COKE_EUSAGE, "c.json: rate: 7 is not within 0..1"},
        {"{\"count\": 1, \"count\": 2}", COKE_EFORMAT, "c.json: line 1: duplicate"},
        {"{\n\"count\": }", COKE_EFORMAT, "c.json: line 2: "},
        {"[1]", COKE_EFORMAT, "c.json: not a JSON object"},
        {"", COKE_EFORMAT, "c.json: line 1: "},
        {"{\"count\": 1} x", COKE_EFORMAT, "c.json: line 1: "},
    };
    struct opts o, expected;
    ck_options_default(&table, &expected);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(load(cases[i].text, &o), cases[i].status, cases[i].words);
        assert_memory_equal(&o, &expected, sizeof o);
    }
    assert_fails(ck_options_load_json(&table, &o, "none.json"), COKE_EIO, "none.json: No such");
    assert_fails(ck_options_load_json(&table, &o, "/tmp"), COKE_EIO, "Is a directory");
}

static void overlong_values_are_refused(void **state)
{
    (void)state;
    struct opts o;
    char *text = malloc(2 << 20), *p = text;
    p += sprintf(p, "{\"form\": \"");
    memset(p, 'x', 5000);
    memcpy(p + 5000, "\"}", 3);
    assert_fails(load(text, &o), COKE_EUSAGE, "form: the text is too long");
    p = text + sprintf(text, "{\"k\": [1");
    for (int i = 0; i < 2000; i++, p += 2)
        memcpy(p, ",1", 2);
    memcpy(p, "]}", 3);
    assert_fails(load(text, &o), COKE_EUSAGE, "k: the list is too long");
    memset(text, ' ', 2 << 20);
    text[(2 << 20) - 1] = 0;
    assert_fails(load(text, &o), COKE_EFORMAT, "is 1048576");
    free(text);
}

static void printed_options_load_to_the_same_values(void **state)
{
    (void)state;
    struct opts o, back;
    unsigned char text[1024] = {0};
    ck_options_default(&table, &o);
    o.count = 1234567890123456;
    o.count /= 10;
    o.rate = 0.123456789012345;
    o.eta = 0;
    o.k = (struct ck_ints){.n = 3, .v = {1, 2, 3}};
    for (int round = 0; round < 2; round++) {
        FILE *f = fopen("p.json", "w");
        assert_ok(ck_options_print_json(&table, &o, f));
        fclose(f);
        memset(&back, 0, sizeof back);
        assert_ok(ck_options_load_json(&table, &back, "p.json"));
        assert_memory_equal(&o, &back, sizeof o);
        read_file("p.json", text, sizeof text - 1);
        assert_non_null(strstr((char *)text, round ? "\"eta\": 3.0" : "\"eta\": \"auto\""));
        assert_non_null(strstr((char *)text, "\"form\": \"b\""));
        o.eta = 3;
        o.batch = 7;
        o.fast = 0;
    }
    unlink("p.json");
}

static int build_and_write(void)
{
    struct ck_json j;
    ck_json_init(&j);
    ck_json_put_int(&j, "n", INT64_MAX);
    ck_json_put_real(&j, "x", 0.4);
    ck_json_put_real(&j, "bad", (double)NAN);
    ck_json_put_text(&j, "path", "caf\xe9");
    ck_json_begin_array(&j, "heads");
    ck_json_begin_object(&j, NULL);
    ck_json_put_flag(&j, "ok", 1);
    ck_json_end(&j);
    ck_json_end(&j);
    ck_json_end(&j);
    int rc = ck_json_write(&j, "d.json", 1);
    ck_json_release(&j);
    return rc;
}

static void documents_are_written_as_built(void **state)
{
    (void)state;
    unsigned char text[1024] = {0};
    assert_ok(build_and_write());
    read_file("d.json", text, sizeof text - 1);
    assert_string_equal((char *)text,
                        "{\n  \"n\": 9223372036854775807,\n  \"x\": 0.4,\n"
                        "  \"bad\": null,\n  \"path\": \"caf?\",\n  \"heads\": [\n"
                        "    {\n      \"ok\": true\n    }\n  ]\n}\n");
    unlink("d.json");
}

static void too_deep_documents_fail_at_the_end(void **state)
{
    (void)state;
    struct ck_json j;
    ck_json_init(&j);
    for (int i = 0; i < 20; i++)
        ck_json_begin_object(&j, "o");
    ck_json_put_int(&j, "n", 1);
    assert_fails(ck_json_print(&j, stdout), COKE_EFAIL, "deeper than 8");
    ck_json_release(&j);
}

static void text_is_utf8_or_not(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "a",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\xed\x9f\xbf",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xc3",
                                      "\xc0\xaf",
                                      "\xe2\x82",
                                      "\xe0\x80\x80",
                                      "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf0\x80\x80\x80",
                                      "\xff",
                                      "\xf5\x80\x80\x80",
                                      "a\xc3(b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(ck_json_is_utf8(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(ck_json_is_utf8(bad[i]));
        assert_null(json_string(bad[i]));
    }
}

static int load_good(void)
{
    struct opts o;
    ck_options_default(&table, &o);
    return ck_options_load_json(&table, &o, "good.json");
}

static int print_good(void)
{
    struct opts o;
    ck_options_default(&table, &o);
    FILE *f = fopen("/dev/null", "w");
    int rc = ck_options_print_json(&table, &o, f);
    fclose(f);
    return rc;
}

static void failed_allocations_and_full_disks_are_survived(void **state)
{
    (void)state;
    write_file("good.json", "{\"count\": 3, \"k\": [1, 2], \"form\": \"a\"}", 38);
    /* jansson takes a token it has no memory for as a syntax error. */
    every_allocation_may_fail_as(load_good, COKE_EFORMAT);
    every_allocation_may_fail(print_good);
    every_allocation_may_fail(build_and_write);
    unlink("d.json");
    ck_file_fail_write_at(1);
    assert_fails(build_and_write(), COKE_EIO, "d.json: No space left");
    unlink("good.json");
    assert_int_equal(count_files(), 0);
    struct opts o;
    ck_options_default(&table, &o);
    FILE *f = fopen("/dev/full", "w");
    assert_fails(ck_options_print_json(&table, &o, f), COKE_EIO, "No space left");
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_every_type_are_loaded),
        cmocka_unit_test(wrong_options_name_the_file_and_change_nothing),
        cmocka_unit_test(overlong_values_are_refused),
        cmocka_unit_test(printed_options_load_to_the_same_values),
        cmocka_unit_test(documents_are_written_as_built),
        cmocka_unit_test(text_is_utf8_or_not),
        cmocka_unit_test(too_deep_documents_fail_at_the_end),
        cmocka_unit_test(failed_allocations_and_full_disks_are_survived),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
