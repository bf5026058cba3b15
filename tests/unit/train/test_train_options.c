/* test_train_options.c - presets, what follows from options, and contradictions. */
#include "support.h"
#include "nn/mlp.h"
#include "train/method.h"
#include "train/train_options.h"

#include <stdio.h>
#include <string.h>

static struct ck_train_options small(void)
{
    struct ck_train_options o = ck_train_options_default();
    o.k = (struct ck_ints){2, {10, 100}};
    o.loader.view.recipe = CK_RECIPE_CIFAR;
    return o;
}

static void every_preset_can_be_applied_and_is_sound(void **state)
{
    (void)state;
    for (int i = 0; coke_train_preset_name(i); i++) {
        struct ck_train_options o = ck_train_options_default();
        assert_ok(ck_train_preset(&o, coke_train_preset_name(i)));
        if (ck_method_row(&o)->clusters && o.k.n == 0) /* that of a method, for any images */
            o.k = (struct ck_ints){1, {10}};
        assert_ok(ck_train_options_check(&o));
        assert_non_null(coke_train_preset_about(i));
    }
    struct ck_train_options o = ck_train_options_default();
    assert_fails(ck_train_preset(&o, "imagenet"), COKE_EUSAGE, "imagenet-single, ");
    assert_ok(ck_train_preset(&o, "imagenet-single"));
    assert_int_equal(o.k.n, 3);
    assert_int_equal(o.k.v[2], 5000);
    assert_int_equal(o.epochs, 1001);
    assert_int_equal(o.kmeans.stage, 801);
    assert_int_equal(o.loader.batch, 1024);
    assert_close(o.kmeans.eta, 20, 0);
}

static void cifar_presets_differ_in_what_the_paper_leaves_open(void **state)
{
    (void)state;
    struct ck_train_options later = ck_train_options_default(), literal = later;
    assert_ok(ck_train_preset(&later, "cifar10"));
    assert_int_equal(later.encoder.projector.word, CK_PROJECTOR_MLP2BN);
    assert_int_equal(later.encoder.predictor.word, 0);
    assert_close(later.optimizer.weight_decay, 1e-4, 0);
    assert_close(later.loss.beta, 0, 0);
    assert_int_equal(later.warmup, 10);
    assert_ok(ck_train_preset(&literal, "cifar10-literal"));
    assert_int_equal(literal.encoder.projector.word, CK_PROJECTOR_MLP3);
    assert_int_equal(literal.encoder.predictor.word, 1);
    assert_close(literal.optimizer.weight_decay, 1e-6, 0);
    assert_close(literal.loss.beta, 0.5, 0);
    literal.encoder = later.encoder;
    literal.optimizer = later.optimizer;
    literal.loss = later.loss;
    assert_memory_equal(&literal, &later, sizeof later);
}

/* What the authors, or of CIFAR-10 solo-learn, publish; options that the preset takes from its
 * method or from the defaults are written out, too. */
