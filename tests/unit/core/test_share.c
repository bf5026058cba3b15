/* test_share.c - which part of the work belongs to which process, and how the parts come
 * together. */
#include "support.h"
#include "core/share.h"
#include "fake_share.h"

static void parts_cover_everything_once_and_differ_by_one_at_most(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 40; n++)
        for (int size = 1; size < 9; size++) {
            assert_int_equal(ck_share_first(n, 0, size), 0);
            assert_int_equal(ck_share_first(n, size, size), n);
            for (int r = 0; r < size; r++) {
                int64_t part = ck_share_first(n, r + 1, size) - ck_share_first(n, r, size);
                assert_true(part == n / size || part == n / size + 1);
            }
        }
    assert_true(ck_share_first(INT64_C(1) << 50, 999, 1000) > 0); /* no overflow */
}

static void a_process_alone_has_all(void **state)
{
    (void)state;
    struct ck_share s = ck_share_alone();
    assert_int_equal(s.rank, 0);
    assert_int_equal(s.size, 1);
    assert_null(s.gather);
}

enum { ITEMS = 11 };

static int fill_mine(const struct ck_share *s, void *arg)
{
    int64_t *all = arg, bytes[FAKE_MOST];
    for (int64_t i = ck_share_first(ITEMS, s->rank, s->size);
         i < ck_share_first(ITEMS, s->rank + 1, s->size); i++)
        all[i] = 100 + i;
    int rc = ck_share_gather_items(s, all, ITEMS, sizeof *all, bytes);
    return rc ? rc : s->sum_i64(s->arg, all, ITEMS);
}

static void gathered_items_are_the_same_everywhere(void **state)
{
    (void)state;
    for (int size = 2; size <= FAKE_MOST; size++) {
        int64_t all[FAKE_MOST][ITEMS] = {{0}};
        void *arg[FAKE_MOST];
        for (int r = 0; r < size; r++)
            arg[r] = all[r];
        assert_ok(fake_ranks(size, fill_mine, arg));
        for (int r = 0; r < size; r++)
            for (int64_t i = 0; i < ITEMS; i++)
                assert_int_equal(all[r][i], size * (100 + i));
    }
}

static int is_seed(const char *name)
{
    return strcmp(name, "seed") == 0;
}

static void lines_name_the_options_that_must_agree(void **state)
{
    (void)state;
    struct ck_cluster_options o = ck_cluster_options_default();
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    ck_share_put_options(f, ck_cluster_option_table(), &o, is_seed);
    fclose(f);
    assert_non_null(strstr(text, "option 'ratio'\t0.4\n"));
    assert_null(strstr(text, "'seed'"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_cover_everything_once_and_differ_by_one_at_most),
        cmocka_unit_test(a_process_alone_has_all),
        cmocka_unit_test(gathered_items_are_the_same_everywhere),
        cmocka_unit_test(lines_name_the_options_that_must_agree),
    };
    coke_set_threads(1);
    return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
