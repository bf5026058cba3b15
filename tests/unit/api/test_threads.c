/* test_threads.c - four threads use objects of every kind at once, each its own: all come to the
 * same bytes. tests/tree/check_threads.sh runs it with ThreadSanitizer. */
#include "support.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 2, N = 60, DIM = 4, K = 3 };

struct thread {
    pthread_t id;
    int number;
    float x[N * DIM];
    int32_t label[N];
    double loss, rate;
    float weights[8]; /* some, after a step */
    char failure[512];
};

static pthread_barrier_t all_there;
static char folder[] = "/tmp/coke-threads-XXXXXX";

/* cmocka's asserts are for the first thread only. */
#define DO(call)                                                                               \
    do {                                                                                       \
        int rc_ = (call);                                                                      \
        if (rc_) {                                                                             \
            snprintf(t->failure, sizeof t->failure, "%s: %d, %.300s", #call, rc_,              \
                     coke_last_error());                                                       \
            return 1;                                                                          \
        }                                                                                      \
    } while (0)

static const char *own(const struct thread *t, int round, const char *name, char path[64])
{
    snprintf(path, 64, "t%d-%d-%s", t->number, round, name);
    return path;
}

/* The first thread that asks for a kind makes its table. */
static int use_options(struct thread *t)
{
    static const char *const kinds[] = {"train",  "loader",    "cluster", "loss",   "kmeans",
                                        "rows",   "encoder",   "plan",    "use",    "dataset",
                                        "pack",   "view",      "knn",     "linear", "finetune",
                                        "report", "optimizer", "export",  "import"};
    struct coke_option_info info = COKE_INIT(struct coke_option_info);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct coke_options *o, *copy;
        char text[256];
        DO(coke_options_new(&o, kinds[i]));
        DO(coke_options_describe(o, 0, &info));
        DO(coke_options_get(o, info.name, text, sizeof text));
        DO(coke_options_set(o, "none", "1") != COKE_EUSAGE);
        DO(strstr(coke_last_error(), "none") == NULL);
        DO(coke_options_copy(&copy, o));
        coke_options_free(o);
        coke_options_free(copy);
    }
    return 0;
}

static int use_clustering(struct thread *t, int round)
{
    struct coke_options *o;
    struct coke_rows *rows, *written;
    struct coke_cluster *c;
    struct coke_model *m;
    struct coke_cluster_input in = COKE_INIT(struct coke_cluster_input);
    struct coke_assign_job job = COKE_INIT(struct coke_assign_job);
    struct coke_agreement_scores scores = COKE_INIT(struct coke_agreement_scores);
    struct coke_report_input page = COKE_INIT(struct coke_report_input);
    struct coke_report_summary summary = COKE_INIT(struct coke_report_summary);
    char dir[64], file[100], html[64];
    int32_t label[N];
    own(t, round, "clusters", dir);
    DO(coke_options_new(&o, "cluster"));
    DO(coke_options_set_int(o, "k", K));
    DO(coke_synthetic_fill(t->x, N, DIM, 5, 7));
    DO(coke_rows_from_array(&rows, t->x, N, DIM));
    in.rows = rows;
    DO(coke_cluster_run(&c, &in, o, NULL));
    DO(coke_cluster_labels(c, 0, t->label));
    DO(coke_cluster_write(c, dir, 0));
    DO(coke_model_load(&m, dir));
    job.rows = rows, job.labels = label, job.constrained = 1;
    DO(coke_model_assign(m, &job, NULL));
    DO(coke_agreement(t->label, label, N, K, K, &scores));
    snprintf(file, sizeof file, "%s/centers.npy", dir);
    DO(coke_rows_open(&written, (const char *const[]){file}, 1, NULL));
    DO(coke_rows_count(written) != K);
    page.source = dir;
    DO(coke_report_write(&page, NULL, own(t, round, "page.html", html), NULL, 0, &summary));
    coke_rows_free(written);
    coke_model_free(m);
    coke_cluster_free(c);
    coke_rows_free(rows);
    coke_options_free(o);
    return 0;
}

static int use_batches(struct thread *t, int round)
{
    struct coke_options *o;
    struct coke_kmeans *km, *again, *head;
    struct coke_multihead *mh;
    int32_t label[N];
    char path[64];
    DO(coke_options_new(&o, "kmeans"));
    DO(coke_options_set_int(o, "n", N));
    DO(coke_options_set_int(o, "k", K));
    DO(coke_options_set_int(o, "dim", DIM));
    DO(coke_kmeans_new(&km, o, t->x, NULL, NULL));
    DO(coke_kmeans_new(&head, o, t->x, NULL, NULL));
    DO(coke_multihead_new(&mh, &head, 1));
    DO(coke_kmeans_step(km, t->x, NULL, N, label));
    DO(coke_multihead_step(mh, t->x, NULL, N, label));
    DO(coke_kmeans_epoch_end(km));
    DO(coke_multihead_epoch_end(mh));
    DO(coke_kmeans_predict(km, t->x, N, label, NULL));
    DO(coke_kmeans_save(km, own(t, round, "kmeans", path), 0));
    DO(coke_kmeans_load(&again, path));
    coke_kmeans_free(again);
    coke_kmeans_free(km);
    coke_multihead_free(mh);
    coke_options_free(o);
    return 0;
}

