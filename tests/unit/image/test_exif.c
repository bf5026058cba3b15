/* test_exif.c - the orientation in EXIF blocks, valid and invalid. */
#include "support.h"
#include "image/exif.h"

static int orientation_of(const void *block, size_t size)
{
    /* exactly this size, so that the sanitizer sees an over-read */
    uint8_t *copy = test_array(size, 1);
    memcpy(copy, block, size);
    int orientation = ck_exif_orientation(copy, size);
    free(copy);
    return orientation;
}

/* One directory at 8 with an entry before the orientation; the value is at byte 30. */
static const uint8_t big[] = "MM\0*\0\0\0\x08\0\2"
                             "\1\x0f\0\2\0\0\0\2a\0\0\0"
                             "\1\x12\0\3\0\0\0\1\0\6\0\0"
                             "\0\0\0\0";
static const uint8_t little[] = "II*\0\x08\0\0\0\2\0"
                                "\x0f\1\2\0\2\0\0\0a\0\0\0"
                                "\x12\1\3\0\1\0\0\0\6\0\0\0"
                                "\0\0\0\0";
enum { BLOCK = sizeof big - 1, VALUE_BIG = 31, VALUE_LITTLE = 30, TYPE = 25, NEEDED = 34 };

static void both_orders_of_bytes_are_read(void **state)
{
    (void)state;
    uint8_t block[BLOCK];
    for (int o = 1; o <= 8; o++) {
        memcpy(block, big, BLOCK);
        block[VALUE_BIG] = (uint8_t)o;
        assert_int_equal(orientation_of(block, BLOCK), o);
        memcpy(block, little, BLOCK);
        block[VALUE_LITTLE] = (uint8_t)o;
        assert_int_equal(orientation_of(block, BLOCK), o);
    }
}

static void a_prefix_is_passed_over(void **state)
{
    (void)state;
    uint8_t block[BLOCK + 6] = "Exif";
    memcpy(block + 6, big, BLOCK);
    assert_int_equal(orientation_of(block, sizeof block), 6);
}

static void a_long_value_counts_and_other_types_do_not(void **state)
{
    (void)state;
    uint8_t block[BLOCK];
    memcpy(block, big, BLOCK);
    block[TYPE] = 4;
    assert_int_equal(orientation_of(block, BLOCK), 1); /* 6 << 16 */
    block[VALUE_BIG] = 0;
    block[VALUE_BIG + 2] = 8;
    assert_int_equal(orientation_of(block, BLOCK), 8);
    block[TYPE] = 2;
    assert_int_equal(orientation_of(block, BLOCK), 1);
}

static void nonsense_is_upright(void **state)
{
    (void)state;
    uint8_t block[BLOCK];
    memcpy(block, big, BLOCK);
    block[VALUE_BIG] = 9;
    assert_int_equal(orientation_of(block, BLOCK), 1);
    block[VALUE_BIG] = 0;
    assert_int_equal(orientation_of(block, BLOCK), 1);
    memcpy(block, big, BLOCK);
    block[3] = 43;
    assert_int_equal(orientation_of(block, BLOCK), 1);
    memcpy(block, big, BLOCK);
    memset(block + 4, 0xff, 4); /* the directory is outside the block */
    assert_int_equal(orientation_of(block, BLOCK), 1);
    assert_int_equal(orientation_of("", 0), 1);
    assert_int_equal(orientation_of("Exif\0\0", 6), 1);
}

static void a_block_cut_anywhere_is_upright_or_right(void **state)
{
    (void)state;
    for (size_t n = 0; n <= BLOCK; n++) {
        assert_int_equal(orientation_of(big, n), n >= NEEDED ? 6 : 1);
        assert_int_equal(orientation_of(little, n), n >= NEEDED ? 6 : 1);
    }
}

static void a_directory_that_claims_too_many_entries_ends_with_the_block(void **state)
{
    (void)state;
    uint8_t block[BLOCK];
    memcpy(block, big, BLOCK);
    block[8] = 0xff;
    assert_int_equal(orientation_of(block, BLOCK), 6);
    block[VALUE_BIG] = 77;
    assert_int_equal(orientation_of(block, BLOCK), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_orders_of_bytes_are_read),
        cmocka_unit_test(a_prefix_is_passed_over),
        cmocka_unit_test(a_long_value_counts_and_other_types_do_not),
        cmocka_unit_test(nonsense_is_upright),
        cmocka_unit_test(a_block_cut_anywhere_is_upright_or_right),
        cmocka_unit_test(a_directory_that_claims_too_many_entries_ends_with_the_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
