/* test_options.c - public options: kinds, names, text and numbers, JSON, descriptions, a
 * caller's own. */
#include "support.h"
#include "api/api_options.h"
#include "cluster/job_options.h"
#include "data/data_options.h"
#include "train/train_options.h"

static const char *const kinds[] = {"kmeans",    "cluster", "rows",    "encoder", "plan",
                                    "optimizer", "loss",    "dataset", "pack",    "view",
                                    "loader",    "train",   "use",     "knn",     "linear",
                                    "finetune",  "report",  "export",  "import"};

static struct coke_options *make(const char *kind)
{
    struct coke_options *o;
    assert_ok(coke_options_new(&o, kind));
    return o;
}

static void expect(const struct coke_options *o, const char *name, const char *text)
{
    char value[128];
    assert_ok(coke_options_get(o, name, value, sizeof value));
    assert_string_equal(value, text);
}

/* Every default of every kind can be read and set again. */
static void every_kind_describes_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct coke_options *o = make(kinds[i]);
        assert_string_equal(coke_options_kind(o), kinds[i]);
        assert_true(coke_options_count(o) > 0);
        for (int j = 0; j < coke_options_count(o); j++) {
            struct coke_option_info info = {.size = sizeof info};
            char value[256];
            assert_ok(coke_options_describe(o, j, &info));
            assert_true(info.name[0] && info.help[0]);
            assert_ok(coke_options_get(o, info.name, value, sizeof value));
            if (info.type != COKE_OPTION_TYPE_INTS || value[0])
                assert_ok(coke_options_set(o, info.name, value));
        }
        coke_options_free(o);
    }
}

static void unknown_kinds_and_names_get_the_nearest(void **state)
{
    (void)state;
    struct coke_options *o = (struct coke_options *)1;
    assert_fails(coke_options_new(&o, "clustre"), COKE_EUSAGE,
                 "unknown kind of options 'clustre'; the nearest is 'cluster'");
    assert_null(o);
    o = make("cluster");
    assert_fails(coke_options_set(o, "ratoi", "1"), COKE_EUSAGE, "the nearest is 'ratio'");
    assert_fails(coke_options_set_int(o, "max-epoch", 1), COKE_EUSAGE, "'max-epochs'");
    struct coke_option_info info = COKE_INIT(struct coke_option_info);
    assert_fails(coke_options_describe(o, 1000, &info), COKE_EUSAGE, "option 1000");
    coke_options_free(o);
    coke_options_free(NULL);
}

static void values_are_checked_when_set(void **state)
{
    (void)state;
    struct coke_options *o = make("cluster");
    int64_t i;
    double x;
    assert_fails(coke_options_set(o, "ratio", "1.5"), COKE_EUSAGE, "not within 0..1");
    assert_fails(coke_options_set_float(o, "ratio", 2), COKE_EUSAGE, "not within 0..1");
    assert_ok(coke_options_set_float(o, "ratio", 0.25));
    assert_ok(coke_options_get_float(o, "ratio", &x));
    assert_true(x == 0.25);
    assert_ok(coke_options_set_int(o, "k", 50));
    expect(o, "k", "50");
    assert_ok(coke_options_set(o, "k", "10,20"));
    expect(o, "k", "10,20");
    assert_fails(coke_options_get(o, "k", (char[5]){0}, 5), COKE_EUSAGE, "needs 6 bytes");
    assert_ok(coke_options_set_int(o, "repair", 0));
    expect(o, "repair", "off");
    assert_ok(coke_options_set(o, "centers", "epoch")); /* its former name */
    expect(o, "update", "epoch");
    assert_ok(coke_options_get_int(o, "update", &i));
    assert_int_equal(i, CK_UPDATE_EPOCH);
    coke_options_free(o);
}

static void copies_are_independent(void **state)
{
    (void)state;
    struct coke_options *a = make("dataset"), *b;
    assert_ok(coke_options_set(a, "cache", "/tmp/a"));
    assert_ok(coke_options_copy(&b, a));
    assert_ok(coke_options_set(a, "cache", ""));
    expect(a, "cache", "");
    expect(b, "cache", "/tmp/a");
    coke_options_free(a);
    coke_options_free(b);
}

static void structs_are_borrowed_by_kind(void **state)
{
    (void)state;
    struct coke_options *train = make("train"), *knn = make("knn");
    struct ck_dataset_options storage;
    const struct ck_dataset_options *d;
    assert_ok(coke_options_set(train, "split", "test"));
    d = ck_options_as(train, ck_dataset_option_table(), &storage); /* a part */
    assert_non_null(d);
    assert_int_equal(d->split, CK_SPLIT_TEST);
    d = ck_options_as(NULL, ck_dataset_option_table(), &storage);
    assert_ptr_equal(d, &storage);
    assert_int_equal(d->split, CK_SPLIT_TRAIN);
    assert_null(ck_options_as(knn, ck_dataset_option_table(), &storage));
    assert_string_equal(coke_last_error(),
                        "options of kind 'dataset' are needed, these are of kind 'knn'");
    coke_options_free(train);
    coke_options_free(knn);
}