static const struct {
    const char *preset, *options;
} published[] = {
    {"cifar10-simclr",
     "recipe=cifar-strong optimizer=lars rate=0.4 weight-decay=0.0001 trust=0.02 "
     "temperature=0.2 projector=2048-relu-256 min-scale=auto"},
    {"cifar10-mocov2",
     "recipe=cifar-weak optimizer=sgd rate=0.3 weight-decay=0.0001 queue=32768 "
     "momentum-start=0.99 momentum-end=0.999 projector=2048-relu-256"},
    {"cifar10-mocov3", "recipe=cifar-small min-scale=0.08 optimizer=lars rate=0.3 trust=0.02 "
                       "weight-decay=1e-06 temperature=0.2 momentum-start=0.99 momentum-end=1 "
                       "projector=4096-bn-relu-256-bn0 predictor=4096-bn-relu-256 batch=256 "
                       "epochs=1001"},
    {"cifar10-swav",
     "recipe=cifar-strong rate=0.6 weight-decay=1e-06 prototypes=3000 queue=3840 "
     "queue-from=51 freeze-prototypes=2 sinkhorn-eps=0.05"},
    {"cifar10-deepclusterv2", "recipe=cifar-strong rate=0.6 weight-decay=1e-06 warmup=11"},
    {"cifar10-byol", "recipe=cifar-small min-scale=0.08 rate=1 weight-decay=1e-05"},
    {"cifar10-simsiam", "recipe=cifar-weak optimizer=sgd rate=0.5 weight-decay=1e-05"},
    {"cifar10-barlow", "recipe=cifar-small min-scale=0.08 rate=0.3 loss-scale=0.1"},
    {"cifar10-vicreg", "recipe=cifar-solarize rate=0.3 variance-weight=50"},
    {"cifar10-dino", "recipe=cifar-small min-scale=0.08 rate=0.3 momentum-start=0.9995"},
    {"cifar10-nnclr", "recipe=cifar-small min-scale=0.08 rate=0.4 queue=65536"},
    {"imagenet-simclr", "recipe=strong rate=4.8 batch=4096 epochs=1001 temperature=0.1"},
    {"imagenet-mocov2", "recipe=weak rate=0.03 warmup=0 batch=256 epochs=201 queue=65536"},
    {"imagenet-mocov3", "min-scale=0.2 projector=4096-bn-relu-256-bn0 rate=4.8 temperature=1"},
    {"imagenet-simsiam", "recipe=weak rate=0.1 warmup=0 batch=512 epochs=101"},
    {"imagenet-swav", "recipe=multi-swav small-views=6 rate=4.8 epochs=801 queue=0"},
    {"imagenet-deepclusterv2", "recipe=strong rate=4.8 epochs=401"},
    {"imagenet-dino", "recipe=multi-dino small-views=8 rate=0.06 batch=512 clip=3"},
    {"imagenet-barlow", "recipe=double rate=1.6 loss-scale=0.024 redundancy-weight=0.0051"},
    {"imagenet-vicreg", "recipe=double rate=1.6 variance-weight=25"},
};

static void presets_of_methods_are_as_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct ck_train_options o = ck_train_options_default();
        char text[512], value[256];
        assert_ok(ck_train_preset(&o, published[i].preset));
        snprintf(text, sizeof text, "%s", published[i].options);
        for (char *rest, *word = strtok_r(text, " ", &rest); word;
             word = strtok_r(NULL, " ", &rest)) {
            char *expected = strchr(word, '=');
            *expected++ = 0;
            assert_ok(ck_options_get(ck_train_option_table(), &o, word, value, sizeof value));
            if (strcmp(value, expected) != 0)
                fail_msg("%s: %s is %s, published %s", published[i].preset, word, value,
                         expected);
        }
    }
}

static void refuse(struct ck_train_options o, const char *words)
{
    assert_fails(ck_train_options_check(&o), COKE_EUSAGE, words);
}

static void contradictions_are_refused_in_words(void **state)
{
    (void)state;
    struct ck_train_options o = small();
    assert_ok(ck_train_options_check(&o));
    o.k.n = 0;
    refuse(o, "missing number of clusters");
    o = small();
    o.kmeans.stage = 10;
    refuse(o, "second stage needs one view");
    o.loader.view.recipe = CK_RECIPE_CIFAR_SINGLE;
    assert_ok(ck_train_options_check(&o));
    o.kmeans.stage = o.epochs;
    refuse(o, "stage: epoch 101");
    o = small();
    o.loader.view.recipe = CK_RECIPE_EVAL;
    refuse(o, "not for training");
    o = small();
    o.accumulate = 2;
    o.labels = CK_COUPLING_CURRENT;
    refuse(o, "accumulate");
    o = small();
    o.encoder.predictor.word = 0;
    refuse(o, "beta 0.5 weighs the predictor");
    o = small();
    o.loss.beta = 0;
    refuse(o, "no-predictor");
    o = small();
    o.epochs = 5;
    o.warmup = 4;
    refuse(o, "warm");
    o = small();
    o.loss.temperature = 0;
    refuse(o, "temperature");
}

