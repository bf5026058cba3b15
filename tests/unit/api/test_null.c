/* test_null.c - every public function with NULL for each of its pointers: a sentence that names
 * the function, or a defined value; never a crash. */
#include "api_objects.h"

static int64_t count[N], n;
static double real, *reals;
static int64_t *counts;
static char text[64];

/* ---- functions that return a status ---- */

/* The call must fail with a sentence that begins with the function's name. */
#define REFUSES(call)                                                                          \
    do {                                                                                       \
        const char *open_ = strchr(#call, '(');                                                \
        size_t length_ = (size_t)(open_ - #call);                                              \
        int rc_ = call;                                                                        \
        if (rc_ != COKE_EUSAGE || strncmp(coke_last_error(), #call, length_) != 0)             \
            fail_msg("%s: %d, \"%s\"", #call, rc_, coke_last_error());                         \
    } while (0)

static void options_refuse_null(void **state)
{
    struct coke_options *o;
    struct coke_option_info info = COKE_INIT(struct coke_option_info);
    (void)state;
    REFUSES(coke_options_new(NULL, "train"));
    REFUSES(coke_options_new(&o, NULL));
    assert_null(o);
    REFUSES(coke_options_define(NULL, &info, 1));
    REFUSES(coke_options_define(&o, NULL, 1));
    REFUSES(coke_options_copy(NULL, options));
    REFUSES(coke_options_copy(&o, NULL));
    REFUSES(coke_options_set(NULL, "k", "1"));
    REFUSES(coke_options_set(options, NULL, "1"));
    REFUSES(coke_options_set(options, "k", NULL));
    REFUSES(coke_options_set_int(NULL, "epochs", 1));
    REFUSES(coke_options_set_int(options, NULL, 1));
    REFUSES(coke_options_set_float(NULL, "ratio", 1));
    REFUSES(coke_options_set_float(options, NULL, 1));
    REFUSES(coke_options_get(NULL, "k", text, sizeof text));
    REFUSES(coke_options_get(options, NULL, text, sizeof text));
    REFUSES(coke_options_get(options, "k", NULL, sizeof text));
    REFUSES(coke_options_get_int(NULL, "epochs", &n));
    REFUSES(coke_options_get_int(options, NULL, &n));
    REFUSES(coke_options_get_int(options, "epochs", NULL));
    REFUSES(coke_options_get_float(NULL, "ratio", &real));
    REFUSES(coke_options_get_float(options, NULL, &real));
    REFUSES(coke_options_get_float(options, "ratio", NULL));
    REFUSES(coke_options_load_json(NULL, "x"));
    REFUSES(coke_options_load_json(options, NULL));
    REFUSES(coke_options_print_json(NULL, stdout));
    REFUSES(coke_options_print_json(options, NULL));
    REFUSES(coke_options_describe(NULL, 0, &info));
    REFUSES(coke_options_describe(options, 0, NULL));
}

static void clusterings_refuse_null(void **state)
{
    struct coke_cluster *c = (struct coke_cluster *)1;
    struct coke_cluster_input in = COKE_INIT(struct coke_cluster_input);
    struct coke_agreement_scores a = COKE_INIT(struct coke_agreement_scores);
    struct coke_assign_job job = COKE_INIT(struct coke_assign_job);
    struct coke_model *m = (struct coke_model *)1;
    struct coke_memory memory = COKE_INIT(struct coke_memory);
    struct coke_rows *r = (struct coke_rows *)1;
    static const char *const no_path[] = {NULL};
    (void)state;
    REFUSES(coke_cluster_array(NULL, N, DIM, K, NULL, label, NULL));
    REFUSES(coke_cluster_array(x, N, DIM, K, NULL, NULL, NULL));
    REFUSES(coke_rows_from_array(NULL, x, N, DIM));
    REFUSES(coke_rows_from_array(&r, NULL, N, DIM));
    assert_null(r);
    REFUSES(coke_rows_from_memory(NULL, &memory));
    REFUSES(coke_rows_from_memory(&r, NULL));
    REFUSES(coke_rows_from_memory(&r, &memory)); /* no data */
    REFUSES(coke_rows_read(NULL, count, 1, x));
    REFUSES(coke_rows_read(rows, NULL, 1, x));
    REFUSES(coke_rows_read(rows, count, 1, NULL));
    REFUSES(coke_rows_open(NULL, paths, 1, NULL));
    REFUSES(coke_rows_open(&r, NULL, 1, NULL));
    REFUSES(coke_rows_open(&r, no_path, 1, NULL));
    REFUSES(coke_cluster_run(NULL, &in, NULL, NULL));
    REFUSES(coke_cluster_run(&c, NULL, NULL, NULL));
    assert_null(c);
    REFUSES(coke_cluster_run(&c, &in, NULL, NULL)); /* no rows */
    REFUSES(coke_cluster_labels(NULL, 0, label));
    REFUSES(coke_cluster_labels(cluster, 0, NULL));
    REFUSES(coke_cluster_labels(cluster, 1, label));
    REFUSES(coke_cluster_write(NULL, "d", 0));
    REFUSES(coke_cluster_write(cluster, NULL, 0));
    REFUSES(coke_model_load(NULL, "made"));
    REFUSES(coke_model_load(&m, NULL));
    assert_null(m);
    REFUSES(coke_normalize(NULL, 1, 1));
    REFUSES(coke_kmeans_init_centers(NULL, COKE_METRIC_COSINE, K, 1, f));
    REFUSES(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, K, 1, NULL));
    REFUSES(coke_kmeans_to_model(NULL, km, NULL, NULL));
    REFUSES(coke_kmeans_to_model(&m, NULL, NULL, NULL));
    assert_null(m);
    REFUSES(coke_kmeans_to_model(&m, km, &job, NULL)); /* no rows */
    REFUSES(coke_model_save(NULL, "x", 0));
    REFUSES(coke_model_save(model, NULL, 0));
    REFUSES(coke_model_centers(NULL, f));
    REFUSES(coke_model_centers(model, NULL));
    REFUSES(coke_model_assign(NULL, &job, NULL));
    REFUSES(coke_model_assign(model, NULL, NULL));
    REFUSES(coke_model_assign(model, &job, NULL)); /* no rows */
    job.rows = rows;
    REFUSES(coke_model_assign(model, &job, NULL)); /* no labels */
    REFUSES(coke_agreement(NULL, label, N, 2, 2, &a));
    REFUSES(coke_agreement(label, NULL, N, 2, 2, &a));
    REFUSES(coke_agreement(label, label, N, 2, 2, NULL));
}

static void bytes_refuse_null(void **state)
{
    struct coke_model *m = (struct coke_model *)1;
    struct coke_kmeans *k = (struct coke_kmeans *)1;
    void *bytes = text;
    size_t size;
    (void)state;
    REFUSES(coke_cluster_pack(NULL, 0, &bytes, &size));
    REFUSES(coke_cluster_pack(cluster, 0, NULL, &size));
    REFUSES(coke_cluster_pack(cluster, 0, &bytes, NULL));
    REFUSES(coke_cluster_pack(cluster, 1, &bytes, &size));
    REFUSES(coke_model_unpack(NULL, text, 1));
    REFUSES(coke_model_unpack(&m, NULL, 1));
    assert_null(m);
    REFUSES(coke_kmeans_pack(NULL, &bytes, &size));
    REFUSES(coke_kmeans_pack(km, NULL, &size));
    REFUSES(coke_kmeans_pack(km, &bytes, NULL));
    REFUSES(coke_kmeans_unpack(NULL, text, 1));
    REFUSES(coke_kmeans_unpack(&k, NULL, 1));
    assert_null(k);
}

static void batches_refuse_null(void **state)
{
    struct coke_kmeans *k = (struct coke_kmeans *)1;
    struct coke_multihead *m = (struct coke_multihead *)1;
    struct coke_kmeans *none = NULL;
    (void)state;
    REFUSES(coke_kmeans_new(NULL, NULL, f, NULL, NULL));
    REFUSES(coke_kmeans_new(&k, NULL, NULL, NULL, NULL));
    assert_null(k);
    REFUSES(coke_kmeans_step(NULL, x, NULL, N, label));
    REFUSES(coke_kmeans_step(km, NULL, NULL, N, label));
    REFUSES(coke_kmeans_step(km, x, NULL, N, NULL));
    REFUSES(coke_kmeans_step(km, x, NULL, 0, label));
    REFUSES(coke_kmeans_epoch_end(NULL));
    REFUSES(coke_kmeans_predict(NULL, x, N, label, NULL));
    REFUSES(coke_kmeans_predict(km, NULL, N, label, NULL));
    REFUSES(coke_kmeans_predict(km, x, N, NULL, NULL));
    REFUSES(coke_kmeans_copy(NULL, COKE_ARRAY_DUALS, f, K));
    REFUSES(coke_kmeans_copy(km, COKE_ARRAY_DUALS, NULL, K));
    REFUSES(coke_kmeans_soft_targets(NULL, count, 1, f));
    REFUSES(coke_kmeans_soft_targets(km, NULL, 1, f));
    REFUSES(coke_kmeans_soft_targets(km, count, 1, NULL));
    REFUSES(coke_kmeans_save(NULL, "k", 0));
    REFUSES(coke_kmeans_save(km, NULL, 0));
    REFUSES(coke_kmeans_load(NULL, "k"));
    REFUSES(coke_kmeans_load(&k, NULL));
    REFUSES(coke_multihead_new(NULL, &km, 1));
    REFUSES(coke_multihead_new(&m, NULL, 1));
    assert_null(m);
    assert_fails(coke_multihead_new(&m, &none, 1), COKE_EUSAGE, "head 0 is NULL");
    assert_fails(coke_multihead_new(&m, (struct coke_kmeans *[]){km, km}, 2), COKE_EUSAGE,
                 "heads 0 and 1 are the same object");
    REFUSES(coke_multihead_step(NULL, x, NULL, N, label));
    REFUSES(coke_multihead_step(mh, NULL, NULL, N, label));
    REFUSES(coke_multihead_step(mh, x, NULL, N, NULL));
    REFUSES(coke_multihead_epoch_end(NULL));
}

static void files_refuse_null(void **state)
{
    (void)state;
    REFUSES(coke_numbers_load(NULL, &reals, &n));
    REFUSES(coke_numbers_load("x", NULL, &n));
    REFUSES(coke_numbers_load("x", &reals, NULL));
    REFUSES(coke_counts_load(NULL, &counts, &n));
    REFUSES(coke_counts_load("x", NULL, &n));
    REFUSES(coke_counts_load("x", &counts, NULL));
    REFUSES(coke_npy_write_i32(NULL, label, 1, 0));
    REFUSES(coke_npy_write_i32("x", NULL, 1, 0));
    REFUSES(coke_npy_write_i64(NULL, count, 1, 0));
    REFUSES(coke_npy_write_i64("x", NULL, 1, 0));
    REFUSES(coke_npy_write_f32(NULL, f, 1, 1, 0));
    REFUSES(coke_npy_write_f32("x", NULL, 1, 1, 0));
    REFUSES(coke_file_write(NULL, "b", 1, 0));
    REFUSES(coke_file_write("x", NULL, 1, 0));
    REFUSES(coke_info_print(NULL, 0, stdout));
    REFUSES(coke_info_print("x", 0, NULL));
    REFUSES(coke_info_print_rows(NULL, NULL, 0, stdout));
    REFUSES(coke_info_print_rows("x", NULL, 0, NULL));
    REFUSES(coke_synthetic_fill(NULL, 1, 1, 1, 1));
}

static void images_refuse_null(void **state)
{
    struct coke_dataset *d = (struct coke_dataset *)1;
    struct coke_loader *l = (struct coke_loader *)1;
    struct coke_verify_summary v = COKE_INIT(struct coke_verify_summary);
    struct coke_pack_summary p = COKE_INIT(struct coke_pack_summary);
    struct coke_batch b = COKE_INIT(struct coke_batch);
    int64_t image[1] = {0};
    void *bytes = NULL;
    size_t size;
    (void)state;
    REFUSES(coke_dataset_open(NULL, "synthetic:", NULL));
    REFUSES(coke_dataset_open(&d, NULL, NULL));
    REFUSES(coke_dataset_open_embedded(NULL, "x.npy"));
    REFUSES(coke_dataset_open_embedded(&d, NULL));
    assert_null(d);
    REFUSES(coke_dataset_print(NULL, 0, stdout));
    REFUSES(coke_dataset_print(data, 0, NULL));
    REFUSES(coke_dataset_verify(NULL, NULL, &v));
    REFUSES(coke_dataset_verify(data, NULL, NULL));
    REFUSES(coke_dataset_pack(NULL, "p", NULL, 0, NULL, &p));
    REFUSES(coke_dataset_pack(data, NULL, NULL, 0, NULL, &p));
    REFUSES(coke_dataset_pack(data, "p", NULL, 0, NULL, NULL));
    REFUSES(coke_dataset_preview(NULL, NULL, 1, 1, "p", 0));
    REFUSES(coke_dataset_preview(data, NULL, 1, 1, NULL, 0));
    REFUSES(coke_dataset_sheet(NULL, image, 1, 1, 8, &bytes, &size));
    REFUSES(coke_dataset_sheet(data, NULL, 1, 1, 8, &bytes, &size));
    REFUSES(coke_dataset_sheet(data, image, 1, 1, 8, NULL, &size));
    REFUSES(coke_dataset_sheet(data, image, 1, 1, 8, &bytes, NULL));
    REFUSES(coke_dataset_sort(NULL, label, 2, "s", COKE_SORT_COPY, NULL, NULL));
    REFUSES(coke_dataset_sort(data, label, 2, NULL, COKE_SORT_COPY, NULL, NULL));
    REFUSES(coke_loader_new(NULL, data, NULL));
    REFUSES(coke_loader_new(&l, NULL, NULL));
    assert_null(l);
    REFUSES(coke_loader_seek(NULL, 0, 0));
    REFUSES(coke_loader_next(NULL, &b));
    REFUSES(coke_loader_next(loader, NULL));
}

static void networks_refuse_null(void **state)
{
    struct coke_encoder *e = (struct coke_encoder *)1;
    struct coke_plan *p = (struct coke_plan *)1;
    struct coke_optimizer *q = (struct coke_optimizer *)1;
    struct coke_options *o;
    struct coke_gradients g = COKE_INIT(struct coke_gradients);
    struct coke_loss_input in = COKE_INIT(struct coke_loss_input);
    struct coke_loss_output out = COKE_INIT(struct coke_loss_output);
    (void)state;
    REFUSES(coke_encoder_new(NULL, NULL));
    REFUSES(coke_encoder_options(NULL, &o));
    REFUSES(coke_encoder_options(encoder, NULL));
    REFUSES(coke_encoder_open(NULL, "e"));
    REFUSES(coke_encoder_open(&e, NULL));
    assert_null(e);
    REFUSES(coke_encoder_save(NULL, "e", 0));
    REFUSES(coke_encoder_save(encoder, NULL, 0));
    REFUSES(coke_encoder_load_weights(NULL, "e", NULL));
    REFUSES(coke_encoder_load_weights(encoder, NULL, NULL));
    REFUSES(coke_plan_new(NULL, encoder, NULL, NULL));
    REFUSES(coke_plan_new(&p, NULL, NULL, NULL));
    assert_null(p);
    REFUSES(coke_plan_forward(NULL, f));
    REFUSES(coke_plan_forward(plan, NULL));
    REFUSES(coke_plan_backward(NULL, &g));
    REFUSES(coke_plan_backward(plan, NULL));
    REFUSES(coke_optimizer_new(NULL, encoder, NULL));
    REFUSES(coke_optimizer_new(&q, NULL, NULL));
    assert_null(q);
    REFUSES(coke_optimizer_step(NULL, 0.1));
    REFUSES(coke_loss_new(NULL, NULL));
    REFUSES(coke_loss_step(NULL, &in, &out));
    REFUSES(coke_loss_step(loss, NULL, &out));
    REFUSES(coke_loss_step(loss, &in, NULL));
    REFUSES(coke_loss_step(loss, &in, &out)); /* no vectors */
    REFUSES(coke_schedule_rate(1, 2, 0, 1, 0, 0, NULL));
}

static void runs_refuse_null(void **state)
{
    struct coke_run *r = (struct coke_run *)1;
    struct coke_embed_summary e = COKE_INIT(struct coke_embed_summary);
    struct coke_eval_input in = COKE_INIT(struct coke_eval_input);
    struct coke_knn_result knn = COKE_INIT(struct coke_knn_result);
    struct coke_classifier_result c = COKE_INIT(struct coke_classifier_result);
    struct coke_clusters_result h = COKE_INIT(struct coke_clusters_result);
    (void)state;
    REFUSES(coke_train_preset(NULL, "demo"));
    REFUSES(coke_train_preset(options, NULL));
    REFUSES(coke_train_run(NULL, NULL, "r", NULL, NULL, NULL));
    REFUSES(coke_train_run(data, NULL, NULL, NULL, NULL, NULL));
    REFUSES(coke_run_open(NULL, "r", NULL));
    REFUSES(coke_run_open(&r, NULL, NULL));
    assert_null(r);
    REFUSES(coke_run_embed(NULL, data, COKE_OUTPUT_FEATURES, "f", 0, NULL, &e));
    REFUSES(coke_run_embed(run, NULL, COKE_OUTPUT_FEATURES, "f", 0, NULL, &e));
    REFUSES(coke_run_embed(run, data, COKE_OUTPUT_FEATURES, NULL, 0, NULL, &e));
    REFUSES(coke_run_embed(run, data, COKE_OUTPUT_FEATURES, "f", 0, NULL, NULL));
    REFUSES(coke_run_labels(NULL, 0, label));
    REFUSES(coke_run_labels(run, 0, NULL));
    REFUSES(coke_run_assign(NULL, data, 0, NULL, label, NULL, NULL));
    REFUSES(coke_run_assign(run, NULL, 0, NULL, label, NULL, NULL));
    REFUSES(coke_run_assign(run, data, 0, NULL, NULL, NULL, NULL));
    REFUSES(coke_eval_knn(NULL, NULL, &knn));
    REFUSES(coke_eval_knn(&in, NULL, &knn)); /* no run */
    in.run = run;
    REFUSES(coke_eval_knn(&in, NULL, &knn)); /* no train images */
    REFUSES(coke_eval_linear(NULL, NULL, &c));
    REFUSES(coke_eval_linear(&in, NULL, &c));
    REFUSES(coke_eval_finetune(NULL, NULL, &c));
    REFUSES(coke_eval_finetune(&in, NULL, &c));
    REFUSES(coke_eval_cluster(NULL, &h));
    REFUSES(coke_eval_cluster(&in, &h)); /* no test images */
    in.train = in.test = data;
    REFUSES(coke_eval_knn(&in, NULL, NULL));
    REFUSES(coke_eval_linear(&in, NULL, NULL));
    REFUSES(coke_eval_finetune(&in, NULL, NULL));
    REFUSES(coke_eval_cluster(&in, NULL));
    struct coke_clustering_input of = COKE_INIT(struct coke_clustering_input);
    struct coke_clustering_result result = COKE_INIT(struct coke_clustering_result);
    REFUSES(coke_eval_clustering(NULL, &result));
    REFUSES(coke_eval_clustering(&of, &result)); /* no folder */
    of.folder = "made";
    REFUSES(coke_eval_clustering(&of, NULL));
    of.nvectors = 1;
    REFUSES(coke_eval_clustering(&of, &result)); /* no vectors */
}

static void pages_and_exchange_refuse_null(void **state)
{
    struct coke_report_input in = COKE_INIT(struct coke_report_input);
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    struct coke_exchange_summary x_ = COKE_INIT(struct coke_exchange_summary);
    (void)state;
    REFUSES(coke_report_write(NULL, NULL, "p", NULL, 0, &s));
    REFUSES(coke_report_write(&in, NULL, "p", NULL, 0, &s)); /* no source */
    in.source = "made";
    REFUSES(coke_report_write(&in, NULL, NULL, NULL, 0, &s));
    REFUSES(coke_report_write(&in, NULL, "p", NULL, 0, NULL));
    const char *const runs[] = {"a", NULL};
    REFUSES(coke_report_compare(NULL, 1, "p", 0, &s));
    REFUSES(coke_report_compare(runs, 2, "p", 0, &s)); /* no second folder */
    REFUSES(coke_report_compare(runs, 1, NULL, 0, &s));
    REFUSES(coke_report_compare(runs, 1, "p", 0, NULL));
    REFUSES(coke_export(NULL, "p", NULL, 0, &x_));
    REFUSES(coke_export("s", NULL, NULL, 0, &x_));
    REFUSES(coke_export("s", "p", NULL, 0, NULL));
    REFUSES(coke_import(NULL, "p", NULL, 0, &x_));
    REFUSES(coke_import("s", NULL, NULL, 0, &x_));
    REFUSES(coke_import("s", "p", NULL, 0, NULL));
}

/* ---- functions that return a value ---- */

static void accessors_have_a_value_for_null(void **state)
{
    const char *sentence = "x";
    int32_t dim = 7;
    (void)state;
    assert_string_equal(coke_options_kind(NULL), "");
    assert_int_equal(coke_options_count(NULL), 0);
    assert_null(coke_nearest(NULL, paths, 1));
    assert_null(coke_nearest("x", NULL, 1));
    assert_int_equal(coke_rows_count(NULL), 0);
    assert_int_equal(coke_rows_dim(NULL), 0);
    assert_string_equal(coke_rows_note(NULL), "");
    assert_int_equal(coke_cluster_heads(NULL), 0);
    assert_null(coke_cluster_summary(NULL, 0));
    assert_null(coke_cluster_timing(NULL));
    assert_null(coke_cluster_centers(NULL, 0));
    assert_int_equal(coke_model_k(NULL), 0);
    assert_int_equal(coke_model_dim(NULL), 0);
    assert_null(coke_multihead_head(NULL, 0));
    assert_int_equal(coke_dataset_count(NULL), 0);
    assert_int_equal(coke_dataset_channels(NULL), 0);
    assert_int_equal(coke_dataset_classes(NULL), 0);
    assert_null(coke_dataset_class_name(NULL, 0));
    assert_int_equal(coke_dataset_label(NULL, 0), -1);
    coke_dataset_name(NULL, 0, text, sizeof text);
    assert_string_equal(text, "");
    coke_dataset_name(data, 0, NULL, 8);
    coke_text_clean(NULL, text, sizeof text);
    assert_string_equal(text, "");
    coke_text_clean("a", NULL, 8);
    coke_text_clean("a", text, 0);
    assert_string_equal(coke_dataset_note(NULL), "");
    assert_int_equal(coke_dataset_has_split(NULL), 0);
    assert_int_equal(coke_loader_steps(NULL), 0);
    assert_true(coke_loader_waited(NULL) <= 0);
    assert_int_equal(coke_loader_bytes(NULL), 0);
    assert_int_equal(coke_loader_bad_count(NULL), 0);
    assert_int_equal(coke_loader_bad(NULL, 0, &sentence), -1);
    assert_null(sentence);
    assert_int_equal(coke_encoder_size(NULL), 0);
    assert_null(coke_encoder_tensor(NULL, "conv1.weight", &n));
    assert_null(coke_encoder_tensor(encoder, NULL, NULL));
    assert_null(coke_encoder_gradient(NULL, "conv1.weight", &n));
    coke_encoder_touch(NULL);
    coke_encoder_zero_grad(NULL);
    assert_null(coke_plan_output(NULL, COKE_OUTPUT_PROJ, &dim));
    assert_int_equal(dim, 0);
    assert_int_equal(coke_plan_bytes(NULL), 0);
    assert_null(coke_json_open(NULL, COKE_JSON_STYLE_LINE));
    coke_json_begin_object(NULL, "x");
    coke_json_begin_array(NULL, "x");
    coke_json_end(NULL);
    coke_json_put_int(NULL, "x", 1);
    coke_json_put_real(NULL, "x", 1);
    coke_json_put_fixed(NULL, "x", 1, 2);
    coke_json_put_flag(NULL, "x", 1);
    coke_json_put_text(NULL, "x", "y");
    assert_int_equal(coke_json_close(NULL), COKE_ENOMEM);
    assert_ok(coke_tune(NULL)); /* the built-in table */
    assert_int_equal(coke_run_is(NULL), 0);
    assert_string_equal(coke_run_weights(NULL), "");
    assert_int_equal(coke_run_epoch(NULL), -1);
    assert_int_equal(coke_run_channels(NULL), 0);
    assert_int_equal(coke_run_image_size(NULL, data), 0);
    assert_int_equal(coke_run_image_size(run, NULL), 0);
    assert_int_equal(coke_run_heads(NULL), 0);
    assert_int_equal(coke_run_k(NULL, 0), 0);
    assert_int_equal(coke_run_match(NULL, 2), -1);
    assert_int_equal(coke_run_images(NULL), 0);
}

static void indices_out_of_range_have_a_value(void **state)
{
    const char *sentence = "x";
    (void)state;
    for (int i = -1; i < 100; i += 100) {
        assert_null(coke_cluster_summary(cluster, i));
        assert_null(coke_cluster_centers(cluster, i));
        assert_null(coke_multihead_head(mh, i));
        assert_null(coke_dataset_class_name(data, i));
        assert_int_equal(coke_dataset_label(data, i), -1);
        assert_int_equal(coke_loader_bad(loader, i, &sentence), -1);
        assert_null(sentence);
        assert_int_equal(coke_run_k(run, i), 0);
        assert_null(coke_train_preset_name(i));
    }
}

static void everything_can_be_freed_when_null(void **state)
{
    (void)state;
    coke_options_free(NULL);
    coke_rows_free(NULL);
    coke_cluster_free(NULL);
    coke_numbers_free(NULL);
    coke_counts_free(NULL);
    coke_model_free(NULL);
    coke_bytes_free(NULL);
    coke_kmeans_free(NULL);
    coke_multihead_free(NULL);
    coke_dataset_free(NULL);
    coke_loader_free(NULL);
    coke_encoder_free(NULL);
    coke_plan_free(NULL);
    coke_optimizer_free(NULL);
    coke_loss_free(NULL);
    coke_run_free(NULL);
}

/* ---- structs that begin with their size ---- */

static void a_size_that_is_wrong_is_refused(void **state)
{
    struct coke_cluster *c;
    struct coke_cluster_input in = {.rows = rows};
    struct coke_callbacks cb = COKE_INIT(struct coke_callbacks);
    (void)state;
    REFUSES(coke_cluster_run(&c, &in, NULL, NULL));
    assert_non_null(strstr(coke_last_error(), "input->size is 0"));
    in.size = sizeof in + 8; /* a header from the future */
    REFUSES(coke_cluster_run(&c, &in, NULL, NULL));
    in.size = sizeof in;
    cb.size = 1;
    REFUSES(coke_cluster_run(&c, &in, NULL, &cb));
    assert_non_null(strstr(coke_last_error(), "callbacks->size is 1"));
}

static void options_of_another_kind_are_refused(void **state)
{
    struct coke_dataset *d;
    (void)state;
    assert_fails(coke_dataset_open(&d, "synthetic:", options), COKE_EUSAGE, "kind 'dataset'");
    assert_null(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_refuse_null),
        cmocka_unit_test(clusterings_refuse_null),
        cmocka_unit_test(bytes_refuse_null),
        cmocka_unit_test(batches_refuse_null),
        cmocka_unit_test(files_refuse_null),
        cmocka_unit_test(images_refuse_null),
        cmocka_unit_test(networks_refuse_null),
        cmocka_unit_test(runs_refuse_null),
        cmocka_unit_test(pages_and_exchange_refuse_null),
        cmocka_unit_test(accessors_have_a_value_for_null),
        cmocka_unit_test(indices_out_of_range_have_a_value),
        cmocka_unit_test(everything_can_be_freed_when_null),
        cmocka_unit_test(a_size_that_is_wrong_is_refused),
        cmocka_unit_test(options_of_another_kind_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
