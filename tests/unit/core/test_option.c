/* test_option.c - option tables: defaults, bounds, nearest names, lists, "auto". */
#include "support.h"
#include "core/option.h"

struct options {
    int64_t count;
    double share;
    int32_t fast;
    int32_t colour;
    struct coke_ints k;
    int64_t epochs;
    double step;
};

#define ROW(type, field, name, def, min, max, choices)                                         \
    CK_OPT(type, struct options, field, name, def, min, max, choices, "help of " name)

static const struct coke_option rows[] = {
    ROW(COKE_OPT_INT, count, "count", 7, 1, 100, NULL),
    ROW(COKE_OPT_FLOAT, share, "share", 0.4, 0, 1, NULL),
    ROW(COKE_OPT_FLAG, fast, "fast", 1, 0, 1, NULL),
    ROW(COKE_OPT_CHOICE, colour, "colour", 1, 0, 2, "red|green|blue"),
    ROW(COKE_OPT_INTS, k, "k", 0, 1, 1000, NULL),
    ROW(COKE_OPT_INT, epochs, "epochs", 0, 0, 50, "auto"),
    ROW(COKE_OPT_FLOAT, step, "step", 0, 0, 9, "auto"),
};
static const struct coke_option_table table = {rows, 7, sizeof(struct options)};

static void defaults_come_from_the_rows(void **state)
{
    (void)state;
    struct options o;
    memset(&o, 0x55, sizeof o);
    ck_options_default(&table, &o);
    assert_int_equal(o.count, 7);
    assert_true(o.share == 0.4 && o.fast == 1 && o.colour == 1 && o.k.n == 0 && o.epochs == 0);
    assert_ok(ck_options_check(&table, &o));
}

static void values_within_bounds_are_taken(void **state)
{
    (void)state;
    struct options o = {0};
    ck_options_default(&table, &o);
    assert_ok(ck_options_set(&table, &o, "count", "100"));
    assert_ok(ck_options_set(&table, &o, "share", "0.25"));
    assert_ok(ck_options_set(&table, &o, "share", "1e-3"));
    assert_ok(ck_options_set(&table, &o, "fast", "off"));
    assert_ok(ck_options_set(&table, &o, "colour", "blue"));
    assert_ok(ck_options_set(&table, &o, "k", "10,20,1000"));
    assert_int_equal(o.count, 100);
    assert_true(o.share == 1e-3);
    assert_int_equal(o.fast, 0);
    assert_int_equal(o.colour, 2);
    assert_int_equal(o.k.n, 3);
    assert_int_equal(o.k.v[2], 1000);
}

/* ... and what is refused leaves the options as they were. */
static void values_outside_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *words;
    } bad[] = {
        {"count", "0", "count: 0 is not within 1..100"},
        {"count", "101", "not within"},
        {"count", "1.5", "'1.5' is not an integer"},
        {"count", "", "is not an integer"},
        {"count", "12x", "is not an integer"},
        {"count", "99999999999999999999", "is not an integer"},
        {"count", "auto", "is not an integer"},
        {"share", "1.01", "not within 0..1"},
        {"share", "-0.1", "not within"},
        {"share", "nan", "is not a number"},
        {"share", "inf", "is not a number"},
        {"share", "half", "is not a number"},
        {"fast", "maybe", "neither on nor off"},
        {"colour", "gree", "none of red|green|blue"},
        {"colour", "greenish", "none of"},
        {"colour", "", "none of"},
        {"colour", "red|green", "none of"},
        {"k", "", "is not an integer"},
        {"k", "1,,2", "is not an integer"},
        {"k", "1,2,", "is not an integer"},
        {"k", "1,2000", "not within"},
        {"k", "0", "not within"},
        {"k", "11111111111111111111111111111", "list of at most 64"},
        {"epochs", "51", "not within"},
    };
    struct options o = {0}, before;
    ck_options_default(&table, &o);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(&before, &o, sizeof o);
        assert_fails(ck_options_set(&table, &o, bad[i].name, bad[i].value), COKE_EUSAGE,
                     bad[i].words);
        if (memcmp(&before, &o, sizeof o) != 0)
            fail_msg("%s = '%s' was refused, but changed the options", bad[i].name,
                     bad[i].value);
    }
}

