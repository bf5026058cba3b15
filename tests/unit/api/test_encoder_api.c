/* test_encoder_api.c - encoders, passes and optimisers through the public functions: bad input
 * is an error in words. */
#include "as_options.h"
#include "encoder_test.h"

/* ---- options ---- */

static void unknown_words_are_errors_that_name_the_known(void **state)
{
    const struct ck_option_table *t = ck_encoder_option_table();
    struct ck_encoder_options o = ck_encoder_options_default();
    (void)state;
    assert_fails(ck_options_set(t, &o, "arch", "resnet19"), COKE_EUSAGE,
                 "arch: 'resnet19' is none of resnet18|resnet34|resnet50");
    assert_fails(ck_options_set(t, &o, "arhc", "resnet18"), COKE_EUSAGE,
                 "unknown option 'arhc'; the nearest is 'arch'");
    assert_fails(ck_options_set(t, &o, "stem", "cifer"), COKE_EUSAGE, "imagenet|cifar|stl");
    assert_fails(ck_options_set(t, &o, "projector", "mlp4"), COKE_EUSAGE,
                 "none|linear|mlp2|mlp2bn|mlp3");
    assert_fails(ck_options_set(t, &o, "width", "0"), COKE_EUSAGE, "width: 0 is not within");
    assert_fails(ck_options_set(t, &o, "width", "wide"), COKE_EUSAGE, "not a number");
    assert_fails(ck_options_set(t, &o, "channels", "0"), COKE_EUSAGE, "channels: 0");
    assert_fails(ck_options_set(t, &o, "dim", "-1"), COKE_EUSAGE, "dim: -1");
    assert_ok(ck_options_set(t, &o, "hidden", "auto"));
    assert_ok(ck_options_set(t, &o, "arch", "resnet50"));
    assert_int_equal(o.arch, CK_RESNET50);
}

#define refuses_encoder(change, words)                                                         \
    do {                                                                                       \
        struct coke_encoder *e_;                                                               \
        struct ck_encoder_options o = small_options();                                         \
        change;                                                                                \
        assert_fails(coke_encoder_new(&e_, AS(encoder, &o)), COKE_EUSAGE, words);              \
        assert_null(e_);                                                                       \
    } while (0)

static void impossible_encoders_are_errors_in_words(void **state)
{
    (void)state;
    refuses_encoder(o.arch = 3, "arch: 3 is not within 0..2");
    refuses_encoder(o.arch = -1, "arch: -1");
    refuses_encoder(o.stem = 3, "stem: 3");
    refuses_encoder(o.width = 0, "width: 0 is not within");
    refuses_encoder(o.width = -1, "width: -1");
    refuses_encoder(o.width = NAN, "width: ");
    refuses_encoder(o.width = 17, "width: 17");
    refuses_encoder(o.channels = 0, "channels: 0");
    refuses_encoder(o.projector.word = 5, "projector: 5");
    refuses_encoder(o.hidden = -1, "hidden: -1");
    refuses_encoder(o.dim = -1, "dim: -1");
    refuses_encoder(o.projector.word = CK_PROJECTOR_NONE, "predictor: there is no projection");
}

/* ---- passes ---- */

/* Makes a pass with a changed option on a small encoder; returns its status. */
#define refuses_pass(change, status, words)                                                    \
    do {                                                                                       \
        struct coke_encoder *e_ = small_encoder(1);                                            \
        struct coke_plan *p_;                                                                  \
        struct ck_plan_options o = small_pass_options();                                       \
        change;                                                                                \
        assert_fails(coke_plan_new(&p_, e_, AS(plan, &o), NULL), status, words);               \
        assert_null(p_);                                                                       \
        coke_encoder_free(e_);                                                                 \
    } while (0)

static void impossible_sizes_are_errors_in_words(void **state)
{
    (void)state;
    refuses_pass(o.batch = 0, COKE_EUSAGE, "a batch of 0 images of 16x16 is invalid");
    refuses_pass(o.batch = -2, COKE_EUSAGE, "batch: -2 is not within");
    refuses_pass(o.height = 0, COKE_EUSAGE, "0x16 is invalid");
    refuses_pass(o.width = -16, COKE_EUSAGE, "width: -16 is not within");
    refuses_pass(o.width = 1000000, COKE_EUSAGE, "width: 1000000");
    refuses_pass(o.batch = INT64_MAX, COKE_EUSAGE, "batch: ");
}

