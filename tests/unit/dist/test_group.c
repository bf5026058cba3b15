/* test_group.c - a process alone: nothing is added, nothing moves, no MPI is asked for. */
#include "core/plugin.h"
#include "dist/group.h"
#include "dist/cores.h"
#include "support.h"

#include <dlfcn.h>
#include <unistd.h>

static void a_process_alone_is_rank_0_of_1(void **state)
{
    (void)state;
    assert_ok(coke_group_join());
    assert_int_equal(coke_group_rank(), 0);
    assert_int_equal(coke_group_size(), 1);
    int sharers = 0;
    assert_ok(ck_cores_sharers(ck_group(), &sharers));
    assert_int_equal(sharers, 1);
    assert_ok(ck_group_barrier(ck_group()));
}

static void sums_of_one_are_what_they_were(void **state)
{
    (void)state;
    double v[3] = {1.5, -2, 1e300};
    int64_t w[2] = {INT64_MAX, -4};
    assert_ok(ck_group_sum_f64(ck_group(), v, 3));
    assert_ok(ck_group_sum_i64(ck_group(), w, 2));
    assert_true(v[0] == 1.5 && v[2] == 1e300);
    assert_true(w[0] == INT64_MAX && w[1] == -4);
}

static void parts_of_one_are_the_whole(void **state)
{
    (void)state;
    int32_t mine[2] = {3, 4}, all[2] = {0, 0};
    int64_t bytes = sizeof mine;
    assert_ok(ck_group_gather(ck_group(), mine, all, &bytes));
    assert_int_equal(all[1], 4);
    assert_ok(ck_group_gather_equal(ck_group(), mine + 1, all, 4));
    assert_int_equal(all[0], 4);
    assert_ok(ck_group_broadcast(ck_group(), all, 8, 0));
}

static void a_launcher_without_the_plug_in_is_an_error_in_words(void **state)
{
    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("COKE_MPI", "/nowhere/libcoke-mpi.so", 1);
    assert_fails(coke_group_join(), COKE_EFAIL, "mpirun started several processes");
    assert_fails(coke_group_join(), COKE_EFAIL, "/nowhere/libcoke-mpi.so");
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    assert_ok(coke_group_join()); /* one process needs no other */
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("COKE_MPI");
}

/* Not that another one is missing elsewhere. Where this program is linked to the shared library, the
 * real plug-in lies there. */
static void a_plug_in_beside_the_library_that_does_not_load_says_why(void **state)
{
    (void)state;
    char path[4096];
    Dl_info library;
    assert_true(dladdr((void *)(uintptr_t)ck_plugin_find, &library));
    assert_non_null(realpath(library.dli_fname, path));
    strcpy(strrchr(path, '/'), "/libcoke-mpi.so");
    FILE *f = fopen(path, "wx");
    if (!f)
        skip();
    fputs("no library", f);
    fclose(f);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    int rc = coke_group_join();
    unlink(path);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    assert_int_equal(rc, COKE_EFAIL);
    assert_non_null(strstr(coke_last_error(), "/libcoke-mpi.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_alone_is_rank_0_of_1),
        cmocka_unit_test(sums_of_one_are_what_they_were),
        cmocka_unit_test(parts_of_one_are_the_whole),
        cmocka_unit_test(a_launcher_without_the_plug_in_is_an_error_in_words),
        cmocka_unit_test(a_plug_in_beside_the_library_that_does_not_load_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
