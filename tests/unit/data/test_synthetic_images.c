/* test_synthetic_images.c - the built-in images: functions of seed, split and position, in ten
 * classes of equal size. */
#include "support.h"
#include "core/mem.h"
#include "core/workers.h"
#include "data/dataset.h"
#include "data/synthetic_patterns.h"

enum { SIZE = 32, BYTES = SIZE * SIZE * 3 };

static const uint64_t RECORDED = 0x6FC2631EEAB4B834u;

static struct ck_dataset *open_set(const char *source, enum ck_split split)
{
    struct ck_dataset_options o = {.split = (int32_t)split};
    struct ck_dataset *d = NULL;
    assert_ok(ck_dataset_open(&d, source, &o));
    return d;
}

/* Images 0..n-1 of SIZE x SIZE; the caller frees. */
static uint8_t *read_images(const char *source, enum ck_split split, int n)
{
    struct ck_dataset *d = open_set(source, split);
    struct ck_item item = {0};
    uint8_t *all = test_array((size_t)n, BYTES);
    for (int i = 0; i < n; i++) {
        assert_ok(ck_dataset_read(d, i, &item));
        assert_int_equal(item.pixels.width, SIZE);
        memcpy(all + (size_t)i * BYTES, item.pixels.data, BYTES);
    }
    ck_item_release(&item);
    ck_dataset_free(d);
    return all;
}

static int count_equal(const uint8_t *a, const uint8_t *b, int n)
{
    int equal = 0;
    for (size_t i = 0; i < (size_t)n; i++)
        equal += memcmp(a + i * BYTES, b + i * BYTES, BYTES) == 0;
    return equal;
}

static void images_depend_on_seed_split_and_position_alone(void **state)
{
    (void)state;
    uint8_t *a = read_images("synthetic:", CK_SPLIT_TRAIN, 60);
    uint8_t *b = read_images("synthetic:seed=0,n=60", CK_SPLIT_TRAIN, 60);
    uint8_t *seed = read_images("synthetic:seed=1", CK_SPLIT_TRAIN, 60);
    uint8_t *test = read_images("synthetic:", CK_SPLIT_TEST, 60);
    assert_int_equal(count_equal(a, b, 60), 60);
    assert_int_equal(count_equal(a, seed, 60), 0);
    assert_int_equal(count_equal(a, test, 60), 0);
    assert_int_equal(count_equal(a, a + BYTES, 59), 0);
    free(a);
    free(b);
    free(seed);
    free(test);
}

struct reading {
    struct ck_dataset *d;
    uint8_t *out;
};

static void read_backwards(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct reading *r = arg;
    struct ck_item item = {0};
    int64_t i = 39 - chunk;
    if (ck_dataset_read(r->d, i, &item) == COKE_OK)
        memcpy(r->out + i * BYTES, item.pixels.data, BYTES);
    ck_item_release(&item);
}

static void threads_and_order_do_not_matter(void **state)
{
    (void)state;
    uint8_t *want = read_images("synthetic:", CK_SPLIT_TRAIN, 40);
    struct reading r = {open_set("synthetic:", CK_SPLIT_TRAIN), test_array(40, BYTES)};
    coke_set_threads(3);
    ck_parallel(40, read_backwards, &r);
    coke_set_threads(0);
    assert_int_equal(count_equal(want, r.out, 40), 40);
    ck_dataset_free(r.d);
    free(r.out);
    free(want);
}

/* FNV-1a over twenty images of each kind of size: the bytes that every machine makes. */
static void bytes_are_the_recorded_ones(void **state)
{
    (void)state;
    uint8_t *a = read_images("synthetic:seed=7", CK_SPLIT_TRAIN, 20);
    uint64_t hash = 0xCBF29CE484222325u;
    for (int i = 0; i < 20 * BYTES; i++)
        hash = (hash ^ a[i]) * 0x100000001B3u;
    free(a);
    if (hash != RECORDED)
        fail_msg("the hash is 0x%016llXu", (unsigned long long)hash);
}

static void classes_are_equally_frequent_everywhere(void **state)
{
    (void)state;
    struct ck_dataset *d = open_set("synthetic:n=5003", CK_SPLIT_TRAIN);
    int at[CK_PATTERNS][CK_PATTERNS] = {{0}}; /* [position in its ten][class] */
    assert_int_equal(d->n, 5003);
    assert_int_equal(d->classes, CK_PATTERNS);
    for (int64_t i = 0; i < 5000; i++)
        at[i % CK_PATTERNS][ck_dataset_label(d, i)]++;
    for (int c = 0; c < CK_PATTERNS; c++) {
        int sum = 0;
        for (int p = 0; p < CK_PATTERNS; p++) {
            sum += at[p][c];
            assert_in_range(at[p][c], 20, 90); /* 50 +- 6 sigma */
        }
        assert_int_equal(sum, 500);
        assert_string_equal(d->class_name[c], ck_pattern_name[c]);
    }
    ck_dataset_free(d);
}

static void splits_have_their_own_length_labels_and_ids(void **state)
{
    (void)state;
    struct ck_dataset *train = open_set("synthetic", CK_SPLIT_TRAIN);
    struct ck_dataset *test = open_set("synthetic:n=auto", CK_SPLIT_TEST);
    char name[64];
    int same = 0;
    assert_int_equal(train->n, 6000);
    assert_int_equal(test->n, 1000);
    for (int i = 0; i < 1000; i++) {
        same += train->label[i] == test->label[i];
        assert_true(train->id[i] != test->id[i]);
    }
    assert_in_range(same, 50, 150); /* chance: 100 */
    ck_dataset_name(test, 17, name, sizeof name);
    assert_string_equal(name, "seed0/test#17");
    ck_dataset_free(train);
    ck_dataset_free(test);
}

