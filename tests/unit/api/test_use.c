/* test_use.c - a trained encoder used and judged through the public functions. */
#include "as_options.h"
#include "support.h"
#include "core/mem.h"
#include "image/codec.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"

#include <sys/stat.h>
#include <unistd.h>

enum { N = 30, DIM = 8 };

static char folder[64];
static struct ck_use_options use;

static struct coke_dataset *open_data(const char *source, int split)
{
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_dataset *d = NULL;
    o.split = split;
    assert_ok(coke_dataset_open(&d, source, AS(dataset, &o)));
    return d;
}

static int enter(void **state)
{
    (void)state;
    struct ck_train_options o = test_training();
    struct coke_train_control control = COKE_INIT(struct coke_train_control);
    struct coke_train_summary s = COKE_INIT(struct coke_train_summary);
    snprintf(folder, sizeof folder, "/tmp/coke-use-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    use = ck_use_options_default();
    o.k = (struct ck_ints){2, {6, 10}};
    o.encoder.dim = DIM;
    o.monitor = 0;
    assert_ok(coke_set_threads(1));
    struct coke_dataset *d = open_data("synthetic:n=30,size=8", CK_SPLIT_TRAIN);
    assert_ok(coke_train_run(d, AS(train, &o), "run", &control, NULL, &s));
    coke_dataset_free(d);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") || test_remove_folder(folder);
}

static struct coke_run *open_run(const char *path)
{
    struct coke_run *r = NULL;
    assert_ok(coke_run_open(&r, path, AS(use, &use)));
    return r;
}

static int open_fails(const char *path)
{
    struct coke_run *r = NULL;
    int rc = coke_run_open(&r, path, AS(use, &use));
    assert_null(r);
    return rc;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* ---- opening ---- */

static void a_run_says_what_it_is(void **state)
{
    (void)state;
    struct coke_run *r = open_run("run");
    assert_string_equal(coke_run_weights(r), "run/last.safetensors");
    assert_int_equal(coke_run_epoch(r), 3);
    assert_int_equal(coke_run_channels(r), 3);
    assert_int_equal(coke_run_heads(r), 2);
    assert_int_equal(coke_run_k(r, 1), 10);
    struct coke_dataset *d = open_data("synthetic:n=30,size=20", CK_SPLIT_TRAIN);
    assert_int_equal(coke_run_image_size(r, d), 8);
    coke_dataset_free(d);
    assert_int_equal(coke_run_k(r, 2), 0);
    assert_int_equal(coke_run_match(r, 10), 1);
    assert_int_equal(coke_run_match(r, 11), -1);
    coke_run_free(r);
    assert_true(coke_run_is("run"));
    assert_true(coke_run_is("run/last.safetensors"));
    assert_true(coke_run_is("run/final.safetensors"));
    assert_false(coke_run_is("."));
    assert_false(coke_run_is("none"));
    assert_false(coke_run_is("run/labels-h0-k6.npy"));
}

static void what_is_no_encoder_is_told(void **state)
{
    (void)state;
    int64_t shape[4] = {2, 3, 3, 3};
    float numbers[54] = {0};
    struct ck_state s = {0};
    assert_fails(open_fails("none"), COKE_EIO, "none: No such file");
    mkdir("empty", 0777);
    assert_fails(open_fails("empty"), COKE_EFORMAT, "it is not a run folder");
    write_text("text", "not a safetensors file at all");
    assert_fails(open_fails("text"), COKE_EFORMAT, "text");
    assert_ok(ck_state_add(&s, "something", CK_F32, 4, shape, numbers));
    assert_ok(ck_safetensors_write("other.safetensors", &s, 1));
    assert_fails(open_fails("other.safetensors"), COKE_EFORMAT, "neither an encoder");
    assert_ok(ck_state_add_meta(&s, "format", "coke-kmeans"));
    assert_ok(ck_safetensors_write("model.safetensors", &s, 1));
    assert_fails(open_fails("model.safetensors"), COKE_EFORMAT, "'coke-kmeans'");
    ck_state_release(&s);
    use.best = 1;
    assert_fails(open_fails("run/last.safetensors"), COKE_EUSAGE, "only run folders");
    use.best = 0;
}

/* Weights as torchvision has them: kind, stem and width follow from the tensors. */
static void a_plain_resnet_is_recognised(void **state)
{
    (void)state;
    static const int32_t archs[] = {CK_RESNET18, CK_RESNET34, CK_RESNET50};
    for (int i = 0; i < 3; i++) {
        struct ck_encoder_options o = ck_encoder_options_default();
        struct coke_encoder *e;
        struct ck_state with = {0}, plain = {0};
        o.arch = archs[i];
        o.stem = i % 2 ? CK_STEM_CIFAR : CK_STEM_IMAGENET;
        o.width = 0.0625;
        o.channels = i == 1 ? 1 : 3;
        o.projector.word = CK_PROJECTOR_LINEAR; /* a classifier's fc.weight, fc.bias */
        o.predictor.word = 0;
        assert_ok(coke_encoder_new(&e, AS(encoder, &o)));
        assert_ok(coke_encoder_save(e, "ours.safetensors", 1));
        assert_ok(ck_safetensors_read("ours.safetensors", &with));
        for (int t = 0; t < with.ntensors; t++)
            assert_ok(ck_state_add(&plain, with.tensor[t].name, with.tensor[t].dtype,
                                   with.tensor[t].ndim, with.tensor[t].shape,
                                   with.tensor[t].data));
        assert_ok(ck_safetensors_write("plain.safetensors", &plain, 1));
        struct coke_run *r = open_run("plain.safetensors");
        assert_int_equal(coke_run_channels(r), o.channels);
        assert_int_equal(coke_run_heads(r), 0);
        assert_int_equal(coke_run_epoch(r), -1);
        coke_run_free(r);
        ck_state_release(&plain);
        ck_state_release(&with);
        coke_encoder_free(e);
    }
}

/* ---- use ---- */

static void rows_are_the_images(void **state)
{
    (void)state;
    struct coke_run *r = open_run("run");
    struct coke_dataset *d = open_data("synthetic:n=30,size=8", CK_SPLIT_TRAIN);
    struct coke_embed_summary e = COKE_INIT(struct coke_embed_summary);
    struct ck_map m;
    struct ck_npy a;
    assert_ok(coke_run_embed(r, d, COKE_OUTPUT_PROJ, "z.npy", 0, NULL, &e));
    assert_int_equal(e.images, N);
    assert_int_equal(e.dim, DIM);
    assert_ok(ck_map_open(&m, "z.npy"));
    assert_ok(ck_npy_parse(&a, "z.npy", m.data, m.size));
    assert_int_equal(a.shape[0], N);
    float row[DIM];
    double length = 0;
    memcpy(row, m.data + a.offset + 29 * sizeof row, sizeof row);
    for (int j = 0; j < DIM; j++)
        length += (double)row[j] * (double)row[j];
    assert_close(length, 1, 1e-5);
    ck_map_release(&m);
    assert_fails(coke_run_embed(r, d, COKE_OUTPUT_PROJ, "z.npy", 0, NULL, &e), COKE_EUSAGE,
                 "z.npy");
    assert_fails(coke_run_embed(r, d, COKE_OUTPUT_PRED, "y.npy", 0, NULL, &e), COKE_EUSAGE,
                 "output");
    coke_dataset_free(d);
    coke_run_free(r);
}

static void margins_are_differences(void **state)
{
    (void)state;
    struct coke_run *r = open_run("run");
    struct coke_dataset *d = open_data("synthetic:n=30,size=8", CK_SPLIT_TEST);
    int32_t cluster[N];
    float similarity[N], margin[N];
    assert_ok(coke_run_assign(r, d, 1, NULL, cluster, similarity, margin));
    for (int i = 0; i < N; i++) {
        assert_in_range(cluster[i], 0, 9);
        assert_true(margin[i] >= 0 && margin[i] <= 1 + similarity[i] + 1e-5f);
    }
    assert_fails(coke_run_assign(r, d, 2, NULL, cluster, NULL, NULL), COKE_EUSAGE, "0..1");
    coke_run_free(r);
    r = open_run("run/final.safetensors");
    assert_fails(coke_run_assign(r, d, 0, NULL, cluster, NULL, NULL), COKE_EUSAGE,
                 "no clusters");
    coke_dataset_free(d);
    coke_run_free(r);
}

static void labels_are_those_of_the_training(void **state)
{
    (void)state;
    struct coke_run *r = open_run("run");
    int32_t label[N], expected[N];
    assert_int_equal(coke_run_images(r), N);
    assert_ok(coke_run_labels(r, 1, label));
    FILE *f = fopen("run/labels-h1-k10.npy", "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, -(long)sizeof expected, SEEK_END), 0);
    assert_int_equal(fread(expected, sizeof *expected, N, f), N);
    fclose(f);
    assert_memory_equal(label, expected, sizeof label);
    assert_fails(coke_run_labels(r, 2, label), COKE_EUSAGE, "0..1");
    coke_run_free(r);
    r = open_run("run/final.safetensors");
    assert_int_equal(coke_run_images(r), 0);
    assert_fails(coke_run_labels(r, 0, label), COKE_EUSAGE, "no clusters");
    coke_run_free(r);
}

static void a_sheet_has_a_tile_per_image(void **state)
{
    (void)state;
    struct coke_dataset *d = open_data("synthetic:n=30,size=8", CK_SPLIT_TRAIN);
    struct ck_image_info info;
    int64_t image[5] = {0, 7, -1, 29, 7};
    void *bytes = NULL;
    size_t size = 0;
    assert_ok(coke_dataset_sheet(d, image, 5, 3, 16, &bytes, &size));
    assert_ok(ck_codec_probe(bytes, size, "sheet", &info));
    assert_int_equal(info.kind, CK_CODEC_JPEG);
    assert_int_equal(info.width, 48);
    assert_int_equal(info.height, 32);
    coke_bytes_free(bytes);
    image[1] = 30;
    assert_fails(coke_dataset_sheet(d, image, 5, 3, 16, &bytes, &size), COKE_EUSAGE,
                 "30 of 30");
    assert_null(bytes);
    assert_fails(coke_dataset_sheet(d, image, 257, 3, 16, &bytes, &size), COKE_EUSAGE, "256");
    coke_dataset_free(d);
}

static void images_that_cannot_be_read(void **state)
{
    (void)state;
    struct coke_dataset *d = open_data("synthetic:n=4,size=8", CK_SPLIT_TRAIN);
    const int32_t all[] = {0, 0, 1, 1};
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    struct coke_embed_summary e = COKE_INIT(struct coke_embed_summary);
    int32_t cluster[5];
    float similarity[5];
    struct coke_knn_result knn = COKE_INIT(struct coke_knn_result);
    struct ck_knn_options ko = ck_knn_options_default();
    assert_ok(coke_dataset_sort(d, all, 2, "few", COKE_SORT_COPY, NULL, &s));
    coke_dataset_free(d);
    write_text("few/cluster-0/broken.png", "no image");
    struct coke_run *r = open_run("run");
    d = open_data("few", CK_SPLIT_TRAIN);
    assert_fails(coke_run_embed(r, d, COKE_OUTPUT_FEATURES, "f.npy", 0, NULL, &e), COKE_EFORMAT,
                 "broken.png");
    assert_int_not_equal(access("f.npy", F_OK), 0);
    coke_run_free(r);
    use.bad = 1;
    r = open_run("run");
    use.bad = 0;
    assert_ok(coke_run_embed(r, d, COKE_OUTPUT_FEATURES, "f.npy", 0, NULL, &e));
    assert_int_equal(e.bad, 1);
    assert_ok(coke_run_assign(r, d, 0, NULL, cluster, similarity, NULL));
    assert_int_equal(cluster[0], -1); /* broken.png is the first by name */
    assert_true(cluster[1] >= 0);
    assert_ok(coke_eval_knn(
        &(struct coke_eval_input){sizeof(struct coke_eval_input), r, d, NULL, NULL},
        AS(knn, &ko), &knn));
    assert_int_equal(knn.bank, 4);
    assert_int_equal(knn.bad, 1);
    coke_dataset_free(d);
    coke_run_free(r);
}

static void other_channels_are_told(void **state)
{
    (void)state;
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_run *r = open_run("run");
    struct coke_dataset *d;
    struct coke_embed_summary e = COKE_INIT(struct coke_embed_summary);
    o.channels = 1;
    assert_ok(coke_dataset_open(&d, "synthetic:n=4,size=8", AS(dataset, &o)));
    assert_fails(coke_run_embed(r, d, COKE_OUTPUT_PROJ, "c.npy", 0, NULL, &e), COKE_EUSAGE,
                 "images of 1 channel, the encoder in run/last.safetensors takes 3");
    coke_dataset_free(d);
    coke_run_free(r);
}

/* ---- judge ---- */

struct parts {
    struct coke_run *run;
    struct coke_dataset *train, *test;
    struct coke_eval_input in;
};

static struct parts open_parts(void)
{
    struct parts p = {open_run("run"),
                      open_data("synthetic:n=60,size=8", CK_SPLIT_TRAIN),
                      open_data("synthetic:n=40,size=8", CK_SPLIT_TEST),
                      {0}};
    p.in =
        (struct coke_eval_input){sizeof(struct coke_eval_input), p.run, p.train, p.test, NULL};
    return p;
}

static void close_parts(struct parts *p)
{
    coke_dataset_free(p->train);
    coke_dataset_free(p->test);
    coke_run_free(p->run);
}

static void every_protocol_gives_numbers(void **state)
{
    (void)state;
    struct parts p = open_parts();
    struct coke_knn_result knn = COKE_INIT(struct coke_knn_result);
    struct coke_clusters_result c = COKE_INIT(struct coke_clusters_result);
    struct coke_classifier_result t = COKE_INIT(struct coke_classifier_result);
    struct ck_knn_options ko = ck_knn_options_default();
    struct ck_linear_options lo = ck_linear_options_default();
    struct ck_finetune_options fo = ck_finetune_options_default();
    assert_ok(coke_eval_knn(&p.in, AS(knn, &ko), &knn));
    assert_int_equal(knn.n, 2);
    assert_int_equal(knn.k[1], 200);
    assert_int_equal(knn.bank, 60);
    assert_int_equal(knn.asked, 40);
    assert_ok(coke_eval_cluster(&p.in, &c));
    assert_int_equal(c.heads, 2);
    assert_int_equal(c.classes, 10);
    assert_int_equal(c.matched, 1);
    assert_true(c.head[1].many_to_one >= c.head[1].accuracy);
    lo.sweep = 1;
    lo.trials = 2;
    lo.epochs = 5;
    assert_ok(coke_eval_linear(&p.in, AS(linear, &lo), &t));
    assert_int_equal(t.n, 8);
    assert_int_equal(t.test, 40);
    assert_in_range(t.best, 0, 7);
    assert_close(t.row[4].rate, 0.3, 1e-12);
    lo.sweep = 0;
    lo.augment = 1;
    lo.protocol = CK_LINEAR_ABLATION;
    assert_ok(coke_eval_linear(&p.in, AS(linear, &lo), &t));
    assert_int_equal(t.n, 1);
    assert_true(t.row[0].rate == 1 && t.batch == 256);
    fo.epochs = 1;
    fo.weight_decay = 0;
    assert_ok(coke_eval_finetune(&p.in, AS(finetune, &fo), &t));
    assert_int_equal(t.n, 4);
    assert_true(t.row[0].rate == 1 && t.row[3].rate == 0.001);
    close_parts(&p);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
    (void)state;
    struct parts p = open_parts();
    struct coke_classifier_result a = COKE_INIT(struct coke_classifier_result), b = a, c = a;
    struct ck_linear_options o = ck_linear_options_default();
    o.epochs = 3;
    o.batch = 7;
    o.augment = 1;
    assert_ok(coke_eval_linear(&p.in, AS(linear, &o), &a));
    assert_ok(coke_eval_linear(&p.in, AS(linear, &o), &b));
    o.seed = 2;
    assert_ok(coke_eval_linear(&p.in, AS(linear, &o), &c));
    assert_true(a.row[0].loss == b.row[0].loss);
    assert_true(a.row[0].loss != c.row[0].loss);
    close_parts(&p);
}

static void labels_that_are_of_no_use_are_told(void **state)
{
    (void)state;
    struct parts p = open_parts();
    struct coke_knn_result knn = COKE_INIT(struct coke_knn_result);
    struct coke_classifier_result t = COKE_INIT(struct coke_classifier_result);
    struct coke_clusters_result c = COKE_INIT(struct coke_clusters_result);
    struct ck_knn_options ko = ck_knn_options_default();
    struct ck_linear_options lo = ck_linear_options_default();
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    int32_t zero[60] = {0}, two[60];
    for (int i = 0; i < 60; i++)
        two[i] = i % 2;
    assert_ok(coke_dataset_sort(p.train, zero, 1, "one", COKE_SORT_COPY, NULL, &s));
    assert_ok(coke_dataset_sort(p.train, two, 2, "two", COKE_SORT_COPY, NULL, &s));
    struct coke_dataset *one = open_data("one", CK_SPLIT_TRAIN);
    struct coke_dataset *flat = open_data("one/cluster-0", CK_SPLIT_TRAIN);
    struct coke_dataset *other = open_data("two", CK_SPLIT_TRAIN);
    struct coke_eval_input in = {sizeof in, p.run, one, p.test, NULL};
    assert_fails(coke_eval_knn(&in, AS(knn, &ko), &knn), COKE_EUSAGE,
                 "one class ('cluster-0')");
    in.train = flat;
    assert_fails(coke_eval_linear(&in, AS(linear, &lo), &t), COKE_EUSAGE, "has no labels");
    in = (struct coke_eval_input){sizeof(struct coke_eval_input), p.run, p.train, flat, NULL};
    assert_fails(coke_eval_knn(&in, AS(knn, &ko), &knn), COKE_EUSAGE,
                 "nothing to test against");
    assert_fails(coke_eval_cluster(&in, &c), COKE_EUSAGE, "has no labels");
    in.test = other;
    assert_fails(coke_eval_linear(&in, AS(linear, &lo), &t), COKE_EUSAGE,
                 "class 'cluster-0' is not among the 10 classes");
    in.test = NULL;
    assert_fails(coke_eval_linear(&in, AS(linear, &lo), &t), COKE_EUSAGE, "to test on");
    in = (struct coke_eval_input){sizeof(struct coke_eval_input), p.run, other, one,
                                  NULL}; /* a test set of one class is fine */
    lo.epochs = 1;
    assert_ok(coke_eval_linear(&in, AS(linear, &lo), &t));
    coke_dataset_free(one);
    coke_dataset_free(flat);
    coke_dataset_free(other);
    close_parts(&p);
}

static int stop(void *user, const struct coke_progress *p)
{
    (void)p;
    return --*(int *)user == 0;
}

static void a_wish_to_stop_is_heard(void **state)
{
    (void)state;
    struct parts p = open_parts();
    struct coke_classifier_result t = COKE_INIT(struct coke_classifier_result);
    struct ck_finetune_options fo = ck_finetune_options_default();
    int left = 3;
    struct coke_callbacks callbacks = {
        .size = sizeof(struct coke_callbacks), .user = &left, .progress = stop};
    p.in.callbacks = &callbacks;
    assert_fails(coke_eval_finetune(&p.in, AS(finetune, &fo), &t), COKE_ESTOPPED, "stopped");
    close_parts(&p);
}

/* ---- memory ---- */

static int use_all(void)
{
    struct coke_run *r = NULL;
    struct coke_dataset *d = NULL;
    struct ck_dataset_options o = ck_dataset_options_default();
    struct coke_embed_summary e = COKE_INIT(struct coke_embed_summary);
    struct coke_clusters_result c = COKE_INIT(struct coke_clusters_result);
    struct coke_classifier_result t = COKE_INIT(struct coke_classifier_result);
    struct ck_linear_options lo = ck_linear_options_default();
    struct ck_finetune_options fo = ck_finetune_options_default();
    int32_t cluster[12];
    float margin[12];
    lo.epochs = fo.epochs = 1;
    fo.rate = 0.01;
    fo.weight_decay = 0;
    fo.batch = 12;
    int rc = coke_run_open(&r, "run", AS(use, &use));
    if (!rc)
        rc = coke_dataset_open(&d, "synthetic:n=12,size=8", AS(dataset, &o));
    struct coke_eval_input in = {sizeof in, r, d, d, NULL};
    if (!rc)
        rc = coke_run_embed(r, d, COKE_OUTPUT_FEATURES, "m.npy", 1, NULL, &e);
    if (!rc)
        rc = coke_run_assign(r, d, 0, NULL, cluster, NULL, margin);
    if (!rc)
        rc = coke_eval_cluster(&in, &c);
    if (!rc)
        rc = coke_eval_linear(&in, AS(linear, &lo), &t);
    if (!rc)
        rc = coke_eval_finetune(&in, AS(finetune, &fo), &t);
    coke_dataset_free(d);
    coke_run_free(r);
    return rc;
}

static void memory_that_is_missing_leaks_none(void **state)
{
    (void)state;
    int failed = 0, done = 0;
    for (int nth = 1; nth < 20000 && !done; nth += 1 + nth / 8) {
        int64_t live = ck_mem_stats().live;
        ck_mem_fail_at(nth);
        int rc = use_all();
        ck_mem_fail_at(0);
        if (rc != COKE_OK && rc != COKE_ENOMEM)
            fail_msg("allocation %d: %d, \"%s\"", nth, rc, coke_last_error());
        failed += rc != COKE_OK;
        done = rc == COKE_OK && nth > 2000;
        assert_int_equal(ck_mem_stats().live, live);
    }
    assert_true(failed > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_says_what_it_is),
        cmocka_unit_test(what_is_no_encoder_is_told),
        cmocka_unit_test(a_plain_resnet_is_recognised),
        cmocka_unit_test(rows_are_the_images),
        cmocka_unit_test(margins_are_differences),
        cmocka_unit_test(labels_are_those_of_the_training),
        cmocka_unit_test(a_sheet_has_a_tile_per_image),
        cmocka_unit_test(images_that_cannot_be_read),
        cmocka_unit_test(other_channels_are_told),
        cmocka_unit_test(every_protocol_gives_numbers),
        cmocka_unit_test(the_same_seed_gives_the_same_numbers),
        cmocka_unit_test(labels_that_are_of_no_use_are_told),
        cmocka_unit_test(a_wish_to_stop_is_heard),
        cmocka_unit_test(memory_that_is_missing_leaks_none),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
