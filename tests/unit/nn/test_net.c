/* test_net.c - graphs of layers: invalid ones, initial values, saving and loading. */
#include "support.h"
#include "core/mem.h"
#include "nn/net.h"
#include "nn/resnet.h"

/* ---- building ---- */

/* input 3 -> conv a (8) -> norm b -> relu -> mean -> linear c (5) */
static int build_small(struct ck_net *net)
{
    memset(net, 0, sizeof *net);
    int x = ck_net_input(net, 3);
    x = ck_net_norm(net, "b", ck_net_conv(net, "a", x, 8, 3, 1, 1));
    x = ck_net_relu(net, x);
    ck_net_tap(net, x, "images");
    return ck_net_linear(net, "c", ck_net_mean(net, x), 5);
}

static void layers_have_pytorchs_names_and_shapes(void **state)
{
    static const struct {
        const char *name;
        int ndim;
        int64_t shape[4];
    } want[] = {{"a.weight", 4, {8, 3, 3, 3}},
                {"b.weight", 1, {8}},
                {"b.bias", 1, {8}},
                {"c.weight", 2, {5, 8}},
                {"c.bias", 1, {5}}};
    struct ck_net net;
    (void)state;
    int last = build_small(&net);
    assert_int_equal(net.nparams, 5);
    for (int i = 0; i < 5; i++) {
        const struct ck_param *p = ck_net_param(&net, want[i].name);
        assert_non_null(p);
        assert_int_equal(p->ndim, want[i].ndim);
        for (int d = 0; d < p->ndim; d++)
            assert_int_equal(p->shape[d], want[i].shape[d]);
    }
    assert_string_equal(net.buffer[0].name, "b.running_mean");
    assert_string_equal(net.buffer[1].name, "b.running_var");
    assert_null(net.buffer[0].grad);
    assert_string_equal(net.counter[0].name, "b.num_batches_tracked");
    assert_int_equal(ck_net_size(&net), 8 * 27 + 16 + 45);
    assert_int_equal(ck_net_find(&net, "c"), last);
    assert_int_equal(net.node[ck_net_find(&net, "images")].kind, CK_LAYER_RELU);
    assert_int_equal(ck_net_find(&net, "nothing"), -1);
    assert_null(ck_net_param(&net, "b.running_mean"));
    ck_net_release(&net);
}

static void impossible_layers_are_errors_in_words(void **state)
{
    struct ck_net net = {0};
    (void)state;
    assert_fails(ck_net_input(&net, 0), COKE_EUSAGE, "at least 1 channel, not 0");
    int x = ck_net_input(&net, 3), v = ck_net_mean(&net, x);
    assert_fails(ck_net_conv(&net, "a", x, 0, 3, 1, 1), COKE_EUSAGE,
                 "a: invalid convolution: 0 channels");
    assert_fails(ck_net_conv(&net, "a", x, 4, 0, 1, 1), COKE_EUSAGE, "kernel 0");
    assert_fails(ck_net_conv(&net, "a", x, 4, 3, 0, 1), COKE_EUSAGE, "stride 0");
    assert_fails(ck_net_conv(&net, "a", x, 4, 3, 1, -1), COKE_EUSAGE, "padding -1");
    assert_fails(ck_net_conv(&net, "a", v, 4, 1, 1, 0), COKE_EUSAGE, "input must be images");
    assert_fails(ck_net_max_pool(&net, x, 3, 2, 2), COKE_EUSAGE, "half the window");
    assert_fails(ck_net_avg_pool(&net, x, 16, 1, 0), COKE_EUSAGE, "window 16 (1..15)");
    assert_fails(ck_net_max_pool(&net, x, 3, 0, 1), COKE_EUSAGE, "stride 0");
    assert_fails(ck_net_linear(&net, "l", x, 4), COKE_EUSAGE, "input must be vectors");
    assert_fails(ck_net_linear(&net, "l", v, 0), COKE_EUSAGE,
                 "l: invalid number of outputs: 0");
    assert_fails(ck_net_unit(&net, x), COKE_EUSAGE, "input must be vectors");
    assert_fails(ck_net_mean(&net, v), COKE_EUSAGE, "input must be images");
    int y = ck_net_conv(&net, "a", x, 4, 1, 1, 0);
    assert_fails(ck_net_add(&net, x, y), COKE_EUSAGE, "cannot add 3 and 4 channels");
    assert_fails(ck_net_add(&net, x, v), COKE_EUSAGE, "cannot add");
    ck_net_release(&net);
}