/* What lies behind the image's last byte stays as it was. */
static void any_size_is_drawn_to_its_edges(void **state)
{
    (void)state;
    const int sizes[] = {8, 9, 31, 33, 96, 250, 1024};
    for (int s = 0; s < 7; s++) {
        char source[64];
        struct ck_item item = {0};
        snprintf(source, sizeof source, "synthetic:n=10,size=%d", sizes[s]);
        struct ck_dataset *d = open_set(source, CK_SPLIT_TRAIN);
        for (int i = 0; i < (sizes[s] > 300 ? 2 : 10); i++) {
            size_t row = (size_t)sizes[s] * 3, bytes = row * (size_t)sizes[s];
            assert_ok(ck_dataset_read(d, i, &item));
            assert_int_equal(item.pixels.height, sizes[s]);
            assert_int_equal(item.pixels.channels, 3);
            memset(item.pixels.data + bytes - row, 0, row);
            memset(item.pixels.data + bytes, 0xA5, CK_IMAGE_SLACK);
            assert_ok(ck_dataset_read(d, i, &item));
            int sum = 0;
            for (size_t j = bytes - row; j < bytes; j++)
                sum += item.pixels.data[j];
            assert_true(sum > 0);
            for (size_t j = bytes; j < bytes + CK_IMAGE_SLACK; j++)
                assert_int_equal(item.pixels.data[j], 0xA5);
        }
        ck_item_release(&item);
        ck_dataset_free(d);
    }
}

/* The same pattern in the same place, whatever the resolution: blocks of 2 x 2 pixels average
 * to the pixels of half the size, up to noise and edges. */
static void size_changes_resolution_not_contents(void **state)
{
    (void)state;
    struct ck_dataset *small = open_set("synthetic:n=50", CK_SPLIT_TRAIN);
    struct ck_dataset *large = open_set("synthetic:n=50,size=64", CK_SPLIT_TRAIN);
    struct ck_item a = {0}, b = {0};
    for (int i = 0; i < 50; i++) {
        double apart = 0;
        assert_ok(ck_dataset_read(small, i, &a));
        assert_ok(ck_dataset_read(large, i, &b));
        for (int y = 0; y < SIZE; y++)
            for (int x = 0; x < 3 * SIZE; x++) {
                const uint8_t *p = b.pixels.data + 2 * y * 192 + x / 3 * 6 + x % 3;
                apart +=
                    fabs((p[0] + p[3] + p[192] + p[195]) / 4.0 - a.pixels.data[y * 96 + x]);
            }
        assert_in_range((int)(apart / BYTES), 0, 12);
    }
    ck_item_release(&a);
    ck_item_release(&b);
    ck_dataset_free(small);
    ck_dataset_free(large);
}

static void bad_specifications_are_refused_in_words(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"synthetic:colour=3", "unknown key 'colour'; known: n, size, seed"},
        {"synthetic:n", "unknown key 'n'"},
        {"synthetic:n=5,", "synthetic:n=5,: unknown key ''"},
        {"synthetic:n=0", "n: 0 is neither 'auto' nor within 1..10000000"},
        {"synthetic:n=1e3", "n: '1e3' is not an integer"},
        {"synthetic:size=7", "size: 7 is not within 8..1024"},
        {"synthetic:size=1025", "synthetic:size=1025: size: 1025"},
        {"synthetic:seed=-1", "seed: -1 is not within"},
        {"synthetic:seed=", "seed: '' is not an integer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ck_dataset *d = NULL;
        assert_fails(ck_dataset_open(&d, cases[i][0], NULL), COKE_EUSAGE, cases[i][1]);
        assert_null(d);
    }
}

static int open_and_read(void)
{
    struct ck_dataset *d = NULL;
    struct ck_item item = {0};
    int rc = ck_dataset_open(&d, "synthetic:n=30,seed=2", NULL);
    if (!rc)
        rc = ck_dataset_read(d, 3, &item);
    ck_item_release(&item);
    ck_dataset_free(d);
    return rc;
}

static void every_failed_allocation_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    int rc = COKE_ENOMEM;
    for (int64_t i = 1; rc; i++) {
        int64_t live = ck_mem_stats().live;
        assert_true(i < 200);
        ck_mem_fail_at(i);
        rc = open_and_read();
        ck_mem_fail_at(0);
        assert_true(rc == COKE_OK || rc == COKE_ENOMEM);
        assert_int_equal(ck_mem_stats().live, live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_depend_on_seed_split_and_position_alone),
        cmocka_unit_test(threads_and_order_do_not_matter),
        cmocka_unit_test(bytes_are_the_recorded_ones),
        cmocka_unit_test(classes_are_equally_frequent_everywhere),
        cmocka_unit_test(splits_have_their_own_length_labels_and_ids),
        cmocka_unit_test(any_size_is_drawn_to_its_edges),
        cmocka_unit_test(size_changes_resolution_not_contents),
        cmocka_unit_test(bad_specifications_are_refused_in_words),
        cmocka_unit_test(every_failed_allocation_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
