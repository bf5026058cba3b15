/* test_exchange.c - encoders to and from the files of other programs; what those make of them
 * is tested in tests/py/test_torch_export.py and test_onnx_export.py. */
#include "as_options.h"
#include "support.h"
#include "core/mem.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "nn/foreign.h"
#include "nn/onnx.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/coke-exchange-XXXXXX";

static struct ck_encoder_options small(void)
{
    struct ck_encoder_options o = ck_encoder_options_default();
    o.stem = CK_STEM_CIFAR;
    o.width = 0.03125;
    o.hidden = 5;
    o.dim = 4;
    return o;
}

static int set_up(void **state)
{
    struct coke_encoder *e;
    struct ck_encoder_options o = small();
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) || coke_encoder_new(&e, AS(encoder, &o)))
        return -1;
    int rc = coke_encoder_save(e, "e.safetensors", 0);
    coke_encoder_free(e);
    return rc;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") || system(command) ? -1 : 0;
}

static int export_as(const char *from, int format, int part, int names, const char *to)
{
    struct coke_exchange_summary x = COKE_INIT(struct coke_exchange_summary);
    struct ck_export_options o = {format, part, names, 0};
    int rc = coke_export(from, to, AS(export, &o), 1, &x);
    coke_options_free(x.encoder);
    return rc;
}

/* encoder, if not NULL, receives what the file holds. */
static int import_to(const char *from, const char *to, struct coke_exchange_summary *x,
                     struct ck_encoder_options *encoder)
{
    struct ck_import_options o = {CK_PART_ALL, NULL};
    int rc = coke_import(from, to, AS(import, &o), 1, x);
    if (!rc && encoder)
        *encoder = *(const struct ck_encoder_options *)x->encoder->values;
    coke_options_free(x->encoder);
    x->encoder = NULL;
    return rc;
}

static void assert_same_weights(const char *a, const char *b)
{
    struct ck_state x, y;
    assert_ok(ck_safetensors_read(a, &x));
    assert_ok(ck_safetensors_read(b, &y));
    assert_int_equal(x.ntensors, y.ntensors);
    for (int i = 0; i < x.ntensors; i++) {
        const struct ck_tensor *t = &x.tensor[i], *u = ck_state_find(&y, t->name);
        assert_non_null(u);
        assert_memory_equal(t->data, u->data,
                            (size_t)ck_tensor_elements(t) * ck_dtype_size(t->dtype));
    }
    ck_state_release(&x);
    ck_state_release(&y);
}

static void weights_go_round_with_all_options(void **state)
{
    struct coke_exchange_summary x = COKE_INIT(struct coke_exchange_summary);
    struct ck_encoder_options e;
    (void)state;
    for (int names = CK_EXPORT_NAMES_TORCHVISION; names <= CK_EXPORT_NAMES_AUTHORS; names++)
        for (int format = CK_EXPORT_SAFETENSORS; format <= CK_EXPORT_PTH; format++) {
            assert_ok(export_as("e.safetensors", format, CK_PART_ALL, names, "x"));
            assert_ok(import_to("x", "back.safetensors", &x, &e));
            assert_same_weights("e.safetensors", "back.safetensors");
            assert_string_equal(x.note, "");
            assert_int_equal(e.projector.word, CK_PROJECTOR_MLP3);
            assert_int_equal(e.hidden, 5);
            assert_int_equal(e.dim, 4);
            assert_int_equal(e.predictor.word, 1);
            assert_int_equal(e.stem, CK_STEM_CIFAR);
        }
    assert_ok(export_as("e.safetensors", CK_EXPORT_PTH, CK_PART_BACKBONE, 0, "x"));
    assert_ok(import_to("x", "back.safetensors", &x, &e));
    assert_int_equal(e.projector.word, CK_PROJECTOR_NONE);
    assert_int_equal(e.predictor.word, 0);
}

static void what_is_no_encoder_is_refused(void **state)
{
    struct coke_exchange_summary x = COKE_INIT(struct coke_exchange_summary);
    float centers[2] = {1, -1};
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *km;
    (void)state;
    o.n = 4;
    o.k = 2;
    o.dim = 1;
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), centers, NULL, NULL));
    assert_ok(coke_kmeans_save(km, "km.safetensors", 1));
    coke_kmeans_free(km);
    assert_fails(export_as("km.safetensors", CK_EXPORT_PTH, 0, 0, "out"), COKE_EFORMAT,
                 "file without an encoder");
    assert_fails(import_to("km.safetensors", "out", &x, NULL), COKE_EFORMAT,
                 "file without an encoder");
    assert_int_equal(mkdir("empty", 0777), 0);
    assert_fails(export_as("empty", CK_EXPORT_PTH, 0, 0, "out"), COKE_EFORMAT,
                 "it is not a run folder");
    assert_fails(export_as("nowhere", CK_EXPORT_PTH, 0, 0, "out"), COKE_EIO, "nowhere");
    assert_fails(import_to("empty", "out", &x, NULL), COKE_EIO, "empty");
    assert_int_not_equal(access("out", F_OK), 0);
}

