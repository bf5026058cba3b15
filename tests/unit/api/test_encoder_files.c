/* test_encoder_files.c - encoders in files come back as they were, files of something else are
 * errors in words, and no failed allocation or write does harm. */
#include "as_options.h"
#include "encoder_test.h"
#include "core/mem.h"
#include "io/file.h"

/* A few steps, so that running statistics and counters are not the first ones. */
static void train(struct coke_encoder *e)
{
    float grad[BATCH * DIM];
    struct coke_plan *p = small_pass(e, 1);
    struct coke_optimizer *o;
    struct ck_optimizer_options q = ck_optimizer_options_default();
    struct coke_gradients grads = {.size = sizeof grads, .proj = grad, .pred = grad};
    assert_ok(coke_optimizer_new(&o, e, AS(optimizer, &q)));
    for (int i = 0; i < BATCH * DIM; i++)
        grad[i] = test_normal(3, (uint64_t)i);
    for (int i = 0; i < 2; i++) {
        coke_encoder_zero_grad(e);
        assert_ok(coke_plan_forward(p, images));
        assert_ok(coke_plan_backward(p, &grads));
        assert_ok(coke_optimizer_step(o, 0.1));
    }
    coke_optimizer_free(o);
    coke_plan_free(p);
}

/* ---- files ---- */

static size_t read_whole(const char *path, unsigned char **out)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    *out = test_array(1 << 20, 1);
    size_t n = fread(*out, 1, 1 << 20, f);
    fclose(f);
    return n;
}

static void a_saved_encoder_comes_back_byte_for_byte(void **state)
{
    struct coke_encoder *e = small_encoder(3), *back, *fresh = small_encoder(1);
    unsigned char *first, *second;
    (void)state;
    train(e);
    assert_ok(coke_encoder_save(e, "a", 0));
    assert_ok(coke_encoder_open(&back, "a"));
    assert_same_encoder(e, back, 1);
    struct coke_options *o;
    int64_t seed, dim;
    assert_ok(coke_encoder_options(back, &o));
    assert_ok(coke_options_get_int(o, "seed", &seed));
    assert_ok(coke_options_get_int(o, "dim", &dim));
    assert_int_equal(seed, 3);
    assert_int_equal(dim, DIM);
    coke_options_free(o);
    assert_int_equal(coke_encoder_size(back), coke_encoder_size(e));
    assert_ok(coke_encoder_save(back, "b", 0));
    size_t n = read_whole("a", &first), m = read_whole("b", &second);
    assert_int_equal(n, m);
    assert_memory_equal(first, second, n);
    assert_same_encoder(e, fresh, 0);
    assert_ok(coke_encoder_load_weights(fresh, "a", NULL)); /* into one with another seed */
    assert_same_encoder(e, fresh, 1);
    free(first);
    free(second);
    coke_encoder_free(e);
    coke_encoder_free(back);
    coke_encoder_free(fresh);
}

static void files_are_not_overwritten_unless_forced(void **state)
{
    struct coke_encoder *e = small_encoder(1);
    (void)state;
    assert_ok(coke_encoder_save(e, "once", 0));
    assert_fails(coke_encoder_save(e, "once", 0), COKE_EUSAGE, "once");
    assert_ok(coke_encoder_save(e, "once", 1));
    assert_fails(coke_encoder_save(e, "no/folder", 0), COKE_EIO, "no/folder");
    coke_encoder_free(e);
}

/* Loads the file `name` into a small encoder; what fails must leave it as it was. */
static int try_weights(const char *name, const char *ignore)
{
    struct coke_encoder *e = small_encoder(1), *same = small_encoder(1);
    int rc = coke_encoder_load_weights(e, name, ignore);
    assert_same_encoder(e, same, rc != 0);
    coke_encoder_free(e);
    coke_encoder_free(same);
    return rc;
}

static void save_other(const char *name, void (*change)(struct ck_encoder_options *o))
{
    struct coke_encoder *e;
    struct ck_encoder_options o = small_options();
    change(&o);
    o.seed = 2;
    assert_ok(coke_encoder_new(&e, AS(encoder, &o)));
    assert_ok(coke_encoder_save(e, name, 1));
    coke_encoder_free(e);
}

static void deeper(struct ck_encoder_options *o)
{
    o->arch = CK_RESNET34;
}

static void wider(struct ck_encoder_options *o)
{
    o->width *= 2;
}

static void headless(struct ck_encoder_options *o)
{
    o->predictor.word = 0;
    o->projector.word = CK_PROJECTOR_NONE;
}

