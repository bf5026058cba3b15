/* test_misuse.c - public functions with arguments that are not NULL, but wrong: counts, indices,
 * sizes, choices, kinds, overflows. COKE_EUSAGE or a defined value, never a crash. */
#include "core/options.h"
#include "misuse.h"

/* ---- options ---- */

static void options_by_name(void **state)
{
    struct coke_options *o = (struct coke_options *)1;
    char value[32];
    int64_t i;
    double d;
    (void)state;
    M(coke_options_new(&o, ""));
    MV(o == NULL);
    M(coke_options_new(&o, "TRAIN"));
    M(coke_options_set(options, "", "1"));
    M(coke_options_set(options, "k", ""));
    M(coke_options_set(options, "k", "0"));
    M(coke_options_set(options, "k", "-3"));
    M(coke_options_set(options, "k", "3,,4"));
    M(coke_options_set(options, "k", "99999999999999999999"));
    M(coke_options_set(options, "ratio", "nan"));
    M(coke_options_set(options, "ratio", "0.4x"));
    M(coke_options_set(options, "update", "sideways"));
    M(coke_options_set(options, "repair", "perhaps"));
    M(coke_options_set_int(options, "update", 99));
    M(coke_options_set_int(options, "update", -1));
    M(coke_options_set_int(options, "repair", 3));
    M(coke_options_set_int(options, "epochs", INT64_MIN));
    M(coke_options_set_int(options, "epochs", INT64_MAX));
    M(coke_options_set_float(options, "ratio", NAN));
    M(coke_options_set_float(options, "ratio", INFINITY));
    M(coke_options_set_float(options, "epochs", 1.5));
    M(coke_options_set_float(options, "epochs", 1e300));
    M(coke_options_get(options, "ratio", value, 0));
    M(coke_options_get(options, "ratio", value, 1));
    M(coke_options_get_int(options, "k", &i));
    M(coke_options_get_float(options, "k", &d));
    M(coke_options_get_int(options, "none", &i));
    finish();
}

static void options_described(void **state)
{
    struct coke_options *train = set("train", NULL, NULL);
    struct coke_option_info info = COKE_INIT(struct coke_option_info);
    static const char *const words[] = {"a", "b"};
    int64_t i;
    double d;
    (void)state;
    M(coke_options_describe(options, -1, &info));
    M(coke_options_describe(options, INT_MAX, &info));
    M(coke_options_describe(options, coke_options_count(options), &info));
    info.size = 0;
    M(coke_options_describe(options, 0, &info));
    info.size = SIZE_MAX;
    M(coke_options_describe(options, 0, &info));
    M(coke_options_set_int(train, "cache", 1)); /* texts */
    M(coke_options_set_float(train, "cache", 1));
    M(coke_options_get_int(train, "cache", &i));
    M(coke_options_get_float(train, "cache", &d));
    M(coke_train_preset(options, "demo"));
    M(coke_train_preset(train, ""));
    MV(coke_nearest("a", words, 0) == NULL);
    MV(coke_nearest("a", words, -1) == NULL);
    MV(coke_train_preset_name(INT_MIN) == NULL);
    MV(coke_train_preset_about(INT_MAX) == NULL);
    coke_options_free(train);
    finish();
}

static int define(struct coke_option_info row, int times)
{
    struct coke_option_info two[2] = {row, row};
    struct coke_options *o = (struct coke_options *)1;
    int rc = coke_options_define(&o, two, times);
    if (rc ? o != NULL : o == NULL)
        fail_msg("*out does not fit the status %d", rc);
    coke_options_free(o);
    return rc;
}

