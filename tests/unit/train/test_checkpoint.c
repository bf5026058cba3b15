/* test_checkpoint.c - a checkpoint resumes to the same bytes, or is refused with the reason. */
#include "support.h"
#include "io/safetensors.h"
#include "train/checkpoint.h"

static char folder[64], path[96];
static struct coke_dataset *data;

static struct coke_dataset *open_data(const char *source)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_dataset *d;
    assert_ok(coke_dataset_open(&d, source, AS(dataset, &o)));
    return d;
}

static void run(struct ck_session *s, int64_t steps, struct ck_step *step)
{
    struct coke_batch b = COKE_INIT(struct coke_batch);
    while (steps-- > 0) {
        assert_ok(coke_loader_next(s->loader, &b));
        assert_ok(ck_session_step(s, &b, step));
        if (b.step == s->steps - 1)
            assert_ok(ck_heads_epoch_end(&s->heads));
    }
}

/* The checkpoint of all tests: epoch 0 and one step of epoch 1. */
static const struct ck_position saved = {.epoch = 1,
                                         .step = 1,
                                         .metrics_bytes = 321,
                                         .best = -HUGE_VAL,
                                         .loss_sum = 1.0 / 3,
                                         .last_loss = 0.1,
                                         .images = 12};

static int enter(void **state)
{
    struct ck_train_options o = test_training();
    struct ck_session s;
    struct ck_step step;
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/coke-checkpoint-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    assert_ok(coke_set_threads(1));
    data = open_data("synthetic:n=30,size=8");
    assert_ok(ck_session_init(&s, data, &o));
    run(&s, s.steps + 1, &step);
    assert_ok(ck_checkpoint_write(path, &s, &saved));
    ck_session_release(&s);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    coke_dataset_free(data);
    return test_remove_folder(folder);
}

/* ---- resuming ---- */

static void assert_same_position(const struct ck_position *a, const struct ck_position *b)
{
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->metrics_bytes, b->metrics_bytes);
    assert_int_equal(a->images, b->images);
    assert_true(a->best == b->best);
    assert_true(a->loss_sum == b->loss_sum);
    assert_true(a->last_loss == b->last_loss);
}

static uint64_t hash_of(const struct ck_session *s)
{
    uint64_t hash = 0;
    assert_ok(ck_session_hash(s, &hash));
    return hash;
}

static void a_resumed_session_steps_as_the_one_that_was_saved(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct ck_session a, b;
    struct ck_position at = {0};
    struct ck_step sa, sb;
    assert_ok(ck_session_init(&a, data, &o));
    run(&a, a.steps + 1, &sa);
    assert_ok(ck_session_init(&b, data, &o));
    assert_true(hash_of(&a) != hash_of(&b));
    assert_ok(ck_checkpoint_read(path, &b, &at, 0, NULL));
    assert_same_position(&at, &saved);
    assert_true(hash_of(&a) == hash_of(&b));
    run(&a, a.steps, &sa);
    run(&b, b.steps, &sb);
    assert_int_equal(sa.epoch, sb.epoch);
    assert_true(sa.loss == sb.loss);
    assert_true(hash_of(&a) == hash_of(&b));
    ck_session_release(&a);
    ck_session_release(&b);
}

static void writing_what_was_read_gives_the_same_file(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct ck_session s;
    struct ck_position at;
    char copy[96], command[256];
    snprintf(copy, sizeof copy, "%s/copy.safetensors", folder);
    assert_ok(ck_session_init(&s, data, &o));
    assert_ok(ck_checkpoint_read(path, &s, &at, 0, NULL));
    assert_ok(ck_checkpoint_write(copy, &s, &at));
    ck_session_release(&s);
    snprintf(command, sizeof command, "cmp %s %s", path, copy);
    assert_int_equal(system(command), 0);
}

/* After the last step of an epoch the loader goes on with the next epoch. */
static void a_complete_epoch_continues_with_the_next(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct ck_session s;
    struct ck_position at = {.epoch = 0};
    struct coke_batch b = COKE_INIT(struct coke_batch);
    char full[96];
    snprintf(full, sizeof full, "%s/full.safetensors", folder);
    assert_ok(ck_session_init(&s, data, &o));
    at.step = s.steps;
    assert_ok(ck_checkpoint_write(full, &s, &at));
    assert_ok(ck_checkpoint_read(full, &s, &at, 0, NULL));
    assert_ok(coke_loader_next(s.loader, &b));
    assert_int_equal(b.epoch, 1);
    assert_int_equal(b.step, 0);
    ck_session_release(&s);
}

