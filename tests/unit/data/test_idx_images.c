/* test_idx_images.c - IDX images with their labels, plain and gzipped, and IDX that lies. */
#include "unit/data/data_test.h"

#include <zlib.h>

/* An IDX of u8 with these lengths and n bytes of data; returns its size. */
static size_t make_idx(unsigned char *out, int ndim, const unsigned *length, size_t n)
{
    memcpy(out, (unsigned char[]){0, 0, 8, (unsigned char)ndim}, 4);
    for (int i = 0; i < ndim; i++)
        for (int b = 0; b < 4; b++)
            out[4 + 4 * i + b] = (unsigned char)(length[i] >> (24 - 8 * b));
    size_t head = 4 + 4 * (size_t)ndim;
    for (size_t i = 0; i < n; i++)
        out[head + i] = (unsigned char)(i % 251);
    return head + n;
}

static void write_idx(const char *path, int ndim, const unsigned *length, size_t n)
{
    unsigned char *bytes = malloc(n + 64);
    size_t size = make_idx(bytes, ndim, length, n);
    put(path, "");
    write_file(path, bytes, size);
    free(bytes);
}

static void write_gzip(const char *path, int ndim, const unsigned *length, size_t n)
{
    unsigned char *bytes = malloc(n + 64);
    size_t size = make_idx(bytes, ndim, length, n);
    put(path, "");
    gzFile f = gzopen(path, "wb9");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)size), (int)size);
    gzclose(f);
    free(bytes);
}

static void check_set(struct ck_dataset *d, const char *name)
{
    struct ck_item item = {0};
    char text[64];
    assert_string_equal(d->type->kind, "IDX");
    assert_int_equal(d->n, 6);
    assert_int_equal(d->height, 3);
    assert_int_equal(d->width, 2);
    assert_int_equal(d->channels, 1);
    assert_int_equal(d->classes, 6);
    assert_int_equal(ck_dataset_label(d, 4), 4);
    assert_ok(ck_dataset_read(d, 5, &item));
    for (int p = 0; p < 6; p++)
        assert_int_equal(item.pixels.data[p], 30 + p);
    ck_dataset_name(d, 5, text, sizeof text);
    assert_string_equal(text, name);
    ck_item_release(&item);
}

static void folder_has_two_splits_plain_or_packed(void **state)
{
    (void)state;
    struct ck_dataset_options test = {.split = CK_SPLIT_TEST};
    struct ck_dataset *d;
    write_idx("m/train-images-idx3-ubyte", 3, (unsigned[]){6, 3, 2}, 36);
    write_gzip("m/train-labels-idx1-ubyte.gz", 1, (unsigned[]){6}, 6);
    write_gzip("m/t10k-images.idx3-ubyte.gz", 3, (unsigned[]){6, 3, 2}, 36);
    write_idx("m/t10k-labels.idx1-ubyte", 1, (unsigned[]){6}, 6);
    d = open_set("m");
    check_set(d, "train-images-idx3-ubyte#5");
    uint64_t id = d->id[5];
    ck_dataset_free(d);
    assert_ok(ck_dataset_open(&d, "m", &test));
    check_set(d, "t10k-images.idx3-ubyte#5");
    ck_dataset_free(d);
    write_gzip("p/train-images-idx3-ubyte.gz", 3, (unsigned[]){6, 3, 2}, 36);
    write_idx("p/train-labels-idx1-ubyte", 1, (unsigned[]){6}, 6);
    d = open_set("p/train-images-idx3-ubyte.gz");
    check_set(d, "train-images-idx3-ubyte#5");
    assert_true(d->id[5] == id); /* packing changes nothing */
    ck_dataset_free(d);
    assert_fails(ck_dataset_open(&d, "p", &test), COKE_EUSAGE,
                 "t10k-images-idx3-ubyte[.gz] is missing");
}

static void images_may_have_channels_and_no_labels(void **state)
{
    (void)state;
    write_idx("colour-images-idx4-ubyte", 4, (unsigned[]){2, 3, 2, 5}, 60);
    struct ck_dataset *d = open_set("colour-images-idx4-ubyte");
    assert_int_equal(d->channels, 5);
    assert_int_equal(d->classes, 0);
    assert_non_null(strstr(d->note, "There is no file of labels beside"));
    ck_dataset_free(d);
    write_idx("digits.idx", 3, (unsigned[]){2, 3, 2}, 12);
    d = open_set("digits.idx");
    assert_int_equal(d->n, 2);
    ck_dataset_free(d);
}

static int open_idx(int ndim, const unsigned *length, size_t n)
{
    write_idx("lie-images-idx3-ubyte", ndim, length, n);
    return open_fails("lie-images-idx3-ubyte");
}

