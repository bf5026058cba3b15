/* test_encoder.c - encoders: torchvision's names and sizes, projectors, options in a state. */
#include "support.h"
#include "nn/encoder.h"
#include "nn/resnet.h"

static struct ck_encoder_options small_options(void)
{
    struct ck_encoder_options o = ck_encoder_options_default();
    o.width = 0.0625;
    o.hidden = 6;
    o.dim = 5;
    return o;
}

/* ---- backbones ---- */

/* Without initial values: the large networks are only counted. */
static void build_classifier(struct ck_net *net, enum ck_arch arch, enum ck_stem stem,
                             double width)
{
    struct ck_resnet_options o = {arch, stem, width, 3};
    memset(net, 0, sizeof *net);
    assert_true(ck_net_linear(net, "fc", ck_resnet_build(net, &o), 1000) > 0);
}

static void sizes_are_torchvisions(void **state)
{
    static const struct {
        enum ck_arch arch;
        int64_t learned;
        int tensors; /* entries of the state_dict */
    } want[] = {{CK_RESNET18, 11689512, 122},
                {CK_RESNET34, 21797672, 218},
                {CK_RESNET50, 25557032, 320}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct ck_net net;
        build_classifier(&net, want[i].arch, CK_STEM_IMAGENET, 1);
        assert_int_equal(ck_net_size(&net), want[i].learned);
        assert_int_equal(net.nparams + net.nbuffers + net.ncounters, want[i].tensors);
        ck_net_release(&net);
    }
}

static void assert_shape(struct ck_net *net, const char *name, int64_t o, int64_t i, int64_t k)
{
    const struct ck_param *p = ck_net_param(net, name);
    if (!p)
        fail_msg("there is no %s", name);
    int64_t want[4] = {o, i, k, k};
    assert_int_equal(p->ndim, 4);
    assert_memory_equal(p->shape, want, sizeof want);
}

static void blocks_are_torchvisions(void **state)
{
    struct ck_net net;
    (void)state;
    build_classifier(&net, CK_RESNET50, CK_STEM_IMAGENET, 1);
    assert_shape(&net, "conv1.weight", 64, 3, 7);
    assert_shape(&net, "layer1.0.conv1.weight", 64, 64, 1);
    assert_shape(&net, "layer1.0.conv2.weight", 64, 64, 3);
    assert_shape(&net, "layer1.0.conv3.weight", 256, 64, 1);
    assert_shape(&net, "layer1.0.downsample.0.weight", 256, 64, 1);
    assert_shape(&net, "layer2.0.downsample.0.weight", 512, 256, 1);
    assert_shape(&net, "layer4.2.conv3.weight", 2048, 512, 1);
    assert_null(ck_net_param(&net, "layer4.1.downsample.0.weight"));
    /* v1.5: the 3x3 convolution has the stride */
    assert_int_equal(net.node[ck_net_find(&net, "layer2.0.conv1")].stride, 1);
    assert_int_equal(net.node[ck_net_find(&net, "layer2.0.conv2")].stride, 2);
    ck_net_release(&net);
    build_classifier(&net, CK_RESNET18, CK_STEM_CIFAR, 0.25);
    assert_shape(&net, "conv1.weight", 16, 3, 3);
    assert_shape(&net, "layer4.1.conv2.weight", 128, 128, 3);
    assert_null(ck_net_param(&net, "layer1.0.downsample.0.weight"));
    assert_non_null(ck_net_param(&net, "layer2.0.downsample.1.bias"));
    assert_int_equal(net.node[ck_net_find(&net, "layer2.0.conv1")].stride, 2);
    assert_int_equal(net.node[ck_net_find(&net, "conv1")].stride, 1);
    ck_net_release(&net);
}

static void taps_are_found_by_name(void **state)
{
    static const char *const taps[] = {"input",  "conv1",  "bn1",    "maxpool", "layer1",
                                       "layer2", "layer3", "layer4", "avgpool"};
    struct coke_encoder e;
    struct ck_encoder_options o = small_options();
    (void)state;
    for (o.stem = 0; o.stem < 2; o.stem++) {
        assert_ok(ck_encoder_init(&e, &o));
        for (size_t i = 0; i < sizeof taps / sizeof *taps; i++)
            if (ck_net_find(&e.net, taps[i]) < 0)
                fail_msg("stem %d: no %s", (int)o.stem, taps[i]);
        assert_int_equal(ck_net_find(&e.net, "avgpool"), e.node[COKE_OUTPUT_FEATURES]);
        ck_encoder_release(&e);
    }
}

