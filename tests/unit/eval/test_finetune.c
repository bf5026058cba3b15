/* test_finetune.c - a step of the whole network as a classifier is the sum of its parts: the
 * network's passes, the gradient of the cross-entropy and SGD, each tested on its own. */
#include "support.h"
#include "core/mem.h"
#include "eval/finetune.h"
#include "eval/probe.h"
#include "nn/plan.h"

enum { N = 6, SIZE = 8, CLASSES = 3, CHANNELS = 3 };

static struct ck_encoder_options small(void)
{
    struct ck_encoder_options o = ck_encoder_options_default();
    o.stem = CK_STEM_CIFAR;
    o.width = 0.0625;
    o.dim = 8;
    return o;
}

static float *images(uint64_t seed)
{
    float *x = test_array(N * CHANNELS * SIZE * SIZE, sizeof *x);
    for (int i = 0; i < N * CHANNELS * SIZE * SIZE; i++)
        x[i] = test_normal(seed, (uint64_t)i);
    return x;
}

static const int32_t label[N] = {0, 1, 2, 0, -1, 2};

/* Gradients of a network with the classifier's weights, made without it. */
static void gradients_by_hand(struct coke_encoder *e, const float *x)
{
    struct ck_plan *plan;
    struct ck_plan_request r = ck_plan_request_default();
    struct ck_score score = {0};
    float grad[N * CLASSES];
    const float *seed[] = {grad};
    r.n = N;
    r.h = r.w = SIZE;
    r.train = r.backward = 1;
    r.want[r.nwant++] = r.grad[r.ngrad++] = e->node[COKE_OUTPUT_LOGITS];
    assert_ok(ck_plan_new(&plan, &e->net, &r));
    ck_net_zero_grad(&e->net);
    assert_ok(ck_plan_forward(plan, x));
    assert_ok(ck_score(ck_plan_vector(plan, e->node[COKE_OUTPUT_LOGITS]), label, N, CLASSES,
                       grad, &score));
    assert_ok(ck_plan_backward(plan, seed));
    ck_plan_free(plan);
}

static void copy_net(struct ck_net *to, const struct ck_net *from)
{
    for (int i = 0; i < from->nparams; i++) {
        memcpy(to->param[i].value, from->param[i].value,
               (size_t)from->param[i].size * sizeof(float));
        to->param[i].version++;
    }
    for (int i = 0; i < from->nbuffers; i++)
        memcpy(to->buffer[i].value, from->buffer[i].value,
               (size_t)from->buffer[i].size * sizeof(float));
}

static void a_step_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    const double rate = 0.05, decay = 0.01;
    struct ck_encoder_options o = small();
    struct coke_encoder start, hand;
    struct ck_classifier *c;
    struct ck_score score = {0};
    float *x = images(1);
    assert_ok(ck_encoder_init(&start, &o));
    assert_ok(ck_classifier_new(&c, &start, CLASSES, SIZE, SIZE));
    assert_ok(ck_classifier_begin(c, &start, decay, 7));
    struct ck_net *net = &ck_classifier_encoder(c)->net;
    o = ck_classifier_encoder(c)->o;
    assert_ok(ck_encoder_init(&hand, &o));
    copy_net(&hand.net, net);
    gradients_by_hand(&hand, x);
    assert_ok(ck_classifier_step(c, x, label, N, rate, &score));
    assert_int_equal(score.asked, 5);
    for (int i = 0; i < net->nparams; i++) {
        const struct ck_param *p = &net->param[i], *q = &hand.net.param[i];
        double fast = strncmp(p->name, "fc.", 3) == 0 ? 10 : 1;
        for (int64_t j = 0; j < p->size; j++) {
            double was = (double)q->value[j], grad = (double)q->grad[j] + decay * was;
            assert_close((double)p->value[j], was - rate * fast * grad, 1e-6);
        }
    }
    ck_encoder_release(&hand);
    ck_classifier_free(c);
    ck_encoder_release(&start);
    free(x);
}

static void it_begins_with_the_encoders_weights_again(void **state)
{
    (void)state;
    struct ck_encoder_options o = small();
    struct coke_encoder start;
    struct ck_classifier *c;
    struct ck_score score = {0};
    float *x = images(2);
    assert_ok(ck_encoder_init(&start, &o));
    assert_ok(ck_classifier_new(&c, &start, CLASSES, SIZE, SIZE));
    struct ck_net *net = &ck_classifier_encoder(c)->net;
    for (int round = 0; round < 2; round++) {
        assert_ok(ck_classifier_begin(c, &start, 0, 7));
        for (int i = 0; i < start.net.nparams; i++) {
            const struct ck_param *p = &start.net.param[i];
            if (strncmp(p->name, "fc.", 3) == 0 || strncmp(p->name, "predictor", 9) == 0)
                continue;
            assert_memory_equal(p->value, ck_net_param(net, p->name)->value,
                                (size_t)p->size * sizeof(float));
        }
        assert_ok(ck_classifier_step(c, x, label, N, 0.1, &score));
        assert_ok(ck_classifier_step(c, x, label, N - 1, 0.1, &score)); /* another size */
        assert_ok(ck_classifier_step(c, x, label, 1, 0.1, &score));     /* passed over */
    }
    assert_int_equal(score.asked, 2 * (5 + 4));
    ck_classifier_free(c);
    ck_encoder_release(&start);
    free(x);
}

static void it_learns_what_it_is_shown(void **state)
{
    (void)state;
    struct ck_encoder_options o = small();
    struct coke_encoder start;
    struct ck_classifier *c;
    struct ck_score first = {0}, last = {0};
    float *x = images(3);
    assert_ok(ck_encoder_init(&start, &o));
    assert_ok(ck_classifier_new(&c, &start, CLASSES, SIZE, SIZE));
    assert_ok(ck_classifier_begin(c, &start, 0, 7));
    assert_ok(ck_classifier_step(c, x, label, N, 0.02, &first));
    for (int i = 0; i < 30; i++) {
        last = (struct ck_score){0};
        assert_ok(ck_classifier_step(c, x, label, N, 0.02, &last));
    }
    assert_true(last.loss < first.loss / 2);
    ck_classifier_free(c);
    ck_encoder_release(&start);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_the_sum_of_its_parts),
        cmocka_unit_test(it_begins_with_the_encoders_weights_again),
        cmocka_unit_test(it_learns_what_it_is_shown),
    };
    coke_set_threads(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