/* The sanitizer's malloc, too, says no instead of stopping the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* Sizes whose products no memory holds, and whose products do not fit 64 bits. */
static void enormous_batches_are_errors_in_words(void **state)
{
    static const int64_t size[][2] = {
        {100000, 10000}, {1 << 20, 32767}, {1 << 30, 1024}, {INT32_MAX, 32767}};
    (void)state;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        struct coke_encoder *e = small_encoder(1);
        struct coke_plan *p;
        struct ck_plan_options o = small_pass_options();
        o.batch = size[i][0];
        o.height = o.width = size[i][1];
        int rc = coke_plan_new(&p, e, AS(plan, &o), NULL);
        if (rc != COKE_ENOMEM && rc != COKE_EUSAGE)
            fail_msg("%lld images of %lldx%lld: %d, \"%s\"", (long long)o.batch,
                     (long long)o.height, (long long)o.width, rc, coke_last_error());
        coke_encoder_free(e);
    }
}

/* One pixel is enough for a ResNet, whose windows are padded. */
static void the_smallest_images_are_possible(void **state)
{
    (void)state;
    for (int stem = 0; stem < 2; stem++) {
        struct coke_encoder *e;
        struct coke_plan *p;
        struct ck_encoder_options o = small_options();
        struct ck_plan_options q = small_pass_options();
        int32_t dim;
        o.stem = stem;
        q.batch = q.height = q.width = 1;
        q.train = 0;
        assert_ok(coke_encoder_new(&e, AS(encoder, &o)));
        assert_ok(coke_plan_new(&p, e, AS(plan, &q), NULL));
        assert_ok(coke_plan_forward(p, images));
        const float *f = coke_plan_output(p, COKE_OUTPUT_PROJ, &dim);
        double square = 0;
        for (int i = 0; i < DIM; i++)
            square += (double)f[i] * (double)f[i];
        assert_close(square, 1, 1e-5);
        coke_plan_free(p);
        coke_encoder_free(e);
    }
}

static void one_value_a_channel_cannot_be_trained(void **state)
{
    struct coke_encoder *e = small_encoder(1);
    struct coke_plan *p;
    struct ck_plan_options o = small_pass_options();
    int64_t n;
    (void)state;
    o.batch = 1; /* 16x16 images are 2x2 in the last layer, but the MLP sees one vector */
    assert_ok(coke_plan_new(&p, e, AS(plan, &o), NULL));
    assert_fails(coke_plan_forward(p, images), COKE_EUSAGE,
                 "fc.1: batch norm over a single value per channel");
    const float *mean = coke_encoder_tensor(e, "bn1.running_mean", &n);
    assert_true(mean[0] == 0 && mean[1] == 0); /* layers before that are as they were */
    coke_plan_free(p);
    o.height = o.width = 1;
    assert_ok(coke_plan_new(&p, e, AS(plan, &o), NULL));
    assert_fails(coke_plan_forward(p, images), COKE_EUSAGE, "bn1: batch norm over a single");
    coke_plan_free(p);
    coke_encoder_free(e);
}

static void outputs_that_are_not_there_are_errors_in_words(void **state)
{
    struct coke_encoder *e;
    struct coke_plan *p;
    struct ck_encoder_options o = small_options();
    struct ck_plan_options q = small_pass_options();
    int32_t dim;
    (void)state;
    o.predictor.word = 0;
    o.projector.word = CK_PROJECTOR_NONE;
    assert_ok(coke_encoder_new(&e, AS(encoder, &o)));
    assert_fails(coke_plan_new(&p, e, AS(plan, &q), NULL), COKE_EUSAGE,
                 "gets gradients"); /* PROJ, PRED */
    q.want[COKE_OUTPUT_PROJ] = 1;
    q.backward = 0;
    assert_fails(coke_plan_new(&p, e, AS(plan, &q), NULL), COKE_EUSAGE,
                 "this encoder gives no projections");
    q.want[COKE_OUTPUT_PROJ] = 0;
    q.grad[COKE_OUTPUT_LOGITS] = 1;
    q.backward = 1;
    assert_fails(coke_plan_new(&p, e, AS(plan, &q), NULL), COKE_EUSAGE,
                 "this encoder gives no logits");
    q.grad[COKE_OUTPUT_LOGITS] = 0;
    q.grad[COKE_OUTPUT_FEATURES] = 1;
    assert_ok(coke_plan_new(&p, e, AS(plan, &q), NULL));
    assert_ok(coke_plan_forward(p, images));
    assert_non_null(coke_plan_output(p, COKE_OUTPUT_FEATURES, &dim));
    assert_int_equal(dim, 16);
    assert_null(coke_plan_output(p, COKE_OUTPUT_PROJ, &dim));
    assert_int_equal(dim, 0);
    assert_null(coke_plan_output(p, (enum coke_output)4, &dim));
    coke_plan_free(p);
    coke_encoder_free(e);
}