static void another_head(struct ck_encoder_options *o)
{
    o->projector.word = CK_PROJECTOR_MLP2;
    o->dim = 9;
    o->predictor.word = 0;
}

static void weights_of_another_network_are_named(void **state)
{
    (void)state;
    save_other("deep", deeper);
    assert_fails(try_weights("deep", NULL), COKE_EFORMAT,
                 "deep: not the weights of this network: ");
    assert_non_null(strstr(coke_last_error(), "unexpected, first layer"));
    save_other("wide", wider);
    assert_fails(
        try_weights("wide", NULL), COKE_EFORMAT,
        "conv1.weight is F32 [4, 3, 3, 3] in the file and F32 [2, 3, 3, 3] in the network");
    save_other("bare", headless);
    assert_fails(try_weights("bare", NULL), COKE_EFORMAT, "missing, first fc.0.weight");
    save_other("other", another_head);
    assert_fails(try_weights("other", NULL), COKE_EFORMAT, "missing, first fc.1.weight");
    assert_non_null(strstr(coke_last_error(), "unexpected, first fc.2."));
}

static void a_prefix_may_be_left_out(void **state)
{
    (void)state;
    save_other("other", another_head);
    assert_fails(try_weights("other", "fc."), COKE_EFORMAT,
                 "missing, first predictor.0.weight");
    struct coke_encoder *e, *backbone;
    struct ck_encoder_options o = small_options();
    int64_t n;
    o.predictor.word = 0;
    assert_ok(coke_encoder_new(&e, AS(encoder, &o)));
    assert_ok(coke_encoder_load_weights(e, "other", "fc."));
    assert_ok(coke_encoder_open(&backbone, "other"));
    const float *a = coke_encoder_tensor(e, "layer4.1.conv2.weight", &n);
    const float *b = coke_encoder_tensor(backbone, "layer4.1.conv2.weight", &n);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    coke_encoder_free(e);
    coke_encoder_free(backbone);
}

static void damaged_files_are_errors_in_words(void **state)
{
    struct coke_encoder *e = small_encoder(2), *out;
    unsigned char *data;
    (void)state;
    assert_ok(coke_encoder_save(e, "good", 1));
    size_t n = read_whole("good", &data);
    assert_true(n > 1000 && n < 1 << 20);
    assert_fails(try_weights("missing", NULL), COKE_EIO, "missing");
    assert_fails(try_weights(".", NULL), COKE_EIO, "directory");
    write_whole("bad", data, 0);
    assert_fails(try_weights("bad", NULL), COKE_EFORMAT, "bad: ");
    for (size_t cut = 4; cut < n; cut += n / 17) {
        write_whole("bad", data, cut);
        assert_fails(try_weights("bad", NULL), COKE_EFORMAT, "bad: ");
        assert_fails(coke_encoder_open(&out, "bad"), COKE_EFORMAT, "bad: ");
        assert_null(out);
    }
    data[n - 3] ^= 4; /* one bit of one number */
    write_whole("bad", data, n);
    assert_fails(try_weights("bad", NULL), COKE_EFORMAT, "damaged: checksum");
    assert_fails(coke_encoder_open(&out, "bad"), COKE_EFORMAT, "damaged: checksum");
    free(data);
    coke_encoder_free(e);
}

/* A clustering's state is safetensors, too, but no encoder. */
static void files_of_another_kind_are_errors_in_words(void **state)
{
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *km;
    struct coke_encoder *e;
    float centers[8] = {1, 0, 0, 0, 0, 1, 0, 0};
    (void)state;
    o.n = 10, o.k = 2, o.dim = 4, o.eta = 0.1;
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), centers, NULL, NULL));
    assert_ok(coke_kmeans_save(km, "kmeans", 0));
    assert_fails(coke_kmeans_save(km, "kmeans", 0), COKE_EUSAGE, "kmeans exists; set force");
    assert_ok(coke_kmeans_save(km, "kmeans", 1));
    assert_fails(coke_encoder_open(&e, "kmeans"), COKE_EFORMAT,
                 "kmeans: its metadata has no options encoder.*");
    assert_fails(try_weights("kmeans", NULL), COKE_EFORMAT, "missing, first conv1.weight");
    coke_kmeans_free(km);
}

/* ---- failing ---- */

static int make_encoder(void)
{
    struct coke_encoder *e = NULL;
    struct ck_encoder_options o = small_options();
    int rc = coke_encoder_new(&e, AS(encoder, &o));
    coke_encoder_free(e);
    return rc;
}