/* Builders check the last node only. */
static void a_failure_is_passed_on_to_the_last_node(void **state)
{
    struct ck_net net = {0};
    (void)state;
    int bad = ck_net_conv(&net, "a", ck_net_input(&net, 3), 0, 3, 1, 1);
    assert_int_equal(bad, COKE_EUSAGE);
    assert_int_equal(ck_net_norm(&net, "b", bad), COKE_EUSAGE);
    assert_int_equal(ck_net_relu(&net, bad), COKE_EUSAGE);
    assert_int_equal(ck_net_add(&net, 0, bad), COKE_EUSAGE);
    assert_int_equal(ck_net_add(&net, bad, 0), COKE_EUSAGE);
    assert_int_equal(ck_net_mean(&net, bad), COKE_EUSAGE);
    assert_int_equal(ck_net_linear(&net, "l", bad, 3), COKE_EUSAGE);
    assert_int_equal(ck_net_unit(&net, bad), COKE_EUSAGE);
    assert_int_equal(ck_net_max_pool(&net, bad, 3, 2, 1), COKE_EUSAGE);
    ck_net_tap(&net, bad, "nowhere");
    ck_net_release(&net);
}

/* ---- initial values ---- */

struct moments {
    double mean, deviation, largest;
};

static struct moments moments_of(const struct ck_param *p)
{
    struct moments m = {0, 0, 0};
    for (int64_t i = 0; i < p->size; i++)
        m.mean += (double)p->value[i] / (double)p->size;
    for (int64_t i = 0; i < p->size; i++) {
        double x = (double)p->value[i];
        m.deviation += (x - m.mean) * (x - m.mean) / (double)p->size;
        m.largest = fabs(x) > m.largest ? fabs(x) : m.largest;
    }
    m.deviation = sqrt(m.deviation);
    return m;
}

static void build_resnet(struct ck_net *net, double width)
{
    struct ck_resnet_options o = {CK_RESNET18, CK_STEM_IMAGENET, width, 3};
    memset(net, 0, sizeof *net);
    int x = ck_resnet_build(net, &o);
    assert_true(ck_net_linear(net, "fc", x, 100) > 0);
}

/* torchvision: normal, variance 2 / (out kernel^2). Five standard errors are allowed. */
static void convolutions_begin_as_torchvisions(void **state)
{
    struct ck_net net;
    int convs = 0;
    (void)state;
    build_resnet(&net, 0.5);
    ck_net_init(&net, 7);
    for (int i = 0; i < net.nparams; i++) {
        const struct ck_param *p = &net.param[i];
        if (p->ndim != 4)
            continue;
        convs++;
        struct moments m = moments_of(p);
        double n = (double)p->size;
        double want = sqrt(2.0 / (double)(p->shape[0] * p->shape[2] * p->shape[3]));
        assert_close(m.mean, 0, 5 * want / sqrt(n));
        assert_close(m.deviation / want, 1, 5 / sqrt(2 * n));
        /* The tails are those of a normal distribution: some numbers beyond 3 deviations, and
         * none where one in a million is expected. */
        assert_true(m.largest < 6.5 * want);
        if (p->size > 5000)
            assert_true(m.largest > 3 * want);
    }
    assert_int_equal(convs, 20);
    ck_net_release(&net);
}

/* PyTorch: uniform within 1 / sqrt(in), weight and bias. */
static void linear_layers_begin_as_pytorchs(void **state)
{
    struct ck_net net = {0};
    (void)state;
    int x = ck_net_mean(&net, ck_net_input(&net, 300));
    ck_net_linear(&net, "l", x, 400);
    ck_net_init(&net, 3);
    for (int i = 0; i < 2; i++) {
        struct moments m = moments_of(&net.param[i]);
        double n = (double)net.param[i].size, bound = 1 / sqrt(300.0);
        assert_true(m.largest <= bound);
        assert_true(m.largest > bound * (1 - 20 / n));
        assert_close(m.mean, 0, 5 * bound / sqrt(3 * n));
        assert_close(m.deviation / (bound / sqrt(3)), 1, 5 * sqrt(0.2 / n));
    }
    ck_net_release(&net);
}

static void batch_norm_begins_as_pytorchs(void **state)
{
    struct ck_net net;
    (void)state;
    build_small(&net);
    for (int i = 0; i < 8; i++) {
        net.param[1].value[i] = net.param[2].value[i] = 3;
        net.buffer[0].value[i] = net.buffer[1].value[i] = 3;
    }
    net.counter[0].value = 9;
    ck_net_init(&net, 1);
    for (int i = 0; i < 8; i++) {
        assert_true(net.param[1].value[i] == 1 && net.param[2].value[i] == 0);
        assert_true(net.buffer[0].value[i] == 0 && net.buffer[1].value[i] == 1);
    }
    assert_int_equal(net.counter[0].value, 0);
    ck_net_release(&net);
}

