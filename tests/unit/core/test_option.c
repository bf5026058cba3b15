/* test_option.c - option tables: defaults, bounds, nearest names, lists, "auto", texts,
 * composition, aliases. */
#include "support.h"
#include "cluster/job_options.h"
#include "core/option.h"
#include "core/state.h"
#include "core/thread.h"
#include "train/train_options.h"

struct options {
    int64_t count, images;
    double share;
    int32_t fast;
    int32_t colour;
    struct ck_ints k;
    int64_t epochs;
    double step;
    struct ck_numbers paint;
};

#define ROW(type, field, name, def, min, max, choices)                                         \
    CK_OPT(type, struct options, field, name, def, min, max, choices, "help of " name)

static const struct ck_option rows[] = {
    ROW(CK_OPT_INT, count, "count", 7, 1, 100, NULL),
    ROW(CK_OPT_FLOAT, share, "share", 0.4, 0, 1, NULL),
    ROW(CK_OPT_FLAG, fast, "fast", 1, 0, 1, NULL),
    ROW(CK_OPT_CHOICE, colour, "colour", 1, 0, 2, "red|green|blue"),
    ROW(CK_OPT_INTS, k, "k", 0, 1, 1000, NULL),
    ROW(CK_OPT_INT, epochs, "epochs", 0, 1, 50, "auto"),
    ROW(CK_OPT_FLOAT, step, "step", 0, 0, 9, "auto"),
    ROW(CK_OPT_INT, images, "images", 0, 1, 0x1p53, "auto"),
    {.name = "paint",
     .type = CK_OPT_NUMBERS,
     .offset = offsetof(struct options, paint),
     .def = 1,
     .max = 255,
     .choices = "none|white|black",
     .help = "a word or R,G,B",
     .lengths = 1 << 3},
};
static const struct ck_option_table table = CK_OPTION_TABLE(rows, struct options);

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
        {"count", "99999999999999999999", "is beyond 64 bits"},
        {"count", "auto", "is not an integer"},
        {"images", "9007199254740993", "neither 'auto' nor within 1..9007199254740992"},
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
        {"epochs", "51", "neither 'auto' nor within 1..50"},
        {"epochs", "0", "epochs: 0 is neither 'auto' nor within 1..50"},
        {"paint", "", "none of none|white|black"},
        {"paint", "whit", "none of"},
        {"paint", "1", "1 numbers are given; a word or R,G,B"},
        {"paint", "1,2", "2 numbers"},
        {"paint", "1,2,3,4", "4 numbers"},
        {"paint", "1,2,3,4,5,6,7", "at most 6 numbers"},
        {"paint", "1,2,256", "not within 0..255"},
        {"paint", "1,2,-1", "not within"},
        {"paint", "1,,2", "is not a number"},
        {"paint", "1,2,", "is not a number"},
        {"paint", "1,2,black", "is not a number"},
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
    for (int i = 1; i < CK_MAX_HEADS; i++)
        strcat(text, ",2");
    assert_ok(ck_options_set(&table, &o, "k", text));
    assert_int_equal(o.k.n, CK_MAX_HEADS);
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
    assert_fails(ck_options_set(&table, &o, "n_clusters", "1"), COKE_EUSAGE, "'k'");
    assert_fails(ck_options_set(&table, &o,
                                "a-name-that-is-much-longer-than-any-row-and-any-buffer-in-it",
                                "1"),
                 COKE_EUSAGE, "unknown option");
}

/* What other programs call an option. */
static void synonyms_are_told_the_name_here(void **state)
{
    (void)state;
    static const char *const pair[][2] = {{"lr", "rate"},
                                          {"learning_rate", "rate"},
                                          {"wd", "weight-decay"},
                                          {"bs", "batch"},
                                          {"batch_size", "batch"},
                                          {"clusters", "k"},
                                          {"num-workers", "workers"}};
    struct ck_train_options o = ck_train_options_default();
    char words[96];
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        snprintf(words, sizeof words, "unknown option '%s'; the nearest is '%s'", pair[i][0],
                 pair[i][1]);
        assert_fails(ck_options_set(ck_train_option_table(), &o, pair[i][0], "1"), COKE_EUSAGE,
                     words);
    }
}

