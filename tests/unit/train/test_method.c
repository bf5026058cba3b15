/* test_method.c - what holds for every method of training: it resumes to the same bytes and
 * refuses options of others. */
#include "support.h"
#include "train/checkpoint.h"
#include "train/method.h"

static struct coke_dataset *data;
static char folder[64], path[96];

static int enter(void **state)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/coke-method-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    assert_ok(coke_set_threads(1));
    assert_ok(coke_dataset_open(&data, "synthetic:n=30,size=8", AS(dataset, &o)));
    return 0;
}

static int leave(void **state)
{
    (void)state;
    coke_dataset_free(data);
    return test_remove_folder(folder);
}

/* The presets' layers with few values. */
static void shrink(struct ck_layers *l)
{
    for (int i = 0; i < l->n; i++)
        l->v[i] = l->v[i] > 16 ? 16 : l->v[i];
}

/* Method m, small; 0 after the last one. */
static int options_of(int m, struct ck_train_options *o)
{
    static const char *const kept[] = {"predictor", "projector"};
    const struct ck_option_table *t = ck_train_option_table();
    struct ck_train_options preset = ck_train_options_default();
    const struct ck_option *row = ck_option_find(t, "method");
    char value[CK_LAYERS_TEXT];
    if (m > (int)row->max)
        return 0;
    preset.method = m;
    *o = test_training();
    o->method = m;
    o->loader.view.recipe = CK_RECIPE_CIFAR;
    if (m > 0)
        assert_ok(ck_train_preset(&preset, ck_method_row(o)->name));
    assert_int_equal(preset.method, m);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_ok(ck_options_get(t, &preset, kept[i], value, sizeof value));
        assert_ok(ck_options_set(t, o, kept[i], value));
    }
    if (!ck_method_row(o)->clusters && ck_method_row(o)->takes != CK_TAKES_CLUSTERS)
        o->k.n = 0;
    if (ck_method_row(o)->classes || ck_method_row(o)->takes == CK_TAKES_CLUSTERS)
        o->k.n = o->k.n > 1 ? 1 : o->k.n;
    if (ck_method_row(o)->takes == CK_TAKES_CLUSTERS)
        o->loader.view.recipe = CK_RECIPE_CIFAR_WEAK_STRONG;
    shrink(&o->encoder.projector);
    shrink(&o->encoder.predictor);
    if (o->encoder.projector.n > 0 || ck_method_row(o)->classes)
        o->encoder.dim = 0;
    return 1;
}

static uint64_t hash_of(const struct ck_session *s)
{
    uint64_t hash = 0;
    assert_ok(ck_session_hash(s, &hash));
    return hash;
}

/* One step as loop.c runs it. */
static double step(struct ck_session *s)
{
    struct coke_batch b = COKE_INIT(struct coke_batch);
    struct ck_step done;
    assert_ok(coke_loader_next(s->loader, &b));
    if (b.step == 0 && s->method->begin_epoch)
        s->method->begin_epoch(s, b.epoch);
    assert_ok(ck_session_step(s, &b, &done));
    if (b.step == s->steps - 1 && s->method->end_epoch)
        assert_ok(s->method->end_epoch(s));
    return done.loss;
}

static void run(const struct ck_train_options *o, int64_t until)
{
    struct ck_session a, b;
    struct ck_position at = {.epoch = until / 3, .step = until % 3, .images = until % 3 * 12};
    assert_ok(ck_session_init(&a, data, o));
    assert_int_equal(a.steps, 3);
    if (a.method->takes == CK_TAKES_BACKBONE)
        assert_ok(a.method->begin_run(&a, NULL));
    for (int64_t i = 0; i < until; i++)
        step(&a);
    assert_ok(ck_checkpoint_write(path, &a, &at));
    assert_ok(ck_session_init(&b, data, o));
    assert_true(hash_of(&a) != hash_of(&b));
    assert_ok(ck_checkpoint_read(path, &b, &at, 0, NULL));
    assert_true(hash_of(&a) == hash_of(&b));
    if (b.method->begin_epoch)
        b.method->begin_epoch(&b, at.epoch);
    for (int64_t i = until; i < 3 * o->epochs; i++) {
        double one = step(&a), other = step(&b);
        assert_true(one == other);
    }
    assert_true(hash_of(&a) == hash_of(&b));
    ck_session_release(&a);
    ck_session_release(&b);
}

static void every_method_resumes_to_the_same_bytes(void **state)
{
    struct ck_train_options o;
    (void)state;
    for (int m = 0; options_of(m, &o); m++) {
        print_message("             %s\n", ck_method_row(&o)->name);
        run(&o, 2);
        run(&o, 4);
        run(&o, 6);
    }
}

static void entropy_resumes_to_the_same_bytes(void **state)
{
    struct ck_train_options o;
    (void)state;
    assert_true(options_of(1, &o));
    assert_string_equal(ck_method_row(&o)->name, "secu");
    o.own.constraint = CK_CONSTRAINT_ENTROPY;
    run(&o, 2);
    run(&o, 4);
}