static void options_defined(void **state)
{
    struct coke_option_info good = {sizeof good, "a", COKE_OPTION_TYPE_INT, 1, 0, 2, NULL, "h"};
    struct coke_option_info r;
    (void)state;
    assert_ok(define(good, 1));
    M(define(good, 2)); /* one name twice */
    M(define(good, -1));
    M(define(good, INT_MIN));
    r = good, r.size = 0;
    M(define(r, 1));
    r = good, r.size = sizeof r + 1;
    M(define(r, 1));
    r = good, r.name = NULL;
    M(define(r, 1));
    r = good, r.name = "";
    M(define(r, 1));
    r = good, r.type = (enum coke_option_type)99;
    M(define(r, 1));
    r = good, r.type = (enum coke_option_type) - 1;
    M(define(r, 1));
    r = good, r.type = COKE_OPTION_TYPE_CHOICE;
    M(define(r, 1)); /* without choices */
    r.choices = "";
    M(define(r, 1));
    r.choices = "x|y", r.def = 2;
    M(define(r, 1));
    r = good, r.def = 3;
    M(define(r, 1));
    r = good, r.min = 3;
    M(define(r, 1));
    r = good, r.max = NAN;
    M(define(r, 1));
    r = good, r.type = COKE_OPTION_TYPE_FLAG, r.def = 7;
    M(define(r, 1));
    finish();
}

/* Choices are ints in the structs of the library. */
static void a_choice_out_of_range_has_no_word(void **state)
{
    static const int values[] = {-1, 99, INT_MIN, INT_MAX};
    struct coke_options *o = set("cluster", NULL, NULL);
    const struct ck_option *row = ck_option_require(o->table, "update");
    char word[32];
    int64_t i;
    (void)state;
    assert_non_null(row);
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        memcpy((char *)o->values + row->offset, &values[v], sizeof values[v]);
        M(coke_options_get(o, "update", word, sizeof word));
        M(coke_options_get_int(o, "update", &i));
        M(coke_options_print_json(o, stderr));
    }
    coke_options_free(o);
    finish();
}

static void options_of_the_wrong_kind(void **state)
{
    struct coke_options *o = set("pack", NULL, NULL);
    struct coke_rows *r;
    struct coke_cluster *c;
    struct coke_kmeans *k;
    struct coke_dataset *d;
    struct coke_loader *l;
    struct coke_encoder *e;
    struct coke_plan *p;
    struct coke_optimizer *q;
    struct coke_loss *s;
    struct coke_run *u;
    struct coke_cluster_input in = {.size = sizeof in, .rows = rows};
    struct coke_eval_input ev = {.size = sizeof ev, .run = run, .train = data, .test = data};
    struct coke_knn_result kr = COKE_INIT(struct coke_knn_result);
    struct coke_classifier_result cr = COKE_INIT(struct coke_classifier_result);
    struct coke_exchange_summary xs = COKE_INIT(struct coke_exchange_summary);
    (void)state;
    M(coke_cluster_array(x, N, DIM, K, o, label, NULL));
    M(coke_rows_open(&r, (const char *const[]){"x.npy"}, 1, o));
    M(coke_cluster_run(&c, &in, o, NULL));
    M(coke_kmeans_new(&k, o, x, NULL, NULL));
    M(coke_dataset_open(&d, "synthetic:", o));
    M(coke_dataset_preview(data, o, 1, 1, "p.png", 0));
    M(coke_loader_new(&l, data, o));
    M(coke_encoder_new(&e, o));
    M(coke_plan_new(&p, encoder, o, NULL));
    M(coke_optimizer_new(&q, encoder, o));
    M(coke_loss_new(&s, o));
    M(coke_run_open(&u, "encoder", o));
    M(coke_train_run(data, o, "run", NULL, NULL, NULL));
    M(coke_eval_knn(&ev, o, &kr));
    M(coke_eval_linear(&ev, o, &cr));
    M(coke_eval_finetune(&ev, o, &cr));
    M(coke_export("encoder", "e.pth", o, 0, &xs));
    M(coke_import("encoder", "e.st", o, 0, &xs));
    coke_options_free(o);
    finish();
}

/* ---- rows and clusterings ---- */

