/* test_cifar.c - CIFAR-10 and CIFAR-100 binary files, whole and damaged. */
#include "unit/data/data_test.h"

enum { PIXELS = 1024, BYTES = 3072 };

static unsigned char pixel(int record, int channel, int p)
{
    return (unsigned char)(record * 31 + channel * 77 + p);
}

/* n records with labels label(i) (and coarse ones a fifth of them); extra bytes at the end. */
static void write_records(const char *path, int n, int head, int classes, int extra)
{
    put(path, "");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < n; i++) {
        int label = i % classes;
        if (head == 2)
            fputc(label / 5, f);
        fputc(label, f);
        for (int c = 0; c < 3; c++)
            for (int p = 0; p < PIXELS; p++)
                fputc(pixel(i, c, p), f);
    }
    for (int i = 0; i < extra; i++)
        fputc(0, f);
    fclose(f);
}

static void check_pixels(struct ck_dataset *d, int64_t i, int record)
{
    struct ck_item item = {0};
    assert_ok(ck_dataset_read(d, i, &item));
    assert_null(item.bytes);
    assert_int_equal(item.pixels.width, 32);
    assert_int_equal(item.pixels.height, 32);
    assert_int_equal(item.pixels.channels, 3);
    for (int p = 0; p < PIXELS; p++)
        for (int c = 0; c < 3; c++)
            assert_int_equal(item.pixels.data[3 * p + c], pixel(record, c, p));
    ck_item_release(&item);
}

static void check_name(struct ck_dataset *d, int64_t i, const char *name)
{
    char text[64];
    ck_dataset_name(d, i, text, sizeof text);
    assert_string_equal(text, name);
}

static void batches_are_joined_and_split_is_chosen(void **state)
{
    (void)state;
    write_records("c10/data_batch_1.bin", 4, 1, 10, 0);
    write_records("c10/data_batch_3.bin", 12, 1, 10, 0);
    write_records("c10/test_batch.bin", 2, 1, 10, 0);
    struct ck_dataset *d = open_set("c10");
    assert_string_equal(d->type->kind, "CIFAR-10");
    assert_int_equal(d->n, 16);
    assert_int_equal(d->classes, 10);
    assert_int_equal(d->width * d->height * d->channels, BYTES);
    assert_string_equal(d->class_name[3], "3");
    assert_non_null(strstr(d->note, "2 of the 5 training batches"));
    check_name(d, 3, "data_batch_1.bin#3");
    check_name(d, 4, "data_batch_3.bin#0");
    check_pixels(d, 3, 3);
    check_pixels(d, 15, 11);
    assert_int_equal(ck_dataset_label(d, 15), 1);
    ck_dataset_free(d);
    struct ck_dataset_options test = {.split = CK_SPLIT_TEST};
    assert_ok(ck_dataset_open(&d, "c10", &test));
    assert_int_equal(d->n, 2);
    check_name(d, 1, "test_batch.bin#1");
    ck_dataset_free(d);
}

static void class_names_come_from_the_file_beside(void **state)
{
    (void)state;
    write_records("named/test_batch.bin", 10, 1, 10, 0);
    put("named/batches.meta.txt", "airplane\nautomobile\r\nbird\ncat\ndeer\ndog\nfrog\nhorse\n"
                                  "ship\ntruck\n\n");
    struct ck_dataset *d = open_set("named/test_batch.bin");
    assert_string_equal(d->class_name[1], "automobile");
    assert_string_equal(d->class_name[9], "truck");
    assert_string_equal(d->note, "");
    ck_dataset_free(d);
    put("named/batches.meta.txt", "airplane\n");
    d = open_set("named/test_batch.bin");
    assert_string_equal(d->class_name[1], "1");
    assert_non_null(strstr(d->note, "batches.meta.txt has 1 lines, not 10"));
    ck_dataset_free(d);
    assert_fails(open_fails("named"), COKE_EUSAGE, "data_batch_1.bin is missing, the training");
}