static void list_has_at_most_64(void **state)
{
    (void)state;
    struct options o = {0};
    char text[400] = "1";
    for (int i = 1; i < COKE_MAX_HEADS; i++)
        strcat(text, ",2");
    assert_ok(ck_options_set(&table, &o, "k", text));
    assert_int_equal(o.k.n, COKE_MAX_HEADS);
    strcat(text, ",3");
    assert_fails(ck_options_set(&table, &o, "k", text), COKE_EUSAGE, "at most 64");
}

static void unknown_names_are_told_the_nearest(void **state)
{
    (void)state;
    struct options o = {0};
    assert_fails(ck_options_set(&table, &o, "cuont", "1"), COKE_EUSAGE,
                 "unknown option 'cuont'; the nearest is 'count'");
    assert_fails(ck_options_set(&table, &o, "epoch", "1"), COKE_EUSAGE, "'epochs'");
    assert_fails(ck_options_set(&table, &o, "", "1"), COKE_EUSAGE, "unknown option ''");
    assert_fails(ck_options_set(&table, &o,
                                "a-name-that-is-much-longer-than-any-row-and-any-buffer-in-it",
                                "1"),
                 COKE_EUSAGE, "unknown option");
}

static void auto_is_the_default_in_words(void **state)
{
    (void)state;
    struct options o = {0};
    char text[64];
    assert_ok(ck_options_set(&table, &o, "epochs", "5"));
    assert_ok(ck_options_get(&table, &o, "epochs", text, sizeof text));
    assert_string_equal(text, "5");
    assert_ok(ck_options_set(&table, &o, "epochs", "auto"));
    assert_int_equal(o.epochs, 0);
    assert_ok(ck_options_get(&table, &o, "epochs", text, sizeof text));
    assert_string_equal(text, "auto");
    assert_ok(ck_options_set(&table, &o, "step", "auto"));
    assert_true(o.step == 0);
}

/* get gives what set takes: the same value, to the last bit. */
static void text_goes_both_ways(void **state)
{
    (void)state;
    struct options o = {0}, again = {0};
    char text[1024];
    ck_options_default(&table, &o);
    ck_options_default(&table, &again);
    o.count = 42;
    o.share = 1.0 / 3;
    o.fast = 0;
    o.colour = 2;
    o.k = (struct coke_ints){.n = 3, .v = {1, 22, 333}};
    o.epochs = 9;
    o.step = 0.123456789012345;
    for (int i = 0; i < table.n; i++) {
        assert_ok(ck_options_get(&table, &o, rows[i].name, text, sizeof text));
        assert_ok(ck_options_set(&table, &again, rows[i].name, text));
    }
    assert_memory_equal(&o, &again, sizeof o);
}

static void struct_options_are_checked_too(void **state)
{
    (void)state;
    struct options o;
    ck_options_default(&table, &o);
    o.share = NAN;
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "share");
    ck_options_default(&table, &o);
    o.count = -1;
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "count");
    ck_options_default(&table, &o);
    o.colour = 3;
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "colour");
    ck_options_default(&table, &o);
    o.k = (struct coke_ints){.n = 2, .v = {1, 0}};
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "k");
    o.k = (struct coke_ints){.n = COKE_MAX_HEADS + 1};
    for (int i = 0; i < COKE_MAX_HEADS; i++)
        o.k.v[i] = 1;
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "k");
    o.k.n = -1;
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "k");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_the_rows),
        cmocka_unit_test(values_within_bounds_are_taken),
        cmocka_unit_test(values_outside_are_refused_and_change_nothing),
        cmocka_unit_test(list_has_at_most_64),
        cmocka_unit_test(unknown_names_are_told_the_nearest),
        cmocka_unit_test(auto_is_the_default_in_words),
        cmocka_unit_test(text_goes_both_ways),
        cmocka_unit_test(struct_options_are_checked_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