static void numbers_may_replace_a_word(void **state)
{
    (void)state;
    struct options o;
    int64_t word = -1;
    const struct ck_option *row = ck_option_find(&table, "paint");
    ck_options_default(&table, &o);
    assert_true(o.paint.n == 0 && o.paint.word == 1);
    assert_ok(ck_options_set(&table, &o, "paint", "1,.5,2e2"));
    assert_true(o.paint.n == 3 && o.paint.v[1] == 0.5 && o.paint.v[2] == 200);
    assert_fails(ck_option_get_int(row, &o, &word), COKE_EUSAGE, "a word or several numbers");
    assert_ok(ck_options_set(&table, &o, "paint", "black"));
    assert_ok(ck_option_get_int(row, &o, &word));
    assert_int_equal(word, 2);
    assert_ok(ck_option_set_int(row, &o, 0));
    assert_true(o.paint.n == 0 && o.paint.word == 0);
    assert_fails(ck_option_set_int(row, &o, 3), COKE_EUSAGE, "not one of its 3 words");
    o.paint.n = 2;
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "2 numbers");
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
    /* programs pass the number that get_int gives for the word, and no other below 1 */
    const struct ck_option *row = ck_option_find(&table, "epochs");
    ck_options_default(&table, &o);
    assert_ok(ck_option_set_int(row, &o, 0));
    assert_ok(ck_options_check(&table, &o));
    assert_fails(ck_option_set_int(row, &o, -1), COKE_EUSAGE, "neither 'auto' nor");
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
    o.k = (struct ck_ints){.n = 3, .v = {1, 22, 333}};
    o.epochs = 9;
    o.step = 0.123456789012345;
    o.paint = (struct ck_numbers){.n = 3, .v = {1, 2.5, 1.0 / 3}};
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
    o.k = (struct ck_ints){.n = 2, .v = {1, 0}};
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "k");
    o.k = (struct ck_ints){.n = CK_MAX_HEADS + 1};
    for (int i = 0; i < CK_MAX_HEADS; i++)
        o.k.v[i] = 1;
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "k");
    o.k.n = -1;
    assert_fails(ck_options_check(&table, &o), COKE_EUSAGE, "k");
}

/* ---- composition ---- */

struct engine {
    int64_t count;
    double power;
    const char *name;
};
struct car {
    int32_t doors;
    struct engine engine;
};

static const struct ck_option engine_rows[] = {
    CK_OPT(CK_OPT_INT, struct engine, count, "count", 4, 1, 12, NULL, "cylinders"),
    CK_OPT(CK_OPT_FLOAT, struct engine, power, "power", 50, 1, 1000, NULL, "in kW"),
    {.name = "name",
     .type = CK_OPT_TEXT,
     .offset = offsetof(struct engine, name),
     .alias = "label",
     .help = "what it is called"},
};
static const struct ck_option_table engine_table = CK_OPTION_TABLE(engine_rows, struct engine);

static const struct ck_option car_rows[] = {
    CK_OPT(CK_OPT_FLAG, struct car, doors, "doors", 1, 0, 1, NULL, "has doors"),
};
static const struct ck_option_table car_own = CK_OPTION_TABLE(car_rows, struct car);

static const struct ck_option_override of_engine[] = {
    {"power", CK_NEW_DEF(90), CK_NEW_BOUNDS(20, 200), .help = "of the car"},
    {"count", .drop = 1},
    {.name = NULL},
};
static const struct ck_option_part car_parts[] = {
    {&car_own, 0, NULL},
    {&engine_table, offsetof(struct car, engine), of_engine},
};
static struct ck_option car_all[8];
static struct ck_option_table car_table;
static int joined; /* how often */

static void join_car(void)
{
    joined++;
    ck_option_join(&car_table, car_all, 8, sizeof(struct car), car_parts, 2);
}