static void what_is_no_array_of_images_is_refused(void **state)
{
    (void)state;
    assert_fails(open_idx(1, (unsigned[]){6}, 6), COKE_EFORMAT, "cannot be images (labels?)");
    assert_fails(open_idx(3, (unsigned[]){0, 3, 2}, 0), COKE_EFORMAT, "no images in it");
    assert_fails(open_idx(3, (unsigned[]){6, 0, 2}, 0), COKE_EFORMAT,
                 "2 x 0 x 1 are not supported");
    assert_fails(open_idx(3, (unsigned[]){1, 1, 70000}, 70000), COKE_EFORMAT, "70000 x 1");
    assert_fails(open_idx(4, (unsigned[]){1, 1, 1, 65}, 65), COKE_EFORMAT, "1 x 1 x 65");
    write_idx("lie-images-idx3-ubyte", 3, (unsigned[]){6, 3, 2}, 36);
    write_idx("lie-labels-idx1-ubyte", 1, (unsigned[]){5}, 5);
    assert_fails(open_fails("lie-images-idx3-ubyte"), COKE_EFORMAT,
                 "lie-labels-idx1-ubyte: 5 labels in 1 dimensions for 6 images");
    unlink("lie-labels-idx1-ubyte");
}

static void lies_cost_no_memory(void **state)
{
    (void)state;
    ck_mem_reset_peak();
    assert_fails(open_idx(3, (unsigned[]){6, 3, 2}, 35), COKE_EFORMAT,
                 "says 36 bytes, the file has 35");
    assert_fails(open_idx(3, (unsigned[]){6, 3, 2}, 37), COKE_EFORMAT, "the file has 37");
    assert_fails(open_idx(3, (unsigned[]){60000, 1000, 1000}, 36), COKE_EFORMAT,
                 "says 60000000000 bytes");
    assert_fails(open_idx(4, (unsigned[]){~0u, ~0u, ~0u, ~0u}, 36), COKE_EFORMAT,
                 "overflows 63 bits");
    write_gzip("z-images-idx3-ubyte.gz", 3, (unsigned[]){60000, 1000, 1000}, 36);
    assert_fails(open_fails("z-images-idx3-ubyte.gz"), COKE_EFORMAT, "cannot hold more than");
    assert_true(ck_mem_stats().peak_bytes < 1 << 20);
    write_gzip("z-images-idx3-ubyte.gz", 3, (unsigned[]){600, 3, 2}, 36);
    assert_fails(open_fails("z-images-idx3-ubyte.gz"), COKE_EFORMAT, "ends within the data");
    /* expands to far more than the header says */
    write_gzip("z-images-idx3-ubyte.gz", 3, (unsigned[]){6, 3, 2}, 10 << 20);
    assert_fails(open_fails("z-images-idx3-ubyte.gz"), COKE_EFORMAT,
                 "more data after the 36 bytes");
}

static void damaged_gzip_is_refused(void **state)
{
    unsigned char bytes[4096];
    (void)state;
    write_gzip("d-images-idx3-ubyte.gz", 3, (unsigned[]){6, 30, 20}, 3600);
    size_t n = read_file("d-images-idx3-ubyte.gz", bytes, sizeof bytes);
    for (size_t cut = 1; cut < n; cut += 7) {
        write_file("d-images-idx3-ubyte.gz", bytes, n - cut);
        assert_int_equal(open_fails("d-images-idx3-ubyte.gz"), COKE_EFORMAT);
    }
    for (size_t at = 10; at < n; at++) { /* beyond gzip's own header */
        bytes[at] ^= 0x55;
        write_file("d-images-idx3-ubyte.gz", bytes, n);
        assert_int_equal(open_fails("d-images-idx3-ubyte.gz"), COKE_EFORMAT);
        bytes[at] ^= 0x55;
    }
}

static void every_allocation_failing_is_an_error(void **state)
{
    (void)state;
    write_gzip("job/train-images-idx3-ubyte.gz", 3, (unsigned[]){6, 3, 2}, 36);
    write_idx("job/train-labels-idx1-ubyte", 1, (unsigned[]){6}, 6);
    reading_survives_failed_allocations("job");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_has_two_splits_plain_or_packed),
        cmocka_unit_test(images_may_have_channels_and_no_labels),
        cmocka_unit_test(what_is_no_array_of_images_is_refused),
        cmocka_unit_test(lies_cost_no_memory),
        cmocka_unit_test(damaged_gzip_is_refused),
        cmocka_unit_test(every_allocation_failing_is_an_error),
    };
    return cmocka_run_group_tests_name("idx_images", tests, enter, leave_folder);
}
