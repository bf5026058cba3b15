/* test_misuse_values.c - the rest of the list of wrong calls: rows in memory, packed states, files
 * of numbers, sheets of pictures, pages of several runs, sizes of structs. */
#include "misuse.h"

/* ---- rows ---- */

static int from_memory(int64_t n, int32_t dim, int type, int64_t stride)
{
    struct coke_memory m = {.size = sizeof m, .data = x, .n = n, .dim = dim};
    struct coke_rows *r = (struct coke_rows *)1;
    m.type = (enum coke_number)type, m.row_stride = stride, m.column_stride = sizeof(float);
    int rc = coke_rows_from_memory(&r, &m);
    if (rc && r)
        fail_msg("*out was not set to NULL");
    coke_rows_free(r);
    return rc;
}

static void rows_in_memory(void **state)
{
    struct coke_memory m = {.size = sizeof m + 1, .data = x, .n = N, .dim = DIM};
    struct coke_rows *r;
    int64_t index[2] = {0, N};
    (void)state;
    assert_ok(from_memory(N, DIM, COKE_NUMBER_F32, DIM * sizeof(float)));
    M(from_memory(0, DIM, COKE_NUMBER_F32, 16));
    M(from_memory(-1, DIM, COKE_NUMBER_F32, 16));
    M(from_memory(N, 0, COKE_NUMBER_F32, 16));
    M(from_memory(N, -1, COKE_NUMBER_F32, 16));
    M(from_memory(N, DIM, 99, 16));
    M(from_memory(N, DIM, -1, 16));
    M(from_memory(MANY, INT32_MAX, COKE_NUMBER_F32, 16));
    M(from_memory(MANY, DIM, COKE_NUMBER_F32, MANY));
    M(from_memory(N, DIM, COKE_NUMBER_F32, INT64_MIN));
    M(coke_rows_from_memory(&r, &m));
    m.size = 0;
    M(coke_rows_from_memory(&r, &m));
    M(coke_rows_read(rows, index, 2, f));
    index[1] = -1;
    M(coke_rows_read(rows, index, 2, f));
    index[1] = INT64_MIN;
    M(coke_rows_read(rows, index, 2, f));
    M(coke_rows_read(rows, index, -1, f));
    finish();
}

static void rows_that_are_changed(void **state)
{
    float y[DIM] = {1, 0, 0, 0};
    (void)state;
    M(coke_normalize(y, -1, DIM));
    M(coke_normalize(y, 1, 0));
    M(coke_normalize(y, 1, -1));
    M(coke_normalize(y, MANY, INT32_MAX));
    M(coke_kmeans_init_centers(rows, (enum coke_metric)99, K, 1, f));
    M(coke_kmeans_init_centers(rows, (enum coke_metric) - 1, K, 1, f));
    M(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, 0, 1, f));
    M(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, -1, 1, f));
    M(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, N + 1, 1, f));
    M(coke_kmeans_init_centers(rows, COKE_METRIC_COSINE, MANY, 1, f));
    finish();
}

/* ---- states without files ---- */

static int unpack_model(const void *bytes, size_t size)
{
    struct coke_model *m = (struct coke_model *)1;
    int rc = coke_model_unpack(&m, bytes, size);
    if (rc && m)
        fail_msg("*out was not set to NULL");
    coke_model_free(m);
    return rc;
}

static int unpack_kmeans(const void *bytes, size_t size)
{
    struct coke_kmeans *k = (struct coke_kmeans *)1;
    int rc = coke_kmeans_unpack(&k, bytes, size);
    if (rc && k)
        fail_msg("*out was not set to NULL");
    coke_kmeans_free(k);
    return rc;
}

static void bytes_of_other_things(void **state)
{
    void *of_model = (void *)1, *of_kmeans;
    size_t model_size, kmeans_size;
    (void)state;
    M(coke_cluster_pack(cluster, -1, &of_model, &model_size));
    MV(of_model == NULL);
    M(coke_cluster_pack(cluster, INT_MAX, &of_model, &model_size));
    assert_ok(coke_cluster_pack(cluster, 0, &of_model, &model_size));
    assert_ok(coke_kmeans_pack(km, &of_kmeans, &kmeans_size));
    MS(COKE_EFORMAT, unpack_model(of_model, 0));
    MS(COKE_EFORMAT, unpack_model(of_model, 1));
    MS(COKE_EFORMAT, unpack_model(of_model, model_size - 1));
    MS(COKE_EFORMAT, unpack_model(of_kmeans, kmeans_size));
    MS(COKE_EFORMAT, unpack_kmeans(of_kmeans, 0));
    MS(COKE_EFORMAT, unpack_kmeans(of_kmeans, kmeans_size - 1));
    MS(COKE_EFORMAT, unpack_kmeans(of_model, model_size));
    assert_ok(unpack_model(of_model, model_size));
    assert_ok(unpack_kmeans(of_kmeans, kmeans_size));
    coke_bytes_free(of_model);
    coke_bytes_free(of_kmeans);
    finish();
}

