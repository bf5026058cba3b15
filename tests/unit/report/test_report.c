/* test_report.c - a whole report with every allocation and every write failing in turn: an
 * error in words, nothing leaked, no page; and pages that are the same again. */
#include "as_options.h"
#include "support.h"
#include "core/mem.h"
#include "io/file.h"

#include <sys/stat.h>
#include <unistd.h>

enum { N = 40, DIM = 5 };

static char folder[] = "/tmp/coke-report-XXXXXX";

static int enter(void **state)
{
    (void)state;
    float *x = test_vectors(N, DIM, 3, 0.5, 4);
    struct ck_cluster_options o = ck_cluster_options_default();
    struct coke_cluster_input in = COKE_INIT(struct coke_cluster_input);
    struct coke_cluster *c;
    assert_ok(coke_set_threads(2));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    o.k = (struct ck_ints){.n = 2, .v = {3, 6}};
    o.epochs = 2;
    assert_ok(coke_npy_write_f32("x.npy", x, N, DIM, 0));
    assert_ok(coke_rows_from_array(&in.rows, x, N, DIM));
    assert_ok(coke_cluster_run(&c, &in, AS(cluster, &o), NULL));
    assert_ok(coke_cluster_write(c, "made", 0));
    coke_cluster_free(c);
    coke_rows_free(in.rows);
    free(x);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") || test_remove_folder(folder);
}

static int report(const char *page, const char *images_dir, struct coke_report_summary *s)
{
    static const char *const vectors[] = {"x.npy"};
    struct ck_report_options o = ck_report_options_default();
    struct coke_report_input in = {.size = sizeof(struct coke_report_input),
                                   .source = "made",
                                   .images = "synthetic:n=40,size=8",
                                   .vectors = vectors,
                                   .nvectors = 1};
    return coke_report_write(&in, AS(report, &o), page, images_dir, 0, s);
}

static void report_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (int64_t i = 1;; i++) {
        struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
        struct ck_mem_stats before = ck_mem_stats();
        assert_true(i < 20000);
        unlink("page.html");
        ck_mem_fail_at(i);
        int rc = report("page.html", NULL, &s);
        ck_mem_fail_at(0);
        struct ck_mem_stats after = ck_mem_stats();
        if (after.live != before.live)
            fail_msg("allocation %lld: %lld leaked", (long long)i,
                     (long long)(after.live - before.live));
        if (after.calls - before.calls < i) {
            assert_ok(rc);
            break;
        }
        /* jansson calls its own failed allocations errors of syntax. */
        if (rc && rc != COKE_EFORMAT && (rc != COKE_ENOMEM || !coke_last_error()[0]))
            fail_msg("allocation %lld: %d, \"%s\"", (long long)i, rc, coke_last_error());
        assert_int_equal(access("page.html", F_OK) == 0, rc == COKE_OK);
    }
    unlink("page.html");
}

static void full_disk_leaves_no_page(void **state)
{
    (void)state;
    for (int i = 1;; i++) {
        struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
        assert_int_equal(system("rm -rf page.html pics"), 0);
        ck_file_fail_write_at(i);
        int rc = report("page.html", "pics", &s);
        ck_file_fail_write_at(0);
        assert_int_equal(access("page.html", F_OK) == 0, rc == COKE_OK);
        assert_int_equal(access("pics", F_OK) == 0, rc == COKE_OK);
        if (rc == COKE_OK) {
            assert_true(i > 1);
            break;
        }
        assert_int_equal(rc, COKE_EIO);
    }
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    assert_fails(report("other.html", "pics", &s), COKE_EUSAGE, "exists");
    assert_int_equal(system("rm -rf page.html pics"), 0);
}

static void same_files_give_the_same_page(void **state)
{
    (void)state;
    struct coke_report_summary a = COKE_INIT(struct coke_report_summary), b = a;
    assert_ok(report("a.html", NULL, &a));
    assert_ok(coke_set_threads(3));
    assert_ok(report("b.html", NULL, &b));
    assert_ok(coke_set_threads(2));
    assert_int_equal(a.page_bytes, b.page_bytes);
    assert_int_equal(a.clusters, 9);
    assert_int_equal(a.picture_side, 8);
    assert_int_equal(system("cmp a.html b.html"), 0);
}

static int stop(void *user, const struct coke_progress *p)
{
    (void)user;
    (void)p;
    return 1;
}

static void caller_may_stop_it(void **state)
{
    (void)state;
    struct coke_callbacks callbacks = {.size = sizeof(struct coke_callbacks), .progress = stop};
    struct ck_report_options o = ck_report_options_default();
    struct coke_report_input in = {
        .size = sizeof in, .source = "made", .callbacks = &callbacks};
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    assert_int_equal(coke_report_write(&in, AS(report, &o), "stopped.html", NULL, 0, &s),
                     COKE_ESTOPPED);
    assert_int_not_equal(access("stopped.html", F_OK), 0);
    o.budget = -1;
    assert_fails(coke_report_write(&in, AS(report, &o), "stopped.html", NULL, 0, &s),
                 COKE_EUSAGE, "budget");
    assert_fails(coke_report_write(&in, AS(report, &o), NULL, NULL, 0, &s), COKE_EUSAGE,
                 "NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_survives_every_failed_allocation),
        cmocka_unit_test(full_disk_leaves_no_page),
        cmocka_unit_test(same_files_give_the_same_page),
        cmocka_unit_test(caller_may_stop_it),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