/* What a layer draws is a function of the seed and its name, not of the layers around it. */
static void first_values_depend_on_seed_and_name(void **state)
{
    struct ck_net small, large = {0};
    (void)state;
    build_small(&small);
    int x = ck_net_input(&large, 3);
    x = ck_net_conv(&large, "other", x, 3, 5, 1, 2);
    x = ck_net_conv(&large, "a", x, 8, 3, 1, 1);
    x = ck_net_conv(&large, "z", x, 8, 3, 1, 1);
    ck_net_linear(&large, "c", ck_net_mean(&large, x), 5);
    ck_net_init(&small, 5);
    ck_net_init(&large, 5);
    size_t bytes = 8 * 27 * sizeof(float);
    const float *a = ck_net_param(&large, "a.weight")->value;
    assert_memory_equal(ck_net_param(&small, "a.weight")->value, a, bytes);
    assert_memory_equal(ck_net_param(&small, "c.bias")->value,
                        ck_net_param(&large, "c.bias")->value, 5 * sizeof(float));
    assert_memory_not_equal(a, ck_net_param(&large, "z.weight")->value, bytes);
    assert_memory_not_equal(ck_net_param(&small, "c.weight")->value,
                            ck_net_param(&small, "c.bias")->value, 5 * sizeof(float));
    uint64_t version = small.param[0].version;
    ck_net_init(&small, 6);
    assert_memory_not_equal(small.param[0].value, a, bytes);
    assert_true(small.param[0].version > version); /* copies become stale */
    ck_net_release(&small);
    ck_net_release(&large);
}

/* ---- saving and loading ---- */

static void scramble(struct ck_net *net)
{
    for (int i = 0; i < net->nparams; i++)
        for (int64_t j = 0; j < net->param[i].size; j++)
            net->param[i].value[j] = (float)(100 * i) + (float)j;
    for (int i = 0; i < net->nbuffers; i++)
        for (int64_t j = 0; j < net->buffer[i].size; j++)
            net->buffer[i].value[j] = -(float)(100 * i) - (float)j;
    net->counter[0].value = 12345678901;
}

/* All numbers as one list, to see whether anything changed. */
static float *all_values(const struct ck_net *net, size_t *bytes)
{
    float *v = test_array((size_t)ck_net_size(net) + 100, sizeof *v), *at = v;
    for (int i = 0; i < net->nparams; at += net->param[i++].size)
        memcpy(at, net->param[i].value, (size_t)net->param[i].size * sizeof *v);
    for (int i = 0; i < net->nbuffers; at += net->buffer[i++].size)
        memcpy(at, net->buffer[i].value, (size_t)net->buffer[i].size * sizeof *v);
    *at++ = (float)net->counter[0].value;
    *bytes = (size_t)(at - v) * sizeof *v;
    return v;
}