static void arrays_of_impossible_shapes(void **state)
{
    struct coke_rows *r = (struct coke_rows *)1;
    static const char *const empty[] = {""};
    (void)state;
    M(coke_rows_from_array(&r, x, 0, DIM));
    MV(r == NULL);
    M(coke_rows_from_array(&r, x, -1, DIM));
    M(coke_rows_from_array(&r, x, N, 0));
    M(coke_rows_from_array(&r, x, N, -1));
    M(coke_rows_from_array(&r, x, MANY, INT32_MAX));
    M(coke_rows_open(&r, paths, 0, NULL));
    M(coke_rows_open(&r, paths, -1, NULL));
    MS(COKE_EIO, coke_rows_open(&r, empty, 1, NULL));
    M(coke_cluster_array(x, 0, DIM, K, NULL, label, NULL));
    M(coke_cluster_array(x, -1, DIM, K, NULL, label, NULL));
    M(coke_cluster_array(x, N, 0, K, NULL, label, NULL));
    M(coke_cluster_array(x, N, -1, K, NULL, label, NULL));
    M(coke_cluster_array(x, N, DIM, 0, NULL, label, NULL));
    M(coke_cluster_array(x, N, DIM, -1, NULL, label, NULL));
    M(coke_cluster_array(x, N, DIM, N + 1, NULL, label, NULL));
    M(coke_cluster_array(x, N, DIM, MANY, NULL, label, NULL));
    M(coke_cluster_array(x, MANY, INT32_MAX, K, NULL, label, NULL));
    M(coke_npy_write_i32("a.npy", label, -1, 0));
    M(coke_npy_write_f32("a.npy", x, -1, 2, 0));
    M(coke_npy_write_f32("a.npy", x, 2, -1, 0));
    M(coke_npy_write_f32("a.npy", x, MANY, MANY, 0));
    M(coke_npy_write_f32("a.npy", x, MANY / 2, 3, 0));
    M(coke_synthetic_fill(f, -1, DIM, K, 1));
    M(coke_synthetic_fill(f, N, 0, K, 1));
    M(coke_synthetic_fill(f, N, DIM, 0, 1));
    M(coke_synthetic_fill(f, N, DIM, -1, 1));
    M(coke_synthetic_fill(f, MANY, INT32_MAX, K, 1));
    MV(access("a.npy", F_OK) != 0);
    finish();
}

static int run_with(const struct coke_cluster_input *in, const char *k)
{
    struct coke_options *o = set("cluster", "k", k);
    struct coke_cluster *c = (struct coke_cluster *)1;
    int rc = coke_cluster_run(&c, in, o, NULL);
    coke_cluster_free(c);
    coke_options_free(o);
    return rc;
}

static void clusterings_that_cannot_be(void **state)
{
    struct coke_cluster *c;
    struct coke_cluster_input in = {.size = sizeof in, .rows = rows};
    const int64_t negative[K] = {-1, 1}, much[K] = {N, N}, low[K] = {1, 1};
    const int64_t extreme[K] = {INT64_MAX, INT64_MAX};
    double weights[N] = {-1};
    (void)state;
    M(coke_cluster_run(&c, &in, NULL, NULL)); /* without k */
    M(run_with(&in, "21"));
    in.min_sizes = negative;
    M(run_with(&in, "2"));
    in.min_sizes = much;
    M(run_with(&in, "2"));
    in.min_sizes = extreme;
    M(run_with(&in, "2"));
    in.min_sizes = NULL, in.max_sizes = low;
    M(run_with(&in, "2"));
    in.min_sizes = low, in.max_sizes = NULL;
    M(run_with(&in, "2,3")); /* for one head only */
    in.min_sizes = NULL, in.weights = weights;
    MS(COKE_EUSAGE, run_with(&in, "2"));
    weights[0] = NAN;
    MS(COKE_EUSAGE, run_with(&in, "2"));
    M(coke_cluster_labels(cluster, -1, label));
    M(coke_cluster_labels(cluster, INT_MAX, label));
    MV(coke_cluster_summary(cluster, INT_MIN) == NULL);
    MV(coke_cluster_centers(cluster, INT_MAX) == NULL);
    finish();
}