static void joined_tables_have_their_parts_rows_and_overrides(void **state)
{
    (void)state;
    struct car c;
    join_car();
    assert_int_equal(car_table.n, 3);
    assert_string_equal(ck_option_find(&car_table, "power")->help, "of the car");
    assert_null(ck_option_find(&car_table, "count"));
    ck_options_default(&car_table, &c);
    assert_int_equal(c.doors, 1);
    assert_true(c.engine.power == 90);
    assert_int_equal(c.engine.count, 4); /* a row that was left out: the part's default */
    assert_ok(ck_options_set(&car_table, &c, "power", "200"));
    assert_true(c.engine.power == 200);
    assert_fails(ck_options_set(&car_table, &c, "power", "201"), COKE_EUSAGE, "20..200");
    assert_true(engine_rows[1].def == 50 && engine_rows[1].max == 1000);
}

static void texts_are_owned_copies(void **state)
{
    (void)state;
    char word[8] = "fast", text[16];
    struct car a, b;
    join_car();
    ck_options_default(&car_table, &a);
    assert_null(a.engine.name);
    assert_ok(ck_options_get(&car_table, &a, "name", text, sizeof text));
    assert_string_equal(text, "");
    assert_ok(ck_options_set(&car_table, &a, "name", word));
    word[0] = 'l';
    assert_string_equal(a.engine.name, "fast");
    assert_ok(ck_options_copy(&car_table, &b, &a));
    assert_ok(ck_options_set(&car_table, &a, "name", "slow"));
    assert_string_equal(b.engine.name, "fast");
    assert_ok(ck_options_set(&car_table, &b, "name", ""));
    assert_null(b.engine.name);
    ck_options_release(&car_table, &a);
    ck_options_release(&car_table, &b);
    assert_null(a.engine.name);
}

static void former_names_are_accepted(void **state)
{
    (void)state;
    struct car c;
    struct ck_state s = {0};
    join_car();
    ck_options_default(&car_table, &c);
    assert_ok(ck_options_set(&car_table, &c, "label", "x"));
    assert_string_equal(c.engine.name, "x");
    ck_options_release(&car_table, &c);
    const struct ck_option *row = ck_option_find(&car_table, "name");
    assert_null(ck_option_meta(row, &s, "car."));
    assert_ok(ck_state_add_meta(&s, "car.label", "old"));
    assert_string_equal(ck_option_meta(row, &s, "car."), "old");
    assert_ok(ck_state_add_meta(&s, "car.name", "new"));
    assert_string_equal(ck_option_meta(row, &s, "car."), "new");
    ck_state_release(&s);
}

static void states_without_a_newer_option_have_its_default(void **state)
{
    (void)state;
    struct car c, def;
    struct ck_state s = {0};
    join_car();
    ck_options_default(&car_table, &def);
    assert_int_equal(ck_options_from_meta(&car_table, &c, &s, "car."), 0);
    assert_memory_equal(&c, &def, sizeof c);
    assert_ok(ck_state_add_meta(&s, "car.label", "old"));
    assert_int_equal(ck_options_from_meta(&car_table, &c, &s, "car."), 1);
    assert_string_equal(c.engine.name, "old");
    ck_options_release(&car_table, &c);
    ck_state_release(&s);
}

/* The former name of one option is the name of another: names win. */
static void names_come_before_aliases(void **state)
{
    (void)state;
    const struct ck_option_table *t = ck_train_option_table();
    assert_string_equal(ck_option_find(t, "centers")->choices, "last|current");
    assert_ptr_equal(ck_option_find(t, "form"), ck_option_find(t, "update"));
    assert_ptr_equal(ck_option_find(t, "head"), ck_option_find(t, "projector"));
    t = ck_cluster_option_table();
    assert_ptr_equal(ck_option_find(t, "centers"), ck_option_find(t, "update"));
}

