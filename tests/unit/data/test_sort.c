/* test_sort.c - images into cluster folders: names of any kind, nothing outside, nothing
 * overwritten. */
#include "as_options.h"
#include "data_test.h"
#include "core/mem.h"
#include "data/sort.h"
#include "io/file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct coke_dataset *open_data(const char *source)
{
    struct coke_dataset *d = NULL;
    struct ck_dataset_options o = ck_dataset_options_default();
    assert_ok(coke_dataset_open(&d, source, AS(dataset, &o)));
    return d;
}

static int sort(struct coke_dataset *d, const int32_t *cluster, const char *dir,
                enum coke_sort how, struct coke_sort_summary *out)
{
    struct ck_sort_job job = {d, cluster, 12, dir, how, NULL};
    return ck_sort_run(&job, out);
}

static void assert_text(const char *path, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("%s is missing", path);
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    assert_int_equal(n, strlen(text));
    assert_string_equal(got, text);
}

static int is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void files_keep_their_names_and_bytes(void **state)
{
    (void)state;
    const int32_t cluster[] = {0, 11, -1, 11, 11};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    put("in/a/one.jpg", "1");
    put("in/a/two.jpg", "2");
    put("in/b/lost.jpg", "3");
    put("in/b/one.jpg", "4");
    put("in/b/two.jpg", "5");
    struct coke_dataset *d = open_data("in");
    assert_ok(sort(d, cluster, "out", COKE_SORT_COPY, &s));
    assert_text("out/cluster-00/one.jpg", "1");
    assert_text("out/cluster-11/two.jpg", "2");
    assert_text("out/cluster-11/one.jpg", "4");
    assert_text("out/cluster-11/two-4.jpg", "5");
    assert_int_equal(s.images, 4);
    assert_int_equal(s.folders, 2);
    assert_int_equal(s.renamed, 1);
    assert_int_equal(s.left_out, 1);
    coke_dataset_free(d);
}

static void links_lead_to_the_files(void **state)
{
    (void)state;
    const int32_t cluster[] = {3, 3};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    char target[512], here[256];
    put("in/a/x.png", "1");
    put("in/b/x.png", "2");
    struct coke_dataset *d = open_data("in");
    assert_ok(sort(d, cluster, "out", COKE_SORT_LINK, &s));
    ssize_t n = readlink("out/cluster-03/x.png", target, sizeof target - 1);
    assert_true(n > 0);
    target[n] = 0;
    assert_non_null(getcwd(here, sizeof here));
    assert_true(strncmp(target, here, strlen(here)) == 0);
    assert_text("out/cluster-03/x.png", "1");
    assert_text("out/cluster-03/x-1.png", "2");
    coke_dataset_free(d);
}

static void names_that_lead_elsewhere_stay_inside(void **state)
{
    (void)state;
    const int32_t cluster[] = {1, 1, 1, 1};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    put("up.jpg", "up");
    put("in/a \"b\", c\n d.jpg", "odd");
    put("in/\xc3\xa4\xff.jpg", "bytes");
    put("in/x/y.jpg", "deep");
    put("in/list.csv",
        "../up.jpg,0\n\"a \"\"b\"\", c.jpg\",1\n\xc3\xa4\xff.jpg,0\nx/../x/y.jpg,1\n");
    put("in/a \"b\", c.jpg", "comma");
    struct coke_dataset *d = open_data("in/list.csv");
    assert_ok(sort(d, cluster, "out", COKE_SORT_COPY, &s));
    assert_text("out/cluster-01/up.jpg", "up");
    assert_text("out/cluster-01/a \"b\", c.jpg", "comma");
    assert_text("out/cluster-01/\xc3\xa4\xff.jpg", "bytes");
    assert_text("out/cluster-01/y.jpg", "deep");
    coke_dataset_free(d);
    const int32_t same[] = {2, 2, 2, 2, 2};
    d = open_data("in");
    assert_ok(sort(d, same, "out2", COKE_SORT_COPY, &s));
    assert_text("out2/cluster-02/a \"b\", c\n d.jpg", "odd");
    coke_dataset_free(d);
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    const int32_t cluster[] = {1};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    char path[300], name[256];
    memset(name, 'n', 250);
    snprintf(name + 250, sizeof name - 250, ".jpg");
    snprintf(path, sizeof path, "in/%s", name);
    put(path, "1");
    struct coke_dataset *d = open_data("in");
    assert_ok(sort(d, cluster, "out", COKE_SORT_COPY, &s));
    snprintf(path, sizeof path, "out/cluster-01/%.200s.jpg", name);
    assert_text(path, "1");
    coke_dataset_free(d);
}