static void hundred_classes_or_twenty(void **state)
{
    (void)state;
    struct ck_dataset_options coarse = {.coarse = 1};
    write_records("c100/train.bin", 120, 2, 100, 0);
    write_records("c100/test.bin", 3, 2, 100, 0);
    put("c100/coarse_label_names.txt",
        "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\n");
    struct ck_dataset *d = open_set("c100");
    assert_string_equal(d->type->kind, "CIFAR-100");
    assert_int_equal(d->n, 120);
    assert_int_equal(d->classes, 100);
    assert_int_equal(d->label[87], 87);
    check_pixels(d, 119, 119);
    check_name(d, 119, "train.bin#119");
    ck_dataset_free(d);
    assert_ok(ck_dataset_open(&d, "c100/train.bin", &coarse));
    assert_int_equal(d->classes, 20);
    assert_int_equal(d->label[87], 17);
    assert_string_equal(d->class_name[17], "r");
    ck_dataset_free(d);
}

/* 3073 x 3074 bytes are records of either kind. */
static void length_that_fits_both_is_decided_by_name_then_labels(void **state)
{
    (void)state;
    write_records("both/train.bin", 3073, 2, 100, 0);
    struct ck_dataset *d = open_set("both/train.bin");
    assert_string_equal(d->type->kind, "CIFAR-100");
    ck_dataset_free(d);
    assert_int_equal(rename("both/train.bin", "both/mine.bin"), 0);
    d = open_set("both/mine.bin");
    assert_string_equal(d->type->kind, "CIFAR-100");
    assert_int_equal(d->n, 3073);
    ck_dataset_free(d);
    write_records("both/mine.bin", 3074, 1, 10, 0);
    d = open_set("both/mine.bin");
    assert_string_equal(d->type->kind, "CIFAR-10");
    assert_int_equal(d->n, 3074);
    ck_dataset_free(d);
}

static void wrong_lengths_and_labels_are_refused_with_numbers(void **state)
{
    (void)state;
    write_records("bad/data_batch_1.bin", 2, 1, 10, 5);
    assert_fails(open_fails("bad"), COKE_EFORMAT, "6151 bytes are not a whole number");
    assert_fails(open_fails("bad/data_batch_1.bin"), COKE_EFORMAT, "3073 (CIFAR-10) or 3074");
    write_records("bad/data_batch_1.bin", 12, 1, 11, 0);
    assert_fails(open_fails("bad"), COKE_EFORMAT,
                 "data_batch_1.bin: record 10 has label 10, above 9");
    write_records("bad/data_batch_1.bin", 0, 1, 10, 0);
    assert_fails(open_fails("bad"), COKE_EFORMAT, "data_batch_1.bin: empty");
    write_records("bad100/test.bin", 1, 2, 100, 0);
    assert_fails(open_fails("bad100"), COKE_EUSAGE, "train.bin is missing");
    write_records("bad100/train.bin", 104, 2, 104, 0);
    assert_fails(open_fails("bad100"), COKE_EFORMAT, "train.bin: record 100 has label 100");
    unlink("bad100/train.bin");
    mkdir("bad100/train.bin", 0777);
    assert_fails(open_fails("bad100"), COKE_EIO, "Is a directory");
}

static void every_allocation_failing_is_an_error(void **state)
{
    (void)state;
    write_records("job/data_batch_1.bin", 2, 1, 10, 0);
    write_records("job/data_batch_2.bin", 2, 1, 10, 0);
    put("job/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
    reading_survives_failed_allocations("job");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_joined_and_split_is_chosen),
        cmocka_unit_test(class_names_come_from_the_file_beside),
        cmocka_unit_test(hundred_classes_or_twenty),
        cmocka_unit_test(length_that_fits_both_is_decided_by_name_then_labels),
        cmocka_unit_test(wrong_lengths_and_labels_are_refused_with_numbers),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("cifar", tests, enter, leave_folder);
}