/* One row is the home of a default: what differs is an override. */
static void kinds_share_their_rows(void **state)
{
    (void)state;
    struct ck_cluster_options c = ck_cluster_options_default();
    struct ck_train_options t = ck_train_options_default();
    struct ck_kmeans_options k = ck_kmeans_options_default();
    assert_true(c.kmeans.ratio == k.ratio && t.kmeans.ratio == k.ratio);
    assert_true(c.kmeans.carry == 0.1 && t.kmeans.carry == 0 && k.carry == 0);
    assert_int_equal(c.kmeans.update, CK_UPDATE_MEAN);
    assert_int_equal(t.kmeans.update, CK_UPDATE_RUNNING);
    assert_int_equal(t.loader.bad, CK_BAD_REPLACE);
    assert_true(t.optimizer.trust == ck_optimizer_options_default().trust);
    assert_int_equal(c.kmeans.keep_labels, 1);
    assert_ok(ck_options_check(ck_train_option_table(), &t));
}

static struct ck_once once = CK_ONCE;

static void ask_once(void *arg)
{
    *(int *)arg = 0;
    ck_once(&once, join_car);
    *(int *)arg = car_table.n;
}

static void threads_that_ask_together_join_once(void **state)
{
    (void)state;
    struct ck_thread t[8];
    int n[8];
    joined = 0;
    for (int i = 0; i < 8; i++)
        assert_ok(ck_thread_start(&t[i], ask_once, &n[i]));
    for (int i = 0; i < 8; i++) {
        ck_thread_join(&t[i]);
        assert_int_equal(n[i], 3);
    }
    assert_int_equal(joined, 1);
}

static void numbers_are_checked_like_text(void **state)
{
    (void)state;
    struct options o;
    int64_t i;
    double x;
    ck_options_default(&table, &o);
    assert_ok(ck_option_set_int(ck_option_find(&table, "count"), &o, 99));
    assert_fails(ck_option_set_int(ck_option_find(&table, "count"), &o, 101), COKE_EUSAGE,
                 "count: 101 is not within 1..100");
    assert_ok(ck_option_set_int(ck_option_find(&table, "share"), &o, 1));
    assert_ok(ck_option_set_float(ck_option_find(&table, "share"), &o, 0.5));
    assert_fails(ck_option_set_float(ck_option_find(&table, "share"), &o, NAN), COKE_EUSAGE,
                 "share");
    assert_fails(ck_option_set_float(ck_option_find(&table, "count"), &o, 1.5), COKE_EUSAGE,
                 "count: this option is an integer");
    assert_ok(ck_option_set_int(ck_option_find(&table, "k"), &o, 7));
    assert_true(o.k.n == 1 && o.k.v[0] == 7);
    assert_ok(ck_option_get_int(ck_option_find(&table, "count"), &o, &i));
    assert_int_equal(i, 99);
    assert_ok(ck_option_get_float(ck_option_find(&table, "share"), &o, &x));
    assert_true(x == 0.5);
    assert_fails(ck_option_get_int(ck_option_find(&table, "k"), &o, &i), COKE_EUSAGE, "a list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_the_rows),
        cmocka_unit_test(values_within_bounds_are_taken),
        cmocka_unit_test(values_outside_are_refused_and_change_nothing),
        cmocka_unit_test(list_has_at_most_64),
        cmocka_unit_test(unknown_names_are_told_the_nearest),
        cmocka_unit_test(synonyms_are_told_the_name_here),
        cmocka_unit_test(numbers_may_replace_a_word),
        cmocka_unit_test(auto_is_the_default_in_words),
        cmocka_unit_test(text_goes_both_ways),
        cmocka_unit_test(struct_options_are_checked_too),
        cmocka_unit_test(joined_tables_have_their_parts_rows_and_overrides),
        cmocka_unit_test(texts_are_owned_copies),
        cmocka_unit_test(former_names_are_accepted),
        cmocka_unit_test(states_without_a_newer_option_have_its_default),
        cmocka_unit_test(names_come_before_aliases),
        cmocka_unit_test(kinds_share_their_rows),
        cmocka_unit_test(threads_that_ask_together_join_once),
        cmocka_unit_test(numbers_are_checked_like_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
