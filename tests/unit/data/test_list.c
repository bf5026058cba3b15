/* test_list.c - lists of images: paths, labels, and the lines that are wrong. */
#include "unit/data/data_test.h"

static void paths_are_relative_to_the_list_or_absolute(void **state)
{
    char text[256];
    (void)state;
    put("lists/x/a.jpg", "a");
    put("lists/b c.jpg", "b");
    put("other.jpg", "o");
    snprintf(text, sizeof text,
             "\xef\xbb\xbf# images\r\nx/a.jpg\r\n\r\n%s/other.jpg\n../other.jpg\nb c.jpg",
             io_dir);
    put("lists/my.txt", text);
    struct ck_dataset *d = open_set("lists/my.txt");
    snprintf(text, sizeof text, "%s/other.jpg", io_dir);
    assert_string_equal(d->type->kind, "list");
    assert_int_equal(d->n, 4);
    assert_int_equal(d->classes, 0);
    assert_null(d->label);
    check_item(d, 0, "x/a.jpg", -1, "a");
    check_item(d, 1, text, -1, "o");
    check_item(d, 2, "../other.jpg", -1, "o");
    check_item(d, 3, "b c.jpg", -1, "b");
    ck_dataset_free(d);
    assert_int_equal(chdir("lists"), 0);
    d = open_set("my.txt");
    check_item(d, 0, "x/a.jpg", -1, "a");
    ck_dataset_free(d);
    assert_int_equal(chdir(".."), 0);
}

static void check_labels(const char *path, const char *text, int n, const int *label,
                         int classes, const char *const *name)
{
    put(path, text);
    struct ck_dataset *d = open_set(path);
    assert_int_equal(d->n, n);
    assert_int_equal(d->classes, classes);
    for (int i = 0; i < n; i++)
        assert_int_equal(ck_dataset_label(d, i), label[i]);
    for (int c = 0; c < classes; c++)
        assert_string_equal(d->class_name[c], name[c]);
    ck_dataset_free(d);
}

static void labels_are_numbers_or_words(void **state)
{
    (void)state;
    check_labels("l.tsv", "a\t2\nb\t0\nc\t1\nd\t2\n", 4, (int[]){2, 0, 1, 2}, 3,
                 (const char *[]){"0", "1", "2"});
    check_labels("l.list", "a\t10\nb\t9\nc\t-1\nd\t100", 4, (int[]){1, 0, -1, 2}, 3,
                 (const char *[]){"9", "10", "100"});
    check_labels("l.txt", "a\tcat\nb\tZebra\nc\tcat\nd\t7\ne\t\nf\n", 6,
                 (int[]){2, 1, 2, 0, -1, -1}, 3, (const char *[]){"7", "Zebra", "cat"});
    check_labels("l.txt", "a\t007\nb\t7\n", 2, (int[]){0, 0}, 1, (const char *[]){"7"});
    check_labels("l.txt", "a\t99999999999999999999\nb\t7\n", 2, (int[]){1, 0}, 2,
                 (const char *[]){"7", "99999999999999999999"});
    check_labels("l.txt", "a\t-1\nb\t-1\n", 2, (int[]){-1, -1}, 0, NULL);
    check_labels("l.csv", "a.jpg, 1 \n\"b, \"\"c\"\".jpg\",0\n\"d.jpg\"\ne.jpg,\"1\"\n", 4,
                 (int[]){1, 0, -1, 1}, 2, (const char *[]){"0", "1"});
}

static void quoted_path_and_title_line(void **state)
{
    char name[64];
    (void)state;
    put("q.csv", "filename,label\n\"b, \"\"c\"\".jpg\",0\n");
    struct ck_dataset *d = open_set("q.csv");
    assert_int_equal(d->n, 1);
    ck_dataset_name(d, 0, name, sizeof name);
    assert_string_equal(name, "b, \"c\".jpg");
    assert_non_null(strstr(d->note, "Line 1 of q.csv (filename) is treated as a title"));
    ck_dataset_free(d);
}

static void missing_labels_are_counted(void **state)
{
    (void)state;
    put("m.txt", "a\tx\nb\nc\n");
    struct ck_dataset *d = open_set("m.txt");
    assert_non_null(strstr(d->note, "2 of 3 images have no label"));
    ck_dataset_free(d);
}

static void missing_file_is_found_when_read_with_its_line(void **state)
{
    (void)state;
    put("here.jpg", "h");
    put("missing.txt", "# two\nhere.jpg\n\ngone.jpg\n");
    struct ck_dataset *d = open_set("missing.txt");
    check_item(d, 0, "here.jpg", -1, "h");
    assert_fails(read_fails(d, 1), COKE_EIO, "missing.txt: line 4: gone.jpg: No such file");
    ck_dataset_free(d);
}

static void bad_lists_are_refused_with_the_line(void **state)
{
    (void)state;
    put("bad.txt", "# nothing\n\n");
    assert_fails(open_fails("bad.txt"), COKE_EUSAGE, "bad.txt: no images in the list");
    put("bad.txt", "");
    assert_fails(open_fails("bad.txt"), COKE_EUSAGE, "no images");
    put("bad.txt", "a\t1\nb\t2\t3\n");
    assert_fails(open_fails("bad.txt"), COKE_EFORMAT, "line 2: more than a path and a label");
    put("bad.txt", "a\n\t2\n");
    assert_fails(open_fails("bad.txt"), COKE_EFORMAT, "line 2: no path");
    put("bad.csv", "a.jpg,1\nb,c.jpg,2\n");
    assert_fails(open_fails("bad.csv"), COKE_EFORMAT,
                 "line 2: more than a path and a label; a");
    put("bad.csv", "\"a.jpg,1\n");
    assert_fails(open_fails("bad.csv"), COKE_EFORMAT, "line 1: a quote is not closed");
    put("bad.csv", "\"a.jpg\" 1\n");
    assert_fails(open_fails("bad.csv"), COKE_EFORMAT, "line 1: unexpected text");
    write_file("bad.txt", "a.jpg\n\0\0\n", 9);
    assert_fails(open_fails("bad.txt"), COKE_EFORMAT, "line 2: zero byte");
}

static void long_path_is_an_error_of_its_line(void **state)
{
    (void)state;
    char *text = malloc(6001);
    memset(text, 'x', 6000);
    text[6000] = 0;
    put("long.txt", text);
    free(text);
    struct ck_dataset *d = open_set("long.txt");
    assert_fails(read_fails(d, 0), COKE_EIO, "line 1: xxx");
    ck_dataset_free(d);
}

static void every_allocation_failing_is_an_error(void **state)
{
    (void)state;
    put("job.jpg", "j");
    put("job.csv", "path,label\njob.jpg,cat\nb.jpg,dog\nc.jpg\n");
    reading_survives_failed_allocations("job.csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_relative_to_the_list_or_absolute),
        cmocka_unit_test(labels_are_numbers_or_words),
        cmocka_unit_test(quoted_path_and_title_line),
        cmocka_unit_test(missing_labels_are_counted),
        cmocka_unit_test(missing_file_is_found_when_read_with_its_line),
        cmocka_unit_test(bad_lists_are_refused_with_the_line),
        cmocka_unit_test(long_path_is_an_error_of_its_line),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("list", tests, enter, leave_folder);
}