static void impossible_widths_are_errors_in_words(void **state)
{
    static const double bad[] = {0, -1, 0.001, 17, NAN, INFINITY};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ck_net net = {0};
        struct ck_resnet_options o = {CK_RESNET18, CK_STEM_CIFAR, bad[i], 3};
        assert_fails(ck_resnet_build(&net, &o), COKE_EUSAGE, "width");
        ck_net_release(&net);
    }
}

/* ---- projectors and predictors ---- */

static const char *const mlp3_names[] = {
    "fc.0.weight", "fc.0.bias", "fc.1.weight", "fc.1.bias", "fc.3.weight", "fc.3.bias",
    "fc.4.weight", "fc.4.bias", "fc.6.weight", "fc.6.bias", "fc.7.weight", "fc.7.bias"};
static const char *const mlp2_names[] = {"fc.0.weight", "fc.0.bias", "fc.2.weight",
                                         "fc.2.bias"};
static const char *const mlp2bn_names[] = {"fc.0.weight", "fc.0.bias",   "fc.1.weight",
                                           "fc.1.bias",   "fc.3.weight", "fc.3.bias"};
static const char *const linear_names[] = {"fc.weight", "fc.bias"};
static const char *const predictor_names[] = {"predictor.0.weight", "predictor.0.bias",
                                              "predictor.1.weight", "predictor.1.bias",
                                              "predictor.3.weight", "predictor.3.bias"};

static int count_heads(const struct ck_net *net)
{
    int n = 0;
    for (int i = 0; i < net->nparams; i++)
        n += strncmp(net->param[i].name, "fc.", 3) == 0 ||
             strncmp(net->param[i].name, "predictor.", 10) == 0;
    return n;
}

static void heads_have_the_names_of_a_sequential(void **state)
{
    static const struct {
        int head, n;
        const char *const *names;
    } want[] = {{CK_PROJECTOR_LINEAR, 2, linear_names},
                {CK_PROJECTOR_MLP2, 4, mlp2_names},
                {CK_PROJECTOR_MLP2BN, 6, mlp2bn_names},
                {CK_PROJECTOR_MLP3, 12, mlp3_names}};
    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct coke_encoder e;
        struct ck_encoder_options o = small_options();
        o.projector.word = want[i].head;
        assert_ok(ck_encoder_init(&e, &o));
        assert_int_equal(count_heads(&e.net), want[i].n + 6);
        for (int j = 0; j < want[i].n; j++)
            assert_non_null(ck_net_param(&e.net, want[i].names[j]));
        for (int j = 0; j < 6; j++)
            assert_non_null(ck_net_param(&e.net, predictor_names[j]));
        assert_int_equal(e.net.node[e.node[COKE_OUTPUT_FEATURES]].channels, 32);
        assert_int_equal(e.net.node[e.node[COKE_OUTPUT_LOGITS]].channels, 5);
        assert_int_equal(e.net.node[e.node[COKE_OUTPUT_PROJ]].kind, CK_LAYER_UNIT);
        assert_int_equal(e.net.node[e.node[COKE_OUTPUT_PRED]].kind, CK_LAYER_UNIT);
        ck_encoder_release(&e);
    }
}

