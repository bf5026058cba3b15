/* test_recipe.c - what pixels are normalised by: words, numbers, and what auto chooses. */
#include "data_test.h"
#include "data/images.h"
#include "data/recipe.h"

#include <math.h>

static struct coke_dataset *open_images(const char *source, int channels)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_dataset *d;
    o.channels = channels;
    assert_ok(ck_images_new(&d, source, &o));
    return d;
}

/* The recipe of a data set with option normalize set to this text. */
static int make(struct ck_recipe *r, const char *source, int channels, const char *normalize)
{
    struct ck_loader_options o = ck_loader_options_default();
    assert_ok(ck_options_set(ck_loader_option_table(), &o, "normalize", normalize));
    struct coke_dataset *d = open_images(source, channels);
    int rc = ck_recipe_init(r, d, &o.view, &o.normalize);
    ck_images_free(d);
    return rc;
}

static void check_first(const struct ck_recipe *r, double mean, double std)
{
    assert_true(r->mean[0] == (float)mean);
    assert_true(r->std[0] == (float)std);
}

static void write_cifar(const char *path, size_t head)
{
    static char record[3074];
    record[head - 1] = 1;
    write_file(path, record, 3072 + head);
}

static void auto_knows_both_cifars(void **state)
{
    (void)state;
    struct ck_recipe r;
    mkdir("c10", 0777);
    mkdir("c100", 0777);
    write_cifar("c10/test_batch.bin", 1);
    write_cifar("c100/train.bin", 2);
    assert_ok(make(&r, "c10/test_batch.bin", 0, "auto"));
    check_first(&r, 0.4914, 0.2470);
    assert_ok(make(&r, "c100", 0, "auto"));
    check_first(&r, 0.5071, 0.2675);
    assert_ok(make(&r, "c100", 0, "cifar10"));
    check_first(&r, 0.4914, 0.2470);
    assert_ok(make(&r, "c10/test_batch.bin", 0, "cifar100"));
    check_first(&r, 0.5071, 0.2675);
    assert_ok(make(&r, "c100", 1, "auto"));
    check_first(&r, 0.5, 0.25);
}

static void numbers_are_means_then_deviations(void **state)
{
    (void)state;
    struct ck_recipe r;
    assert_ok(make(&r, "synthetic:n=10", 3, ".1,.2,.3,.4,.5,.6"));
    check_first(&r, 0.1, 0.4);
    assert_true(r.mean[2] == 0.3f && r.std[2] == 0.6f);
    assert_ok(make(&r, "synthetic:n=10", 3, ".5,.25"));
    assert_true(r.mean[2] == 0.5f && r.std[2] == 0.25f);
    assert_ok(make(&r, "synthetic:n=10", 1, "0.2860,0.3530"));
    check_first(&r, 0.2860, 0.3530);
    assert_fails(make(&r, "synthetic:n=10", 1, ".1,.2,.3,.4,.5,.6"), COKE_EUSAGE,
                 "these have 1 channel");
    assert_fails(make(&r, "synthetic:n=10", 3, ".5,0"), COKE_EUSAGE, "a deviation of 0");
}

static void a_course_changes_size_and_strength(void **state)
{
    (void)state;
    struct ck_course c = {.epochs = 10, .ramp = 0.5, .size = {3, {8, 12, 16}}};
    struct ck_recipe r, e;
    memset(&r, 0, sizeof r);
    r.views = 3;
    r.large = 2;
    for (int v = 0; v < 3; v++) {
        r.view[v].width = r.view[v].height = v < 2 ? 16 : 6;
        r.view[v].scale[0] = 0.25;
        r.view[v].scale[1] = 1;
        r.view[v].jitter = 0.8;
        r.view[v].gray = 0.2;
        r.view[v].flip = 0.5;
    }
    const int side[10] = {8, 8, 8, 8, 12, 12, 12, 16, 16, 16};
    for (int i = 0; i < 10; i++) {
        double t = i < 4.5 ? i / 4.5 : 1;
        ck_recipe_at(&r, &c, i, &e);
        assert_int_equal(e.view[0].width, side[i]);
        assert_int_equal(e.view[1].height, side[i]);
        assert_int_equal(e.view[2].width, 6); /* small views keep their size */
        assert_true(fabs(e.view[2].jitter - 0.8 * t) < 1e-12);
        assert_true(fabs(e.view[0].gray - 0.2 * t) < 1e-12);
        assert_true(fabs(e.view[0].scale[0] - (1 - 0.75 * t)) < 1e-12);
        assert_true(e.view[0].flip > 0.49 && e.view[0].scale[1] > 0.99);
    }
    c = (struct ck_course){0};
    ck_recipe_at(&r, &c, 3, &e);
    assert_memory_equal(&e, &r, sizeof e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_knows_both_cifars),
        cmocka_unit_test(numbers_are_means_then_deviations),
        cmocka_unit_test(a_course_changes_size_and_strength),
    };
    return cmocka_run_group_tests_name("recipe", tests, enter, leave_folder);
}