static int save_encoder(void)
{
    struct coke_encoder *e = NULL;
    struct ck_encoder_options o = small_options();
    int rc = coke_encoder_new(&e, AS(encoder, &o));
    unlink("saved");
    if (!rc)
        rc = coke_encoder_save(e, "saved", 0);
    coke_encoder_free(e);
    if (rc)
        assert_int_not_equal(access("saved", F_OK), 0);
    return rc;
}

static int open_encoder(void)
{
    struct coke_encoder *e = NULL;
    int rc = coke_encoder_open(&e, "saved");
    if (!rc)
        rc = coke_encoder_load_weights(e, "saved", "fc.");
    coke_encoder_free(e);
    return rc;
}

static struct coke_encoder *fixed; /* whose own allocations are not under test */

static int make_optimizer(void)
{
    struct coke_optimizer *q = NULL;
    struct ck_optimizer_options o = ck_optimizer_options_default();
    int rc = coke_optimizer_new(&q, fixed, AS(optimizer, &o));
    if (!rc)
        rc = coke_optimizer_step(q, 0.1);
    coke_optimizer_free(q);
    return rc;
}

/* Features only, where copies of weights in other layouts already exist. */
static int make_pass(void)
{
    struct coke_plan *p = NULL;
    struct ck_plan_options o = small_pass_options();
    o.height = o.width = 4;
    int rc = coke_plan_new(&p, fixed, AS(plan, &o), NULL);
    if (!rc)
        rc = coke_plan_forward(p, images);
    coke_plan_free(p);
    return rc;
}

/* Every stride-th allocation in turn; `also` is what jansson's own failures look like. */
static void fail_allocations(int (*job)(void), int64_t stride, int also)
{
    for (int64_t i = 1;; i += stride) {
        struct ck_mem_stats before = ck_mem_stats();
        ck_mem_fail_at(i);
        int rc = job();
        ck_mem_fail_at(0);
        struct ck_mem_stats after = ck_mem_stats();
        if (after.live != before.live)
            fail_msg("allocation %lld: %lld leaked", (long long)i,
                     (long long)(after.live - before.live));
        if (after.calls - before.calls < i) {
            assert_ok(rc);
            assert_true(i > 2);
            return;
        }
        if (rc != also && (rc != COKE_ENOMEM || !strstr(coke_last_error(), "memory")))
            fail_msg("allocation %lld: %d, \"%s\"", (long long)i, rc, coke_last_error());
    }
}

static void encoders_survive_every_failed_allocation(void **state)
{
    (void)state;
    fail_allocations(make_encoder, 1, COKE_ENOMEM);
}

static void files_survive_every_failed_allocation(void **state)
{
    (void)state;
    fail_allocations(save_encoder, 1, COKE_ENOMEM);
    assert_ok(save_encoder());
    fail_allocations(open_encoder, 1, COKE_ENOMEM);
}

static void optimisers_survive_every_failed_allocation(void **state)
{
    (void)state;
    fixed = small_encoder(1);
    fail_allocations(make_optimizer, 1, COKE_ENOMEM);
    coke_encoder_free(fixed);
}

static void passes_survive_every_failed_allocation(void **state)
{
    (void)state;
    fixed = small_encoder(1);
    assert_ok(make_pass()); /* the copies of the weights stay with the encoder */
    fail_allocations(make_pass, 1, COKE_ENOMEM);
    coke_encoder_free(fixed);
}

static void a_full_disk_leaves_no_partial_file(void **state)
{
    (void)state;
    for (int i = 1;; i++) {
        ck_file_fail_write_at(i);
        int rc = save_encoder();
        ck_file_fail_write_at(0);
        if (!rc)
            break;
        assert_int_equal(rc, COKE_EIO);
        assert_non_null(strstr(coke_last_error(), "No space"));
        assert_true(i < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_encoder_comes_back_byte_for_byte),
        cmocka_unit_test(files_are_not_overwritten_unless_forced),
        cmocka_unit_test(weights_of_another_network_are_named),
        cmocka_unit_test(a_prefix_may_be_left_out),
        cmocka_unit_test(damaged_files_are_errors_in_words),
        cmocka_unit_test(files_of_another_kind_are_errors_in_words),
        cmocka_unit_test(encoders_survive_every_failed_allocation),
        cmocka_unit_test(files_survive_every_failed_allocation),
        cmocka_unit_test(optimisers_survive_every_failed_allocation),
        cmocka_unit_test(passes_survive_every_failed_allocation),
        cmocka_unit_test(a_full_disk_leaves_no_partial_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