static int use_images(struct thread *t, int round)
{
    struct coke_options *o;
    struct coke_dataset *d, *packed;
    struct coke_loader *l;
    struct coke_batch b = COKE_INIT(struct coke_batch);
    struct coke_verify_summary v = COKE_INIT(struct coke_verify_summary);
    struct coke_pack_summary p = COKE_INIT(struct coke_pack_summary);
    char prefix[64], tar[100], png[64];
    FILE *nowhere = fopen("/dev/null", "w");
    DO(nowhere == NULL);
    DO(coke_dataset_open(&d, "synthetic:n=12,size=8", NULL));
    DO(coke_dataset_print(d, 1, nowhere));
    DO(coke_dataset_verify(d, NULL, &v));
    DO(coke_dataset_pack(d, own(t, round, "p", prefix), NULL, 0, NULL, &p));
    snprintf(tar, sizeof tar, "%s-000000.tar", prefix);
    DO(coke_dataset_open(&packed, tar, NULL));
    DO(coke_dataset_preview(packed, NULL, 1, 2, own(t, round, "v.png", png), 0));
    DO(coke_options_new(&o, "loader"));
    DO(coke_options_set_int(o, "batch", 4));
    DO(coke_options_set_int(o, "workers", 2));
    DO(coke_options_set_int(o, "size", 8));
    DO(coke_loader_new(&l, packed, o));
    for (int i = 0; i < 4; i++)
        DO(coke_loader_next(l, &b));
    coke_loader_free(l);
    coke_options_free(o);
    coke_dataset_free(packed);
    coke_dataset_free(d);
    fclose(nowhere);
    return 0;
}

static int new_encoder(struct thread *t, struct coke_encoder **e)
{
    struct coke_options *o;
    DO(coke_options_new(&o, "encoder"));
    DO(coke_options_set(o, "stem", "cifar"));
    DO(coke_options_set_float(o, "width", 0.03125));
    DO(coke_options_set_int(o, "dim", DIM));
    DO(coke_options_set(o, "predictor", "off"));
    DO(coke_encoder_new(e, o));
    coke_options_free(o);
    return 0;
}

static int new_plan(struct thread *t, struct coke_encoder *e, struct coke_plan **p)
{
    struct coke_options *o;
    DO(coke_options_new(&o, "plan"));
    DO(coke_options_set_int(o, "batch", 2));
    DO(coke_options_set_int(o, "height", 8));
    DO(coke_options_set_int(o, "width", 8));
    DO(coke_options_set(o, "backward", "on"));
    DO(coke_plan_new(p, e, o, NULL));
    coke_options_free(o);
    return 0;
}

static int compute_loss(struct thread *t, const float *proj, float *grad)
{
    struct coke_options *o;
    struct coke_loss *l;
    struct coke_loss_input in = COKE_INIT(struct coke_loss_input);
    struct coke_loss_output out = COKE_INIT(struct coke_loss_output);
    const float *centers[1] = {t->x};
    const int32_t label[2] = {0, 1};
    DO(coke_options_new(&o, "loss"));
    DO(coke_options_set_int(o, "k", K));
    DO(coke_options_set_int(o, "batch", 2));
    DO(coke_options_set_int(o, "dim", DIM));
    DO(coke_loss_new(&l, o));
    in.n = 2, in.proj = proj, in.centers = centers, in.labels = label;
    out.grad_proj = grad;
    DO(coke_loss_step(l, &in, &out));
    t->loss = out.loss;
    coke_loss_free(l);
    coke_options_free(o);
    return 0;
}