static void structs_can_be_wrapped(void **state)
{
    (void)state;
    struct ck_cluster_options c = ck_cluster_options_default();
    struct coke_options *o;
    c.kmeans.ratio = 0.75;
    assert_ok(ck_options_wrap(&o, "cluster", &c));
    expect(o, "ratio", "0.75");
    coke_options_free(o);
}

static void options_go_through_json(void **state)
{
    (void)state;
    struct coke_options *a = make("train"), *b = make("train");
    FILE *f = fopen("options.json", "w");
    assert_non_null(f);
    assert_ok(coke_options_set(a, "k", "10,20"));
    assert_ok(coke_options_set(a, "projector", "mlp2"));
    assert_ok(coke_options_set(a, "cache", "/tmp/x")); /* of this machine: not printed */
    assert_ok(coke_options_print_json(a, f));
    assert_int_equal(fclose(f), 0);
    assert_ok(coke_options_load_json(b, "options.json"));
    expect(b, "k", "10,20");
    expect(b, "projector", "mlp2");
    expect(b, "cache", "");
    f = fopen("options.json", "w");
    assert_non_null(f);
    fputs("{\"form\": \"epoch\", \"cache\": \"/c\", \"ratio\": 3}", f);
    assert_int_equal(fclose(f), 0);
    assert_fails(coke_options_load_json(b, "options.json"), COKE_EUSAGE, "ratio: 3");
    expect(b, "update", "running");
    expect(b, "cache", "");
    coke_options_free(a);
    coke_options_free(b);
    remove("options.json");
}

static void callers_define_their_own(void **state)
{
    (void)state;
    char help[] = "print JSON";
    struct coke_option_info rows[] = {
        {.size = sizeof *rows, .name = "json", .type = COKE_OPTION_TYPE_FLAG, .help = help},
        {.size = sizeof *rows, .name = "output", .type = COKE_OPTION_TYPE_TEXT, .help = "file"},
        {.size = sizeof *rows,
         .name = "count",
         .type = COKE_OPTION_TYPE_INT,
         .def = 3,
         .max = 9,
         .choices = "auto",
         .help = "how many"},
        {.size = sizeof *rows,
         .name = "k",
         .type = COKE_OPTION_TYPE_INTS,
         .min = 1,
         .max = 9,
         .help = ""},
        {.size = sizeof *rows,
         .name = "how",
         .type = COKE_OPTION_TYPE_CHOICE,
         .max = 1,
         .choices = "copy|link",
         .help = ""},
    };
    struct coke_options *o, *copy;
    struct coke_option_info info = {.size = sizeof info};
    assert_ok(coke_options_define(&o, rows, 5));
    help[0] = '?';
    assert_string_equal(coke_options_kind(o), "");
    expect(o, "count", "auto");
    assert_ok(coke_options_set(o, "json", "on"));
    assert_ok(coke_options_set(o, "output", "x.npy"));
    assert_ok(coke_options_set(o, "k", "1,2,3"));
    assert_fails(coke_options_set_int(o, "count", 10), COKE_EUSAGE, "0..9");
    assert_ok(coke_options_copy(&copy, o));
    coke_options_free(o);
    expect(copy, "json", "on");
    expect(copy, "output", "x.npy");
    expect(copy, "k", "1,2,3");
    expect(copy, "how", "copy");
    assert_ok(coke_options_describe(copy, 0, &info));
    assert_string_equal(info.help, "print JSON");
    coke_options_free(copy);
    rows[4].choices = NULL;
    assert_fails(coke_options_define(&o, rows, 5), COKE_EUSAGE, "'how' is a choice without");
    assert_null(o);
}

static void infos_of_older_headers_are_served(void **state)
{
    (void)state;
    struct coke_options *o = make("use");
    struct {
        struct coke_option_info info;
        char more[16];
    } large = {.info.size = sizeof large, .more = "untouched"};
    struct coke_option_info small = {.size = offsetof(struct coke_option_info, help),
                                     .help = "old"};
    assert_fails(coke_options_describe(o, 0, &large.info), COKE_EUSAGE,
                 "newer than the library");
    assert_string_equal(large.more, "untouched");
    assert_ok(coke_options_describe(o, 0, &small));
    assert_string_equal(small.name, "best");
    assert_string_equal(small.help, "old");
    coke_options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_describes_itself),
        cmocka_unit_test(unknown_kinds_and_names_get_the_nearest),
        cmocka_unit_test(values_are_checked_when_set),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(structs_are_borrowed_by_kind),
        cmocka_unit_test(structs_can_be_wrapped),
        cmocka_unit_test(options_go_through_json),
        cmocka_unit_test(callers_define_their_own),
        cmocka_unit_test(infos_of_older_headers_are_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
