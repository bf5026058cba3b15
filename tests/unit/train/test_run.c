/* test_run.c - whole small trainings: what fails leaves the last checkpoint, and the next call
 * ends with the same bytes. */
#include "as_options.h"
#include "support.h"
#include "core/mem.h"
#include "io/file.h"
#include "train/encoder_file.h"

#include <math.h>

#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/coke-run-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return coke_set_threads(1);
}

static int leave(void **state)
{
    (void)state;
    return test_remove_folder(folder);
}

static struct ck_train_options tiny(void)
{
    struct ck_train_options o = test_training();
    o.save_steps = 2;
    return o;
}

static int train_with(const char *name, const struct ck_train_options *o,
                      const struct coke_callbacks *callbacks)
{
    char run[128];
    struct coke_dataset *d;
    struct ck_dataset_options data = ck_dataset_options_default();
    struct coke_train_control control = COKE_INIT(struct coke_train_control);
    struct coke_train_summary s = COKE_INIT(struct coke_train_summary);
    snprintf(run, sizeof run, "%s/%s", folder, name);
    int rc = coke_dataset_open(&d, "synthetic:n=30,size=8", AS(dataset, &data));
    if (rc)
        return rc;
    rc = coke_train_run(d, AS(train, o), run, &control, callbacks, &s);
    coke_dataset_free(d);
    return rc;
}

static int train(const char *name)
{
    struct ck_train_options o = tiny();
    return train_with(name, &o, NULL);
}

static void assert_same_file(const char *a, const char *b, const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "cmp %s/%s/%s %s/%s/%s", folder, a, name, folder, b,
             name);
    if (system(command) != 0)
        fail_msg("%s of %s and %s differ", name, a, b);
}

static void assert_same_run(const char *a, const char *b)
{
    static const char *const names[] = {"final.safetensors", "metrics.jsonl",
                                        "labels-h0-k3.npy", "centers-h1-k6.npy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_same_file(a, b, names[i]);
}

static void clear(const char *name)
{
    char command[192];
    snprintf(command, sizeof command, "rm -rf %s/%s", folder, name);
    assert_int_equal(system(command), 0);
}

/* Every write() of the run fails in turn; some are tried again and some do not matter. */
static void a_full_disk_costs_no_step(void **state)
{
    (void)state;
    int failed = 0, done = 0;
    assert_ok(train("whole"));
    for (int nth = 1; nth < 500 && !done; nth += nth < 20 ? 1 : 7) {
        ck_file_fail_write_at(nth);
        int rc = train("full");
        ck_file_fail_write_at(0);
        assert_true(rc == COKE_OK || rc == COKE_EIO);
        failed += rc != COKE_OK;
        if (rc) {
            assert_non_null(strstr(coke_last_error(), "No space left"));
            assert_ok(train("full"));
        }
        assert_same_run("whole", "full");
        clear("full");
        done = nth > 60 && rc == COKE_OK;
    }
    assert_true(failed > 10);
    assert_true(done);
}

static void exhausted_memory_costs_no_step(void **state)
{
    (void)state;
    int failed = 0;
    for (int nth = 1; nth < 4000; nth += 1 + nth / 6) {
        int64_t live = ck_mem_stats().live;
        ck_mem_fail_at(nth);
        int rc = train("memory");
        ck_mem_fail_at(0);
        assert_true(rc == COKE_OK || rc == COKE_ENOMEM);
        failed += rc != COKE_OK;
        assert_int_equal(ck_mem_stats().live, live);
        if (rc)
            assert_ok(train("memory"));
        assert_same_run("whole", "memory");
        clear("memory");
    }
    assert_true(failed > 5);
}

/* ---- modes ---- */

struct stopper {
    int after, calls, answer;
};

static int count_steps(void *user, const struct coke_progress *p)
{
    struct stopper *s = user;
    (void)p;
    return ++s->calls == s->after ? s->answer : 0;
}

/* Stopped after some step and continued, it is the run that was never stopped. */
static void assert_resumes(const char *name, const struct ck_train_options *o)
{
    char broken[64];
    snprintf(broken, sizeof broken, "%s-broken", name);
    assert_ok(train_with(name, o, NULL));
    for (int after = 1; after < 8; after += 3) {
        struct stopper s = {.after = after, .answer = 1};
        struct coke_callbacks c = {
            .size = sizeof(struct coke_callbacks), .user = &s, .progress = count_steps};
        assert_int_equal(train_with(broken, o, &c), COKE_ESTOPPED);
        assert_int_equal(s.calls, after);
        assert_ok(train_with(broken, o, NULL));
        assert_same_run(name, broken);
        clear(broken);
    }
}

static void every_mode_resumes_with_the_same_bytes(void **state)
{
    (void)state;
    struct ck_train_options o = tiny();
    o.keep_best = 1;
    assert_resumes("keep-best", &o);
    o = tiny();
    o.epochs = 5;
    o.kmeans.stage = 2;
    assert_resumes("stage", &o);
    o = tiny();
    o.loader.view.recipe = CK_RECIPE_CIFAR;
    o.alpha_start = 1;
    assert_resumes("two-views", &o);
    o = tiny();
    o.loader.view.recipe = CK_RECIPE_MULTI;
    o.loader.view.small_views = 2;
    o.loader.view.small_size = 8;
    o.loader.view.size = 12;
    assert_resumes("multi", &o);
    o = tiny();
    o.loader.view.recipe = CK_RECIPE_CIFAR;
    o.loader.view.views = 3;
    assert_resumes("three-views", &o);
    o = tiny();
    o.labels = o.centers = CK_COUPLING_CURRENT;
    assert_resumes("current", &o);
    o = tiny();
    o.accumulate = 3;
    o.optimizer.kind = CK_LARS;
    assert_resumes("accumulate", &o);
    o = tiny();
    o.kmeans.update = CK_UPDATE_EPOCH;
    o.encoder.predictor.word = 0;
    o.loss.beta = 0;
    assert_resumes("plain", &o);
}

/* Four steps per epoch and three sizes: stops fall into each of them. */
static void schedules_resume_with_the_same_bytes(void **state)
{
    (void)state;
    struct ck_train_options o = tiny();
    o.loader.view.recipe = CK_RECIPE_CIFAR;
    o.loader.view.size = 0;
    o.size_schedule = (struct ck_ints){3, {8, 10, 12}};
    o.augment_ramp = 1;
    assert_resumes("sizes", &o);
    o = tiny();
    o.round = 2 * o.loader.batch;
    assert_resumes("rounds", &o);
    o = tiny();
    o.ema = 0.9;
    assert_resumes("ema", &o);
}

/* The largest difference of a parameter of two files. */
static double difference(const char *run, const char *a, const char *b, const char *name)
{
    char path[2][160];
    struct coke_encoder *e[2];
    double max = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s/%s", folder, run, i ? b : a);
        assert_ok(ck_encoder_open(&e[i], path[i]));
    }
    const struct ck_param *p = ck_encoder_find(e[0], name), *q = ck_encoder_find(e[1], name);
    for (int64_t i = 0; i < p->size; i++)
        max = fmax(max, fabs((double)p->value[i] - (double)q->value[i]));
    ck_encoder_free(e[0]);
    ck_encoder_free(e[1]);
    return max;
}