static void models_with_other_rows(void **state)
{
    struct coke_rows *other;
    struct coke_assign_job job = {.size = sizeof job, .rows = rows, .labels = label};
    struct coke_head_summary s = COKE_INIT(struct coke_head_summary);
    struct coke_agreement_scores a = COKE_INIT(struct coke_agreement_scores);
    struct coke_model *m = (struct coke_model *)1;
    (void)state;
    assert_ok(coke_rows_from_array(&other, x, N, DIM - 1));
    job.rows = other;
    M(coke_model_assign(model, &job, NULL));
    job.rows = rows, job.bad = COKE_BAD_REPLACE;
    M(coke_model_assign(model, &job, NULL));
    job.bad = (enum coke_bad)99;
    M(coke_model_assign(model, &job, NULL));
    job.bad = (enum coke_bad) - 1;
    M(coke_model_assign(model, &job, NULL));
    job.bad = COKE_BAD_ERROR, s.size = sizeof s + 1;
    M(coke_model_assign(model, &job, &s));
    job.size = 7;
    M(coke_model_assign(model, &job, NULL));
    MS(COKE_EIO, coke_model_load(&m, ""));
    MV(m == NULL);
    for (int i = 0; i < N; i++)
        label[i] = i % 3;
    M(coke_agreement(label, label, -1, 3, 3, &a));
    M(coke_agreement(label, label, N, -1, 3, &a));
    M(coke_agreement(label, label, N, 3, -1, &a));
    M(coke_agreement(label, label, N, 2, 3, &a)); /* class 2 */
    M(coke_agreement(label, label, N, 3, 2, &a));
    MS(COKE_ENOMEM, coke_agreement(label, label, N, INT32_MAX, INT32_MAX, &a));
    a.size = 0;
    M(coke_agreement(label, label, N, 3, 3, &a));
    coke_rows_free(other);
    finish();
}

/* ---- batch by batch ---- */

static int new_kmeans(const float *centers, const int64_t *min, const int64_t *max)
{
    struct coke_kmeans *k = (struct coke_kmeans *)1;
    struct ck_kmeans_options o = ck_kmeans_options_default();
    o.n = N, o.k = K, o.dim = DIM;
    int rc = coke_kmeans_new(&k, AS(kmeans, &o), centers, min, max);
    if (rc && k)
        fail_msg("*out was not set to NULL");
    coke_kmeans_free(k);
    return rc;
}

static void batches_that_cannot_be(void **state)
{
    struct coke_kmeans *k = (struct coke_kmeans *)1;
    const int64_t negative[K] = {-1, 1}, much[K] = {N, N}, low[K] = {1, 1};
    const int64_t extreme[K] = {INT64_MAX, INT64_MAX};
    int64_t ids[N] = {-1};
    float bad[K * DIM] = {NAN};
    (void)state;
    MS(COKE_ENUMERIC, new_kmeans(bad, NULL, NULL));
    M(new_kmeans(x, negative, NULL));
    M(new_kmeans(x, much, NULL));
    M(new_kmeans(x, extreme, NULL));
    M(new_kmeans(x, NULL, low));
    M(new_kmeans(x, NULL, negative));
    M(new_kmeans(x, (const int64_t[]){8, 8}, (const int64_t[]){7, 13}));
    M(coke_kmeans_step(km, x, NULL, -1, label));
    M(coke_kmeans_step(km, x, NULL, MANY, label));
    M(coke_kmeans_step(km, x, ids, N, label));
    ids[0] = N;
    M(coke_kmeans_step(km, x, ids, N, label));
    ids[0] = INT64_MAX;
    M(coke_kmeans_step(km, x, ids, N, label));
    M(coke_kmeans_predict(km, x, -1, label, NULL));
    M(coke_kmeans_predict(km, x, MANY, label, NULL));
    M(coke_kmeans_copy(km, (enum coke_array)99, f, N));
    M(coke_kmeans_copy(km, (enum coke_array) - 1, f, N));
    M(coke_kmeans_copy(km, COKE_ARRAY_CURRENT, f, K * DIM - 1));
    M(coke_kmeans_copy(km, COKE_ARRAY_DUALS, f, -1));
    M(coke_kmeans_soft_targets(km, ids, 1, f));
    ids[0] = 0;
    M(coke_kmeans_soft_targets(km, ids, -1, f));
    M(coke_kmeans_soft_targets(km, ids, MANY, f));
    MS(COKE_EIO, coke_kmeans_load(&k, ""));
    MV(k == NULL);
    finish();
}

static struct coke_kmeans *other_dim(void)
{
    struct coke_kmeans *k;
    struct ck_kmeans_options o = ck_kmeans_options_default();
    o.n = N, o.k = K, o.dim = DIM - 1;
    assert_ok(coke_kmeans_new(&k, AS(kmeans, &o), x, NULL, NULL));
    return k;
}