static void options_of_other_methods_are_refused(void **state)
{
    struct ck_train_options o;
    (void)state;
    assert_true(options_of(0, &o));
    o.own.center_rate = 2;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE,
                 "center-rate: method coke does not have this option");
    assert_true(options_of(1, &o));
    assert_ok(ck_train_options_check(&o));
    o.keep_best = 1;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE,
                 "keep-best: method secu does not have this option");
    assert_true(options_of(1, &o));
    o.accumulate = 2;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "labels of this step");
    assert_true(options_of(1, &o));
    o.encoder.predictor.word = 1;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "predictor: method secu has none");
    assert_true(options_of(1, &o));
    o.loader.view.recipe = CK_RECIPE_CIFAR_SINGLE;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "method secu needs 2 views, not 1");
}

/* A row of the table by its name. */
static void options_by_name(const char *name, struct ck_train_options *o)
{
    int m = 0;
    while (options_of(m, o) && strcmp(ck_method_row(o)->name, name) != 0)
        m++;
    assert_string_equal(ck_method_row(o)->name, name);
    assert_ok(ck_train_options_check(o));
}

static void methods_refuse_what_they_cannot_compare(void **state)
{
    static const char *const names[] = {"barlow", "vicreg", "emp"};
    struct ck_train_options o;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        options_by_name(names[i], &o);
        o.loader.batch = 1;
        assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "use at least 2");
        options_by_name(names[i], &o);
        o.encoder.predictor.word = 1;
        assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "has none; set no-predictor");
        options_by_name(names[i], &o);
        o.accumulate = 2;
        assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "compares all images of a batch");
        options_by_name(names[i], &o);
        o.loss.temperature = 0.3;
        assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "temperature: method");
    }
    options_by_name("emp", &o);
    o.loader.view.recipe = CK_RECIPE_CIFAR_SINGLE;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "compares views; use at least 2");
    o.loader.view.recipe = CK_RECIPE_MULTI;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "method emp has no small views");
    options_by_name("barlow", &o);
    o.own.variance_weight = 2;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE,
                 "variance-weight: method barlow does not have this option");
    o.own.variance_weight = -1;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "variance-weight");
}

static void many_views_resume_to_the_same_bytes(void **state)
{
    struct ck_train_options o;
    (void)state;
    options_by_name("emp", &o);
    o.loader.view.views = 4;
    run(&o, 4);
}

/* Small views, a queue that is used, one direction: what the table above leaves out. */
static void variants_resume_to_the_same_bytes(void **state)
{
    static const char *const many[] = {"swav", "dino", "msn"};
    struct ck_train_options o;
    (void)state;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        options_by_name(many[i], &o);
        o.loader.view.recipe = CK_RECIPE_MULTI;
        o.loader.view.small_views = 2;
        o.own.prototypes = 20;
        o.own.queue = i == 0 ? 24 : o.own.queue;
        o.own.queue_from = i == 0 ? 1 : o.own.queue_from;
        run(&o, 4);
        run(&o, 5);
    }
    options_by_name("swav", &o);
    o.own.prototype_norm = CK_PROTOTYPES_SPHERE;
    o.own.freeze_prototypes = 0;
    run(&o, 4);
    options_by_name("mocov2", &o);
    o.own.symmetric = 0;
    o.own.queue = 30;
    run(&o, 4);
}

static void methods_with_a_mean_over_images_split_batches(void **state)
{
    static const char *const names[] = {"byol", "mocov2", "dino"};
    struct ck_train_options o;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        options_by_name(names[i], &o);
        o.accumulate = 2;
        assert_ok(ck_train_options_check(&o));
        print_message("             %s\n", names[i]);
        run(&o, 4);
    }
}

static void methods_with_a_teacher_or_queue_refuse(void **state)
{
    static const struct {
        const char *method, *why;
    } whole[] = {{"mocov3", "compares all images of a batch"},
                 {"nnclr", "compares all images of a batch"},
                 {"swav", "codes of a batch are computed together"},
                 {"msn", "targets of a batch are computed together"}};
    static const char *const queued[] = {"mocov2", "nnclr"};
    static const char *const views[] = {"swav", "dino", "msn"};
    struct ck_train_options o;
    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        options_by_name(whole[i].method, &o);
        o.accumulate = 2;
        assert_fails(ck_train_options_check(&o), COKE_EUSAGE, whole[i].why);
    }
    for (size_t i = 0; i < sizeof queued / sizeof *queued; i++) {
        options_by_name(queued[i], &o);
        o.own.queue = 0;
        assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "needs one; use 4096");
    }
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        options_by_name(views[i], &o);
        o.loader.view.recipe = CK_RECIPE_CIFAR_SINGLE;
        assert_fails(ck_train_options_check(&o), COKE_EUSAGE, "compares views; use at least 2");
    }
    options_by_name("byol", &o);
    o.own.queue = 128;
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE,
                 "queue: method byol does not have this option");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_resumes_to_the_same_bytes),
        cmocka_unit_test(entropy_resumes_to_the_same_bytes),
        cmocka_unit_test(options_of_other_methods_are_refused),
        cmocka_unit_test(many_views_resume_to_the_same_bytes),
        cmocka_unit_test(variants_resume_to_the_same_bytes),
        cmocka_unit_test(methods_with_a_mean_over_images_split_batches),
        cmocka_unit_test(methods_with_a_teacher_or_queue_refuse),
        cmocka_unit_test(methods_refuse_what_they_cannot_compare),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