static void models_of_other_rows(void **state)
{
    struct coke_model *m = (struct coke_model *)1;
    struct coke_rows *other;
    struct coke_assign_job job = {.size = sizeof job, .labels = label};
    struct coke_head_summary s = {.size = sizeof s + 1};
    struct coke_cluster_input in = {.size = sizeof in, .rows = rows, .model = model};
    struct coke_cluster *c = (struct coke_cluster *)1;
    struct coke_options *o = set("cluster", "k", "3");
    (void)state;
    assert_ok(coke_rows_from_array(&other, x, N, DIM - 1));
    job.rows = other;
    M(coke_kmeans_to_model(&m, km, &job, NULL));
    MV(m == NULL);
    job.rows = rows;
    M(coke_kmeans_to_model(&m, km, &job, &s));
    job.bad = (enum coke_bad)99;
    M(coke_kmeans_to_model(&m, km, &job, NULL));
    job.bad = COKE_BAD_ERROR, job.constrained = 1, job.gap = NAN;
    M(coke_model_assign(model, &job, NULL));
    job.gap = -1;
    M(coke_model_assign(model, &job, NULL));
    job.gap = INFINITY;
    M(coke_model_assign(model, &job, NULL));
    job.size = 0;
    M(coke_kmeans_to_model(&m, km, &job, NULL));
    M(coke_cluster_run(&c, &in, o, NULL)); /* the model has k = 2 */
    MV(c == NULL);
    in.rows = other;
    M(coke_cluster_run(&c, &in, NULL, NULL));
    in.rows = rows, in.model = NULL, in.keep_bounds = 1;
    M(coke_cluster_run(&c, &in, o, NULL)); /* the bounds of no model */
    coke_options_free(o);
    coke_rows_free(other);
    finish();
}

/* ---- files ---- */

static void files_that_are_not_there(void **state)
{
    double *numbers = (double *)1;
    int64_t *counts = (int64_t *)1, n;
    struct coke_dataset *d = (struct coke_dataset *)1;
    struct coke_encoder *e = (struct coke_encoder *)1;
    (void)state;
    MS(COKE_EIO, coke_numbers_load("", &numbers, &n));
    MV(numbers == NULL);
    MS(COKE_EIO, coke_counts_load("none", &counts, &n));
    MV(counts == NULL);
    MS(COKE_EIO, coke_info_print("none", 0, stderr));
    MS(COKE_EIO, coke_info_print("", 1, stderr));
    MS(COKE_EIO, coke_info_print_rows("", NULL, 0, stderr));
    M(coke_info_print_rows("made/labels.npy", options, 0, stderr)); /* another kind */
    MS(COKE_EIO, coke_options_load_json(options, "none"));
    M(coke_dataset_open_embedded(&d, "made/labels.npy"));
    MV(d == NULL);
    MS(COKE_EIO, coke_encoder_open(&e, ""));
    MV(e == NULL);
    M(coke_npy_write_i64("a.npy", &n, -1, 0));
    M(coke_npy_write_i64("a.npy", &n, MANY, 0));
    M(coke_npy_write_i32("a.npy", label, MANY, 0));
    M(coke_cluster_write(cluster, "made", 0)); /* there is one */
    M(coke_model_save(model, "made/model.safetensors", 0));
    MS(COKE_EIO, coke_cluster_write(cluster, "", 0));
    MV(access("a.npy", F_OK) != 0);
    finish();
}

/* ---- images ---- */

static int sheet(int64_t first, int n, int columns, int side)
{
    int64_t image[300] = {first};
    void *bytes = (void *)1;
    size_t size = 1;
    int rc = coke_dataset_sheet(data, image, n, columns, side, &bytes, &size);
    if (rc && bytes)
        fail_msg("*bytes was not set to NULL");
    coke_bytes_free(bytes);
    return rc;
}