static int use_networks(struct thread *t, int round)
{
    struct coke_encoder *e, *again;
    struct coke_plan *p;
    struct coke_optimizer *q;
    struct coke_gradients g = COKE_INIT(struct coke_gradients);
    float grad[2 * DIM], images[2 * 3 * 8 * 8];
    char path[64], pth[64];
    struct coke_exchange_summary x = COKE_INIT(struct coke_exchange_summary);
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        images[i] = (float)(i % 7) - 3;
    DO(new_encoder(t, &e));
    DO(new_plan(t, e, &p));
    DO(coke_optimizer_new(&q, e, NULL));
    coke_encoder_zero_grad(e);
    DO(coke_plan_forward(p, images));
    DO(compute_loss(t, coke_plan_output(p, COKE_OUTPUT_PROJ, NULL), grad));
    g.proj = grad;
    DO(coke_plan_backward(p, &g));
    DO(coke_schedule_rate(0.1, 10, 1, 5, 2, 3, &t->rate));
    DO(coke_optimizer_step(q, t->rate));
    memcpy(t->weights, coke_encoder_tensor(e, "conv1.weight", NULL), sizeof t->weights);
    DO(coke_encoder_save(e, own(t, round, "encoder", path), 0));
    DO(coke_encoder_open(&again, path));
    DO(coke_export(path, own(t, round, "e.pth", pth), NULL, 0, &x));
    coke_options_free(x.encoder);
    coke_encoder_free(again);
    coke_optimizer_free(q);
    coke_plan_free(p);
    coke_encoder_free(e);
    return 0;
}

/* With the encoder that use_networks saved. */
static int use_run(struct thread *t, int round)
{
    struct coke_run *r;
    struct coke_dataset *d;
    struct coke_embed_summary s = COKE_INIT(struct coke_embed_summary);
    struct coke_eval_input in = COKE_INIT(struct coke_eval_input);
    struct coke_knn_result knn = COKE_INIT(struct coke_knn_result);
    char path[64], out[64];
    DO(coke_dataset_open(&d, "synthetic:n=12,size=8", NULL));
    DO(coke_run_open(&r, own(t, round, "encoder", path), NULL));
    DO(coke_run_embed(r, d, COKE_OUTPUT_FEATURES, own(t, round, "f.npy", out), 0, NULL, &s));
    in.run = r, in.train = d;
    DO(coke_eval_knn(&in, NULL, &knn));
    coke_run_free(r);
    coke_dataset_free(d);
    return 0;
}

static int use_training(struct thread *t, int round)
{
    static const char *const words[][2] = {
        {"k", "2"},       {"epochs", "3"},   {"warmup", "1"},      {"batch", "6"},
        {"size", "8"},    {"stem", "cifar"}, {"width", "0.03125"}, {"dim", "4"},
        {"workers", "1"}, {"monitor", "1"}};
    struct coke_options *o;
    struct coke_dataset *d;
    char run[64];
    DO(coke_dataset_open(&d, "synthetic:n=12,size=8", NULL));
    DO(coke_options_new(&o, "train"));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        DO(coke_options_set(o, words[i][0], words[i][1]));
    DO(coke_train_run(d, o, own(t, round, "run", run), NULL, NULL, NULL));
    coke_options_free(o);
    coke_dataset_free(d);
    return 0;
}

static int use_json(struct thread *t)
{
    FILE *to = tmpfile();
    DO(to == NULL);
    struct coke_json *j = coke_json_open(to, COKE_JSON_STYLE_PRETTY);
    coke_json_begin_object(j, NULL);
    for (int i = 0; i < 100; i++)
        coke_json_put_real(j, "number", i / 7.0);
    coke_json_end(j);
    DO(coke_json_close(j));
    fclose(to);
    return 0;
}

static void *live(void *arg)
{
    struct thread *t = arg;
    pthread_barrier_wait(&all_there);
    for (int round = 0; round < ROUNDS; round++)
        if (use_options(t) || use_clustering(t, round) || use_batches(t, round) ||
            use_images(t, round) || use_networks(t, round) || use_run(t, round) ||
            use_training(t, round) || use_json(t))
            break;
    return NULL;
}

static void compare(const struct thread *a, const struct thread *b)
{
    assert_memory_equal(a->x, b->x, sizeof a->x);
    assert_memory_equal(a->label, b->label, sizeof a->label);
    assert_memory_equal(&a->loss, &b->loss, sizeof a->loss);
    assert_memory_equal(a->weights, b->weights, sizeof a->weights);
}

static void threads_with_objects_of_their_own_agree(void **state)
{
    static struct thread thread[THREADS];
    (void)state;
    assert_int_equal(pthread_barrier_init(&all_there, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        thread[i].number = i;
        assert_int_equal(pthread_create(&thread[i].id, NULL, live, &thread[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i].id, NULL);
    pthread_barrier_destroy(&all_there);
    for (int i = 0; i < THREADS; i++)
        if (thread[i].failure[0])
            fail_msg("thread %d: %s", i, thread[i].failure);
    for (int i = 1; i < THREADS; i++)
        compare(&thread[0], &thread[i]);
}

static int enter(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", "/dev/null/cache", 1);
    return mkdtemp(folder) && chdir(folder) == 0 ? coke_set_threads(1) : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") || test_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_objects_of_their_own_agree),
    };
    return cmocka_run_group_tests_name("threads", tests, enter, leave_folder);
}