static void heads_that_do_not_fit(void **state)
{
    struct coke_multihead *m = (struct coke_multihead *)1;
    struct coke_kmeans *two[2] = {km, other_dim()}, *many[COKE_MAX_HEADS + 1];
    int64_t ids[N] = {-1};
    (void)state;
    for (int i = 0; i <= COKE_MAX_HEADS; i++)
        many[i] = km;
    M(coke_multihead_new(&m, two, 2));
    MV(m == NULL);
    M(coke_multihead_new(&m, two, 0));
    M(coke_multihead_new(&m, two, -1));
    M(coke_multihead_new(&m, many, COKE_MAX_HEADS + 1));
    M(coke_multihead_new(&m, many, 2)); /* one head twice */
    M(coke_multihead_new(&m, many, COKE_MAX_HEADS));
    M(coke_multihead_step(mh, x, NULL, 0, label));
    M(coke_multihead_step(mh, x, NULL, -1, label));
    M(coke_multihead_step(mh, x, NULL, MANY, label));
    M(coke_multihead_step(mh, x, ids, N, label));
    MV(coke_multihead_head(mh, -1) == NULL);
    MV(coke_multihead_head(mh, 1) == NULL);
    MV(coke_multihead_head(mh, INT_MIN) == NULL);
    assert_ok(coke_kmeans_step(km, x, NULL, N, label)); /* still the caller's */
    coke_kmeans_free(two[1]);
    finish();
}

/* ---- images ---- */

static void data_sets_and_pictures(void **state)
{
    struct coke_dataset *d = (struct coke_dataset *)1;
    struct coke_sort_summary s = COKE_INIT(struct coke_sort_summary);
    struct coke_pack_summary p = COKE_INIT(struct coke_pack_summary);
    struct coke_verify_summary v = COKE_INIT(struct coke_verify_summary);
    struct coke_callbacks cb = {.size = sizeof cb + 1};
    int32_t cluster8[8] = {0};
    char name[8] = "x";
    (void)state;
    M(coke_dataset_open(&d, "synthetic:n=-1", NULL));
    MV(d == NULL);
    M(coke_dataset_open(&d, "synthetic:n=0", NULL));
    M(coke_dataset_open(&d, "synthetic:speed=3", NULL));
    MS(COKE_EIO, coke_dataset_open(&d, "", NULL));
    MV(coke_dataset_class_name(data, -1) == NULL);
    MV(coke_dataset_class_name(data, INT32_MIN) == NULL);
    MV(coke_dataset_class_name(data, INT32_MAX) == NULL);
    MV(coke_dataset_class_name(data, coke_dataset_classes(data)) == NULL);
    MV(coke_dataset_label(data, 8) == -1);
    MV(coke_dataset_label(data, INT64_MIN) == -1);
    coke_dataset_name(data, INT64_MAX, name, sizeof name);
    MV(name[0] == 0);
    coke_dataset_name(data, 0, name, 0);
    M(coke_dataset_preview(data, NULL, 0, 1, "p.png", 0));
    M(coke_dataset_preview(data, NULL, 1, 0, "p.png", 0));
    M(coke_dataset_preview(data, NULL, -1, 1, "p.png", 0));
    M(coke_dataset_preview(data, NULL, INT_MAX, INT_MAX, "p.png", 0));
    M(coke_dataset_sort(data, cluster8, 0, "s", COKE_SORT_COPY, NULL, &s));
    M(coke_dataset_sort(data, cluster8, -1, "s", COKE_SORT_COPY, NULL, &s));
    M(coke_dataset_sort(data, cluster8, 2, "s", (enum coke_sort)99, NULL, &s));
    M(coke_dataset_sort(data, cluster8, 2, "s", COKE_SORT_LINK, NULL, &s)); /* no files */
    MV(access("s", F_OK) != 0);
    M(coke_dataset_verify(data, &cb, &v));
    p.size = 0;
    M(coke_dataset_pack(data, "p", NULL, 0, NULL, &p));
    finish();
}

