/* test_old_files.c - files written before the formats changed are still read: a model, a state in
 * the second stage, and a checkpoint from the middle of an epoch (tests/golden/old). */
#include "support.h"

#include <unistd.h>

static char folder[64];

static const char *old(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/old/%s", getenv("COKE_SOURCE"), name);
    return path;
}

/* The data of an .npy file behind its header of 128 bytes. */
static void read_array(const char *name, void *out, size_t bytes)
{
    FILE *f = fopen(old(name), "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 128, SEEK_SET), 0);
    assert_int_equal(fread(out, 1, bytes, f), bytes);
    fclose(f);
}

enum { N = 200, DIM = 5, K = 6 };

static void an_old_model_assigns_the_labels_it_was_made_with(void **state)
{
    (void)state;
    static float x[N * DIM];
    static int32_t was[N], is[N];
    struct coke_model *m;
    struct coke_rows *rows;
    read_array("rows.npy", x, sizeof x);
    read_array("labels.npy", was, sizeof was);
    assert_ok(coke_model_load(&m, old("model.safetensors")));
    assert_int_equal(coke_model_k(m), K);
    assert_int_equal(coke_model_dim(m), DIM);
    assert_ok(coke_rows_from_array(&rows, x, N, DIM));
    struct coke_assign_job job = {.size = sizeof job, .rows = rows, .labels = is};
    assert_ok(coke_model_assign(m, &job, NULL));
    assert_memory_equal(was, is, sizeof was); /* no bound was tight */
    coke_rows_free(rows);
    coke_model_free(m);
}

static void an_old_state_goes_on_in_its_second_stage(void **state)
{
    (void)state;
    static float x[N * DIM], target[N * K];
    static int32_t label[N];
    int64_t ids[N], counts[K], seen = 0;
    struct coke_kmeans *km;
    read_array("rows.npy", x, sizeof x);
    for (int64_t i = 0; i < N; i++) {
        ids[i] = i;
        test_normalize(x + i * DIM, DIM);
    }
    assert_ok(coke_kmeans_load(&km, old("kmeans.safetensors")));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_COUNTS, counts, K));
    for (int k = 0; k < K; k++)
        seen += counts[k];
    assert_int_equal(seen, N / 2); /* saved in the middle of epoch 3 */
    assert_ok(coke_kmeans_step(km, x + N / 2 * DIM, ids + N / 2, N / 2, label));
    assert_ok(coke_kmeans_epoch_end(km));
    assert_ok(coke_kmeans_soft_targets(km, ids, N, target));
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += (double)target[i * K + k];
        assert_close(sum, 1, 1e-6);
    }
    coke_kmeans_free(km);
}

static struct ck_train_options options(void)
{
    struct ck_train_options o = ck_train_options_default();
    o.k = (struct ck_ints){2, {2, 3}};
    o.loader.view.recipe = CK_RECIPE_CIFAR_SINGLE;
    o.loader.view.size = 16;
    o.loader.batch = 4;
    o.encoder.stem = CK_STEM_CIFAR;
    o.encoder.width = 0.03125;
    o.encoder.dim = 4;
    o.epochs = 6;
    o.warmup = 1;
    o.optimizer.kind = CK_SGD;
    o.rate = 0.05;
    o.monitor = 0;
    o.keep_best = 1;
    o.kmeans.stage = 2;
    o.kmeans.slots = 2;
    return o;
}

static int note(void *user, const struct coke_progress *p)
{
    int64_t *first = user;
    if (*first < 0)
        *first = p->epoch;
    return 0;
}

static void an_old_checkpoint_is_resumed_in_the_middle_of_its_epoch(void **state)
{
    (void)state;
    char command[1400];
    struct ck_train_options o = options();
    struct coke_train_control control = {.size = sizeof control,
                                         .resume_anyway = 1}; /* on any instruction set */
    struct coke_train_summary s = COKE_INIT(struct coke_train_summary);
    struct coke_dataset *d;
    int64_t first = -1;
    struct coke_callbacks callbacks = {
        .size = sizeof callbacks, .user = &first, .progress = note};
    snprintf(command, sizeof command,
             "cp %s %s/last.safetensors && cp $(dirname %s)/metrics.jsonl %s",
             old("checkpoint.safetensors"), folder, old("checkpoint.safetensors"), folder);
    assert_int_equal(system(command), 0);
    assert_ok(coke_dataset_open(&d, "synthetic:n=26,size=16", AS(dataset, &o.data)));
    assert_ok(coke_train_run(d, AS(train, &o), folder, &control, &callbacks, &s));
    assert_int_equal(first, 3);
    coke_dataset_free(d);
    /* steps 0 .. 2 of epoch 3 are of the old run, 3 .. 6 of this one */
    snprintf(command, sizeof command,
             "test $(grep -c '\"epoch\": 3, \"step\": [0-9]' %s/metrics.jsonl) = 7 &&"
             "grep -q '\"epoch\": 5, \"images\": 26' %s/metrics.jsonl",
             folder, folder);
    assert_int_equal(system(command), 0);
}

static int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/coke-old-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return coke_set_threads(1);
}

static int leave(void **state)
{
    (void)state;
    return test_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_model_assigns_the_labels_it_was_made_with),
        cmocka_unit_test(an_old_state_goes_on_in_its_second_stage),
        cmocka_unit_test(an_old_checkpoint_is_resumed_in_the_middle_of_its_epoch),
    };
    return cmocka_run_group_tests_name("old_files", tests, enter, leave);
}
