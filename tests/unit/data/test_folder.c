/* test_folder.c - folders of images: classes, order, links, and what is wrong with folders. */
#include "unit/data/data_test.h"

#include <pthread.h>

static void subfolders_are_classes_in_order_of_code_points(void **state)
{
    (void)state;
    put("a/dog/2.JPG", "two");
    put("a/dog/1.png", "one");
    put("a/dog/deep/er/x.webp", "deep");
    put("a/Zebra/z.bmp", "z");
    put("a/dog-house/h.ppm", "house"); /* '-' comes before '/' */
    put("a/\xc3\xa9tude/e.jpeg", "e");
    put("a/dog/notes.txt", "no");
    put("a/dog/.hidden.jpg", "no");
    put("a/.git/x.jpg", "no");
    struct ck_dataset *d = open_set("a");
    assert_string_equal(d->type->kind, "folder");
    assert_int_equal(d->n, 6);
    assert_int_equal(d->classes, 4);
    assert_string_equal(d->class_name[0], "Zebra");
    assert_string_equal(d->class_name[1], "dog");
    assert_string_equal(d->class_name[2], "dog-house");
    assert_string_equal(d->class_name[3], "\xc3\xa9tude");
    check_item(d, 0, "Zebra/z.bmp", 0, "z");
    check_item(d, 1, "dog/1.png", 1, "one");
    check_item(d, 2, "dog/2.JPG", 1, "two");
    check_item(d, 3, "dog/deep/er/x.webp", 1, "deep");
    check_item(d, 4, "dog-house/h.ppm", 2, "house");
    check_item(d, 5, "\xc3\xa9tude/e.jpeg", 3, "e");
    assert_string_equal(d->note, "");
    assert_string_equal(d->source, "a");
    ck_dataset_free(d);
}

static void flat_folder_has_no_labels(void **state)
{
    (void)state;
    put("flat/b.pgm", "b");
    put("flat/a.pbm", "a");
    put("flat/c.pnm", "");
    struct ck_dataset *d = open_set("flat/");
    assert_int_equal(d->n, 3);
    assert_int_equal(d->classes, 0);
    assert_null(d->label);
    check_item(d, 0, "a.pbm", -1, "a");
    check_item(d, 2, "c.pnm", -1, ""); /* as it is: the codec refuses it */
    ck_dataset_free(d);
    put("flat/sub/d.jpg", "d");
    d = open_set("flat");
    assert_int_equal(d->n, 4);
    assert_int_equal(d->classes, 0);
    assert_non_null(strstr(d->note, "3 images are directly in flat and 1 in subfolders"));
    ck_dataset_free(d);
}

static void empty_class_stays_and_is_said(void **state)
{
    (void)state;
    put("e/bird/b.jpg", "b");
    put("e/cat/readme.txt", "none");
    put("e/dog/d.jpg", "d");
    struct ck_dataset *d = open_set("e");
    assert_int_equal(d->classes, 3);
    check_item(d, 1, "dog/d.jpg", 2, "d");
    assert_non_null(strstr(d->note, "1 of 3 class folders contain no image, the first is cat"));
    ck_dataset_free(d);
}

static void folders_of_nothing_are_refused(void **state)
{
    (void)state;
    put("none/sub/readme.txt", "");
    assert_fails(open_fails("none"), COKE_EFORMAT,
                 "none: no images in this folder or below (.jpg");
    assert_fails(open_fails("nowhere"), COKE_EIO, "nowhere: No such file");
    put("parts/train/cat/x.jpg", "x");
    put("parts/Val/cat/y.jpg", "y");
    assert_fails(open_fails("parts"), COKE_EUSAGE, "not classes; use one of them: parts/Val");
    put("one.jpg", "x");
    assert_fails(open_fails("one.jpg"), COKE_EUSAGE, "a single image is not a data set");
    put("one.doc", "x");
    assert_fails(open_fails("one.doc"), COKE_EUSAGE, "unknown kind of data set");
}

static void unreadable_folder_is_named(void **state)
{
    (void)state;
    put("closed/cat/x.jpg", "x");
    put("closed/dog/y.jpg", "y");
    chmod("closed/dog", 0);
    chmod(io_dir, 0755);
    int root = geteuid() == 0;
    if (root && seteuid(65534)) {
        chmod("closed/dog", 0755);
        skip();
    }
    int rc = open_fails("closed");
    if (root)
        assert_int_equal(seteuid(0), 0);
    chmod("closed/dog", 0755);
    assert_fails(rc, COKE_EIO, "closed/dog/: Permission denied");
}

