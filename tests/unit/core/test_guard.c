/* test_guard.c - faults in mapped files end the guarded call and nothing else. */
#include "support.h"
#include "core/error.h"
#include "core/first_error.h"
#include "core/guard.h"
#include "core/workers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 16 };

static volatile const unsigned char *map; /* [SIZE] of a file that has become empty */

static int enter(void **state)
{
    (void)state;
    char path[] = "/tmp/coke-guard-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && ftruncate(fd, SIZE) == 0);
    map = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(map != MAP_FAILED && ftruncate(fd, 0) == 0);
    return close(fd) || unlink(path);
}

/* In each test: cmocka has installed a handler of its own. */
static void install(void)
{
    signal(SIGBUS, SIG_DFL);
    assert_ok(ck_guard_install());
    assert_ok(ck_guard_install());
}

static int touch(void *arg)
{
    return map[*(int *)arg] ? COKE_EFAIL : COKE_OK;
}

static int touch_inside(void *arg)
{
    assert_fails(ck_guard_call(touch, arg), COKE_EIO, "became shorter");
    return touch(arg);
}

static int succeed(void *arg)
{
    *(int *)arg = 7;
    return COKE_OK;
}

static void faults_are_errors_again_and_again(void **state)
{
    (void)state;
    int at = 5000, out = 0;
    install();
    for (int i = 0; i < 3; i++)
        assert_fails(ck_guard_call(touch, &at), COKE_EIO, "became shorter");
    assert_fails(ck_guard_call(touch_inside, &at), COKE_EIO, "became shorter");
    assert_ok(ck_guard_call(succeed, &out));
    assert_int_equal(out, 7);
}

static void touch_chunk(void *arg, int64_t chunk, int worker)
{
    int at = (int)chunk * 4096;
    (void)worker;
    ck_first_error_keep(arg, ck_guard_call(touch, &at));
}

static void every_thread_has_its_own_guard(void **state)
{
    (void)state;
    struct ck_first_error error = {0};
    install();
    assert_ok(coke_set_threads(4));
    ck_parallel(SIZE / 4096, touch_chunk, &error);
    assert_fails(ck_first_error_raise(&error), COKE_EIO, "became shorter");
}

/* As without a guard: the signal ends the process. */
static void other_faults_are_not_ours(void **state)
{
    (void)state;
    int status, at = 0;
    install();
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        _exit(touch(&at));
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_errors_again_and_again),
        cmocka_unit_test(every_thread_has_its_own_guard),
        cmocka_unit_test(other_faults_are_not_ours),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
