/* test_content.c - which images are sampled, and what their hashes notice. */
#include "support.h"
#include "data/content.h"

/* Images of one byte: their number, but for one that is different, or fails if it is negative. */
struct bytes {
    struct ck_dataset d;
    int64_t other;
    int status;
    unsigned char byte;
};

static int read_byte(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    struct bytes *b = (struct bytes *)d;
    if (b->other == -i)
        return b->status;
    b->byte = (unsigned char)(i == b->other ? 77 : i);
    item->bytes = &b->byte;
    item->size = 1;
    return COKE_OK;
}

static const struct ck_dataset_type type = {.kind = "bytes", .read = read_byte};
static const struct ck_dataset_type generated = {.kind = "synthetic", .read = read_byte};

static void samples_ascend_from_the_first_to_the_last(void **state)
{
    static const int64_t sizes[] = {1, 2, 1023, 1024, 1025, 5000, 1281167};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct ck_dataset d = {.type = &type, .n = sizes[s]};
        int64_t n = ck_content_count(&d), last = -1;
        assert_int_equal(n, sizes[s] < 1024 ? sizes[s] : 1024);
        assert_int_equal(ck_content_image(&d, 0), 0);
        assert_int_equal(ck_content_image(&d, n - 1), sizes[s] - 1);
        for (int64_t i = 0; i < n; i++) {
            assert_true(ck_content_image(&d, i) > last);
            last = ck_content_image(&d, i);
        }
    }
}

static void generated_images_and_streams_have_none(void **state)
{
    (void)state;
    struct ck_dataset d = {.type = &generated, .n = 100};
    assert_int_equal(ck_content_count(&d), 0);
    d = (struct ck_dataset){.type = &type, .n = -1};
    assert_int_equal(ck_content_count(&d), 0);
}

static void a_changed_or_damaged_image_has_another_hash(void **state)
{
    uint64_t a[40], b[40];
    struct bytes set = {.d = {.type = &type, .n = 40}, .other = 1000};
    (void)state;
    assert_ok(ck_content_hash(&set.d, a));
    set.other = 13;
    assert_ok(ck_content_hash(&set.d, b));
    for (int i = 0; i < 40; i++)
        assert_int_equal(a[i] == b[i], i != 13);
    set.other = -13;
    set.status = COKE_EFORMAT;
    assert_ok(ck_content_hash(&set.d, b));
    for (int i = 0; i < 40; i++)
        assert_int_equal(a[i] == b[i], i != 13);
    assert_int_equal(b[13], 0);
}

static void a_failing_disk_is_not_the_content_of_an_image(void **state)
{
    uint64_t out[40];
    struct bytes set = {.d = {.type = &type, .n = 40}, .other = -13, .status = COKE_EIO};
    (void)state;
    assert_int_equal(ck_content_hash(&set.d, out), COKE_EIO);
    set.other = -39;
    set.status = COKE_ENOMEM;
    assert_int_equal(ck_content_hash(&set.d, out), COKE_ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_ascend_from_the_first_to_the_last),
        cmocka_unit_test(generated_images_and_streams_have_none),
        cmocka_unit_test(a_changed_or_damaged_image_has_another_hash),
        cmocka_unit_test(a_failing_disk_is_not_the_content_of_an_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
