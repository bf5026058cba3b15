/* test_gradients.c - whole encoders against double arithmetic, tensor by tensor. */
#include "support.h"
#include "layer_cases.h"

static void check(enum ck_arch arch, enum ck_stem stem, int64_t size, const char *name)
{
    struct layer_case c = {name, "", 32, 3, size, size, 0};
    struct ck_encoder_options o = ck_encoder_options_default();
    o.arch = (int32_t)arch;
    o.stem = (int32_t)stem;
    o.width = 0.125;
    o.dim = 16;
    for (int train = 0; train < 2; train++) {
        struct layer_net l;
        struct layer_result got, want;
        layer_net_init_encoder(&l, &c, &o);
        struct ck_plan_request r = layer_request(&l, train);
        layer_result_naive(&want, &l, &r);
        layer_result_by(&got, &l, &r);
        assert_f32(&got, &want, name);
        layer_result_release(&got);
        layer_result_release(&want);
        layer_net_release(&l);
    }
}

static void resnet18_of_small_images_is_exact_to_1e_5(void **state)
{
    (void)state;
    check(CK_RESNET18, CK_STEM_CIFAR, 16, "resnet18");
}

static void resnet50_is_exact_to_1e_5(void **state)
{
    (void)state;
    check(CK_RESNET50, CK_STEM_IMAGENET, 32, "resnet50");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resnet18_of_small_images_is_exact_to_1e_5),
        cmocka_unit_test(resnet50_is_exact_to_1e_5),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