static void assert_same_values(const struct ck_net *a, const struct ck_net *b)
{
    size_t na, nb;
    float *va = all_values(a, &na), *vb = all_values(b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(va, vb, na);
    free(va);
    free(vb);
}

static void a_state_gives_everything_back(void **state)
{
    struct ck_net from, to;
    struct ck_state s = {0};
    (void)state;
    build_small(&from);
    build_small(&to);
    scramble(&from);
    assert_ok(ck_net_save(&from, &s));
    assert_int_equal(s.ntensors, 5 + 2 + 1);
    assert_int_equal(ck_state_find(&s, "b.num_batches_tracked")->dtype, CK_I64);
    assert_int_equal(ck_state_find(&s, "b.num_batches_tracked")->ndim, 0);
    uint64_t version = to.param[0].version;
    assert_ok(ck_net_load(&to, &s, "x", NULL));
    assert_same_values(&from, &to);
    assert_int_equal(to.counter[0].value, 12345678901);
    assert_true(to.param[0].version > version);
    ck_state_release(&s);
    ck_net_release(&from);
    ck_net_release(&to);
}

/* A state with one thing changed: `drop` is left out, `extra` is added, `reshape` is flat, and
 * `retype` is I32. */
struct change {
    const char *drop, *drop2, *extra, *reshape, *retype;
};

static void make_state(struct ck_state *s, const struct ck_net *net, const struct change *c)
{
    struct ck_state whole = {0};
    assert_ok(ck_net_save(net, &whole));
    for (int i = 0; i < whole.ntensors; i++) {
        const struct ck_tensor *t = &whole.tensor[i];
        int64_t flat = ck_tensor_elements(t);
        int reshape = c->reshape && strcmp(t->name, c->reshape) == 0;
        int retype = c->retype && strcmp(t->name, c->retype) == 0;
        if ((c->drop && strcmp(t->name, c->drop) == 0) ||
            (c->drop2 && strcmp(t->name, c->drop2) == 0))
            continue;
        assert_ok(ck_state_add(s, t->name, retype ? CK_I32 : t->dtype, reshape ? 1 : t->ndim,
                               reshape ? &flat : t->shape, t->data));
    }
    if (c->extra)
        assert_ok(
            ck_state_add(s, c->extra, CK_F32, 1, &net->param[1].size, net->param[1].value));
    ck_state_release(&whole);
}

static int load_changed(const struct change *c, const char *ignore)
{
    struct ck_net from, to;
    struct ck_state s = {0};
    size_t bytes;
    build_small(&from);
    build_small(&to);
    scramble(&from);
    make_state(&s, &from, c);
    float *before = all_values(&to, &bytes), *after;
    int rc = ck_net_load(&to, &s, "weights.safetensors", ignore);
    after = all_values(&to, &bytes);
    if (rc) /* all or nothing */
        assert_memory_equal(before, after, bytes);
    else
        assert_memory_not_equal(before, after, bytes);
    free(before);
    free(after);
    ck_state_release(&s);
    ck_net_release(&from);
    ck_net_release(&to);
    return rc;
}

static void other_weights_are_named_in_the_sentence(void **state)
{
    (void)state;
    assert_fails(load_changed(&(struct change){.drop = "b.bias"}, NULL), COKE_EFORMAT,
                 "weights.safetensors: not the weights of this network: "
                 "1 missing, first b.bias");
    assert_fails(load_changed(&(struct change){.extra = "layer9.weight"}, NULL), COKE_EFORMAT,
                 "1 unexpected, first layer9.weight");
    assert_fails(load_changed(&(struct change){.reshape = "a.weight"}, NULL), COKE_EFORMAT,
                 "1 of another type or shape, first: a.weight is F32 [216] in the file and "
                 "F32 [8, 3, 3, 3] in the network");
    assert_fails(load_changed(&(struct change){.retype = "c.bias"}, NULL), COKE_EFORMAT,
                 "c.bias is I32 [5] in the file and F32 [5] in the network");
    assert_fails(load_changed(&(struct change){.retype = "b.num_batches_tracked"}, NULL),
                 COKE_EFORMAT, "b.num_batches_tracked is I32 []");
    assert_fails(load_changed(&(struct change){.drop = "b.running_var"}, NULL), COKE_EFORMAT,
                 "first b.running_var");
    struct change all = {"a.weight", "c.bias", "layer9.weight", "c.weight", "b.weight"};
    assert_fails(load_changed(&all, NULL), COKE_EFORMAT,
                 "2 missing, first a.weight; 1 unexpected, first layer9.weight; 2 of another "
                 "type or shape, first: b.weight is I32");
}

static void files_older_than_the_counter_are_read(void **state)
{
    (void)state;
    assert_ok(load_changed(&(struct change){.drop = "b.num_batches_tracked"}, NULL));
}

static void ignored_names_are_left_alone(void **state)
{
    struct ck_net from, to;
    struct ck_state s = {0};
    (void)state;
    assert_ok(load_changed(&(struct change){.drop = "c.bias", .drop2 = "c.weight"}, "c."));
    assert_ok(load_changed(&(struct change){.extra = "c.7.weight"}, "c."));
    assert_ok(load_changed(&(struct change){.reshape = "c.weight"}, "c."));
    assert_fails(load_changed(&(struct change){.drop = "b.bias"}, "c."), COKE_EFORMAT,
                 "b.bias");
    build_small(&from);
    build_small(&to);
    scramble(&from);
    make_state(&s, &from, &(struct change){0});
    assert_ok(ck_net_load(&to, &s, "x", "c."));
    assert_true(to.param[3].value[1] == 0); /* c.weight: ignored although present */
    assert_true(to.param[0].value[1] == 1);
    ck_state_release(&s);
    ck_net_release(&from);
    ck_net_release(&to);
}

/* ---- memory ---- */

static void building_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (int64_t i = 1;; i++) {
        struct ck_net net;
        struct ck_mem_stats before = ck_mem_stats();
        ck_mem_fail_at(i);
        int rc = build_small(&net);
        ck_mem_fail_at(0);
        ck_net_release(&net);
        assert_int_equal(ck_mem_stats().live, before.live);
        if (rc >= 0)
            break;
        assert_int_equal(rc, COKE_ENOMEM);
        assert_true(i < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_pytorchs_names_and_shapes),
        cmocka_unit_test(impossible_layers_are_errors_in_words),
        cmocka_unit_test(a_failure_is_passed_on_to_the_last_node),
        cmocka_unit_test(convolutions_begin_as_torchvisions),
        cmocka_unit_test(linear_layers_begin_as_pytorchs),
        cmocka_unit_test(batch_norm_begins_as_pytorchs),
        cmocka_unit_test(first_values_depend_on_seed_and_name),
        cmocka_unit_test(a_state_gives_everything_back),
        cmocka_unit_test(other_weights_are_named_in_the_sentence),
        cmocka_unit_test(files_older_than_the_counter_are_read),
        cmocka_unit_test(ignored_names_are_left_alone),
        cmocka_unit_test(building_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
