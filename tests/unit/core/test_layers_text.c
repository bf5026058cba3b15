/* test_layers_text.c - multilayer perceptrons as text. */
#include "support.h"
#include "core/layers_text.h"

static void text_becomes_layers_and_text_again(void **state)
{
    static const char *const texts[] = {"1", "65536", "2048-bn-relu-256",
                                        "2048-gelu-2048-gelu-256", "512-bn-relu-2048-bn0"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ck_layers l = {0};
        char text[CK_LAYERS_TEXT];
        assert_ok(ck_layers_parse("projector", texts[i], &l));
        assert_int_equal(ck_layers_print(&l, text, sizeof text), (int)strlen(texts[i]));
        assert_string_equal(text, texts[i]);
    }
}

static void layers_mean_what_they_say(void **state)
{
    static const int32_t want[] = {512, CK_LAYER_CODE_BN, CK_LAYER_CODE_RELU, 2048,
                                   CK_LAYER_CODE_BN0};
    struct ck_layers l = {0};
    (void)state;
    assert_ok(ck_layers_parse("projector", "512-bn-relu-2048-bn0", &l));
    assert_int_equal(l.n, 5);
    assert_memory_equal(l.v, want, sizeof want);
    assert_int_equal(ck_layers_out(&l), 2048);
}

static void refused_texts_leave_the_layers_as_they_were(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "'' is no layer"},
        {"bn-256", "the first layer must be a width"},
        {"256-", "'' is no layer"},
        {"256--bn", "'' is no layer"},
        {"0-relu-5", "'0' is no layer; use widths within 1..65536"},
        {"65537", "'65537' is no layer"},
        {"99999999999999999999", "is no layer"},
        {"256-tanh-5", "'tanh' is no layer"},
        {"256-bn-bn0", "bn0 directly after bn"},
        {"256-relu-gelu", "gelu directly after relu"},
        {"+5", "'+5' is no layer"},
        {"1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1",
         "more than 32 layers"},
    };
    struct ck_layers l = {.n = 1, .v = {7}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_fails(ck_layers_parse("projector", bad[i].text, &l), COKE_EUSAGE, bad[i].why);
        assert_int_equal(l.n, 1);
        assert_int_equal(l.v[0], 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_layers_and_text_again),
        cmocka_unit_test(layers_mean_what_they_say),
        cmocka_unit_test(refused_texts_leave_the_layers_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