static void wishes_that_cannot_be_are_refused(void **state)
{
    struct coke_exchange_summary x = COKE_INIT(struct coke_exchange_summary);
    struct ck_export_options o = {CK_EXPORT_PTH, 0, 0, 1};
    struct ck_import_options i = {CK_PART_ALL, "teacher."};
    (void)state;
    assert_fails(coke_export("e.safetensors", "out", AS(export, &o), 0, &x), COKE_EUSAGE,
                 "best");
    assert_fails(export_as("e.safetensors", 9, 0, 0, "out"), COKE_EUSAGE, "format 9");
    assert_fails(export_as("e.safetensors", CK_EXPORT_ONNX, 0, CK_EXPORT_NAMES_AUTHORS, "out"),
                 COKE_EUSAGE, "names");
    assert_fails(export_as("e.safetensors", CK_EXPORT_DETECTRON2, 0, 0, "out"), COKE_EUSAGE,
                 "7 x 7");
    o.best = 0;
    assert_fails(coke_export("e.safetensors", "e.safetensors", AS(export, &o), 0, &x),
                 COKE_EUSAGE, "set force to overwrite it");
    assert_fails(coke_import("e.safetensors", "out", AS(import, &i), 0, &x), COKE_EUSAGE,
                 "teacher.conv1.weight");
    i = (struct ck_import_options){7, NULL};
    assert_fails(coke_import("e.safetensors", "out", AS(import, &i), 0, &x), COKE_EUSAGE,
                 "part 7");
    assert_int_not_equal(access("out", F_OK), 0);
}

/* A weight that claims to be large is counted, and never read. */
static void onnx_above_2_gb_is_refused(void **state)
{
    struct coke_encoder *e;
    struct ck_writer w = {0};
    struct ck_state meta = {0};
    (void)state;
    assert_ok(coke_encoder_open(&e, "e.safetensors"));
    int64_t size = e->net.param[0].size;
    assert_ok(ck_writer_open(&w, "out", 0));
    e->net.param[0].size = (int64_t)1 << 29;
    assert_fails(ck_onnx_write_to(&w, e, 0, &meta), COKE_EUSAGE, "at most 2 GB");
    e->net.param[0].size = size;
    ck_writer_abort(&w);
    coke_encoder_free(e);
}

/* A few small tensors claim a network of gigabytes: refused before it is built. */
static void claims_of_small_files_cost_no_memory(void **state)
{
    static const float zero[1024 * 49];
    static const int64_t stem[4] = {1024, 1, 7, 7}, block[4] = {1, 1, 1, 1};
    struct ck_state s = {0};
    struct ck_foreign_options o = {.heads = 1};
    struct coke_encoder e;
    char note[CK_FOREIGN_NOTE], name[64];
    (void)state;
    assert_ok(ck_state_add(&s, "conv1.weight", CK_F32, 4, stem, zero));
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "layer%d.%d.conv1.weight", i / 2 + 1, i % 2);
        assert_ok(ck_state_add(&s, name, CK_F32, 4, block, zero));
    }
    struct ck_mem_stats before = ck_mem_stats();
    ck_mem_reset_peak();
    assert_fails(ck_foreign_load(&e, &s, "x", &o, note), COKE_EFORMAT,
                 "layer4.0.conv2.weight is missing");
    assert_ok(ck_state_add(&s, "layer4.0.conv2.weight", CK_F32, 4, block, zero));
    assert_fails(ck_foreign_load(&e, &s, "x", &o, note), COKE_EFORMAT,
                 "layer4.0.conv2.weight has shape 1 x 1 x 1 x 1");
    assert_true(ck_mem_stats().peak_bytes - before.live_bytes < 4 << 20);
    ck_state_release(&s);
}

static int all_formats(void)
{
    for (int format = CK_EXPORT_SAFETENSORS; format <= CK_EXPORT_ONNX; format++) {
        int rc = export_as("e.safetensors", format, CK_PART_ALL, 0, "x");
        if (rc)
            return rc;
    }
    return COKE_OK;
}

static int import_job(void)
{
    struct coke_exchange_summary x = COKE_INIT(struct coke_exchange_summary);
    return import_to("a.pth", "y", &x, NULL);
}

static void every_allocation_fails(int (*job)(void), int step)
{
    for (int i = 1; i < 100000; i += step) {
        struct ck_mem_stats before = ck_mem_stats();
        ck_mem_fail_at(i);
        int rc = job();
        ck_mem_fail_at(0);
        assert_int_equal(ck_mem_stats().live, before.live);
        if (rc == COKE_OK && ck_mem_stats().calls - before.calls < i)
            return;
        if (rc != COKE_ENOMEM)
            fail_msg("allocation %d: %d, \"%s\"", i, rc, coke_last_error());
    }
    fail_msg("the job never succeeds");
}

static void every_allocation_fails_in_words(void **state)
{
    (void)state;
    assert_ok(export_as("e.safetensors", CK_EXPORT_PTH, 1, CK_EXPORT_NAMES_AUTHORS, "a.pth"));
    every_allocation_fails(all_formats, 41);
    every_allocation_fails(import_job, 17);
}

static void a_full_disk_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    for (int format = CK_EXPORT_SAFETENSORS; format <= CK_EXPORT_ONNX; format++) {
        ck_file_fail_write_at(1);
        assert_fails(export_as("e.safetensors", format, 1, 0, "full"), COKE_EIO, "full");
        assert_int_not_equal(access("full", F_OK), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_go_round_with_all_options),
        cmocka_unit_test(what_is_no_encoder_is_refused),
        cmocka_unit_test(wishes_that_cannot_be_are_refused),
        cmocka_unit_test(onnx_above_2_gb_is_refused),
        cmocka_unit_test(claims_of_small_files_cost_no_memory),
        cmocka_unit_test(every_allocation_fails_in_words),
        cmocka_unit_test(a_full_disk_is_said_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