static void what_was_not_asked_for_is_null(void **state)
{
    struct coke_encoder *e = small_encoder(1);
    struct coke_plan *p;
    struct ck_plan_options o = small_pass_options();
    int32_t dim;
    (void)state;
    o.backward = 0;
    o.want[COKE_OUTPUT_PRED] = 1;
    assert_ok(coke_plan_new(&p, e, AS(plan, &o), NULL));
    assert_ok(coke_plan_forward(p, images));
    assert_non_null(coke_plan_output(p, COKE_OUTPUT_PRED, &dim));
    assert_null(coke_plan_output(p, COKE_OUTPUT_PROJ, &dim));
    assert_null(coke_plan_output(p, COKE_OUTPUT_LOGITS, &dim));
    coke_plan_free(p);
    coke_encoder_free(e);
}

static void backward_needs_a_pass_before_it_and_gradients(void **state)
{
    struct coke_encoder *e = small_encoder(1);
    struct coke_plan *p = small_pass(e, 1);
    float grad[BATCH * DIM] = {1};
    struct coke_gradients none = COKE_INIT(struct coke_gradients), one = none, both = none;
    one.proj = both.proj = both.pred = grad;
    (void)state;
    assert_fails(coke_plan_backward(p, &both), COKE_EUSAGE, "a forward pass before it");
    assert_ok(coke_plan_forward(p, images));
    assert_fails(coke_plan_backward(p, &none), COKE_EUSAGE, "gradient");
    assert_fails(coke_plan_backward(p, &one), COKE_EUSAGE, "missing");
    assert_ok(coke_plan_backward(p, &both));
    assert_fails(coke_plan_backward(p, &both), COKE_EUSAGE, "a forward pass before it");
    coke_plan_free(p);
    struct ck_plan_options o = small_pass_options();
    o.backward = 0;
    assert_ok(coke_plan_new(&p, e, AS(plan, &o), NULL));
    assert_ok(coke_plan_forward(p, images));
    assert_fails(coke_plan_backward(p, &none), COKE_EUSAGE, "a plan made for it");
    coke_plan_free(p);
    coke_encoder_free(e);
}

static void words_are_refused_that_are_no_choice(void **state)
{
    struct coke_encoder *e = small_encoder(1);
    struct coke_optimizer *q;
    struct ck_optimizer_options options = ck_optimizer_options_default();
    (void)state;
    options.kind = 9;
    assert_fails(coke_optimizer_new(&q, e, AS(optimizer, &options)), COKE_EUSAGE, "optimizer");
    coke_encoder_free(e);
    refuses_pass(o.precision = 7, COKE_EUSAGE, "precision");
}

/* ---- optimisers ---- */

static void impossible_optimisers_are_errors_in_words(void **state)
{
    struct coke_encoder *e = small_encoder(1);
    struct coke_optimizer *q;
    struct ck_optimizer_options o = ck_optimizer_options_default();
    (void)state;
    o.momentum = 1;
    assert_fails(coke_optimizer_new(&q, e, AS(optimizer, &o)), COKE_EUSAGE, "momentum: 1");
    assert_null(q);
    o = ck_optimizer_options_default();
    o.weight_decay = NAN;
    assert_fails(coke_optimizer_new(&q, e, AS(optimizer, &o)), COKE_EUSAGE, "weight-decay");
    o = ck_optimizer_options_default();
    assert_ok(coke_optimizer_new(&q, e, AS(optimizer, &o)));
    assert_fails(coke_optimizer_step(q, -1), COKE_EUSAGE, "step 1: invalid learning rate -1");
    assert_fails(coke_optimizer_step(q, NAN), COKE_EUSAGE, "learning rate");
    coke_optimizer_free(q);
    coke_encoder_free(e);
}

static void a_gradient_that_is_not_finite_names_layer_and_step(void **state)
{
    struct coke_encoder *e = small_encoder(1), *same = small_encoder(1);
    struct coke_optimizer *q;
    struct ck_optimizer_options o = ck_optimizer_options_default();
    struct coke_plan *p = small_pass(e, 0);
    float grad[BATCH * DIM] = {0};
    struct coke_gradients grads = {.size = sizeof grads, .proj = grad, .pred = grad};
    int64_t n;
    (void)state;
    assert_ok(coke_optimizer_new(&q, e, AS(optimizer, &o)));
    coke_encoder_zero_grad(e);
    assert_ok(coke_optimizer_step(q, 0)); /* step 1 */
    assert_ok(coke_plan_forward(p, images));
    grad[5] = NAN;
    assert_ok(coke_plan_backward(p, &grads));
    assert_fails(coke_optimizer_step(q, 0.1), COKE_ENUMERIC, "step 2: gradient of ");
    assert_non_null(strstr(coke_last_error(), "conv1.weight is not finite"));
    assert_same_encoder(e, same, 1);
    /* One layer only, and the same step again. */
    coke_encoder_zero_grad(e);
    float *g = (float *)(uintptr_t)coke_encoder_gradient(e, "layer3.1.bn2.bias", &n);
    assert_int_equal(n, 8);
    g[7] = INFINITY;
    assert_fails(coke_optimizer_step(q, 0.1), COKE_ENUMERIC,
                 "step 2: gradient of layer3.1.bn2.bias is not finite (1 of 8 values)");
    assert_same_encoder(e, same, 1);
    g[7] = 0.5f;
    assert_ok(coke_optimizer_step(q, 0.1));
    assert_same_encoder(e, same, 0);
    coke_optimizer_free(q);
    coke_plan_free(p);
    coke_encoder_free(e);
    coke_encoder_free(same);
}

