/* cluster_stream.c - cluster a stream batch by batch, then make a model that labels with exact sizes.
 * Build: cc cluster_stream.c $(pkg-config --cflags --libs coke) */
#include <coke.h>

enum { N = 10000, DIM = 32, K = 50, BATCH = 250 };

static float x[N * DIM]; /* here all rows of the stream; a batch at a time is enough */
static float centers[K * DIM];
static int32_t labels[N];

/* First centers from the first rows of the stream, which must be of unit length for
 * coke_kmeans_step. */
static int begin(struct coke_kmeans **km)
{
    struct coke_options *o = NULL;
    struct coke_rows *first = NULL;
    int rc = coke_rows_from_array(&first, x, 2000, DIM);
    if (!rc)
        rc = coke_kmeans_init_centers(first, COKE_METRIC_COSINE, K, 1, centers);
    if (!rc)
        rc = coke_options_new(&o, "kmeans");
    if (!rc)
        rc = coke_options_set_int(o, "n", N); /* rows per epoch: bounds refer to it */
    if (!rc)
        rc = coke_options_set_int(o, "k", K);
    if (!rc)
        rc = coke_options_set_int(o, "dim", DIM);
    if (!rc)
        rc = coke_options_set(o, "update", "mean");
    if (!rc) /* ratio .4; the first batch chooses the step of the duals */
        rc = coke_kmeans_new(km, o, centers, NULL, NULL);
    coke_options_free(o);
    coke_rows_free(first);
    return rc;
}

static int run_epoch(struct coke_kmeans *km)
{
    int64_t ids[BATCH];
    int rc = 0;
    for (int64_t at = 0; at < N && !rc; at += BATCH) {
        for (int64_t i = 0; i < BATCH; i++)
            ids[i] = at + i;
        rc = coke_kmeans_step(km, x + at * DIM, ids, BATCH, labels + at);
    }
    return rc ? rc : coke_kmeans_epoch_end(km);
}

/* A model of the last centers, with labels of all rows and every size kept. */
static int end(const struct coke_kmeans *km, const char *path)
{
    struct coke_assign_job job = COKE_INIT(struct coke_assign_job);
    struct coke_head_summary s = COKE_INIT(struct coke_head_summary);
    struct coke_model *m = NULL;
    int rc = coke_rows_from_array(&job.rows, x, N, DIM);
    job.labels = labels;
    job.constrained = 1;
    if (!rc)
        rc = coke_kmeans_to_model(&m, km, &job, &s);
    if (!rc)
        rc = coke_model_save(m, path, 1); /* for coke assign, coke cluster --continue */
    if (!rc)
        printf("sizes %lld to %lld, mean cosine %.3f\n", (long long)s.size_min,
               (long long)s.size_max, s.labels_objective);
    coke_model_free(m);
    coke_rows_free(job.rows);
    return rc;
}

int main(int argc, char **argv)
{
    struct coke_kmeans *km = NULL;
    int rc = coke_synthetic_fill(x, N, DIM, 80, 1); /* your embeddings here */
    if (!rc)
        rc = coke_normalize(x, N, DIM);
    if (!rc)
        rc = begin(&km);
    for (int epoch = 0; epoch < 3 && !rc; epoch++)
        rc = run_epoch(km);
    if (!rc)
        rc = end(km, argc > 1 ? argv[1] : "model.safetensors");
    if (rc)
        fprintf(stderr, "%s\n", coke_last_error());
    coke_kmeans_free(km);
    return -rc;
}
