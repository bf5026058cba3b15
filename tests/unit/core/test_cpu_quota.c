/* test_cpu_quota.c - cores that a cgroup allows, from files in a folder that stands for /. */
#include "core/cpu_quota.h"
#include "core/workers.h"
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/coke-quota-XXXXXX";

/* Writes text to root/path and creates the folders of path. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(full, 0777);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int quota_of(const char *max)
{
    put("sys/fs/cgroup/a/b/cpu.max", max);
    return ck_cpu_quota(root);
}

static void no_files_are_no_quota(void **state)
{
    (void)state;
    assert_int_equal(ck_cpu_quota("/nonexistent"), 0);
    assert_int_equal(ck_cpu_quota(root), 0);
}

static void quota_of_version_2_is_rounded_up(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(quota_of("max 100000\n"), 0);
    assert_int_equal(quota_of("150000 100000\n"), 2);
    assert_int_equal(quota_of("200000 100000\n"), 2);
    assert_int_equal(quota_of("210000 100000\n"), 3);
    assert_int_equal(quota_of("1000 100000\n"), 1);
    assert_int_equal(quota_of("30000 10000\n"), 3);
}

static void damaged_files_are_no_quota(void **state)
{
    (void)state;
    static const char *const bad[] = {"",           "\n",          "word",    "100000",
                                      "100000 0\n", "-5 100000\n", "nan nan", "1e300 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(quota_of(bad[i]), 0);
    put("proc/self/cgroup", "0:\n:\n0::\nwords\n\n");
    assert_int_equal(quota_of("100000 100000\n"), 0);
    put("proc/self/cgroup", "0::/a/b\n");
}

static void smallest_quota_above_counts(void **state)
{
    (void)state;
    put("sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    assert_int_equal(quota_of("500000 100000\n"), 3);
    assert_int_equal(quota_of("200000 100000\n"), 2);
    put("proc/self/cgroup", "0::/../elsewhere\n"); /* a container: the mount is its own group */
    assert_int_equal(ck_cpu_quota(root), 0);
    put("sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(ck_cpu_quota(root), 1);
}

static void quota_of_version_1_counts(void **state)
{
    (void)state;
    put("proc/self/cgroup", "9:memory:/x\n4:cpu,cpuacct:/docker/1\n1:cpuset:/\n");
    put("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
    assert_int_equal(ck_cpu_quota(root), 0);
    put("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "250000\n");
    assert_int_equal(ck_cpu_quota(root), 3);
    put("proc/self/cgroup", "3:cpu:/here\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"); /* at the mount */
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(ck_cpu_quota(root), 1);
}

static void quota_limits_the_default_team_only(void **state)
{
    (void)state;
    unsetenv("OMP_NUM_THREADS");
    assert_ok(ck_set_threads(0));
    int cores = ck_threads();
    ck_set_quota(1);
    assert_ok(ck_set_threads(0));
    assert_int_equal(ck_threads(), 1);
    assert_ok(ck_set_threads(3));
    assert_int_equal(ck_threads(), 3);
    ck_set_quota(0);
    assert_ok(ck_set_threads(0));
    assert_int_equal(ck_threads(), cores);
}

static int enter(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int leave(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_files_are_no_quota),
        cmocka_unit_test(quota_of_version_2_is_rounded_up),
        cmocka_unit_test(damaged_files_are_no_quota),
        cmocka_unit_test(smallest_quota_above_counts),
        cmocka_unit_test(quota_of_version_1_counts),
        cmocka_unit_test(quota_limits_the_default_team_only),
    };
    return cmocka_run_group_tests_name("cpu_quota", tests, enter, leave);
}