/* ---- refusals ---- */

struct heard {
    int n;
    char last[400];
};

static void hear(void *user, const char *line)
{
    struct heard *h = user;
    h->n++;
    snprintf(h->last, sizeof h->last, "%s", line);
}

/* Reads the checkpoint into a new session of these options and this data. */
static int read_into(struct coke_dataset *d, const struct ck_train_options *o, int anyway,
                     struct heard *h)
{
    struct ck_session s;
    struct ck_position at;
    assert_ok(ck_session_init(&s, d, o));
    struct coke_callbacks cb = {.user = h, .say = hear};
    int rc = ck_checkpoint_read(path, &s, &at, anyway, &cb);
    ck_session_release(&s);
    return rc;
}

static void other_images_are_refused_in_any_case(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct coke_dataset *more = open_data("synthetic:n=31,size=8");
    struct heard h = {0};
    for (int anyway = 0; anyway < 2; anyway++)
        assert_fails(read_into(more, &o, anyway, &h), COKE_EUSAGE,
                     "belongs to other images than synthetic:n=31,size=8: 1 added, 0 removed");
    coke_dataset_free(more);
}

static void other_options_are_refused_unless_asked_for(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct heard h = {0};
    o.rate = 0.07;
    assert_fails(read_into(data, &o, 0, &h), COKE_EUSAGE,
                 "option 'rate' was 0.05 and is now 0.07");
    assert_non_null(strstr(coke_last_error(), path));
    assert_int_equal(h.n, 0);
    assert_ok(read_into(data, &o, 1, &h));
    assert_int_equal(h.n, 1);
    assert_string_equal(h.last, "resumed although option 'rate' was 0.05 and is now 0.07");
}

static void other_threads_are_refused_unless_asked_for(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct heard h = {0};
    assert_ok(coke_set_threads(2));
    assert_fails(read_into(data, &o, 0, &h), COKE_EUSAGE,
                 "the number of threads was 1 and is now 2");
    assert_ok(read_into(data, &o, 1, &h));
    assert_int_equal(h.n, 1);
    assert_ok(coke_set_threads(1));
}

static void options_without_influence_may_change(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct heard h = {0};
    o.loader.workers = 2;
    o.save_steps = 17;
    o.monitor = 1;
    assert_ok(read_into(data, &o, 0, &h));
    assert_int_equal(h.n, 0);
}

static void what_does_not_fit_is_refused_even_if_asked_for(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct heard h = {0};
    o.k.v[1] = 7;
    assert_fails(read_into(data, &o, 1, &h), COKE_EFORMAT, "head 1 has 6 clusters");
    o = test_training();
    o.encoder.width = 0.0625;
    assert_int_equal(read_into(data, &o, 1, &h), COKE_EFORMAT);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct ck_session s;
    struct ck_position at;
    struct ck_state encoder = {0};
    char other[96];
    snprintf(other, sizeof other, "%s/encoder.safetensors", folder);
    assert_ok(ck_session_init(&s, data, &o));
    assert_ok(ck_encoder_save(&s.encoder, &encoder));
    assert_ok(ck_safetensors_write(other, &encoder, 1));
    assert_fails(ck_checkpoint_read(other, &s, &at, 0, NULL), COKE_EFORMAT,
                 "encoder.safetensors is not a training checkpoint");
    ck_state_release(&encoder);
    ck_session_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resumed_session_steps_as_the_one_that_was_saved),
        cmocka_unit_test(writing_what_was_read_gives_the_same_file),
        cmocka_unit_test(a_complete_epoch_continues_with_the_next),
        cmocka_unit_test(other_images_are_refused_in_any_case),
        cmocka_unit_test(other_options_are_refused_unless_asked_for),
        cmocka_unit_test(other_threads_are_refused_unless_asked_for),
        cmocka_unit_test(options_without_influence_may_change),
        cmocka_unit_test(what_does_not_fit_is_refused_even_if_asked_for),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
