/* test_fork.c - a child of fork() has an OpenMP team of its own: our loops and oneDNN's work in
 * it as in the parent, which goes on as before. */
#include "support.h"
#include "core/workers.h"
#include "kernels/gemm.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 96, PATIENCE = 20 }; /* seconds */

static void add_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    ((int64_t *)arg)[chunk] = chunk * chunk;
}

/* 0 = loops and products of two threads give what they should. */
static int work(void)
{
    static float a[N * N], b[N * N], c[N * N];
    int64_t square[100] = {0}, wrong = 0;
    ck_parallel(100, add_chunk, square);
    for (int i = 0; i < 100; i++)
        wrong += square[i] != i * i;
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = 1;
    struct ck_matrix left = {a, N, 0}, right = {b, N, 0};
    if (ck_gemm(N, N, N, 1, left, right, 0, c, N))
        return 1;
    for (int i = 0; i < N * N; i++)
        wrong += c[i] != N;
    return wrong != 0;
}

/* The exit code of a child that works, or -1 if it hangs until the alarm ends it. */
static int work_in_child(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        _exit(work());
    }
    assert_true(child > 0);
    assert_true(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_child_works_with_threads(void **state)
{
    (void)state;
    assert_ok(coke_set_threads(2));
    assert_int_equal(work(), 0);
    assert_int_equal(work_in_child(), 0);
    assert_int_equal(work(), 0);
    assert_int_equal(work_in_child(), 0);
    assert_int_equal(work(), 0);
}

static void *fork_here(void *result)
{
    *(int *)result = work() ? -2 : work_in_child();
    return NULL;
}

static void a_child_of_any_thread_works(void **state)
{
    (void)state;
    pthread_t thread;
    int result = -3;
    assert_int_equal(work(), 0);
    assert_int_equal(pthread_create(&thread, NULL, fork_here, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(result, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_child_works_with_threads),
                                       cmocka_unit_test(a_child_of_any_thread_works)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
