/* test_saver.c - when checkpoints are due, and what writing one leaves in the run folder. */
#include "support.h"
#include "train/events.h"
#include "train/saver.h"

#include <sys/stat.h>
#include <unistd.h>

static const double START = 1000; /* of the clock; seconds */

static struct ck_train_options options(int64_t epochs, int64_t steps, double minutes)
{
    struct ck_train_options o = test_training();
    o.save_epochs = epochs;
    o.save_steps = steps;
    o.save_minutes = minutes;
    return o;
}

static void steps_make_it_due(void **state)
{
    (void)state;
    struct ck_train_options o = options(0, 3, 0);
    struct ck_saver v;
    ck_saver_init(&v, "run", NULL, &o, START);
    for (v.steps = 0; v.steps < 3; v.steps++)
        assert_false(ck_saver_due_step(&v, START + 1e6));
    assert_true(ck_saver_due_step(&v, START));
}

static void minutes_make_it_due(void **state)
{
    (void)state;
    struct ck_train_options o = options(0, 0, 2);
    struct ck_saver v;
    ck_saver_init(&v, "run", NULL, &o, START);
    v.steps = 1000;
    assert_false(ck_saver_due_step(&v, START + 119));
    assert_true(ck_saver_due_step(&v, START + 121));
    v.saved = START + 120;
    assert_false(ck_saver_due_step(&v, START + 121));
    assert_false(ck_saver_due_epoch(&v, 1, START + 1000));
}

static void epochs_make_it_due_while_it_is_cheap(void **state)
{
    (void)state;
    struct ck_train_options o = options(2, 0, 0);
    struct ck_saver v;
    ck_saver_init(&v, "run", NULL, &o, START);
    assert_false(ck_saver_due_epoch(&v, 1, START + 10));
    assert_true(ck_saver_due_epoch(&v, 2, START + 10));
    v.seconds = 1; /* 10 % of the time */
    assert_false(ck_saver_due_epoch(&v, 2, START + 10));
    assert_true(ck_saver_due_epoch(&v, 2, START + 30));
    assert_false(ck_saver_due_step(&v, START + 1e6));
}

static void other_processes_never_save(void **state)
{
    (void)state;
    struct ck_train_options o = options(1, 1, 1e-6);
    struct ck_saver v;
    ck_saver_init(&v, NULL, NULL, &o, START);
    v.steps = 100;
    assert_false(ck_saver_due_step(&v, START + 1e6));
    assert_false(ck_saver_due_epoch(&v, 1, START + 1e6));
    assert_ok(ck_saver_write(&v, NULL, NULL, NULL, NULL, 0));
}

/* ---- writing ---- */

static int has(const char *run, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", run, name);
    return access(path, F_OK) == 0;
}

static int64_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void writing_keeps_the_newest_and_starts_counting_again(void **state)
{
    (void)state;
    struct ck_train_options o = options(1, 1, 1);
    struct ck_dataset_options d = ck_dataset_options_default();
    struct coke_dataset *data;
    struct ck_session s;
    struct ck_saver v;
    struct ck_run_names names = {0};
    struct ck_journal journal;
    struct ck_tfevents events = {0};
    struct ck_position at = {.epoch = 0};
    char run[64] = "/tmp/coke-saver-XXXXXX";
    o.keep = 2;
    assert_ok(coke_set_threads(1));
    assert_non_null(mkdtemp(run));
    assert_ok(coke_dataset_open(&data, "synthetic:n=30,size=8", AS(dataset, &d)));
    assert_ok(ck_session_init(&s, data, &o));
    assert_ok(ck_journal_open(&journal, run, 0));
    assert_ok(ck_events_open(&events, run, &names, 0));
    ck_saver_init(&v, run, &names, &s.o, 0);
    for (at.step = 0; at.step < 3; at.step++) {
        struct ck_step step = {.epoch = 0, .step = at.step};
        assert_ok(ck_journal_step(&journal, &step));
        v.steps = 5;
        assert_ok(ck_saver_write(&v, &s, &at, &journal, &events, 0));
        assert_true(at.metrics_bytes > 0 && at.metrics_bytes == journal.metrics_bytes);
        assert_int_equal(v.steps, 0);
        assert_true(v.saved > 0 && v.seconds > 0);
    }
    /* The best one is known before the last: a run that ends between them finds it again. */
    char last[128], aside[128];
    snprintf(last, sizeof last, "%s/last.safetensors", run);
    snprintf(aside, sizeof aside, "%s/aside", run);
    assert_false(has(run, "best.safetensors"));
    assert_int_equal(rename(last, aside) || mkdir(last, 0777), 0);
    at.step = 2;
    assert_int_equal(ck_saver_write(&v, &s, &at, &journal, &events, 1), COKE_EIO);
    assert_true(has(run, "best.safetensors"));
    assert_int_equal(rmdir(last) || rename(aside, last), 0);
    at.step = 3;
    assert_false(has(run, "checkpoint-000000-00000000.safetensors"));
    assert_true(has(run, "checkpoint-000000-00000001.safetensors"));
    assert_true(has(run, "checkpoint-000000-00000002.safetensors"));
    char mine[128];
    snprintf(mine, sizeof mine, "%s/checkpoint-000000-00000003.safetensors", run);
    FILE *f = fopen(mine, "w");
    assert_non_null(f);
    assert_int_equal(fputs("mine", f) < 0, 0);
    fclose(f);
    assert_ok(ck_saver_write(&v, &s, &at, &journal, &events, 0));
    assert_int_equal(size_of(mine), 4);
    at.step = 0;
    assert_ok(ck_checkpoint_read(last, &s, &at, 0, NULL));
    assert_int_equal(at.step, 3);
    ck_run_names_release(&names);
    ck_journal_close(&journal);
    assert_ok(ck_tfevents_close(&events));
    ck_session_release(&s);
    coke_dataset_free(data);
    test_remove_folder(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_make_it_due),
        cmocka_unit_test(minutes_make_it_due),
        cmocka_unit_test(epochs_make_it_due_while_it_is_cheap),
        cmocka_unit_test(other_processes_never_save),
        cmocka_unit_test(writing_keeps_the_newest_and_starts_counting_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
