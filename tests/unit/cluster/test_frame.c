/* test_frame.c - Euclidean heads batch by batch: means in every form, states that continue with
 * the same bits, several heads in one frame, and what is refused. */
#include "as_options.h"
#include "support.h"
#include "cluster/kmeans_internal.h"

#include <unistd.h>

enum { N = 240, K = 6, DIM = 3, BATCH = 40 };

static struct ck_kmeans_options options(int update)
{
    struct ck_kmeans_options o = ck_kmeans_options_default();
    o.n = N;
    o.k = K;
    o.dim = DIM;
    o.ratio = 0;
    o.update = update;
    o.metric = COKE_METRIC_EUCLIDEAN;
    return o;
}

/* K groups around `shift`, row i in group i % K; the first K rows are the first centers. */
static float *make_rows(float shift, float scale)
{
    float *x = test_array((size_t)N * DIM, sizeof *x);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < DIM; j++)
            x[i * DIM + j] = shift + scale * (3 * test_normal(50, (uint64_t)(i % K * DIM + j)) +
                                              0.2f * test_normal(51, (uint64_t)(i * DIM + j)));
    return x;
}

static void run_epoch(struct coke_kmeans *km, const float *x, int32_t *label)
{
    for (int i = 0; i < N; i += BATCH)
        assert_ok(coke_kmeans_step(km, x + i * DIM, NULL, BATCH, label + i));
    assert_ok(coke_kmeans_epoch_end(km));
}

/* After an epoch every form has the mean of the rows that the cluster received. */
static void centers_are_the_means_of_their_rows(void **state)
{
    (void)state;
    const float shifts[] = {0, 1e4f, -3}, scales[] = {1, 0.1f, 1e3f};
    for (int update = CK_UPDATE_RUNNING; update <= CK_UPDATE_EPOCH; update++)
        for (int v = 0; v < 3; v++) {
            struct ck_kmeans_options o = options(update);
            struct coke_kmeans *km;
            float *x = make_rows(shifts[v], scales[v]), center[K * DIM], score[N];
            int32_t label[N];
            assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), x, NULL, NULL));
            run_epoch(km, x, label);
            assert_ok(coke_kmeans_copy(km, COKE_ARRAY_PREVIOUS, center, K * DIM));
            for (int c = 0; c < K; c++)
                for (int j = 0; j < DIM; j++) {
                    double sum = 0, n = 0;
                    for (int i = 0; i < N; i++)
                        if (label[i] == c) {
                            sum += (double)x[i * DIM + j];
                            n++;
                        }
                    double size = fabs((double)shifts[v]) + 3 * (double)scales[v];
                    assert_true(n > 0);
                    assert_true(fabs((double)center[c * DIM + j] - sum / n) <= 3e-7 * size);
                }
            assert_ok(coke_kmeans_predict(km, x, N, label, score));
            for (int i = 0; i < N; i++) {
                double d = 0, size = pow((double)scales[v], 2);
                for (int j = 0; j < DIM; j++)
                    d += pow((double)x[i * DIM + j] - (double)center[label[i] * DIM + j], 2);
                double rounding = 1e-6 * fabs((double)shifts[v]); /* of the copied centers */
                assert_true(fabs((double)score[i] - d) <=
                            1e-4 * (d + size) + rounding * (sqrt(d) + rounding));
            }
            coke_kmeans_free(km);
            free(x);
        }
}

static void a_saved_state_continues_with_the_same_bits(void **state)
{
    (void)state;
    char path[] = "/tmp/coke-frame-XXXXXX";
    close(mkstemp(path));
    for (int update = CK_UPDATE_RUNNING; update <= CK_UPDATE_EPOCH; update++) {
        struct ck_kmeans_options o = options(update);
        struct coke_kmeans *km, *again;
        float *x = make_rows(1e4f, 0.1f);
        int32_t a[N], b[N];
        o.ratio = 0.8;
        o.eta = 0.01;
        assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), x, NULL, NULL));
        run_epoch(km, x, a);
        assert_ok(coke_kmeans_step(km, x, NULL, BATCH, a));
        assert_ok(coke_kmeans_save(km, path, 1));
        assert_ok(coke_kmeans_load(&again, path));
        run_epoch(km, x, a);
        run_epoch(again, x, b);
        assert_memory_equal(a, b, sizeof a);
        assert_true(ck_kmeans_hash(km, 1) == ck_kmeans_hash(again, 1));
        coke_kmeans_free(km);
        coke_kmeans_free(again);
        free(x);
    }
    unlink(path);
}

static void rows_out_of_reach_are_refused(void **state)
{
    (void)state;
    struct ck_kmeans_options o = options(CK_UPDATE_MEAN);
    struct coke_kmeans *km;
    float *x = make_rows(0, 1), zero[DIM] = {0};
    int32_t label;
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), x, NULL, NULL));
    assert_ok(coke_kmeans_step(km, zero, NULL, 1, &label));
    x[1] = 1e7f;
    assert_fails(coke_kmeans_step(km, x, NULL, 1, &label), COKE_ENUMERIC, "times farther away");
    x[1] = NAN;
    assert_fails(coke_kmeans_step(km, x, NULL, 1, &label), COKE_ENUMERIC, "row 0 of the batch");
    coke_kmeans_free(km);
    x[1] = 1e30f;
    assert_fails(coke_kmeans_new(&km, AS(kmeans, &o), x, NULL, NULL), COKE_ENUMERIC,
                 "number 1 is beyond");
    free(x);
}

static void heads_share_the_frame_of_the_first(void **state)
{
    (void)state;
    struct ck_kmeans_options o = options(CK_UPDATE_MEAN), cosine = o;
    struct coke_kmeans *head[2], *other;
    struct coke_multihead *mh;
    float *x = make_rows(100, 1);
    int32_t label[2 * N];
    assert_ok(coke_kmeans_new(&head[0], AS(kmeans, &o), x, NULL, NULL));
    assert_ok(coke_kmeans_new(&head[1], AS(kmeans, &o), x + 20 * DIM, NULL, NULL));
    cosine.metric = COKE_METRIC_COSINE;
    assert_ok(coke_kmeans_new(&other, AS(kmeans, &cosine), x, NULL, NULL));
    struct coke_kmeans *mixed[] = {head[0], other};
    assert_fails(coke_multihead_new(&mh, mixed, 2), COKE_EUSAGE, "different metrics");
    assert_ok(coke_multihead_new(&mh, head, 2));
    assert_true(ck_frame_equal(&head[0]->frame, &head[1]->frame));
    assert_ok(coke_multihead_step(mh, x, NULL, N, label));
    for (int i = 0; i < N; i++) /* separated groups */
        assert_int_equal(label[N + i], label[N + i % K]);
    coke_multihead_free(mh);
    coke_kmeans_free(other);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centers_are_the_means_of_their_rows),
        cmocka_unit_test(a_saved_state_continues_with_the_same_bits),
        cmocka_unit_test(rows_out_of_reach_are_refused),
        cmocka_unit_test(heads_share_the_frame_of_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