static void loaders_out_of_range(void **state)
{
    struct coke_batch b = {.size = sizeof b + 1};
    const char *sentence = "x";
    (void)state;
    M(coke_loader_seek(loader, -1, 0));
    M(coke_loader_seek(loader, 0, -1));
    M(coke_loader_seek(loader, 0, coke_loader_steps(loader)));
    M(coke_loader_seek(loader, INT64_MAX, INT64_MAX));
    M(coke_loader_next(loader, &b));
    b.size = 0;
    M(coke_loader_next(loader, &b));
    MV(coke_loader_bad(loader, -1, &sentence) == -1 && !sentence);
    MV(coke_loader_bad(loader, INT64_MAX, &sentence) == -1 && !sentence);
    MV(coke_loader_bad(loader, INT64_MIN, NULL) == -1);
    b.size = sizeof b;
    assert_ok(coke_loader_next(loader, &b)); /* none of that did harm */
    finish();
}

/* ---- networks ---- */

static void plans_and_optimizers(void **state)
{
    struct coke_plan *p = (struct coke_plan *)1;
    struct coke_reduce reduce = {0};
    struct coke_gradients g = COKE_INIT(struct coke_gradients);
    int32_t dim = 7;
    int64_t size = 7;
    (void)state;
    M(coke_plan_new(&p, encoder, NULL, NULL)); /* without batch, height, width */
    MV(p == NULL);
    M(coke_plan_new(&p, encoder, NULL, &reduce)); /* size 0 */
    MV(coke_plan_output(plan, (enum coke_output)99, &dim) == NULL && dim == 0);
    MV(coke_plan_output(plan, (enum coke_output) - 1, NULL) == NULL);
    M(coke_plan_backward(plan, &g)); /* no gradients, and made without a backward pass */
    g.proj = f;
    M(coke_plan_backward(plan, &g));
    g.size = sizeof g + 1;
    M(coke_plan_backward(plan, &g));
    MV(coke_encoder_tensor(encoder, "", &size) == NULL && size == 0);
    MV(coke_encoder_gradient(encoder, "conv9.weight", NULL) == NULL);
    M(coke_optimizer_step(optimizer, NAN));
    M(coke_optimizer_step(optimizer, INFINITY));
    M(coke_optimizer_step(optimizer, -1));
    MS(COKE_EIO, coke_encoder_load_weights(encoder, "", NULL));
    M(coke_set_threads(-1));
    M(coke_set_threads(COKE_MAX_THREADS + 1));
    M(coke_set_threads(INT_MAX));
    finish();
}

static void losses_and_schedules(void **state)
{
    struct coke_loss *l = (struct coke_loss *)1;
    struct coke_loss_input in = COKE_INIT(struct coke_loss_input);
    struct coke_loss_output out = COKE_INIT(struct coke_loss_output);
    struct coke_options *o = set("loss", "k", "2");
    const float *centers[1] = {x};
    double rate;
    (void)state;
    M(coke_loss_new(&l, NULL)); /* without k, batch, dim */
    MV(l == NULL);
    assert_ok(coke_options_set_int(o, "batch", 2));
    assert_ok(coke_options_set_int(o, "dim", DIM));
    assert_ok(coke_loss_new(&l, o));
    coke_options_free(o);
    in.proj = x, in.centers = centers, in.labels = label, in.n = 2;
    memset(label, 0, sizeof label);
    in.n = 0;
    M(coke_loss_step(l, &in, &out));
    in.n = -1;
    M(coke_loss_step(l, &in, &out));
    in.n = 3;
    M(coke_loss_step(l, &in, &out));
    in.n = INT64_MAX;
    M(coke_loss_step(l, &in, &out));
    in.n = 2, centers[0] = NULL;
    M(coke_loss_step(l, &in, &out));
    centers[0] = x, label[1] = K;
    M(coke_loss_step(l, &in, &out));
    label[1] = -1;
    M(coke_loss_step(l, &in, &out));
    label[1] = 0, out.size = 1;
    M(coke_loss_step(l, &in, &out));
    coke_loss_free(l);
    M(coke_schedule_rate(NAN, 10, 1, 5, 0, 0, &rate));
    M(coke_schedule_rate(-1, 10, 1, 5, 0, 0, &rate));
    M(coke_schedule_rate(1, 0, 0, 5, 0, 0, &rate));
    M(coke_schedule_rate(1, -1, 0, 5, 0, 0, &rate));
    M(coke_schedule_rate(1, 10, -2, 5, 0, 0, &rate));
    M(coke_schedule_rate(1, 10, 1, 0, 0, 0, &rate));
    M(coke_schedule_rate(1, 10, 1, 5, -1, 0, &rate));
    M(coke_schedule_rate(1, 10, 1, 5, 0, -1, &rate));
    M(coke_schedule_rate(1, 10, 1, 5, INT64_MAX, 0, &rate));
    M(coke_schedule_rate(1, INT64_MAX, INT64_MAX, 5, 5, 5, &rate));
    M(coke_schedule_rate(1, INT64_MIN, -1, 5, 5, 5, &rate));
    finish();
}

