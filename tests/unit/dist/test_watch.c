/* test_watch.c - a process of a ring ends, stops, leaves or fails: what the others notice. */
#include "dist/watch.h"
#include "core/clock.h"
#include "support.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3, SECONDS = 5, QUIET = 20, BROKEN };

static struct ck_watch *watch[SIZE];
static struct ck_watch_place place[SIZE];
static pid_t pid[SIZE];
static int ready[2]; /* a byte per process that watches */

/* What a process does when it watches. */
typedef int part(struct ck_watch *w, int rank);

/* Polls for so many seconds; exit code 10 + the process that is gone, or QUIET. */
static int look(const struct ck_watch *w, double seconds)
{
    double until = ck_clock_seconds() + seconds;
    while (ck_clock_seconds() < until) {
        int lost = ck_watch_lost(w);
        if (lost >= 0)
            return 10 + lost;
        usleep(1000);
    }
    return QUIET;
}

static int be_process(part *play, int rank)
{
    struct ck_watch *w = watch[rank];
    char one = 1;
    if (!ck_watch_connect(w, place) || !ck_watch_accept(w) || ck_watch_begin(w) ||
        write(ready[1], &one, 1) != 1)
        return BROKEN;
    return play(w, rank);
}

static void start(part *play)
{
    char one;
    assert_int_equal(pipe(ready), 0);
    for (int r = 0; r < SIZE; r++) {
        assert_ok(ck_watch_new(&watch[r], r, SIZE, SECONDS, &place[r]));
        assert_int_not_equal(place[r].port, 0);
    }
    for (int r = 0; r < SIZE; r++) {
        pid[r] = fork();
        if (pid[r] == 0)
            _exit(be_process(play, r));
    }
    for (int r = 0; r < SIZE; r++) {
        assert_int_equal(read(ready[0], &one, 1), 1);
        ck_watch_free(watch[r]);
    }
    close(ready[0]);
    close(ready[1]);
}

static int end_of(int rank)
{
    int status;
    assert_int_equal(waitpid(pid[rank], &status, 0), pid[rank]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int look_long(struct ck_watch *w, int rank)
{
    (void)rank;
    return look(w, 30);
}

static void all_notice_a_killed_process(void **state)
{
    (void)state;
    for (int victim = 0; victim < SIZE; victim++) {
        start(look_long);
        kill(pid[victim], SIGKILL);
        for (int r = 0; r < SIZE; r++)
            assert_int_equal(end_of(r), r == victim ? -SIGKILL : 10 + victim);
    }
}

static int look_briefly(struct ck_watch *w, int rank)
{
    (void)rank;
    int found = look(w, 1.5);
    ck_watch_free(w);
    return found;
}

static void a_stopped_process_is_not_gone(void **state)
{
    (void)state;
    start(look_briefly);
    kill(pid[1], SIGSTOP);
    usleep(1000000);
    kill(pid[1], SIGCONT);
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(end_of(r), QUIET);
}

static int leave_early(struct ck_watch *w, int rank)
{
    int found = look(w, rank == 0 ? 0 : 1);
    ck_watch_free(w);
    return found;
}

static void a_process_that_says_goodbye_is_not_missed(void **state)
{
    (void)state;
    start(leave_early);
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(end_of(r), QUIET);
}

static int sleep_on(struct ck_watch *w, int rank)
{
    (void)w;
    (void)rank;
    sleep(60); /* in MPI, for example */
    return QUIET;
}

static void a_process_that_does_not_leave_by_itself_is_ended(void **state)
{
    (void)state;
    double begun = ck_clock_seconds();
    start(sleep_on);
    kill(pid[2], SIGKILL);
    assert_int_equal(end_of(2), -SIGKILL);
    assert_int_equal(end_of(0), 7);
    assert_int_equal(end_of(1), 7);
    assert_true(ck_clock_seconds() - begun < SECONDS);
}

static int fail_with_3(struct ck_watch *w, int rank)
{
    if (rank != 1)
        return sleep_on(w, rank);
    ck_watch_announce(w, 3);
    return 3;
}

static void a_failure_ends_all_with_its_code(void **state)
{
    (void)state;
    start(fail_with_3);
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(end_of(r), 3);
}

static int guarded(int sleeps)
{
    struct ck_guard g = {0};
    if (ck_guard_init(&g, 1, 6))
        return BROKEN;
    usleep((useconds_t)sleeps * 1000);
    ck_guard_release(&g);
    usleep(1500000);
    return QUIET;
}

static void a_call_may_take_its_time_and_not_more(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            _exit(guarded(i ? 60000 : 10));
    }
    assert_int_equal(end_of(0), QUIET);
    assert_int_equal(end_of(1), 6);
}

static void the_time_is_checked(void **state)
{
    int seconds;
    (void)state;
    unsetenv("COKE_LOST_SECONDS");
    assert_ok(ck_watch_seconds(&seconds));
    assert_int_equal(seconds, 60);
    setenv("COKE_LOST_SECONDS", "5", 1);
    assert_ok(ck_watch_seconds(&seconds));
    assert_int_equal(seconds, 5);
    static const char *const wrong[] = {"4", "-1", "ten", "60s", "1e2", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("COKE_LOST_SECONDS", wrong[i], 1);
        assert_fails(ck_watch_seconds(&seconds), COKE_EUSAGE, "COKE_LOST_SECONDS");
    }
    unsetenv("COKE_LOST_SECONDS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_notice_a_killed_process),
        cmocka_unit_test(a_stopped_process_is_not_gone),
        cmocka_unit_test(a_process_that_says_goodbye_is_not_missed),
        cmocka_unit_test(a_process_that_does_not_leave_by_itself_is_ended),
        cmocka_unit_test(a_failure_ends_all_with_its_code),
        cmocka_unit_test(a_call_may_take_its_time_and_not_more),
        cmocka_unit_test(the_time_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