static void pixels_become_png(void **state)
{
    (void)state;
    const int32_t cluster[] = {4, 5, 4};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    struct coke_dataset *d = open_data("synthetic:n=3,size=8");
    assert_fails(sort(d, cluster, "out", COKE_SORT_LINK, &s), COKE_EUSAGE, "are not files");
    assert_false(is_there("out"));
    assert_ok(sort(d, cluster, "out", COKE_SORT_COPY, &s));
    coke_dataset_free(d);
    d = open_data("out");
    assert_int_equal(coke_dataset_count(d), 3);
    assert_int_equal(coke_dataset_classes(d), 2);
    struct coke_verify_summary v = COKE_INIT(struct coke_verify_summary);
    assert_ok(coke_dataset_verify(d, NULL, &v));
    assert_int_equal(v.good, 3);
    coke_dataset_free(d);
}

static void nothing_is_overwritten(void **state)
{
    (void)state;
    const int32_t cluster[] = {0};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    put("in/a/x.jpg", "1");
    put("full/cluster-00/x.jpg", "old");
    put("file", "old");
    struct coke_dataset *d = open_data("in");
    assert_fails(sort(d, cluster, "full", COKE_SORT_COPY, &s), COKE_EUSAGE, "not empty");
    assert_text("full/cluster-00/x.jpg", "old");
    assert_fails(sort(d, cluster, "file", COKE_SORT_COPY, &s), COKE_EUSAGE, "is not a folder");
    assert_fails(sort(d, cluster, "none/out", COKE_SORT_COPY, &s), COKE_EIO, "none/out");
    mkdir("empty", 0777);
    assert_ok(sort(d, cluster, "empty", COKE_SORT_COPY, &s));
    assert_text("empty/cluster-00/x.jpg", "1");
    coke_dataset_free(d);
}

static void a_full_disk_leaves_no_half_file(void **state)
{
    (void)state;
    const int32_t cluster[] = {0};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    put("in/a/x.jpg", "1");
    struct coke_dataset *d = open_data("in");
    ck_file_fail_write_at(1);
    assert_fails(sort(d, cluster, "out", COKE_SORT_COPY, &s), COKE_EIO, "No space left");
    ck_file_fail_write_at(0);
    assert_false(is_there("out/cluster-00/x.jpg"));
    coke_dataset_free(d);
}

static void memory_that_is_missing_leaks_none(void **state)
{
    (void)state;
    const int32_t cluster[] = {0, 1};
    struct coke_dataset *d = open_data("synthetic:n=2,size=8");
    for (int nth = 1; nth < 12; nth++) {
        char dir[16];
        struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
        int64_t live = ck_mem_stats().live;
        snprintf(dir, sizeof dir, "out%d", nth);
        ck_mem_fail_at(nth);
        int rc = sort(d, cluster, dir, COKE_SORT_COPY, &s);
        ck_mem_fail_at(0);
        assert_true(rc == COKE_OK || rc == COKE_ENOMEM);
        assert_int_equal(ck_mem_stats().live, live);
    }
    coke_dataset_free(d);
}

/* The limit of the file size ends a child in the middle of its second file. */
static void a_killed_process_leaves_whole_files(void **state)
{
    (void)state;
    const int32_t cluster[] = {0, 0};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    static char large[5000];
    struct stat st;
    int status;
    memset(large, 'x', sizeof large - 1);
    put("in/a.jpg", "1");
    put("in/b.jpg", large);
    struct coke_dataset *d = open_data("in");
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {1000, 1000};
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(sort(d, cluster, "out", COKE_SORT_COPY, &s));
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    assert_text("out/cluster-00/a.jpg", "1");
    assert_true(stat("out/cluster-00/b.jpg", &st) != 0);
    coke_dataset_free(d);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_keep_their_names_and_bytes),
        TEST(links_lead_to_the_files),
        TEST(names_that_lead_elsewhere_stay_inside),
        TEST(a_long_name_is_cut),
        TEST(pixels_become_png),
        TEST(nothing_is_overwritten),
        TEST(a_full_disk_leaves_no_half_file),
        TEST(memory_that_is_missing_leaks_none),
        TEST(a_killed_process_leaves_whole_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