/* ---- trainings, runs, pages ---- */

static void runs_and_results(void **state)
{
    struct coke_train_control control = {0};
    struct coke_train_summary t = {.size = sizeof t + 1};
    struct coke_embed_summary e = COKE_INIT(struct coke_embed_summary);
    struct coke_eval_input in = {.size = sizeof in, .run = run, .train = data, .test = data};
    struct coke_knn_result kr = {0};
    struct coke_classifier_result cr = {.size = SIZE_MAX};
    struct coke_clusters_result hr = COKE_INIT(struct coke_clusters_result);
    struct coke_run *r = (struct coke_run *)1;
    (void)state;
    M(coke_train_run(data, NULL, "run", &control, NULL, NULL));
    M(coke_train_run(data, NULL, "run", NULL, NULL, &t));
    MV(access("run", F_OK) != 0);
    MV(coke_run_k(run, -1) == 0);
    MV(coke_run_k(run, INT_MAX) == 0);
    MV(coke_run_match(run, -1) == -1);
    MV(coke_run_match(run, 0) == -1);
    M(coke_run_embed(run, data, (enum coke_output)99, "e.npy", 0, NULL, &e));
    M(coke_run_embed(run, data, COKE_OUTPUT_LOGITS, "e.npy", 0, NULL, &e));
    M(coke_run_embed(run, data, COKE_OUTPUT_PRED, "e.npy", 0, NULL, &e));
    M(coke_run_embed(run, data, (enum coke_output) - 1, "e.npy", 0, NULL, &e));
    e.size = 0;
    M(coke_run_embed(run, data, COKE_OUTPUT_FEATURES, "e.npy", 0, NULL, &e));
    MV(access("e.npy", F_OK) != 0);
    M(coke_run_assign(run, data, -1, NULL, label, NULL, NULL));
    M(coke_run_assign(run, data, 0, NULL, label, NULL, NULL)); /* an encoder has no heads */
    M(coke_run_assign(run, data, INT_MAX, NULL, label, NULL, NULL));
    M(coke_eval_knn(&in, NULL, &kr));
    M(coke_eval_linear(&in, NULL, &cr));
    M(coke_eval_cluster(&in, &hr)); /* no heads */
    in.size = 0;
    M(coke_eval_cluster(&in, &hr));
    MS(COKE_EIO, coke_run_open(&r, "", NULL));
    MV(r == NULL);
    finish();
}

static void pages_and_files(void **state)
{
    struct coke_report_input in = {.size = sizeof in, .source = "made"};
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    struct coke_exchange_summary e = {.size = sizeof e + 1};
    static const char *const none[] = {NULL};
    (void)state;
    in.vectors = none, in.nvectors = 1;
    M(coke_report_write(&in, NULL, "p.html", NULL, 0, &s));
    in.nvectors = -1;
    M(coke_report_write(&in, NULL, "p.html", NULL, 0, &s));
    in.vectors = NULL, in.nvectors = 1; /* a number without an array */
    M(coke_report_write(&in, NULL, "p.html", NULL, 0, &s));
    in.nvectors = 0, in.data = options; /* another kind */
    M(coke_report_write(&in, NULL, "p.html", NULL, 0, &s));
    in.data = NULL, s.size = 0;
    M(coke_report_write(&in, NULL, "p.html", NULL, 0, &s));
    in.size = sizeof in + 1, s.size = sizeof s;
    M(coke_report_write(&in, NULL, "p.html", NULL, 0, &s));
    MV(access("p.html", F_OK) != 0);
    M(coke_export("encoder", "e.pth", NULL, 0, &e));
    M(coke_import("encoder", "e.st", NULL, 0, &e));
    e.size = 1;
    M(coke_export("encoder", "e.pth", NULL, 0, &e));
    MV(access("e.pth", F_OK) != 0);
    finish();
}

