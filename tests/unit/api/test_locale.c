/* test_locale.c - in a locale with a decimal comma, numbers are written and read as in the C
 * locale, and a training and its report consist of the same bytes. */
#include "as_options.h"
#include "support.h"
#include "core/error.h"
#include "core/state.h"
#include "core/text.h"

#include <locale.h>
#include <unistd.h>

static char folder[] = "/tmp/coke-locale-XXXXXX";

/* Compiles the locale below `folder`: most test machines have only C. */
static int have_comma(void)
{
    char command[256];
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/said 2>&1 || cat %s/said", folder,
             folder, folder);
    return system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 &&
           setlocale(LC_ALL, "de_DE.UTF-8") && localeconv()->decimal_point[0] == ',';
}

static int speak_german(void **state)
{
    (void)state;
    return setlocale(LC_ALL, "de_DE.UTF-8") == NULL;
}

static void text_has_a_decimal_point(void **state)
{
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5"); /* the locale is in effect, */
    ck_format(text, sizeof text, "%.3f %g", 2.209, 0.4);
    assert_string_equal(text, "2.209 0.4");
    snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5"); /* and it stays the caller's */
    char *end;
    assert_true(ck_parse_double("0.25x", &end) == 0.25);
    assert_string_equal(end, "x");
    ck_fail(COKE_EFORMAT, "%g", 1.5);
    assert_string_equal(coke_last_error(), "1.5");
}

static void letters_are_equal_up_to_case(void **state)
{
    (void)state;
    assert_true(ck_text_same(".TIFF", ".tiff"));
    assert_true(ck_text_same("", ""));
    assert_false(ck_text_same(".tif", ".tiff"));
    assert_false(ck_text_same(".tiff", ".tif"));
    assert_false(ck_text_same("[", "{"));
}

static void metadata_has_a_decimal_point(void **state)
{
    (void)state;
    struct ck_state s = {0};
    double x;
    assert_ok(ck_state_add_meta_number(&s, "x", 0.4));
    assert_ok(ck_state_meta_number(&s, "x", &x));
    assert_true(x == 0.4);
    assert_non_null(strchr(ck_state_meta(&s, "x"), '.'));
    ck_state_release(&s);
}

static int train(const char *run)
{
    struct coke_dataset *d;
    struct ck_dataset_options data = ck_dataset_options_default();
    struct ck_train_options o = test_training();
    struct coke_train_control control = COKE_INIT(struct coke_train_control);
    struct coke_train_summary s = COKE_INIT(struct coke_train_summary);
    int rc = coke_dataset_open(&d, "synthetic:n=30,size=8", AS(dataset, &data));
    if (rc)
        return rc;
    rc = coke_train_run(d, AS(train, &o), run, &control, NULL, &s);
    coke_dataset_free(d);
    return rc;
}

static int report(const char *run, const char *page)
{
    struct ck_report_options o = ck_report_options_default();
    struct coke_report_input in = {.size = sizeof in, .source = run};
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    return coke_report_write(&in, AS(report, &o), page, NULL, 0, &s);
}

static void a_training_consists_of_the_same_bytes(void **state)
{
    (void)state;
    assert_ok(train("german"));
    assert_ok(report("german", "german.html"));
    setlocale(LC_ALL, "C");
    assert_ok(train("plain"));
    assert_ok(report("german", "plain.html"));
    assert_int_equal(system("cmp german.html plain.html"), 0);
    assert_int_equal(system("rm -f */timing.jsonl */events* */run.json */.run-files* */*.xxh3 "
                            "*/checkpoint-*;" /* depend on times */
                            "diff -rq german plain"),
                     0);
}

static void files_of_other_locales_are_read(void **state)
{
    (void)state;
    assert_ok(report("plain", "other.html"));
    assert_ok(train("plain"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(text_has_a_decimal_point, speak_german),
        cmocka_unit_test_setup(letters_are_equal_up_to_case, speak_german),
        cmocka_unit_test_setup(metadata_has_a_decimal_point, speak_german),
        cmocka_unit_test_setup(a_training_consists_of_the_same_bytes, speak_german),
        cmocka_unit_test_setup(files_of_other_locales_are_read, speak_german),
    };
    if (!mkdtemp(folder) || chdir(folder))
        return 1;
    int failed = 77;
    if (have_comma())
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    else
        puts("skipped: localedef cannot make de_DE.UTF-8 (Debian: apt install locales)");
    return chdir("/") || test_remove_folder(folder) ? 1 : failed;
}
