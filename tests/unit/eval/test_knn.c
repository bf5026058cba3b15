/* test_knn.c - weighted k-NN against a naive version in double. */
#include "support.h"
#include "core/mem.h"
#include "eval/knn.h"

struct naive {
    double score;
    int64_t row;
};

static int nearer(const void *a, const void *b)
{
    const struct naive *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static double cosine(const float *a, const float *b, int dim)
{
    double ab = 0, aa = 0, bb = 0;
    for (int j = 0; j < dim; j++) {
        ab += (double)a[j] * (double)b[j];
        aa += (double)a[j] * (double)a[j];
        bb += (double)b[j] * (double)b[j];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* The winner of query q and by how much it leads: what rounding to f32 may turn is no fault. */
static int32_t naive_winner(const struct ck_knn_job *job, int64_t q, int64_t k, double *lead)
{
    struct naive *all = test_array((size_t)job->nbank, sizeof *all);
    double *vote = test_array((size_t)job->classes, sizeof *vote), second = 0;
    const float *x = job->query ? job->query + q * job->dim : job->bank + q * job->dim;
    int64_t n = 0;
    int32_t best = -1;
    for (int64_t i = 0; i < job->nbank; i++)
        if (job->bank_label[i] >= 0 && (job->query || i != q))
            all[n++] = (struct naive){cosine(x, job->bank + i * job->dim, job->dim), i};
    qsort(all, (size_t)n, sizeof *all, nearer);
    int64_t near = n < k ? n : k;
    for (int64_t i = 0; i < near; i++)
        vote[job->bank_label[all[i].row]] += exp(all[i].score / job->temperature);
    for (int32_t c = 0; c < job->classes && n; c++)
        if (best < 0 || vote[c] > vote[best])
            best = c;
    for (int32_t c = 0; c < job->classes; c++)
        if (c != best && vote[c] > second)
            second = vote[c];
    *lead = best < 0 ? 1 : (vote[best] - second) / vote[best];
    /* The last neighbour counted and the first left out are as good as equal. */
    if (n > k && all[k - 1].score - all[k].score < 1e-6)
        *lead = 0;
    free(all);
    free(vote);
    return best;
}

static void check_job(const struct ck_knn_job *job)
{
    int64_t n = job->query ? job->nquery : job->nbank, sure = 0;
    const int32_t *label = job->query ? job->query_label : job->bank_label;
    int32_t *predicted = test_array((size_t)(n * job->nk), sizeof *predicted);
    struct ck_knn_result r;
    assert_ok(ck_knn(job, predicted, &r));
    for (int j = 0; j < job->nk; j++) {
        int64_t right = 0, asked = 0;
        for (int64_t q = 0; q < n; q++) {
            double lead;
            int32_t got = predicted[j * n + q], want = naive_winner(job, q, job->k[j], &lead);
            if (lead > 1e-4) {
                assert_int_equal(got, want);
                sure++;
            }
            asked += label && label[q] >= 0;
            right += label && label[q] >= 0 && got == label[q];
        }
        assert_int_equal(r.asked, asked);
        assert_int_equal(r.right[j], right);
        if (asked)
            assert_close(r.accuracy[j], (double)right / (double)asked, 1e-15);
        else
            assert_true(isnan(r.accuracy[j]));
    }
    assert_true(sure * 10 >= n * job->nk * 9);
    free(predicted);
}

/* Bank and queries around the same directions; some labels are wrong, some not known. */
struct fixture {
    float *all;
    int32_t *label;
    struct ck_knn_job job;
};

static struct fixture make(int64_t nbank, int64_t nquery, int dim, int classes)
{
    struct fixture f;
    int64_t n = nbank + nquery;
    f.all = test_vectors(n, dim, classes, 1.5, 21);
    f.label = test_array((size_t)n, sizeof *f.label);
    for (int64_t i = 0; i < n; i++) {
        double u = test_unit(22, (uint64_t)i);
        f.label[i] = u < 0.1 ? -1 : (int32_t)(u < 0.3 ? (i * 7) % classes : i % classes);
    }
    f.job = ck_knn_job_default();
    f.job.dim = dim;
    f.job.classes = classes;
    f.job.bank = f.all;
    f.job.bank_label = f.label;
    f.job.nbank = nbank;
    f.job.query = f.all + nbank * dim;
    f.job.query_label = f.label + nbank;
    f.job.nquery = nquery;
    return f;
}

static void drop(struct fixture *f)
{
    free(f->all);
    free(f->label);
}

static void votes_equal_the_naive_version(void **state)
{
    (void)state;
    static const int shape[][4] = {
        {700, 150, 24, 10}, {100, 65, 3, 4}, {47, 1, 16, 3}, {300, 64, 33, 50}, {1, 5, 8, 2}};
    for (int s = 0; s < 5; s++) {
        struct fixture f = make(shape[s][0], shape[s][1], shape[s][2], shape[s][3]);
        check_job(&f.job);
        f.job.query_label = NULL;
        check_job(&f.job);
        drop(&f);
    }
}

static void any_list_of_k_is_answered(void **state)
{
    (void)state;
    struct fixture f = make(400, 70, 12, 6);
    f.job.nk = 5;
    memcpy(f.job.k, (int64_t[]){50, 1, 7, 100000, 7}, 5 * sizeof *f.job.k);
    check_job(&f.job);
    f.job.temperature = 2e-3;
    check_job(&f.job);
    drop(&f);
}

/* exp(1 / 1e-9) does not fit: only differences to the nearest can be weighed. */
static void cold_votes_follow_the_nearest(void **state)
{
    (void)state;
    struct fixture f = make(400, 70, 12, 6);
    int32_t predicted[3 * 70];
    struct ck_knn_result r;
    f.job.nk = 3;
    memcpy(f.job.k, (int64_t[]){1, 20, 400}, 3 * sizeof *f.job.k);
    f.job.temperature = 1e-9;
    assert_ok(ck_knn(&f.job, predicted, &r));
    assert_memory_equal(predicted + 70, predicted, 70 * sizeof *predicted);
    assert_memory_equal(predicted + 140, predicted, 70 * sizeof *predicted);
    drop(&f);
}

static void leave_one_out_never_asks_itself(void **state)
{
    (void)state;
    struct fixture f = make(500, 0, 20, 8);
    f.job.query = NULL;
    f.job.query_label = NULL;
    check_job(&f.job);
    drop(&f);
    /* Two rows of two classes: each has only the other to ask. */
    float x[4] = {1, 0, 0, 1};
    int32_t label[2] = {0, 1}, predicted[2];
    struct ck_knn_job job = {.dim = 2,
                             .classes = 2,
                             .bank = x,
                             .bank_label = label,
                             .nbank = 2,
                             .temperature = 0.07,
                             .nk = 1,
                             .k = {1}};
    struct ck_knn_result r;
    assert_ok(ck_knn(&job, predicted, &r));
    assert_true(predicted[0] == 1 && predicted[1] == 0 && r.asked == 2 && r.right[0] == 0);
    job.nbank = 1;
    assert_ok(ck_knn(&job, predicted, &r));
    assert_int_equal(predicted[0], -1);
}

static void ties_go_to_the_lower_index_and_class(void **state)
{
    (void)state;
    /* 100 equal rows of class 2, then 1; each k below 50 sees only the first ones. */
    enum { M = 100 };
    float bank[M * 2], query[2] = {0.6f, 0.8f};
    int32_t label[M], predicted[3];
    struct ck_knn_result r;
    for (int i = 0; i < M; i++) {
        memcpy(bank + 2 * i, query, sizeof query);
        label[i] = i < M / 2 ? 2 : 1;
    }
    struct ck_knn_job job = {.dim = 2,
                             .classes = 3,
                             .bank = bank,
                             .bank_label = label,
                             .nbank = M,
                             .query = query,
                             .nquery = 1,
                             .temperature = 0.07,
                             .nk = 3,
                             .k = {1, 50, 100}};
    assert_ok(ck_knn(&job, predicted, &r));
    assert_int_equal(predicted[0], 2);
    assert_int_equal(predicted[1], 2);
    assert_int_equal(predicted[2], 1);
    assert_int_equal(r.asked, 0);
}

static void zero_vectors_and_other_lengths_are_fine(void **state)
{
    (void)state;
    struct fixture f = make(200, 66, 10, 4);
    int32_t want[132], got[132];
    struct ck_knn_result r;
    assert_ok(ck_knn(&f.job, want, &r));
    for (int64_t i = 0; i < 266; i++)
        for (int j = 0; j < 10; j++)
            f.all[i * 10 + j] *= (float)(1 << i % 8); /* exact */
    assert_ok(ck_knn(&f.job, got, &r));
    assert_memory_equal(got, want, sizeof got);
    memset(f.all + 200 * 10, 0, 10 * sizeof *f.all);
    memset(f.all + 3 * 10, 0, 10 * sizeof *f.all);
    check_job(&f.job);
    drop(&f);
}

static void result_does_not_depend_on_the_threads(void **state)
{
    (void)state;
    struct fixture f = make(900, 300, 40, 12);
    int32_t want[600], got[600];
    struct ck_knn_result a, b;
    coke_set_threads(1);
    assert_ok(ck_knn(&f.job, want, &a));
    for (int threads = 2; threads <= 5; threads++) {
        coke_set_threads(threads);
        assert_ok(ck_knn(&f.job, got, &b));
        assert_memory_equal(got, want, sizeof got);
        assert_memory_equal(&a, &b, sizeof a);
    }
    coke_set_threads(2);
    assert_ok(ck_knn(&f.job, NULL, &b));
    assert_memory_equal(&a, &b, sizeof a);
    drop(&f);
}

static void bank_without_labels_answers_nothing(void **state)
{
    (void)state;
    struct fixture f = make(60, 10, 8, 3);
    int32_t predicted[20];
    struct ck_knn_result r;
    for (int i = 0; i < 60; i++)
        f.label[i] = -1;
    assert_ok(ck_knn(&f.job, predicted, &r));
    for (int i = 0; i < 20; i++)
        assert_int_equal(predicted[i], -1);
    f.job.nbank = 0;
    assert_ok(ck_knn(&f.job, predicted, &r));
    assert_int_equal(predicted[0], -1);
    f.job.nquery = 0;
    assert_ok(ck_knn(&f.job, predicted, &r));
    assert_true(r.asked == 0 && isnan(r.accuracy[0]));
    drop(&f);
}

static void bad_input_is_named(void **state)
{
    (void)state;
    struct fixture f = make(150, 70, 9, 3);
    struct ck_knn_result r;
    struct ck_knn_job bad = f.job;
    bad.k[1] = 0;
    assert_fails(ck_knn(&bad, NULL, &r), COKE_EUSAGE, "k = 0");
    bad = f.job;
    bad.nk = 0;
    assert_fails(ck_knn(&bad, NULL, &r), COKE_EUSAGE, "1 to 8 values of k");
    bad.nk = 9;
    assert_fails(ck_knn(&bad, NULL, &r), COKE_EUSAGE, "1 to 8 values of k");
    bad = f.job;
    bad.temperature = NAN;
    assert_fails(ck_knn(&bad, NULL, &r), COKE_EUSAGE, "temperature nan");
    bad = f.job;
    bad.dim = 0;
    assert_fails(ck_knn(&bad, NULL, &r), COKE_EUSAGE, "0 dimensions");
    bad = f.job;
    bad.classes = 2;
    assert_fails(ck_knn(&bad, NULL, &r), COKE_EUSAGE, "is 2, outside 0..1");
    for (int i = 0; i < 150; i++)
        f.label[i] = 0;
    assert_fails(ck_knn(&bad, NULL, &r), COKE_EUSAGE, "class of query");
    f.all[(150 + 68) * 9] = INFINITY;
    f.all[(150 + 65) * 9] = NAN;
    assert_fails(ck_knn(&f.job, NULL, &r), COKE_ENUMERIC, "query 65 contains NaN");
    f.all[77 * 9 + 8] = NAN;
    assert_fails(ck_knn(&f.job, NULL, &r), COKE_ENUMERIC, "row 77 contains NaN");
    drop(&f);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct fixture f = make(60, 10, 8, 3);
    struct ck_knn_result r;
    coke_set_threads(2);
    for (int i = 1;; i++) {
        struct ck_mem_stats before = ck_mem_stats();
        ck_mem_fail_at(i);
        int rc = ck_knn(&f.job, NULL, &r);
        ck_mem_fail_at(0);
        assert_int_equal(ck_mem_stats().live, before.live);
        if (ck_mem_stats().calls - before.calls < i) {
            assert_int_equal(rc, COKE_OK);
            assert_true(i > 10);
            break;
        }
        assert_int_equal(rc, COKE_ENOMEM);
    }
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(votes_equal_the_naive_version),
        cmocka_unit_test(any_list_of_k_is_answered),
        cmocka_unit_test(cold_votes_follow_the_nearest),
        cmocka_unit_test(leave_one_out_never_asks_itself),
        cmocka_unit_test(ties_go_to_the_lower_index_and_class),
        cmocka_unit_test(zero_vectors_and_other_lengths_are_fine),
        cmocka_unit_test(result_does_not_depend_on_the_threads),
        cmocka_unit_test(bank_without_labels_answers_nothing),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