/* What a checkpoint is opened as for use are the averaged weights, as in the final encoder; the
 * run without them ends with others and trains the same. */
static void averaged_weights_are_the_encoder(void **state)
{
    (void)state;
    struct ck_train_options o = tiny();
    assert_ok(train_with("live", &o, NULL));
    o.ema = 0.9;
    assert_ok(train_with("averaged", &o, NULL));
    assert_true(
        difference("averaged", "final.safetensors", "last.safetensors", "conv1.weight") == 0);
    assert_true(difference("averaged", "final.safetensors", "../live/final.safetensors",
                           "conv1.weight") > 0);
    assert_same_file("live", "averaged", "labels-h0-k3.npy");
    assert_same_file("live", "averaged", "centers-h1-k6.npy");
}

static void saving_on_demand_goes_on(void **state)
{
    (void)state;
    struct ck_train_options o = tiny();
    struct stopper s = {.after = 1, .answer = COKE_ANSWER_SAVE};
    struct coke_callbacks c = {
        .size = sizeof(struct coke_callbacks), .user = &s, .progress = count_steps};
    o.save_steps = o.save_epochs = 0;
    o.save_minutes = 0;
    o.keep = 9;
    assert_ok(train_with("demand", &o, &c));
    char path[160];
    snprintf(path, sizeof path, "%s/demand/checkpoint-000000-00000001.safetensors", folder);
    assert_int_equal(access(path, F_OK), 0);
}

static void a_loss_that_is_not_finite_ends_it_with_a_good_checkpoint(void **state)
{
    (void)state;
    struct ck_train_options o = tiny();
    char path[160];
    o.rate = 1e3;
    o.optimizer.weight_decay = 1;
    o.epochs = 40;
    o.keep = 1;
    int rc = train_with("nan", &o, NULL);
    assert_int_equal(rc, COKE_ENUMERIC);
    snprintf(path, sizeof path, "%s/nan/last.safetensors", folder);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_costs_no_step),
        cmocka_unit_test(exhausted_memory_costs_no_step),
        cmocka_unit_test(every_mode_resumes_with_the_same_bytes),
        cmocka_unit_test(schedules_resume_with_the_same_bytes),
        cmocka_unit_test(averaged_weights_are_the_encoder),
        cmocka_unit_test(saving_on_demand_goes_on),
        cmocka_unit_test(a_loss_that_is_not_finite_ends_it_with_a_good_checkpoint),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