static void eta_grows_with_k_unless_shared(void **state)
{
    (void)state;
    struct ck_train_options o = small();
    o.kmeans.eta = 0.5;
    assert_close(ck_train_eta(&o, 10000, 0), 0.5, 0);
    assert_close(ck_train_eta(&o, 10000, 1), 5, 1e-12);
    o.eta_mode = CK_ETA_MODE_SHARED;
    assert_close(ck_train_eta(&o, 10000, 1), 0.5, 0);
    o.kmeans.eta = 0;
    o.loader.batch = 64;
    assert_true(ck_train_eta(&o, 10000, 0) > 0);
}

static void alpha_comes_down_in_a_straight_line(void **state)
{
    (void)state;
    struct ck_train_options o = small();
    o.epochs = 101;
    o.loss.alpha = 0.2;
    o.alpha_start = 0;
    assert_close(ck_train_alpha(&o, 1), 0.2, 0);
    o.alpha_start = 1;
    o.alpha_until = 0.5;
    assert_close(ck_train_alpha(&o, 0), 1, 0);
    assert_close(ck_train_alpha(&o, 25), 0.6, 1e-12);
    assert_close(ck_train_alpha(&o, 50), 0.2, 1e-12);
    assert_close(ck_train_alpha(&o, 90), 0.2, 0);
}

static void alpha_of_short_trainings_starts_at_one(void **state)
{
    (void)state;
    const struct ck_option_table *t = ck_train_option_table();
    struct ck_train_options o = small();
    char text[32];
    o.loss.alpha = 0.2;
    o.epochs = 101;
    assert_close(ck_train_alpha(&o, 0), 1, 0);
    o.epochs = 102;
    assert_close(ck_train_alpha(&o, 0), 0.2, 0);
    assert_ok(ck_options_get(t, &o, "alpha-start", text, sizeof text));
    assert_string_equal(text, "auto");
    o.epochs = 11;
    assert_ok(ck_options_set(t, &o, "alpha-start", "alpha"));
    assert_close(ck_train_alpha(&o, 0), 0.2, 0);
    assert_ok(ck_options_get(t, &o, "alpha-start", text, sizeof text));
    assert_string_equal(text, "alpha");
    assert_int_equal(ck_options_set(t, &o, "alpha-start", "beta"), COKE_EUSAGE);
}

static struct ck_train_options scheduled(const char *sizes, int64_t size)
{
    struct ck_train_options o = small();
    assert_ok(ck_options_set(ck_train_option_table(), &o, "size-schedule", sizes));
    o.loader.view.size = size;
    o.loader.batch = 64;
    return o;
}

static void schedules_are_refused_where_they_contradict(void **state)
{
    (void)state;
    struct ck_train_options o = scheduled("16,24,32", 0);
    assert_ok(ck_train_options_check(&o));
    ck_train_settle_size(&o);
    assert_int_equal(o.loader.view.size, 32);
    o = scheduled("none", 0);
    assert_int_equal(o.size_schedule.n, 0);
    o = scheduled("16,24", 24);
    assert_ok(ck_train_options_check(&o));
    refuse(scheduled("16,24", 32), "set size 24");
    refuse(scheduled("24,16", 0), "must not decrease");
    o = scheduled("16,16,16,16,24", 24);
    o.epochs = 4;
    o.warmup = 1;
    refuse(o, "too many");
    o = small();
    o.loader.batch = 64;
    o.round = 500;
    assert_ok(ck_train_options_check(&o));
    o.keep_best = 1;
    refuse(o, "round: keep-best");
    o.keep_best = 0;
    o.centers = CK_COUPLING_CURRENT;
    refuse(o, "round: labels or centers current");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_can_be_applied_and_is_sound),
        cmocka_unit_test(presets_of_methods_are_as_published),
        cmocka_unit_test(cifar_presets_differ_in_what_the_paper_leaves_open),
        cmocka_unit_test(contradictions_are_refused_in_words),
        cmocka_unit_test(eta_grows_with_k_unless_shared),
        cmocka_unit_test(alpha_comes_down_in_a_straight_line),
        cmocka_unit_test(alpha_of_short_trainings_starts_at_one),
        cmocka_unit_test(schedules_are_refused_where_they_contradict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