static void layers_in_text_make_the_same_network_as_their_word(void **state)
{
    static const struct {
        int word;
        const char *layers;
    } same[] = {{CK_PROJECTOR_LINEAR, "5"},
                {CK_PROJECTOR_MLP2, "6-relu-5"},
                {CK_PROJECTOR_MLP2BN, "6-bn-relu-5"},
                {CK_PROJECTOR_MLP3, "6-bn-relu-6-bn-relu-5-bn"}};
    const struct ck_option_table *t = ck_encoder_option_table();
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct coke_encoder a, b;
        struct ck_encoder_options o = small_options();
        o.projector.word = same[i].word;
        assert_ok(ck_encoder_init(&a, &o));
        assert_ok(ck_options_set(t, &o, "projector", same[i].layers));
        assert_ok(ck_options_set(t, &o, "predictor", "6-bn-relu-5"));
        o.dim = o.hidden = 0;
        assert_ok(ck_encoder_init(&b, &o));
        assert_int_equal(b.o.dim, 5);
        assert_int_equal(a.net.nparams, b.net.nparams);
        for (int j = 0; j < a.net.nparams; j++) {
            const struct ck_param *p = &a.net.param[j], *q = &b.net.param[j];
            assert_string_equal(p->name, q->name);
            assert_int_equal(p->size, q->size);
            assert_memory_equal(p->value, q->value, (size_t)p->size * sizeof(float));
        }
        ck_encoder_release(&a);
        ck_encoder_release(&b);
    }
}

static void widths_of_heads_must_fit_together(void **state)
{
    const struct ck_option_table *t = ck_encoder_option_table();
    struct coke_encoder e;
    struct ck_encoder_options o = small_options();
    (void)state;
    assert_ok(ck_options_set(t, &o, "projector", "6-bn-relu-7"));
    assert_fails(ck_encoder_init(&e, &o), COKE_EUSAGE,
                 "dim: 5, but the projector's last width is 7");
    o.dim = 7;
    assert_ok(ck_options_set(t, &o, "predictor", "6-bn-relu-5"));
    assert_fails(ck_encoder_init(&e, &o), COKE_EUSAGE,
                 "its last width is 5, but projections, which it predicts, have 7");
}

static void norms_without_scale_and_shift_save_no_such_tensors(void **state)
{
    const struct ck_option_table *t = ck_encoder_option_table();
    struct coke_encoder e;
    struct ck_encoder_options o = small_options(), back;
    struct ck_state s = {0};
    (void)state;
    o.dim = 0;
    assert_ok(ck_options_set(t, &o, "projector", "6-gelu-5-bn0"));
    assert_ok(ck_encoder_init(&e, &o));
    assert_ok(ck_encoder_save(&e, &s));
    assert_null(ck_state_find(&s, "fc.3.weight"));
    assert_null(ck_state_find(&s, "fc.3.bias"));
    assert_non_null(ck_state_find(&s, "fc.3.running_mean"));
    assert_ok(ck_net_load(&e.net, &s, "itself", NULL));
    assert_ok(ck_encoder_options_from(&back, &s, "x"));
    assert_memory_equal(&back.projector, &o.projector, sizeof back.projector);
    assert_int_equal(back.dim, 5);
    ck_state_release(&s);
    ck_encoder_release(&e);
}

static void hidden_width_is_that_of_the_features_by_default(void **state)
{
    struct coke_encoder e;
    struct ck_encoder_options o = small_options();
    (void)state;
    o.hidden = 0;
    assert_ok(ck_encoder_init(&e, &o));
    assert_int_equal(ck_net_param(&e.net, "fc.3.weight")->shape[0], 32);
    assert_int_equal(ck_net_param(&e.net, "fc.3.weight")->shape[1], 32);
    assert_int_equal(ck_net_param(&e.net, "predictor.0.weight")->shape[0], 32);
    assert_int_equal(ck_net_param(&e.net, "predictor.0.weight")->shape[1], 5);
    ck_encoder_release(&e);
}

static void what_an_encoder_lacks_is_no_node(void **state)
{
    struct coke_encoder e;
    struct ck_encoder_options o = small_options();
    (void)state;
    o.predictor.word = 0;
    assert_ok(ck_encoder_init(&e, &o));
    assert_int_equal(e.node[COKE_OUTPUT_PRED], -1);
    ck_encoder_release(&e);
    o.projector.word = CK_PROJECTOR_NONE;
    assert_ok(ck_encoder_init(&e, &o));
    assert_int_equal(count_heads(&e.net), 0);
    assert_int_equal(e.node[COKE_OUTPUT_LOGITS], -1);
    assert_int_equal(e.node[COKE_OUTPUT_PROJ], -1);
    ck_encoder_release(&e);
    o.predictor.word = 1;
    assert_fails(ck_encoder_init(&e, &o), COKE_EUSAGE, "predictor");
}

