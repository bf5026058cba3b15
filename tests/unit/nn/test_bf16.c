/* test_bf16.c - networks with bf16 images and weights: the layers within stated bounds of
 * double arithmetic, and training that follows f32's. */
#include "as_options.h"
#include "support.h"
#include "layer_cases.h"
#include "kernels/amx.h"
#include "nn/encoder.h"
#include "nn/loss.h"
#include "nn/precision.h"

/* bf16 has 8 bits: numbers are rounded by up to 4e-3 of themselves. Bounds are on the length of
 * a tensor's error against that of the tensor; ReLUs and maxima decide alike in both, the slope of
 * GELU is that of the rounded value. Measured:
 * outputs 0.006, after ten layers 0.015; gradients 0.006, 0.009 behind one ReLU, 0.014 behind two
 * GELUs, 0.02 in two blocks, 0.045 in the deepest case. */
#define NEAR_OUTPUTS 0.03
static const double near_gradients[] = {0.01, 0.02, 0.1}; /* no such layer, one, several */

static int count_kinks(const struct ck_net *net)
{
    int n = 0;
    for (int i = 0; i < net->nnodes; i++)
        n += net->node[i].kind == CK_LAYER_RELU || net->node[i].kind == CK_LAYER_GELU ||
             net->node[i].kind == CK_LAYER_MAX_POOL;
    return n < 2 ? n : 2;
}

/* One thread: two would spin in oneDNN while they wait, which is slow on busy cores. */
static int set_up(void **state)
{
    (void)state;
    return coke_set_threads(1);
}

static int plan_small(enum ck_dtype t)
{
    struct layer_net l;
    struct ck_plan *p;
    layer_net_init(&l, layer_case_named("basic block"), 1);
    struct ck_plan_request r = layer_request(&l, 1);
    r.dtype = t;
    int rc = ck_plan_new(&p, &l.net, &r);
    ck_plan_free(p);
    layer_net_release(&l);
    return rc;
}

/* The test nn/bf16-emulated runs everywhere. */
static int may_run(void)
{
    return ck_precision_has_bf16();
}

static void a_cpu_without_bf16_says_so(void **state)
{
    (void)state;
    assert_ok(plan_small(CK_F32));
    if (may_run())
        assert_ok(plan_small(CK_BF16));
    else
        assert_fails(plan_small(CK_BF16), COKE_EUSAGE, "bf16: this CPU lacks the instructions");
}

static void check_case(const struct layer_case *c, int train)
{
    struct layer_net l;
    struct layer_result got, want;
    layer_net_init_clear(&l, c, train);
    struct ck_plan_request r = layer_request(&l, train);
    r.dtype = CK_BF16;
    layer_result_naive(&want, &l, &r);
    layer_result_by(&got, &l, &r);
    assert_near_in_length(&got, &want, "outputs", NEAR_OUTPUTS, c->name);
    assert_near_in_length(&got, &want, "gradients", near_gradients[count_kinks(&l.net)],
                          c->name);
    layer_result_release(&got);
    layer_result_release(&want);
    layer_net_release(&l);
}

static void every_layer_is_near_double_arithmetic(void **state)
{
    (void)state;
    if (!may_run())
        skip();
    for (int i = 0; i < nlayer_cases; i++)
        for (int train = 0; train < 2 - layer_cases[i].only_eval; train++)
            check_case(&layer_cases[i], train);
}

static void check_shape(const struct layer_case *c)
{
    check_case(c, 0);
}

static void convolutions_of_any_small_shape_are_right(void **state)
{
    (void)state;
    if (!may_run())
        skip();
    each_conv_shape(check_shape);
}

static void run_again(struct layer_result *r, const struct layer_case *c, int recompute,
                      int poisoned)
{
    struct layer_net l;
    layer_net_init(&l, c, 1);
    struct ck_plan_request q = layer_request(&l, !c->only_eval);
    q.dtype = CK_BF16;
    q.recompute = recompute;
    if (poisoned)
        layer_result_poisoned(r, &l, &q);
    else
        layer_result_by(r, &l, &q);
    layer_net_release(&l);
}