static void sheets_of_pictures(void **state)
{
    (void)state;
    assert_ok(sheet(-1, 1, 1, 8));
    M(sheet(0, 0, 1, 8));
    M(sheet(0, -1, 1, 8));
    M(sheet(0, 257, 1, 8));
    M(sheet(0, 1, 0, 8));
    M(sheet(0, 1, -1, 8));
    M(sheet(0, 1, INT_MAX, 8));
    M(sheet(0, 1, 1, 0));
    M(sheet(0, 1, 1, -8));
    M(sheet(0, 1, 1, INT_MAX));
    M(sheet(8, 1, 1, 8)); /* of 8 images */
    M(sheet(-2, 1, 1, 8));
    M(sheet(INT64_MAX, 1, 1, 8));
    finish();
}

static void clusters_beyond_their_number(void **state)
{
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    int32_t of[8] = {0, 1, 2};
    (void)state;
    M(coke_dataset_sort(data, of, 2, "s", COKE_SORT_COPY, NULL, &s));
    of[2] = -2;
    M(coke_dataset_sort(data, of, 2, "s", COKE_SORT_COPY, NULL, &s));
    of[2] = 0, s.size = 0;
    M(coke_dataset_sort(data, of, 2, "s", COKE_SORT_COPY, NULL, &s));
    M(coke_dataset_sort(data, of, 2, "s", COKE_SORT_COPY, NULL, NULL));
    MV(access("s", F_OK) != 0);
    finish();
}

/* ---- runs and pages ---- */

static void pages_of_several_runs(void **state)
{
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    const char *many[17];
    (void)state;
    for (int i = 0; i < 17; i++)
        many[i] = "made";
    M(coke_report_compare(many, 17, "p.html", 0, &s));
    M(coke_report_compare(many, 0, "p.html", 0, &s));
    M(coke_report_compare(many, -1, "p.html", 0, &s));
    M(coke_report_compare(many, INT_MAX, "p.html", 0, &s));
    s.size = 0;
    M(coke_report_compare(many, 2, "p.html", 0, &s));
    MV(access("p.html", F_OK) != 0);
    struct coke_eval_input in = {.size = sizeof in, .run = run, .train = data};
    struct coke_classifier_result result = COKE_INIT(struct coke_classifier_result);
    M(coke_eval_linear(&in, NULL, &result)); /* no test images */
    M(coke_eval_finetune(&in, NULL, &result));
    M(coke_run_labels(run, -1, label));
    M(coke_run_labels(run, 0, label)); /* an encoder has no heads */
    M(coke_run_labels(run, INT_MAX, label));
    finish();
}

static void clusterings_to_evaluate(void **state)
{
    struct coke_clustering_input in = {.size = sizeof in, .folder = "made"};
    struct coke_clustering_result r = COKE_INIT(struct coke_clustering_result);
    const char *const vectors[] = {NULL};
    (void)state;
    assert_ok(coke_npy_write_f32("x.npy", x, N, DIM, 0));
    in.nvectors = -1;
    M(coke_eval_clustering(&in, &r));
    in.nvectors = 1, in.vectors = vectors;
    M(coke_eval_clustering(&in, &r));
    in.vectors = paths, in.sample = -1;
    M(coke_eval_clustering(&in, &r));
    in.sample = 0, in.rows = options; /* another kind */
    M(coke_eval_clustering(&in, &r));
    in.rows = NULL, r.size = 0;
    M(coke_eval_clustering(&in, &r));
    r.size = sizeof r, in.size = sizeof in + 1;
    M(coke_eval_clustering(&in, &r));
    finish();
}

static void groups_of_one(void **state)
{
    (void)state;
    MV(coke_group_rank() == 0);
    MV(coke_group_size() == 1);
    MV(coke_group_leave(COKE_OK) == COKE_OK); /* without having joined */
    MS(COKE_EFORMAT, coke_tune("made/labels.npy"));
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_memory),
        cmocka_unit_test(rows_that_are_changed),
        cmocka_unit_test(bytes_of_other_things),
        cmocka_unit_test(models_of_other_rows),
        cmocka_unit_test(files_that_are_not_there),
        cmocka_unit_test(sheets_of_pictures),
        cmocka_unit_test(clusters_beyond_their_number),
        cmocka_unit_test(pages_of_several_runs),
        cmocka_unit_test(clusterings_to_evaluate),
        cmocka_unit_test(groups_of_one),
    };
    return cmocka_run_group_tests_name("misuse of values", tests, set_up, tear_down);
}