/* ---- tensors ---- */

static void tensors_are_found_by_torchvisions_names(void **state)
{
    struct coke_encoder *e = small_encoder(1);
    int64_t n;
    (void)state;
    assert_non_null(coke_encoder_tensor(e, "layer2.0.downsample.0.weight", &n));
    assert_int_equal(n, 4 * 2);
    assert_non_null(coke_encoder_tensor(e, "layer1.0.bn1.running_mean", &n));
    assert_int_equal(n, 2);
    assert_null(coke_encoder_gradient(e, "layer1.0.bn1.running_mean", &n));
    assert_int_equal(n, 0);
    assert_null(coke_encoder_tensor(e, "layer9", &n));
    assert_int_equal(n, 0);
    assert_null(coke_encoder_gradient(e, "layer9", &n));
    coke_encoder_free(e);
}

static void changed_weights_count_after_touch(void **state)
{
    struct coke_encoder *e = small_encoder(1), *other = small_encoder(1);
    struct coke_plan *p = small_pass(e, 0);
    int64_t n;
    int32_t dim;
    float before[BATCH * DIM], after[BATCH * DIM];
    (void)state;
    assert_ok(coke_plan_forward(p, images));
    memcpy(before, coke_plan_output(p, COKE_OUTPUT_PROJ, &dim), sizeof before);
    float *w = coke_encoder_tensor(e, "layer1.0.conv1.weight", &n);
    float *v = coke_encoder_tensor(other, "layer1.0.conv1.weight", &n);
    for (int64_t i = 0; i < n; i++)
        w[i] = v[i] = -w[i];
    coke_encoder_touch(e);
    assert_ok(coke_plan_forward(p, images));
    memcpy(after, coke_plan_output(p, COKE_OUTPUT_PROJ, &dim), sizeof after);
    assert_memory_not_equal(before, after, sizeof after);
    assert_same_encoder(e, other, 1);
    coke_plan_free(p);
    coke_encoder_free(e);
    coke_encoder_free(other);
}

/* ---- tuning ---- */

static void tuning_is_repeatable(void **state)
{
    struct coke_encoder *e = small_encoder(1);
    (void)state;
    assert_ok(coke_tune("tuned"));
    float *a = outputs_of(e);
    assert_int_equal(access("tuned", F_OK), 0);
    assert_ok(coke_tune("tuned"));
    float *b = outputs_of(e);
    assert_memory_equal(a, b, 2 * BATCH * DIM * sizeof *a);
    write_whole("tuned", (const unsigned char *)"coke-tuning 1\n", 14);
    assert_fails(coke_tune("tuned"), COKE_EFORMAT, "tuned: damaged, or changed");
    assert_int_equal(unlink("tuned.xxh3"), 0);
    write_whole("tuned", (const unsigned char *)"nonsense\n", 9);
    assert_fails(coke_tune("tuned"), COKE_EFORMAT, "tuned: not a tuning file");
    assert_ok(coke_tune(NULL));
    free(a);
    free(b);
    coke_encoder_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_words_are_errors_that_name_the_known),
        cmocka_unit_test(impossible_encoders_are_errors_in_words),
        cmocka_unit_test(impossible_sizes_are_errors_in_words),
        cmocka_unit_test(the_smallest_images_are_possible),
        cmocka_unit_test(one_value_a_channel_cannot_be_trained),
        cmocka_unit_test(outputs_that_are_not_there_are_errors_in_words),
        cmocka_unit_test(what_was_not_asked_for_is_null),
        cmocka_unit_test(backward_needs_a_pass_before_it_and_gradients),
        cmocka_unit_test(words_are_refused_that_are_no_choice),
        cmocka_unit_test(impossible_optimisers_are_errors_in_words),
        cmocka_unit_test(a_gradient_that_is_not_finite_names_layer_and_step),
        cmocka_unit_test(tensors_are_found_by_torchvisions_names),
        cmocka_unit_test(changed_weights_count_after_touch),
        cmocka_unit_test(tuning_is_repeatable),
        cmocka_unit_test(enormous_batches_are_errors_in_words),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