/* A second run, with recomputation in the backward pass, in memory that held something else. */
static void every_run_gives_the_same_bytes(void **state)
{
    (void)state;
    if (!may_run())
        skip();
    for (int i = 0; i < nlayer_cases; i++) {
        struct layer_result first, again;
        run_again(&first, &layer_cases[i], 0, 0);
        for (int way = 0; way < 3; way++) {
            run_again(&again, &layer_cases[i], way == 1, way == 2);
            assert_same_bytes(&again, &first, layer_cases[i].name);
            layer_result_release(&again);
        }
        layer_result_release(&first);
    }
}

/* ---- memory ---- */

static double plan_bytes(const char *arch, const char *stem, const char *width, int64_t n,
                         int64_t size, enum ck_dtype t)
{
    struct coke_encoder e;
    struct ck_encoder_options o = ck_encoder_options_default();
    struct ck_plan_request r = ck_plan_request_default();
    size_t bytes;
    assert_ok(ck_options_set(ck_encoder_option_table(), &o, "arch", arch));
    assert_ok(ck_options_set(ck_encoder_option_table(), &o, "stem", stem));
    assert_ok(ck_options_set(ck_encoder_option_table(), &o, "width", width));
    assert_ok(ck_encoder_init(&e, &o));
    r.n = n;
    r.h = r.w = size;
    r.dtype = t;
    r.train = r.backward = 1;
    r.recompute = size > 64;
    r.want[r.nwant++] = r.grad[r.ngrad++] = e.node[COKE_OUTPUT_PROJ];
    assert_ok(ck_plan_measure(&e.net, &r, &bytes));
    if (t == CK_BF16)
        assert_null(e.net.copies); /* packed weights are in the scratch */
    ck_encoder_release(&e);
    return (double)bytes;
}

static void check_memory(const char *arch, const char *stem, const char *width, int64_t n,
                         int64_t size)
{
    double f32 = plan_bytes(arch, stem, width, n, size, CK_F32);
    double bf16 = plan_bytes(arch, stem, width, n, size, CK_BF16);
    if (!(bf16 <= 0.55 * f32))
        fail_msg("%s, width %s: %.0f MB, not .55 of %.0f MB", arch, width, bf16 / 1e6,
                 f32 / 1e6);
}

/* Parameters, gradients and momentum are f32 in either: of a whole step it is .6. */
static void training_takes_half_of_the_memory_of_f32(void **state)
{
    (void)state;
    if (!may_run())
        skip();
    check_memory("resnet18", "cifar", "1", 128, 32);
    check_memory("resnet18", "cifar", "0.25", 128, 32);
    check_memory("resnet50", "imagenet", "1", 16, 224);
}

/* ---- training ---- */

enum { BATCH = 32, SIZE = 8, PIXELS = 3 * SIZE * SIZE, DIM = 16, K = 10, STEPS = 20 };

struct training {
    struct coke_encoder *e;
    struct coke_plan *pass;
    struct coke_optimizer *optimizer;
    struct ck_loss *loss;
    float *images, *centers, grad[2][BATCH * DIM];
    int32_t label[BATCH];
};

static void start(struct training *t, int precision)
{
    struct ck_encoder_options o = ck_encoder_options_default();
    struct ck_plan_options p = ck_plan_options_default();
    struct ck_optimizer_options q = ck_optimizer_options_default();
    struct ck_loss_options lo = ck_loss_options_default();
    int64_t k = K;
    struct ck_loss_shape shape = {1, 1, BATCH, DIM, 1, &k};
    o.stem = CK_STEM_CIFAR, o.width = 0.25, o.hidden = 32, o.dim = DIM;
    p.batch = BATCH, p.height = p.width = SIZE, p.precision = precision;
    q.kind = CK_SGD, q.weight_decay = 1e-4;
    lo.temperature = 0.2;
    assert_ok(coke_encoder_new(&t->e, AS(encoder, &o)));
    assert_ok(coke_plan_new(&t->pass, t->e, AS(plan, &p), NULL));
    assert_ok(coke_optimizer_new(&t->optimizer, t->e, AS(optimizer, &q)));
    assert_ok(ck_loss_new(&t->loss, &shape, &lo));
    t->images = test_array(BATCH * PIXELS, sizeof(float));
    t->centers = test_vectors(K, DIM, 0, 0, 3);
    for (int i = 0; i < BATCH; i++)
        t->label[i] = i * 7 % K;
    for (int i = 0; i < BATCH * PIXELS; i++) /* a pattern for each label, and noise */
        t->images[i] = test_normal(8, (uint64_t)(t->label[i / PIXELS] * PIXELS + i % PIXELS)) +
                       0.5f * test_normal(9, (uint64_t)i);
}

