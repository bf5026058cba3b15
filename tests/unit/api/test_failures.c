/* test_failures.c - the whole job through the public functions, with every allocation and every
 * write failing in turn: an error in words, nothing leaked, nothing half-written. */
#include "as_options.h"
#include "support.h"
#include "cluster/start.h"
#include "core/mem.h"
#include "io/file.h"

#include <dirent.h>
#include <unistd.h>

enum { N = 90, DIM = 5 };

static char folder[] = "/tmp/coke-failures-XXXXXX";
static float *data;
static double weights[N];
static int64_t low[4] = {10, 0, 30, 5}, high[4] = {40, 40, 40, 40};
static int wrote; /* a complete output has been committed by the job under test */

static int set_up(void **state)
{
    (void)state;
    coke_set_threads(2);
    data = test_vectors(N, DIM, 3, 0.7, 4);
    for (int i = 0; i < N; i++)
        weights[i] = 0.5 + (double)(i % 3);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int count_files(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        closedir(d);
    return n;
}

static void clear_folder(void)
{
    char path[512];
    DIR *d = opendir("out");
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        snprintf(path, sizeof path, "out/%s", e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir("out");
    unlink("state");
}

static int tear_down(void **state)
{
    (void)state;
    clear_folder();
    free(data);
    return chdir("/") || rmdir(folder);
}

/* ---- jobs ---- */

/* Two heads, weights; or one head with bounds of each cluster. */
static int run_cluster(int given, struct coke_cluster **out)
{
    struct ck_cluster_options o = ck_cluster_options_default();
    o.restarts = o.polish = given ? 2 : 1; /* each one allocates as much again */
    struct coke_cluster_input in = {.size = sizeof(struct coke_cluster_input),
                                    .weights = weights};
    int rc = coke_rows_from_array(&in.rows, data, N, DIM);
    if (rc)
        return rc;
    o.k = (struct ck_ints){.n = given ? 1 : 2, .v = {4, 6}};
    o.epochs = 2;
    o.kmeans.ratio = 0.9;
    o.kmeans.max_ratio = given ? 0 : 1.3;
    o.bad = 1;
    o.init = given ? CK_INIT_SAMPLE : CK_INIT_PLUSPLUS;
    in.min_sizes = given ? low : NULL;
    in.max_sizes = given ? high : NULL;
    rc = coke_cluster_run(out, &in, AS(cluster, &o), NULL);
    coke_rows_free(in.rows);
    return rc;
}

static int cluster_and_write(void)
{
    struct coke_cluster *c = NULL;
    wrote = 0;
    int rc = run_cluster(0, &c);
    if (!rc)
        rc = coke_cluster_write(c, "out", 0);
    wrote = rc == COKE_OK;
    coke_cluster_free(c);
    return rc;
}

static int cluster_with_given_sizes(void)
{
    struct coke_cluster *c = NULL;
    wrote = 0;
    int rc = run_cluster(1, &c);
    if (!rc)
        rc = coke_cluster_write(c, "out", 0);
    wrote = rc == COKE_OK;
    coke_cluster_free(c);
    return rc;
}

static int load_and_assign(void)
{
    struct coke_model *m = NULL;
    struct coke_rows *rows = NULL;
    int32_t labels[N], second[N];
    int64_t sorted[N], offsets[5];
    float scores[N];
    struct coke_head_summary s = COKE_INIT(struct coke_head_summary);
    int rc = coke_model_load(&m, "model");
    if (!rc)
        rc = coke_rows_from_array(&rows, data, N, DIM);
    if (!rc)
        rc = coke_model_assign(m,
                               &(struct coke_assign_job){.size = sizeof(struct coke_assign_job),
                                                         .rows = rows,
                                                         .labels = labels,
                                                         .scores = scores,
                                                         .constrained = 1,
                                                         .bad = COKE_BAD_SKIP,
                                                         .second = second,
                                                         .offsets = offsets},
                               &s);
    if (!rc)
        rc = coke_model_assign(m,
                               &(struct coke_assign_job){.size = sizeof(struct coke_assign_job),
                                                         .rows = rows,
                                                         .labels = labels,
                                                         .margins = scores,
                                                         .sorted = sorted},
                               &s);
    coke_rows_free(rows);
    coke_model_free(m);
    return rc;
}

static int step_save_load(void)
{
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *km = NULL, *again = NULL;
    int32_t labels[N];
    int64_t ids[N], max_sizes[4] = {60, 60, 60, 60};
    for (int i = 0; i < N; i++)
        ids[i] = i;
    o.n = N, o.k = 4, o.dim = DIM, o.eta = 0.1, o.stage = 1, o.tau = 2;
    wrote = 0;
    int rc = coke_kmeans_new(&km, AS(kmeans, &o), data, NULL, max_sizes);
    if (!rc)
        rc = coke_kmeans_step(km, data, ids, N, labels);
    if (!rc)
        rc = coke_kmeans_epoch_end(km);
    if (!rc)
        rc = coke_kmeans_predict(km, data, N, labels, NULL);
    if (!rc)
        rc = coke_kmeans_save(km, "state", 1);
    wrote = rc == COKE_OK;
    if (!rc)
        rc = coke_kmeans_load(&again, "state");
    coke_kmeans_free(km);
    coke_kmeans_free(again);
    return rc;
}

static int step_heads(void)
{
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *head[2] = {NULL, NULL};
    struct coke_multihead *mh = NULL;
    int32_t labels[2 * N];
    o.n = N, o.k = 4, o.dim = DIM, o.eta = 0.1;
    wrote = 0;
    int rc = coke_kmeans_new(&head[0], AS(kmeans, &o), data, NULL, NULL);
    if (!rc)
        rc = coke_kmeans_new(&head[1], AS(kmeans, &o), data, NULL, NULL);
    if (!rc)
        rc = coke_multihead_new(&mh, head, 2);
    if (!mh) {
        coke_kmeans_free(head[0]);
        coke_kmeans_free(head[1]);
        return rc;
    }
    rc = coke_multihead_step(mh, data, NULL, 40, labels);
    if (!rc)
        rc = coke_multihead_step(mh, data, NULL, N, labels);
    coke_multihead_free(mh);
    return rc;
}

/* Of the folder "made", with classes in "classes". */
static int judge_clustering(void)
{
    static const char *const path[] = {"rows.npy"};
    struct coke_clustering_input in = {.size = sizeof in,
                                       .folder = "made",
                                       .classes = "classes",
                                       .vectors = path,
                                       .nvectors = 1};
    struct coke_clustering_result r = COKE_INIT(struct coke_clustering_result);
    wrote = 0;
    return coke_eval_clustering(&in, &r);
}

/* ---- failing ---- */

/* Everything that was promised is there, and nothing else. */
static void check_folder(int files_when_done, int64_t i, int rc)
{
    int files = count_files("out") + (access("state", F_OK) == 0);
    int want = wrote ? files_when_done : 0;
    if (files != want)
        fail_msg("failure %lld (%d, \"%s\"): %d files, should be %d", (long long)i, rc,
                 coke_last_error(), files, want);
}

/* jansson calls its own failed allocations errors of syntax, so reading may say `also`. */
static void fail_every_allocation(int (*job)(void), int files, int also)
{
    int64_t swallowed = 0;
    for (int64_t i = 1;; i++) {
        assert_true(i < 20000);
        clear_folder();
        struct ck_mem_stats before = ck_mem_stats();
        ck_mem_fail_at(i);
        int rc = job();
        ck_mem_fail_at(0);
        struct ck_mem_stats after = ck_mem_stats();
        if (after.live != before.live)
            fail_msg("allocation %lld: %lld leaked", (long long)i,
                     (long long)(after.live - before.live));
        if (after.calls - before.calls < i) {
            assert_int_equal(rc, COKE_OK);
            break;
        }
        if (rc == COKE_OK)
            swallowed++; /* a warning that could not be made up */
        else if (rc != also && (rc != COKE_ENOMEM || !strstr(coke_last_error(), "memory")))
            fail_msg("allocation %lld: %d, \"%s\"", (long long)i, rc, coke_last_error());
        check_folder(files, i, rc);
    }
    check_folder(files, 0, 0);
    if (swallowed > 2)
        fail_msg("%lld failed allocations were not noticed", (long long)swallowed);
}

static void fail_every_write(int (*job)(void), int files)
{
    for (int i = 1;; i++) {
        assert_true(i < 1000);
        clear_folder();
        struct ck_mem_stats before = ck_mem_stats();
        ck_file_fail_write_at(i);
        int rc = job();
        ck_file_fail_write_at(0);
        assert_int_equal(ck_mem_stats().live, before.live);
        check_folder(files, i, rc);
        if (rc == COKE_OK) {
            assert_true(i > 1);
            return;
        }
        assert_int_equal(rc, COKE_EIO);
        assert_non_null(strstr(coke_last_error(), "No space"));
    }
}

static void job_survives_every_failed_allocation(void **state)
{
    (void)state;
    fail_every_allocation(cluster_and_write, 8, COKE_ENOMEM);
}

static void given_sizes_survive_every_failed_allocation(void **state)
{
    (void)state;
    fail_every_allocation(cluster_with_given_sizes, 5, COKE_ENOMEM);
}

static void model_survives_every_failed_allocation(void **state)
{
    (void)state;
    clear_folder();
    assert_ok(cluster_with_given_sizes());
    assert_int_equal(rename("out/model.safetensors", "model"), 0);
    fail_every_allocation(load_and_assign, 0, COKE_EFORMAT);
    unlink("model");
}

static void judging_survives_every_failed_allocation(void **state)
{
    (void)state;
    clear_folder();
    FILE *f = fopen("classes", "w");
    assert_non_null(f);
    for (int i = 0; i < N; i++)
        fprintf(f, "class %d\n", i % 5);
    fclose(f);
    assert_ok(coke_npy_write_f32("rows.npy", data, N, DIM, 1));
    assert_ok(cluster_and_write());
    assert_int_equal(rename("out", "made"), 0);
    fail_every_allocation(judge_clustering, 0, COKE_EFORMAT);
    assert_int_equal(rename("made", "out"), 0);
    unlink("classes");
    unlink("rows.npy");
    unlink("rows.npy.xxh3");
}

static void state_survives_every_failed_allocation(void **state)
{
    (void)state;
    fail_every_allocation(step_save_load, 1, COKE_EFORMAT);
}

static void heads_survive_every_failed_allocation(void **state)
{
    (void)state;
    fail_every_allocation(step_heads, 0, COKE_ENOMEM);
}

static void full_disk_leaves_no_partial_output(void **state)
{
    (void)state;
    fail_every_write(cluster_and_write, 8);
    fail_every_write(cluster_with_given_sizes, 5);
    fail_every_write(step_save_load, 1);
}

/* What was there before a failed overwriting is still there. */
static void full_disk_leaves_the_old_output(void **state)
{
    (void)state;
    struct coke_cluster *c;
    clear_folder();
    assert_ok(run_cluster(1, &c));
    assert_ok(coke_cluster_write(c, "out", 0));
    assert_fails(coke_cluster_write(c, "out", 0), COKE_EUSAGE, "exists");
    for (int i = 1;; i++) {
        ck_file_fail_write_at(i);
        int rc = coke_cluster_write(c, "out", 1);
        ck_file_fail_write_at(0);
        assert_int_equal(count_files("out"), 5);
        if (!rc)
            break;
    }
    coke_cluster_free(c);
    clear_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_survives_every_failed_allocation),
        cmocka_unit_test(given_sizes_survive_every_failed_allocation),
        cmocka_unit_test(model_survives_every_failed_allocation),
        cmocka_unit_test(judging_survives_every_failed_allocation),
        cmocka_unit_test(state_survives_every_failed_allocation),
        cmocka_unit_test(heads_survive_every_failed_allocation),
        cmocka_unit_test(full_disk_leaves_no_partial_output),
        cmocka_unit_test(full_disk_leaves_the_old_output),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