/* ---- options in a state ---- */

static void options_come_back_from_a_state(void **state)
{
    struct coke_encoder e;
    struct ck_encoder_options o = small_options(), back;
    struct ck_state s = {0};
    (void)state;
    o.arch = CK_RESNET34;
    o.stem = CK_STEM_CIFAR;
    o.width = 1.0 / 3 / 10;
    o.channels = 7;
    o.projector.word = CK_PROJECTOR_MLP2;
    o.predictor.word = 0;
    o.seed = 9007199254740991;
    assert_ok(ck_encoder_init(&e, &o));
    assert_ok(ck_encoder_save(&e, &s));
    assert_ok(ck_encoder_options_from(&back, &s, "x"));
    assert_int_equal(back.arch, o.arch);
    assert_int_equal(back.stem, o.stem);
    assert_true(back.width == o.width);
    assert_int_equal(back.channels, 7);
    assert_int_equal(back.projector.word, o.projector.word);
    assert_int_equal(back.hidden, 6);
    assert_int_equal(back.dim, 5);
    assert_int_equal(back.predictor.word, 0);
    assert_int_equal(back.seed, o.seed);
    ck_state_release(&s);
    ck_encoder_release(&e);
}

/* A version without the other rows saved this one. */
static void options_added_since_have_their_defaults(void **state)
{
    struct ck_encoder_options o, def = ck_encoder_options_default();
    struct ck_state s = {0};
    (void)state;
    assert_ok(ck_state_add_meta(&s, "encoder.arch", "resnet34"));
    assert_ok(ck_encoder_options_from(&o, &s, "file"));
    assert_int_equal(o.arch, CK_RESNET34);
    def.arch = o.arch;
    assert_memory_equal(&o, &def, sizeof o);
    ck_state_release(&s);
}

static void metadata_of_something_else_are_errors_in_words(void **state)
{
    struct ck_encoder_options o;
    struct ck_state s = {0};
    (void)state;
    assert_fails(ck_encoder_options_from(&o, &s, "file"), COKE_EFORMAT,
                 "file: its metadata has no options encoder.*");
    assert_ok(ck_state_add_meta(&s, "encoder.arch", "vgg16"));
    assert_fails(ck_encoder_options_from(&o, &s, "file"), COKE_EFORMAT,
                 "file: arch: 'vgg16' is none of resnet18|resnet34|resnet50");
    ck_state_release(&s);
}

static void first_weights_are_a_function_of_the_seed(void **state)
{
    struct coke_encoder a, b, c;
    struct ck_encoder_options o = small_options();
    (void)state;
    assert_ok(ck_encoder_init(&a, &o));
    assert_ok(ck_encoder_init(&b, &o));
    o.seed = 2;
    assert_ok(ck_encoder_init(&c, &o));
    for (int i = 0; i < a.net.nparams; i++) {
        const struct ck_param *p = &a.net.param[i];
        size_t bytes = (size_t)p->size * sizeof(float);
        assert_memory_equal(p->value, b.net.param[i].value, bytes);
        if (p->ndim > 1)
            assert_memory_not_equal(p->value, c.net.param[i].value, bytes);
    }
    ck_encoder_release(&a);
    ck_encoder_release(&b);
    ck_encoder_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_torchvisions),
        cmocka_unit_test(blocks_are_torchvisions),
        cmocka_unit_test(taps_are_found_by_name),
        cmocka_unit_test(impossible_widths_are_errors_in_words),
        cmocka_unit_test(heads_have_the_names_of_a_sequential),
        cmocka_unit_test(layers_in_text_make_the_same_network_as_their_word),
        cmocka_unit_test(widths_of_heads_must_fit_together),
        cmocka_unit_test(norms_without_scale_and_shift_save_no_such_tensors),
        cmocka_unit_test(hidden_width_is_that_of_the_features_by_default),
        cmocka_unit_test(what_an_encoder_lacks_is_no_node),
        cmocka_unit_test(options_come_back_from_a_state),
        cmocka_unit_test(options_added_since_have_their_defaults),
        cmocka_unit_test(metadata_of_something_else_are_errors_in_words),
        cmocka_unit_test(first_weights_are_a_function_of_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