static double train_once(struct training *t)
{
    int32_t dim;
    struct ck_targets targets = {BATCH, 1, t->label, NULL, 0};
    const float *centers[] = {t->centers};
    double head;
    coke_encoder_zero_grad(t->e);
    assert_ok(coke_plan_forward(t->pass, t->images));
    struct ck_loss_input in = {BATCH, coke_plan_output(t->pass, COKE_OUTPUT_PROJ, &dim),
                               coke_plan_output(t->pass, COKE_OUTPUT_PRED, &dim), centers,
                               &targets};
    struct ck_loss_output out = {t->grad[0], t->grad[1], 0, &head, NULL};
    assert_ok(ck_loss_step(t->loss, &in, &out));
    struct coke_gradients grad = {.size = sizeof grad, .proj = t->grad[0], .pred = t->grad[1]};
    assert_ok(coke_plan_backward(t->pass, &grad));
    assert_ok(coke_optimizer_step(t->optimizer, 0.005));
    return out.loss;
}

static void end(struct training *t)
{
    ck_loss_free(t->loss);
    coke_optimizer_free(t->optimizer);
    coke_plan_free(t->pass);
    coke_encoder_free(t->e);
    free(t->images);
    free(t->centers);
}

/* Both start with the same f32 weights. Measured, relative to the first loss: at most 0.027
 * apart, and 0.009 in the mean of the last ten steps. */
static void twenty_steps_follow_f32(void **state)
{
    double loss[2][STEPS], late[2] = {0, 0};
    (void)state;
    if (!may_run() || ck_amx() == CK_AMX_EMULATED) /* too slow */
        skip();
    for (int precision = 0; precision < 2; precision++) {
        struct training t;
        start(&t, precision);
        for (int i = 0; i < STEPS; i++) {
            loss[precision][i] = train_once(&t);
            late[precision] += i < STEPS / 2 ? 0 : loss[precision][i] / (STEPS / 2);
        }
        end(&t);
    }
    for (int i = 0; i < STEPS; i++)
        assert_close(loss[CK_PRECISION_BF16][i], loss[CK_PRECISION_F32][i],
                     0.1 * loss[CK_PRECISION_F32][0]);
    assert_close(late[CK_PRECISION_BF16], late[CK_PRECISION_F32],
                 0.03 * loss[CK_PRECISION_F32][0]);
    for (int precision = 0; precision < 2; precision++)
        assert_true(loss[precision][STEPS - 1] < 0.3 * loss[precision][0]);
}

/* Updates too small for bf16 accumulate in the f32 weights. */
static void weights_stay_f32(void **state)
{
    struct training t;
    int64_t n, fine = 0;
    (void)state;
    if (!may_run())
        skip();
    start(&t, CK_PRECISION_BF16);
    train_once(&t);
    const float *w = coke_encoder_tensor(t.e, "layer1.0.conv1.weight", &n);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &w[i], sizeof bits);
        fine += (bits & 0xffff) != 0;
    }
    assert_true(fine > n * 9 / 10);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_without_bf16_says_so),
        cmocka_unit_test(every_layer_is_near_double_arithmetic),
        cmocka_unit_test(convolutions_of_any_small_shape_are_right),
        cmocka_unit_test(every_run_gives_the_same_bytes),
        cmocka_unit_test(training_takes_half_of_the_memory_of_f32),
        cmocka_unit_test(twenty_steps_follow_f32),
        cmocka_unit_test(weights_stay_f32),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
