/* test_run_files.c - a run is read back as it was left. */
#include "as_options.h"
#include "support.h"
#include "cluster/kmeans.h"
#include "core/mem.h"
#include "train/run_files.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[64], run[96];

static int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/coke-files-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(run, sizeof run, "%s/run", folder);
    struct ck_train_options o = test_training();
    struct coke_train_control control = COKE_INIT(struct coke_train_control);
    struct coke_train_summary s = COKE_INIT(struct coke_train_summary);
    struct ck_dataset_options data = ck_dataset_options_default();
    struct coke_dataset *d;
    o.loss.temperature = 0.3;
    assert_ok(coke_set_threads(1));
    assert_ok(coke_dataset_open(&d, "synthetic:n=30,size=8", AS(dataset, &data)));
    assert_ok(coke_train_run(d, AS(train, &o), run, &control, NULL, &s));
    coke_dataset_free(d);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return test_remove_folder(folder);
}

static void test_run(void **state)
{
    (void)state;
    struct ck_run r;
    assert_ok(ck_run_open(&r, run, 0));
    assert_string_equal(r.data, "synthetic:n=30,size=8");
    assert_int_equal(r.epoch, 3);
    assert_int_equal(r.view_size, 8);
    assert_true(r.has_options);
    assert_true(r.o.loss.temperature == 0.3);
    assert_int_equal(r.encoder.o.dim, 8);
    assert_int_equal(r.heads, 2);
    assert_int_equal(ck_kmeans_k(r.head[1]), 6);
    ck_run_close(&r);
    assert_ok(ck_run_open(&r, run, 1));
    assert_non_null(strstr(r.weights, "best.safetensors"));
    ck_run_close(&r);
}

static void test_lock(void **state)
{
    (void)state;
    int first, second;
    assert_ok(ck_run_lock(run, 0, &first));
    assert_int_equal(ck_run_lock(run, 0, &second), COKE_EUSAGE);
    assert_non_null(strstr(coke_last_error(), "another training is writing there"));
    close(first);
    assert_ok(ck_run_lock(run, 0, &second));
    close(second);
}

static void test_encoder_alone(void **state)
{
    (void)state;
    struct ck_run r;
    char path[128];
    snprintf(path, sizeof path, "%s/final.safetensors", run);
    assert_ok(ck_run_open(&r, path, 0));
    assert_string_equal(r.data, "");
    assert_int_equal(r.epoch, -1);
    assert_false(r.has_options);
    assert_int_equal(r.o.encoder.dim, 8);
    assert_int_equal(r.view_size, 8);
    assert_int_equal(r.heads, 0);
    ck_run_close(&r);
}

static enum ck_folder kind_with(const char *path, const char *name)
{
    char file[192];
    snprintf(file, sizeof file, "%s/%s", path, name);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fclose(f);
    return ck_folder_kind(path);
}

/* Options that somebody put beside a clustering make no training of it. */
static void test_folders(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/any", folder);
    assert_int_equal(ck_folder_kind(path), CK_FOLDER_OTHER);
    assert_int_equal(ck_folder_kind(run), CK_FOLDER_RUN);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(ck_folder_kind(path), CK_FOLDER_OTHER);
    assert_int_equal(kind_with(path, "config.json"), CK_FOLDER_RUN);
    assert_int_equal(kind_with(path, "summary.json"), CK_FOLDER_CLUSTERING);
    assert_int_equal(kind_with(path, "last.safetensors"), CK_FOLDER_RUN);
}

static void test_no_run(void **state)
{
    (void)state;
    struct ck_run r;
    char empty[128];
    snprintf(empty, sizeof empty, "%s/nothing", folder);
    assert_int_equal(ck_run_open(&r, empty, 0), COKE_EIO);
    assert_int_equal(mkdir(empty, 0755), 0);
    assert_int_equal(ck_run_open(&r, empty, 0), COKE_EFORMAT);
    assert_non_null(strstr(coke_last_error(), "it is not a run folder"));
    snprintf(empty, sizeof empty, "%s/config.json", run);
    assert_int_equal(ck_run_open(&r, empty, 0), COKE_EFORMAT);
}

static void test_failing_memory(void **state)
{
    (void)state;
    struct ck_run r;
    int rc = COKE_ENOMEM;
    for (int at = 1; rc == COKE_ENOMEM; at += 1 + at / 8) {
        ck_mem_fail_at(at);
        rc = ck_run_open(&r, run, 0);
        ck_mem_fail_at(0);
    }
    assert_ok(rc);
    ck_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),           cmocka_unit_test(test_lock),
        cmocka_unit_test(test_encoder_alone), cmocka_unit_test(test_folders),
        cmocka_unit_test(test_no_run),        cmocka_unit_test(test_failing_memory),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