static void loops_of_links_end(void **state)
{
    (void)state;
    put("loop/a/x.jpg", "x");
    put("other/y.jpg", "y");
    assert_int_equal(symlink("..", "loop/a/up"), 0);
    assert_int_equal(symlink("self", "loop/a/self"), 0);
    assert_int_equal(symlink("gone.jpg", "loop/a/gone.jpg"), 0);
    assert_int_equal(symlink("../other", "loop/b"), 0);
    assert_int_equal(symlink("../../other/y.jpg", "loop/a/link.jpg"), 0);
    struct ck_dataset *d = open_set("loop");
    assert_int_equal(d->n, 3);
    assert_int_equal(d->classes, 2);
    check_item(d, 0, "a/link.jpg", 0, "y");
    check_item(d, 1, "a/x.jpg", 0, "x");
    check_item(d, 2, "b/y.jpg", 1, "y");
    assert_non_null(strstr(d->note, "1 links that lead to a parent folder"));
    assert_non_null(strstr(d->note, "2 broken links"));
    ck_dataset_free(d);
    mkdir("links", 0777);
    assert_int_equal(symlink("nothing", "links/cat"), 0);
    assert_fails(open_fails("links"), COKE_EFORMAT, "1 links are broken");
}

static void special_files_are_no_images(void **state)
{
    (void)state;
    put("special/x.jpg", "x");
    assert_int_equal(mkfifo("special/pipe.jpg", 0666), 0);
    mkdir("special/folder.jpg", 0777);
    struct ck_dataset *d = open_set("special");
    assert_int_equal(d->n, 1);
    ck_dataset_free(d);
}

static void file_that_vanishes_or_changes_is_an_error_with_its_name(void **state)
{
    (void)state;
    put("gone/a/x.jpg", "x");
    put("gone/a/y.jpg", "y");
    struct ck_dataset *d = open_set("gone");
    unlink("gone/a/x.jpg");
    assert_fails(read_fails(d, 0), COKE_EIO, "gone/a/x.jpg: No such file");
    unlink("gone/a/y.jpg");
    mkdir("gone/a/y.jpg", 0777);
    assert_fails(read_fails(d, 1), COKE_EIO, "gone/a/y.jpg: Is a directory");
    rmdir("gone/a/y.jpg");
    put("gone/a/y.jpg", "longer than before");
    check_item(d, 1, "a/y.jpg", 0, "longer than before");
    /* A picture of more than a gigabyte, without the disk space. */
    assert_int_equal(truncate("gone/a/y.jpg", (off_t)3 << 30), 0);
    assert_fails(read_fails(d, 1), COKE_EFORMAT, "3221225472 bytes");
    ck_dataset_free(d);
}

static void deep_folders_need_no_descriptors(void **state)
{
    char path[4096];
    (void)state;
    size_t n = 0;
    for (int i = 0; i < 1500; i++)
        n += (size_t)snprintf(path + n, sizeof path - n, "d/");
    char *start = getcwd(NULL, 0);
    mkdir("deep", 0777);
    assert_int_equal(chdir("deep"), 0);
    for (int i = 0; i < 1500; i++) {
        mkdir("d", 0777);
        assert_int_equal(chdir("d"), 0);
    }
    write_file("x.jpg", "x", 1);
    assert_int_equal(chdir(start), 0);
    free(start);
    struct ck_dataset *d = open_set("deep");
    assert_int_equal(d->n, 1);
    struct ck_item item = {0};
    assert_ok(ck_dataset_read(d, 0, &item));
    ck_item_release(&item);
    ck_dataset_free(d);
}

/* ---- many threads ---- */

static void *read_all(void *arg)
{
    struct ck_dataset *d = arg;
    struct ck_item item = {0};
    intptr_t bad = 0;
    char name[64];
    for (int round = 0; round < 5; round++)
        for (int64_t i = 0; i < d->n; i++) {
            ck_dataset_name(d, i, name, sizeof name);
            const char *text = name + 2;
            bad += ck_dataset_read(d, i, &item) != COKE_OK || item.size != strlen(text) ||
                   memcmp(item.bytes, text, item.size) != 0;
        }
    ck_item_release(&item);
    return (void *)bad;
}

static void threads_read_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        char path[64];
        snprintf(path, sizeof path, "many/%d/file-%d.jpg", i % 3, i);
        put(path, path + 7);
    }
    struct ck_dataset *d = open_set("many");
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, read_all, d), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    ck_dataset_free(d);
}

static void every_allocation_failing_is_an_error(void **state)
{
    (void)state;
    put("job/cat/x.jpg", "x");
    put("job/dog/deep/y.jpg", "y");
    put("job/empty/y.txt", "y");
    assert_int_equal(symlink("..", "job/dog/up"), 0);
    reading_survives_failed_allocations("job");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subfolders_are_classes_in_order_of_code_points),
        cmocka_unit_test(flat_folder_has_no_labels),
        cmocka_unit_test(empty_class_stays_and_is_said),
        cmocka_unit_test(folders_of_nothing_are_refused),
        cmocka_unit_test(unreadable_folder_is_named),
        cmocka_unit_test(loops_of_links_end),
        cmocka_unit_test(special_files_are_no_images),
        cmocka_unit_test(file_that_vanishes_or_changes_is_an_error_with_its_name),
        cmocka_unit_test(deep_folders_need_no_descriptors),
        cmocka_unit_test(threads_read_at_once),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("folder", tests, enter, leave_folder);
}
