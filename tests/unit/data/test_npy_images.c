/* test_npy_images.c - .npy of images, and of labels beside it. */
#include "unit/data/data_test.h"

static unsigned char bytes[4096];

static void fill(void)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
}

static const char colour[] =
    "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 2, 3, 4)}\n";

static void image_is_a_part_of_the_array(void **state)
{
    struct ck_item item = {0};
    char name[64];
    (void)state;
    fill();
    write_npy("c.npy", colour, bytes, 120);
    struct ck_dataset *d = open_set("c.npy");
    assert_string_equal(d->type->kind, "npy");
    assert_int_equal(d->n, 5);
    assert_int_equal(d->height, 2);
    assert_int_equal(d->width, 3);
    assert_int_equal(d->channels, 4);
    assert_int_equal(d->classes, 0);
    assert_ok(ck_dataset_read(d, 3, &item));
    assert_int_equal(item.pixels.width, 3);
    assert_int_equal(item.pixels.channels, 4);
    assert_memory_equal(item.pixels.data, bytes + 72, 24);
    ck_dataset_name(d, 3, name, sizeof name);
    assert_string_equal(name, "c.npy#3");
    ck_item_release(&item);
    ck_dataset_free(d);
    write_npy("g.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 2, 3)}\n", bytes,
              30);
    d = open_set("g.npy");
    assert_int_equal(d->channels, 1);
    ck_dataset_free(d);
}

static void labels_come_from_the_array_beside(void **state)
{
    int64_t label[5] = {3, 0, -1, 2, 3};
    int8_t small[5] = {1, 0, 0, 0, 1};
    (void)state;
    fill();
    write_npy("l.npy", colour, bytes, 120);
    write_npy("l-labels.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (5,)}\n",
              label, 40);
    struct ck_dataset *d = open_set("l.npy");
    assert_int_equal(d->classes, 4);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ck_dataset_label(d, i), label[i]);
    ck_dataset_free(d);
    unlink("l-labels.npy");
    write_npy("l.labels.npy", "{'descr': '|i1', 'fortran_order': False, 'shape': (5,)}\n",
              small, 5);
    d = open_set("l.npy");
    assert_int_equal(d->classes, 2);
    assert_int_equal(d->label[4], 1);
    ck_dataset_free(d);
    memset(small, -1, sizeof small);
    write_npy("l.labels.npy", "{'descr': '|i1', 'fortran_order': False, 'shape': (5,)}\n",
              small, 5);
    d = open_set("l.npy");
    assert_null(d->label);
    assert_int_equal(d->classes, 0);
    ck_dataset_free(d);
}

static void wrong_arrays_are_refused(void **state)
{
    (void)state;
    fill();
    write_npy("w.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 2, 3)}\n", bytes,
              120);
    assert_fails(open_fails("w.npy"), COKE_EFORMAT, "5 x 2 x 3 f4; images must be u1");
    write_npy("w.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 24)}\n", bytes,
              120);
    assert_fails(open_fails("w.npy"), COKE_EFORMAT, "images must be u1");
    write_npy("w.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 2, 3)}\n", bytes,
              0);
    assert_fails(open_fails("w.npy"), COKE_EFORMAT, "no images in it");
    write_npy("w.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 65)}\n",
              bytes, 65);
    assert_fails(open_fails("w.npy"), COKE_EFORMAT, "channels (last) 1 to 64");
    write_npy("w.npy", colour, bytes, 119);
    assert_fails(open_fails("w.npy"), COKE_EFORMAT, "the file has 119");
    write_npy("w.npy", colour, bytes, 121);
    assert_fails(open_fails("w.npy"), COKE_EFORMAT, "more: 121");
    put("w.npy", "");
    assert_fails(open_fails("w.npy"), COKE_EFORMAT, "w.npy: empty");
}

static void wrong_labels_are_refused(void **state)
{
    int32_t label[5] = {3, 0, -2, 2, 3};
    (void)state;
    fill();
    write_npy("x.npy", colour, bytes, 120);
    write_npy("x-labels.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (5,)}\n",
              label, 20);
    assert_fails(open_fails("x.npy"), COKE_EFORMAT, "label -2 at 2");
    label[2] = 1 << 20;
    write_npy("x-labels.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (5,)}\n",
              label, 20);
    assert_fails(open_fails("x.npy"), COKE_EFORMAT, "label 1048576 at 2");
    write_npy("x-labels.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (4,)}\n",
              label, 16);
    assert_fails(open_fails("x.npy"), COKE_EFORMAT, "4 labels for 5 images");
    write_npy("x-labels.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}\n",
              label, 20);
    assert_fails(open_fails("x.npy"), COKE_EFORMAT, "labels must be integers");
}

static void file_that_shrinks_is_an_error(void **state)
{
    struct ck_item item = {0};
    (void)state;
    fill();
    write_npy("s.npy", colour, bytes, 120);
    struct ck_dataset *d = open_set("s.npy");
    assert_int_equal(truncate("s.npy", 130), 0);
    assert_fails(ck_dataset_read(d, 4, &item), COKE_EIO, "s.npy: truncated at byte");
    assert_int_equal(item.pixels.width, 0);
    assert_ok(ck_dataset_read(d, 0, &item));
    ck_item_release(&item);
    ck_dataset_free(d);
}

static void every_allocation_failing_is_an_error(void **state)
{
    int8_t small[5] = {1, 0, 0, 0, 1};
    (void)state;
    fill();
    write_npy("job.npy", colour, bytes, 120);
    write_npy("job-labels.npy", "{'descr': '|i1', 'fortran_order': False, 'shape': (5,)}\n",
              small, 5);
    reading_survives_failed_allocations("job.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_is_a_part_of_the_array),
        cmocka_unit_test(labels_come_from_the_array_beside),
        cmocka_unit_test(wrong_arrays_are_refused),
        cmocka_unit_test(wrong_labels_are_refused),
        cmocka_unit_test(file_that_shrinks_is_an_error),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("npy_images", tests, enter, leave_folder);
}