static void json_out_of_order(void **state)
{
    FILE *to = tmpfile();
    struct coke_json *j = coke_json_open(to, (enum coke_json_style)99);
    (void)state;
    coke_json_end(j);               /* nothing is open */
    coke_json_put_int(j, "key", 1); /* a key outside of an object */
    coke_json_begin_object(j, NULL);
    coke_json_put_int(j, NULL, 1); /* no key inside an object */
    coke_json_put_fixed(j, "x", 1e300, 1000000);
    coke_json_put_fixed(j, "y", NAN, -5);
    for (int i = 0; i < 1000; i++)
        coke_json_begin_array(j, "deep");
    MV(coke_json_close(j) != COKE_OK);
    fclose(to);
    finish();
}

/* ---- files are not overwritten ---- */

static void check_bytes(const char *path, const char *bytes)
{
    char now[64] = "";
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_true(fread(now, 1, sizeof now - 1, in) == strlen(bytes));
    fclose(in);
    assert_string_equal(now, bytes);
}

/* Every writer refuses a file that is there, and leaves it as it was. */
static void writers_never_overwrite_without_force(void **state)
{
    static const char mine[] = "mine";
    struct coke_embed_summary e = COKE_INIT(struct coke_embed_summary);
    struct coke_exchange_summary xs = COKE_INIT(struct coke_exchange_summary);
    struct coke_report_input in = {.size = sizeof in, .source = "made"};
    struct coke_report_summary s = COKE_INIT(struct coke_report_summary);
    (void)state;
    assert_ok(coke_file_write("taken", mine, strlen(mine), 0));
    assert_int_equal(symlink("taken", "link"), 0);
    static const char *const names[] = {"taken", "link"};
    for (int i = 0; i < 2; i++) {
        M(coke_kmeans_save(km, names[i], 0));
        M(coke_file_write(names[i], "x", 1, 0));
        M(coke_npy_write_i32(names[i], label, 1, 0));
        M(coke_npy_write_f32(names[i], x, 1, 1, 0));
        M(coke_encoder_save(encoder, names[i], 0));
        M(coke_run_embed(run, data, COKE_OUTPUT_FEATURES, names[i], 0, NULL, &e));
        M(coke_export("encoder", names[i], NULL, 0, &xs));
        M(coke_dataset_preview(data, NULL, 1, 1, names[i], 0));
        M(coke_report_write(&in, NULL, names[i], NULL, 0, &s));
        check_bytes(names[i], mine);
    }
    assert_ok(coke_kmeans_save(km, "taken", 1));
    struct coke_kmeans *again;
    assert_ok(coke_kmeans_load(&again, "taken"));
    coke_kmeans_free(again);
    assert_int_equal(unlink("link"), 0);
    finish();
}

static void the_list_is_long(void **state)
{
    (void)state;
    assert_true(calls >= 102);
    print_message("%d calls\n", calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_by_name),
        cmocka_unit_test(options_described),
        cmocka_unit_test(options_defined),
        cmocka_unit_test(a_choice_out_of_range_has_no_word),
        cmocka_unit_test(options_of_the_wrong_kind),
        cmocka_unit_test(arrays_of_impossible_shapes),
        cmocka_unit_test(clusterings_that_cannot_be),
        cmocka_unit_test(models_with_other_rows),
        cmocka_unit_test(batches_that_cannot_be),
        cmocka_unit_test(heads_that_do_not_fit),
        cmocka_unit_test(data_sets_and_pictures),
        cmocka_unit_test(loaders_out_of_range),
        cmocka_unit_test(plans_and_optimizers),
        cmocka_unit_test(losses_and_schedules),
        cmocka_unit_test(runs_and_results),
        cmocka_unit_test(pages_and_files),
        cmocka_unit_test(json_out_of_order),
        cmocka_unit_test(writers_never_overwrite_without_force),
        cmocka_unit_test(the_list_is_long),
    };
    return cmocka_run_group_tests_name("misuse", tests, set_up, tear_down);
}
