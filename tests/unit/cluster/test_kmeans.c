/* test_kmeans.c - online clustering batch by batch: all forms against an independent program in
 * double, bounds, carry, inflation, heads, threads. */
#include "as_options.h"
#include "support.h"
#include "cluster/kmeans_internal.h"
#include "core/mem.h"

#include <unistd.h>

/* ---- an independent program ---- */

struct naive {
    struct ck_kmeans_options o;
    int64_t steps; /* of this epoch; the t-th weighs t^2 in the average */
    double *cur, *sum, *rho, *sigma, *min_size, *max_size, *total;
    int64_t *count;
    int free;
};

static struct naive naive_new(const struct ck_kmeans_options *o, const float *centers,
                              const int64_t *low, const int64_t *high)
{
    struct naive m = {.o = *o};
    size_t k = (size_t)o->k, kd = k * (size_t)o->dim;
    m.cur = test_array(kd, sizeof *m.cur);
    m.sum = test_array(kd, sizeof *m.sum);
    m.rho = test_array(k, sizeof *m.rho);
    m.sigma = test_array(k, sizeof *m.sigma);
    m.min_size = test_array(k, sizeof *m.min_size);
    m.max_size = test_array(k, sizeof *m.max_size);
    m.total = test_array(k, sizeof *m.total);
    m.count = test_array(k, sizeof *m.count);
    int64_t all = 0;
    double rates = 0;
    for (size_t i = 0; i < k; i++) {
        m.min_size[i] =
            o->inflate * (low ? (double)low[i] / (double)o->n : o->ratio / (double)k);
        m.max_size[i] = high ? (double)high[i] / (double)o->n : 1e9;
        all += low ? low[i] : 0;
        rates += m.min_size[i];
    }
    for (size_t i = 0; rates > 1 && i < k; i++)
        m.min_size[i] /= rates;
    m.free = low ? all == o->n : o->ratio >= 1;
    for (size_t i = 0; i < kd; i++)
        m.cur[i] = (double)centers[i];
    return m;
}

static void naive_free(struct naive *m)
{
    free(m->cur), free(m->sum), free(m->rho), free(m->sigma), free(m->min_size),
        free(m->max_size);
    free(m->total), free(m->count);
}

static void naive_center(struct naive *m, int64_t k, const double *sum)
{
    double *c = m->cur + k * m->o.dim, length = 0;
    for (int64_t j = 0; j < m->o.dim; j++)
        length += sum[j] * sum[j];
    for (int64_t j = 0; j < m->o.dim && length > 0; j++)
        c[j] = sum[j] / sqrt(length);
}

/* Labels, and the smallest lead of a best score: rounding may decide where it is tiny. */
static double naive_step(struct naive *m, const float *x, int64_t n, int32_t *label)
{
    int64_t d = m->o.dim, K = m->o.k;
    double lead = INFINITY, *add = test_array((size_t)(K * d), sizeof *add);
    int64_t *got = test_array((size_t)K, sizeof *got);
    for (int64_t i = 0; i < n; i++) {
        double best = -INFINITY, second = -INFINITY;
        for (int32_t k = 0; k < K; k++) {
            double s = m->rho[k] - m->sigma[k];
            for (int64_t j = 0; j < d; j++)
                s += (double)x[i * d + j] * m->cur[k * d + j];
            if (s > best) {
                second = best;
                best = s;
                label[i] = k;
            } else if (s > second) {
                second = s;
            }
        }
        lead = fmin(lead, best - second);
        got[label[i]]++;
        for (int64_t j = 0; j < d; j++)
            add[label[i] * d + j] += (double)x[i * d + j];
    }
    m->steps++;
    for (int64_t k = 0; k < K; k++) {
        m->rho[k] += m->o.eta * (m->min_size[k] - (double)got[k] / (double)n);
        m->rho[k] = m->free ? m->rho[k] : fmax(0, m->rho[k]);
        m->sigma[k] =
            fmax(0, m->sigma[k] + m->o.eta * ((double)got[k] / (double)n - m->max_size[k]));
        m->total[k] += (double)(m->steps * m->steps) * (m->rho[k] - m->sigma[k]);
        double *c = m->cur + k * d, *sum = m->sum + k * d;
        double old = (double)m->count[k], now = old + (double)got[k];
        m->count[k] += got[k];
        if (!got[k] || m->o.update == CK_UPDATE_FIXED)
            continue;
        for (int64_t j = 0; j < d; j++)
            sum[j] = m->o.update == CK_UPDATE_RUNNING ? c[j] * old / now + add[k * d + j] / now
                                                      : sum[j] + add[k * d + j];
        if (m->o.update != CK_UPDATE_EPOCH)
            naive_center(m, k, sum);
    }
    free(add);
    free(got);
    return lead;
}

static void naive_epoch_end(struct naive *m)
{
    for (int64_t k = 0; k < m->o.k; k++) {
        if (m->o.update == CK_UPDATE_EPOCH && m->count[k])
            naive_center(m, k, m->sum + k * m->o.dim);
        for (int64_t j = 0; j < m->o.dim; j++)
            m->sum[k * m->o.dim + j] *= m->o.update == CK_UPDATE_MEAN ? m->o.carry : 0;
        m->count[k] = 0;
    }
}

/* ---- against it ---- */

struct form {
    const char *name;
    int32_t centers;
    double ratio, max_ratio, eta, carry, inflate;
    int given; /* bounds of each cluster */
};

static const struct form forms[] = {
    {"mean", CK_UPDATE_MEAN, 0.4, 0, 0.1, 0, 1, 0},
    {"mean, carry", CK_UPDATE_MEAN, 0.6, 0, 0.3, 0.3, 1, 0},
    {"mean, carry most", CK_UPDATE_MEAN, 0.6, 0, 0.3, 0.99, 1, 0},
    {"mean, balanced", CK_UPDATE_MEAN, 1, 0, 0.2, 0.2, 1, 0},
    {"mean, upper", CK_UPDATE_MEAN, 0.4, 1.5, 0.3, 0, 1, 0},
    {"mean, given bounds", CK_UPDATE_MEAN, 0, 0, 0.2, 0, 1, 1},
    {"mean, bounds sum to n", CK_UPDATE_MEAN, 0, 0, 0.2, 0, 1, 2},
    {"mean, inflated", CK_UPDATE_MEAN, 0.5, 0, 0.3, 0, 1.5, 0},
    {"mean, inflated beyond n", CK_UPDATE_MEAN, 0.9, 0, 0.3, 0, 2, 0},
    {"running", CK_UPDATE_RUNNING, 0.4, 0, 0.3, 0, 1, 0},
    {"running, balanced", CK_UPDATE_RUNNING, 1, 0, 0.3, 0, 1, 0},
    {"epoch", CK_UPDATE_EPOCH, 0.4, 0, 0.1, 0, 1, 0},
    {"epoch, upper", CK_UPDATE_EPOCH, 0.5, 2, 0.4, 0, 1, 0},
    {"fixed", CK_UPDATE_FIXED, 0.7, 0, 0.2, 0, 1, 0},
    {"fixed, both bounds", CK_UPDATE_FIXED, 0.7, 1.3, 0.2, 0, 1, 0},
    {"no bounds", CK_UPDATE_MEAN, 0, 0, 0.2, 0, 1, 0},
};

enum { N = 301, K = 9, DIM = 13, BATCH = 32, EPOCHS = 4 };

static void make_bounds(int given, int64_t low[K], int64_t high[K], double max_ratio)
{
    for (int64_t k = 0; k < K; k++) {
        low[k] = given == 2 ? N / K : 3 * k;
        high[k] = (int64_t)ceil(max_ratio * N / K);
    }
    low[0] += given == 2 ? N - N / K * K : 0;
}

static struct ck_kmeans_options options_of(const struct form *f)
{
    struct ck_kmeans_options o = ck_kmeans_options_default();
    o.n = N;
    o.k = K;
    o.dim = DIM;
    o.ratio = f->ratio;
    o.max_ratio = f->max_ratio;
    o.eta = f->eta;
    o.carry = f->carry;
    o.inflate = f->inflate;
    o.update = f->centers;
    return o;
}

static struct coke_kmeans *new_of(const struct form *f, const float *centers)
{
    struct ck_kmeans_options o = options_of(f);
    struct coke_kmeans *km;
    int64_t low[K], high[K];
    make_bounds(f->given, low, high, f->max_ratio);
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), centers, f->given ? low : NULL, NULL));
    return km;
}

static void compare_state(const char *name, const struct coke_kmeans *km, const struct naive *m)
{
    float c[K * DIM], rho[K], sigma[K];
    int64_t count[K];
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_CURRENT, c, K * DIM));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_DUALS, rho, K));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_UPPER_DUALS, sigma, K));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_COUNTS, count, K));
    for (int k = 0; k < K; k++) {
        if (count[k] != m->count[k] || fabs((double)rho[k] - m->rho[k]) > 5e-6 ||
            fabs((double)sigma[k] - m->sigma[k]) > 5e-6)
            fail_msg("%s: cluster %d: count %lld, rho %g, sigma %g; should be %lld, %g, %g",
                     name, k, (long long)count[k], (double)rho[k], (double)sigma[k],
                     (long long)m->count[k], m->rho[k], m->sigma[k]);
        for (int j = 0; j < DIM; j++)
            if (fabs((double)c[k * DIM + j] - m->cur[k * DIM + j]) > 5e-6)
                fail_msg("%s: center %d, %d: %g, should be %g", name, k, j,
                         (double)c[k * DIM + j], m->cur[k * DIM + j]);
    }
}

static void every_form_equals_the_independent_program(void **state)
{
    (void)state;
    float *x = test_vectors(N, DIM, 5, 0.8, 1), *start = test_vectors(K, DIM, 0, 0, 2);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        struct ck_kmeans_options o = options_of(&forms[f]);
        struct coke_kmeans *km = new_of(&forms[f], start);
        int64_t low[K], high[K], ids[BATCH], compared = 0;
        make_bounds(forms[f].given, low, high, o.max_ratio);
        struct naive m =
            naive_new(&o, start, forms[f].given ? low : NULL, o.max_ratio > 0 ? high : NULL);
        int doubtful = 0;
        for (int64_t e = 0; e < EPOCHS && !doubtful; e++) {
            for (int64_t at = 0; at < N && !doubtful; at += BATCH) {
                int64_t b = N - at < BATCH ? N - at : BATCH;
                int32_t got[BATCH], want[BATCH];
                for (int64_t i = 0; i < b; i++)
                    ids[i] = at + i;
                doubtful = naive_step(&m, x + at * DIM, b, want) < 2e-5;
                if (doubtful) /* a tie within rounding: either label is right */
                    break;
                assert_ok(coke_kmeans_step(km, x + at * DIM, ids, b, got));
                for (int64_t i = 0; i < b; i++)
                    assert_int_equal(got[i], want[i]);
                compare_state(forms[f].name, km, &m);
                compared++;
            }
            if (doubtful)
                break;
            float average[K];
            assert_ok(coke_kmeans_epoch_end(km));
            naive_epoch_end(&m);
            compare_state(forms[f].name, km, &m);
            assert_ok(coke_kmeans_copy(km, COKE_ARRAY_AVERAGE_DUALS, average, K));
            int64_t weights = m.steps * (m.steps + 1) * (2 * m.steps + 1) / 6;
            for (int k = 0; k < K; k++) {
                assert_close((double)average[k], m.total[k] / (double)weights, 5e-6);
                m.total[k] = 0;
            }
            m.steps = 0;
        }
        if (compared < 10)
            fail_msg("%s: only %d steps compared", forms[f].name, (int)compared);
        naive_free(&m);
        coke_kmeans_free(km);
    }
    free(x);
    free(start);
}

/* ---- bytes: threads, interruption, heads ---- */

struct result {
    float cur[K * DIM], prev[K * DIM], rho[K], sigma[K], average[K];
    int32_t label[N];
};

static void take_result(const struct coke_kmeans *km, struct result *r)
{
    memset(r, 0, sizeof *r);
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_CURRENT, r->cur, K * DIM));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_PREVIOUS, r->prev, K * DIM));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_DUALS, r->rho, K));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_UPPER_DUALS, r->sigma, K));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_AVERAGE_DUALS, r->average, K));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_LABELS, r->label, N));
}

static void run_steps(struct coke_kmeans *km, const float *x, int from, int to)
{
    enum { STEPS = (N + BATCH - 1) / BATCH };
    int32_t label[BATCH];
    int64_t ids[BATCH];
    for (int s = from; s < to; s++) {
        int64_t at = s % STEPS * BATCH, b = N - at < BATCH ? N - at : BATCH;
        for (int64_t i = 0; i < b; i++)
            ids[i] = (at + i) * 7 % N;
        assert_ok(coke_kmeans_step(km, x + at * DIM, ids, b, label));
        if (s % STEPS == STEPS - 1)
            assert_ok(coke_kmeans_epoch_end(km));
    }
}

static void bytes_do_not_depend_on_the_threads(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 3, 5, 8};
    float *x = test_vectors(N, DIM, 5, 0.8, 1), *start = test_vectors(K, DIM, 0, 0, 2);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        struct result first, r;
        for (int t = 0; t < 5; t++) {
            struct coke_kmeans *km = new_of(&forms[f], start);
            coke_set_threads(threads[t]);
            run_steps(km, x, 0, 25);
            coke_set_threads(1);
            take_result(km, t ? &r : &first);
            coke_kmeans_free(km);
            if (t)
                assert_memory_equal(&r, &first, sizeof r);
        }
    }
    free(x);
    free(start);
}

/* Saved and loaded after every number of batches, in every form and in the second stage. */
static void state_continues_from_any_batch(void **state)
{
    (void)state;
    char path[] = "/tmp/coke-kmeans-XXXXXX";
    close(mkstemp(path));
    float *x = test_vectors(N, DIM, 5, 0.8, 1), *start = test_vectors(K, DIM, 0, 0, 2);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (int stage = -1; stage <= 1; stage += 2) {
            struct ck_kmeans_options o = options_of(&forms[f]);
            int64_t low[K], high[K];
            struct result whole, r;
            if (stage >= 0 && o.update == CK_UPDATE_FIXED)
                continue;
            make_bounds(forms[f].given, low, high, 0);
            o.stage = stage;
            for (int cut = -1; cut <= 25; cut += cut < 8 ? 3 : 5) {
                struct coke_kmeans *km, *again;
                assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), start,
                                          forms[f].given ? low : NULL, NULL));
                run_steps(km, x, 0, cut < 0 ? 25 : cut);
                if (cut >= 0) {
                    assert_ok(coke_kmeans_save(km, path, 1));
                    coke_kmeans_free(km);
                    assert_ok(coke_kmeans_load(&again, path));
                    km = again;
                    run_steps(km, x, cut, 25);
                }
                take_result(km, cut < 0 ? &whole : &r);
                coke_kmeans_free(km);
                if (cut >= 0)
                    assert_memory_equal(&r, &whole, sizeof r);
            }
        }
    unlink(path);
    free(x);
    free(start);
}

static void heads_together_are_heads_alone(void **state)
{
    (void)state;
    const int64_t ks[3] = {3, 9, 50};
    float *x = test_vectors(N, DIM, 5, 0.8, 1), *start = test_vectors(50, DIM, 0, 0, 2);
    struct coke_kmeans *head[3], *alone[3];
    struct coke_multihead *mh;
    for (int h = 0; h < 3; h++) {
        struct ck_kmeans_options o = options_of(&forms[h]);
        o.k = ks[h];
        assert_ok(coke_kmeans_new(&head[h], AS(kmeans, &o), start, NULL, NULL));
        assert_ok(coke_kmeans_new(&alone[h], AS(kmeans, &o), start, NULL, NULL));
    }
    assert_ok(coke_multihead_new(&mh, head, 3));
    for (int e = 0; e < 2; e++) {
        for (int64_t at = 0; at < N; at += BATCH) {
            int64_t b = N - at < BATCH ? N - at : BATCH, ids[BATCH];
            int32_t together[3 * BATCH], one[BATCH];
            for (int64_t i = 0; i < b; i++)
                ids[i] = at + i;
            assert_ok(coke_multihead_step(mh, x + at * DIM, ids, b, together));
            for (int h = 0; h < 3; h++) {
                assert_ok(coke_kmeans_step(alone[h], x + at * DIM, ids, b, one));
                assert_memory_equal(one, together + h * b, (size_t)b * sizeof *one);
            }
        }
        assert_ok(coke_multihead_epoch_end(mh));
        for (int h = 0; h < 3; h++)
            assert_ok(coke_kmeans_epoch_end(alone[h]));
    }
    for (int h = 0; h < 3; h++) {
        float a[50 * DIM], b[50 * DIM];
        assert_ok(coke_kmeans_copy(alone[h], COKE_ARRAY_PREVIOUS, a, 50 * DIM));
        assert_ok(
            coke_kmeans_copy(coke_multihead_head(mh, h), COKE_ARRAY_PREVIOUS, b, 50 * DIM));
        assert_memory_equal(a, b, (size_t)(ks[h] * DIM) * sizeof *a);
        coke_kmeans_free(alone[h]);
    }
    assert_null(coke_multihead_head(mh, 3));
    assert_null(coke_multihead_head(mh, -1));
    coke_multihead_free(mh);
    free(x);
    free(start);
}

/* ---- single claims ---- */

static void update_never_moves_center_of_empty_cluster(void **state)
{
    (void)state;
    for (int32_t form = CK_UPDATE_RUNNING; form <= CK_UPDATE_EPOCH; form++) {
        struct ck_kmeans_options o = ck_kmeans_options_default();
        float start[2 * 2] = {1, 0, -1, 0}, x[2 * 2] = {1, 0, 0.8f, 0.6f}, c[4];
        int32_t label[2];
        struct coke_kmeans *km;
        o.n = 2, o.k = 2, o.dim = 2, o.ratio = 0, o.update = form;
        assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL));
        for (int e = 0; e < 3; e++) {
            assert_ok(coke_kmeans_step(km, x, NULL, 2, label));
            assert_ok(coke_kmeans_epoch_end(km));
        }
        assert_ok(coke_kmeans_copy(km, COKE_ARRAY_CURRENT, c, 4));
        assert_true(c[2] == -1 && c[3] == 0);
        assert_true(c[0] < 1);
        coke_kmeans_free(km);
    }
}

static void members_that_cancel_leave_the_center(void **state)
{
    (void)state;
    for (int32_t form = CK_UPDATE_RUNNING; form <= CK_UPDATE_EPOCH; form++) {
        struct ck_kmeans_options o = ck_kmeans_options_default();
        float start[2] = {1, 0}, x[4] = {0, 1, 0, -1}, c[2];
        int32_t label[2];
        struct coke_kmeans *km;
        o.n = 2, o.k = 1, o.dim = 2, o.ratio = 0, o.update = form;
        assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL));
        assert_ok(coke_kmeans_step(km, x, NULL, 2, label));
        assert_ok(coke_kmeans_epoch_end(km));
        assert_ok(coke_kmeans_copy(km, COKE_ARRAY_CURRENT, c, 2));
        assert_true(isfinite(c[0]) && isfinite(c[1]));
        if (form != CK_UPDATE_RUNNING)
            assert_true(c[0] == 1 && c[1] == 0);
        coke_kmeans_free(km);
    }
}

static void bound_is_the_floor_of_its_share(void **state)
{
    (void)state;
    struct {
        int64_t n, k, want;
        double ratio;
    } t[] = {{500, 40, 5, 0.4},
             {500, 17, 11, 0.4},
             {1281167, 3000, 170, 0.4},
             {1281167, 3000, 427, 1},
             {1281167, 3000, 341, 0.8},
             {1281167, 3000, 256, 0.6},
             {100, 7, 14, 1},
             {10, 10, 1, 1},
             {10, 10, 0, 0.99},
             {1000, 10, 70, 0.7},
             {1000, 10, 30, 0.3},
             {3000, 1000, 0, 0.1},
             {1, 1, 1, 1},
             {90, 30, 2, 0.7}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        int64_t *min_size = test_array((size_t)t[i].k, sizeof *min_size);
        assert_ok(ck_kmeans_bounds(t[i].n, t[i].k, t[i].ratio, 0, NULL, NULL, min_size, NULL));
        for (int64_t k = 0; k < t[i].k; k++)
            assert_int_equal(min_size[k], t[i].want);
        free(min_size);
    }
    for (int64_t share = 1; share <= 20; share++) /* share/20 * n/k is whole */
        for (int64_t k = 1; k <= 50; k++) {
            int64_t min_size[50], max_size[50];
            assert_ok(ck_kmeans_bounds(20 * k, k, (double)share / 20, 1 + (double)share / 20,
                                       NULL, NULL, min_size, max_size));
            assert_int_equal(min_size[0], share);
            if (k > 1)
                assert_int_equal(max_size[0], 20 + share);
        }
}

static void impossible_bounds_are_refused_in_words(void **state)
{
    (void)state;
    int64_t min_size[3], max_size[3];
    assert_fails(ck_kmeans_bounds(2, 3, 0, 0, NULL, NULL, min_size, NULL), COKE_EUSAGE,
                 "3 clusters for 2 rows");
    assert_fails(ck_kmeans_bounds(9, 3, 0, 0, (int64_t[]){4, 4, 2}, NULL, min_size, NULL),
                 COKE_EUSAGE, "minimum sizes sum to 10, but there are only 9 rows");
    assert_fails(ck_kmeans_bounds(9, 3, 0, 0, (int64_t[]){4, -1, 2}, NULL, min_size, NULL),
                 COKE_EUSAGE, "minimum size -1 of cluster 1");
    assert_fails(ck_kmeans_bounds(9, 3, 0, 0, (int64_t[]){4, 4, 1}, (int64_t[]){9, 3, 9},
                                  min_size, max_size),
                 COKE_EUSAGE, "cluster 1: maximum size 3 is below its minimum size 4");
    assert_fails(ck_kmeans_bounds(9, 3, 0, 0.5, NULL, NULL, min_size, max_size), COKE_EUSAGE,
                 "maximum sizes sum to 6, too few for 9 rows");
    assert_ok(ck_kmeans_bounds(9, 3, 0, 0, (int64_t[]){4, 4, 1}, NULL, min_size, NULL));
}

static void duals_steer_sizes_towards_the_bounds(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct form f = {"", CK_UPDATE_FIXED, on ? 0.8 : 0, 0, 0.3, 0, 1, 0};
        float *x = test_vectors(N, DIM, 2, 0.6, 3), *start = test_vectors(K, DIM, 0, 0, 4);
        struct coke_kmeans *km = new_of(&f, start);
        int64_t count[K], min_size = N;
        for (int e = 0; e < 3; e++) {
            run_steps(km, x, e * 10, e * 10 + 9);
            assert_ok(coke_kmeans_copy(km, COKE_ARRAY_COUNTS, count, K));
            run_steps(km, x, e * 10 + 9, e * 10 + 10);
        }
        for (int k = 0; k < K; k++)
            min_size = count[k] < min_size ? count[k] : min_size;
        assert_true(on ? min_size >= 18 : min_size < 10);
        coke_kmeans_free(km);
        free(x);
        free(start);
    }
}

static void eta_follows_from_tau(void **state)
{
    (void)state;
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *km;
    float start[2] = {1, 0};
    o.n = 50, o.dim = 2, o.tau = 3;
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL));
    assert_close((double)km->duals.eta, 3 / sqrt(100), 1e-7);
    assert_close((double)km->duals.tau, 3, 0);
    coke_kmeans_free(km);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    struct form f = forms[0];
    float *x = test_vectors(N, DIM, 5, 0.8, 1), *start = test_vectors(K, DIM, 0, 0, 2);
    struct coke_kmeans *km = new_of(&f, start);
    struct result before, after;
    int32_t label[4];
    run_steps(km, x, 0, 3);
    take_result(km, &before);
    int64_t ids[4] = {0, 1, N, 2};
    assert_fails(coke_kmeans_step(km, x, ids, 4, label), COKE_EUSAGE, "id 301 (number 2");
    ids[2] = -1;
    assert_fails(coke_kmeans_step(km, x, ids, 4, label), COKE_EUSAGE, "id -1");
    ids[2] = 2;
    x[2 * DIM + 3] = NAN;
    assert_fails(coke_kmeans_step(km, x, ids, 4, label), COKE_ENUMERIC, "row 2");
    x[2 * DIM + 3] = -INFINITY;
    assert_fails(coke_kmeans_step(km, x, ids, 4, label), COKE_ENUMERIC, "row 2");
    x[2 * DIM + 3] = 0;
    assert_fails(coke_kmeans_step(km, x, ids, 0, label), COKE_EUSAGE, "0 rows");
    assert_fails(coke_kmeans_step(km, x, ids, -1, label), COKE_EUSAGE, "-1 rows");
    assert_fails(coke_kmeans_step(km, NULL, ids, 4, label), COKE_EUSAGE, "NULL");
    assert_fails(coke_kmeans_soft_targets(km, ids, -1, before.cur), COKE_EUSAGE, "-1 rows");
    assert_fails(coke_kmeans_copy(km, COKE_ARRAY_CURRENT, before.cur, 3), COKE_EUSAGE,
                 "room for 3");
    assert_fails(coke_kmeans_copy(km, COKE_ARRAY_SLOT_LABELS, before.cur, 999), COKE_EUSAGE,
                 "no such");
    take_result(km, &after);
    take_result(km, &before);
    assert_memory_equal(&before, &after, sizeof after);
    coke_kmeans_free(km);
    struct ck_kmeans_options o = options_of(&f);
    start[5] = NAN;
    assert_fails(coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL), COKE_ENUMERIC,
                 "center 0: number 5");
    o.k = N + 1;
    assert_fails(coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL), COKE_EUSAGE,
                 "302 clusters for 301");
    o.k = K;
    o.ratio = 1.5;
    assert_fails(coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL), COKE_EUSAGE,
                 "ratio: 1.5");
    o.ratio = 0.5;
    o.update = CK_UPDATE_FIXED;
    o.stage = 1;
    assert_fails(coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL), COKE_EUSAGE,
                 "second stage");
    free(x);
    free(start);
}

/* Finite numbers whose products are not: no label may leave 0..k-1. */
static void enormous_numbers_do_no_harm(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct ck_kmeans_options o = ck_kmeans_options_default();
        struct coke_kmeans *km;
        float start[8 * 4], x[3 * 8];
        int32_t label[3] = {0};
        for (int j = 0; j < 32; j++)
            start[j] = (j % 3 ? 1.0f : -1.0f) * (kind == 2 ? 3e38f : 0.3f);
        for (int j = 0; j < 24; j++)
            x[j] = (j % 2 ? 1.0f : -1.0f) * (kind == 1 ? 1e30f : 3e38f);
        o.n = 8, o.k = 4, o.dim = 8, o.update = CK_UPDATE_MEAN;
        if (coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL))
            continue; /* refusing is fine */
        if (coke_kmeans_step(km, x, NULL, 3, label) == COKE_OK)
            for (int i = 0; i < 3; i++)
                assert_true(label[i] >= 0 && label[i] < 4);
        coke_kmeans_free(km);
    }
}

/* A state file made by hand must not lead out of any array. */
static void states_with_impossible_numbers_are_refused(void **state)
{
    (void)state;
    char path[] = "/tmp/coke-kmeans-XXXXXX";
    close(mkstemp(path));
    float *start = test_vectors(K, DIM, 0, 0, 2);
    for (int what = 0; what < 7; what++) {
        struct coke_kmeans *km = new_of(&forms[4], start), *again = NULL;
        if (what == 0)
            km->cur[3] = NAN;
        else if (what == 1)
            km->prev[3] = INFINITY;
        else if (what == 2)
            km->duals.rho[2] = NAN;
        else if (what == 3)
            km->duals.sigma[1] = -INFINITY;
        else if (what == 4)
            ck_labels_set(&km->labels, 5, K);
        else if (what == 5)
            km->epoch = -3;
        else
            km->count[1] = -7;
        assert_ok(coke_kmeans_save(km, path, 1));
        int rc = coke_kmeans_load(&again, path);
        if (rc != COKE_EFORMAT && rc != COKE_ENUMERIC)
            fail_msg("impossible state %d: %d", what, rc);
        assert_null(again);
        coke_kmeans_free(km);
    }
    unlink(path);
    free(start);
}

/* Takes the state of km without one option, as a version before that option saved it. */
static int restore_without(const char *option, const struct coke_kmeans *km,
                           struct coke_kmeans **out)
{
    struct ck_state s = {0};
    assert_ok(ck_kmeans_state(km, &s));
    for (int i = 0; i < s.nmeta; i++)
        if (strcmp(s.meta[i].key, option) == 0)
            s.meta[i].key[0] = '?';
    int rc = ck_kmeans_restore(out, &s);
    ck_state_release(&s);
    return rc;
}

static void states_without_a_newer_option_have_its_default(void **state)
{
    (void)state;
    float *start = test_vectors(K, DIM, 0, 0, 2);
    struct coke_kmeans *km = new_of(&forms[0], start), *again = NULL;
    const struct ck_option_table *t = ck_kmeans_option_table();
    km->o.carry = 0.25;
    for (int i = 0; i < t->n; i++) {
        const char *name = t->row[i].name;
        if (!strcmp(name, "n") || !strcmp(name, "k") || !strcmp(name, "dim")) {
            assert_fails(restore_without(name, km, &again), COKE_EFORMAT, "is missing");
            continue;
        }
        assert_ok(restore_without(name, km, &again));
        assert_close(again->o.carry, strcmp(name, "carry") ? 0.25 : 0, 0);
        coke_kmeans_free(again);
    }
    coke_kmeans_free(km);
    free(start);
}

static void heads_refuse_an_empty_batch(void **state)
{
    (void)state;
    struct coke_kmeans *head[1] = {NULL};
    struct coke_multihead *mh;
    float *start = test_vectors(K, DIM, 0, 0, 2), rho[K];
    int32_t label[1];
    head[0] = new_of(&forms[0], start);
    assert_ok(coke_multihead_new(&mh, head, 1));
    assert_fails(coke_multihead_step(mh, start, NULL, 0, label), COKE_EUSAGE, "0 rows");
    assert_ok(coke_kmeans_copy(head[0], COKE_ARRAY_DUALS, rho, K));
    for (int k = 0; k < K; k++)
        assert_true(isfinite(rho[k]));
    coke_multihead_free(mh);
    free(start);
}

static void many_clusters_are_stored_in_32_bits(void **state)
{
    (void)state;
    enum { MANY = 70000 };
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *km;
    float *start = test_array(MANY * 2, sizeof *start);
    int32_t label[2], *stored = test_array(MANY, sizeof *stored);
    for (int i = 0; i < MANY; i++) {
        start[2 * i] = (float)cos(i * 1e-5);
        start[2 * i + 1] = (float)sin(i * 1e-5);
    }
    o.n = MANY, o.k = MANY, o.dim = 2, o.ratio = 0;
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), start, NULL, NULL));
    assert_non_null(km->labels.wide);
    int64_t ids[2] = {5, MANY - 1};
    float x[4] = {(float)cos(0.69999), (float)sin(0.69999), 1, 0};
    assert_ok(coke_kmeans_step(km, x, ids, 2, label));
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_LABELS, stored, MANY));
    assert_true(label[0] > 69000);
    assert_int_equal(stored[5], label[0]);
    assert_int_equal(stored[MANY - 1], label[1]);
    assert_int_equal(stored[6], -1);
    coke_kmeans_free(km);
    free(start);
    free(stored);
}

static void predict_uses_last_epochs_centers_without_duals(void **state)
{
    (void)state;
    float *x = test_vectors(N, DIM, 5, 0.8, 1), *start = test_vectors(K, DIM, 0, 0, 2);
    struct coke_kmeans *km = new_of(&forms[1], start);
    struct result r;
    int32_t label[N];
    float score[N];
    run_steps(km, x, 0, 14); /* in the middle of the second epoch */
    take_result(km, &r);
    assert_ok(coke_kmeans_predict(km, x, N, label, score));
    for (int i = 0; i < N; i++) {
        double best = -2;
        for (int k = 0; k < K; k++) {
            double s = 0;
            for (int j = 0; j < DIM; j++)
                s += (double)x[i * DIM + j] * (double)r.prev[k * DIM + j];
            best = fmax(best, s);
        }
        assert_close((double)score[i], best, 1e-6);
    }
    assert_ok(coke_kmeans_predict(km, x, 0, label, NULL));
    coke_kmeans_free(km);
    free(x);
    free(start);
}

int main(void)
{
    coke_set_threads(1); /* but where a test says otherwise: small jobs would only wait */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_equals_the_independent_program),
        cmocka_unit_test(bytes_do_not_depend_on_the_threads),
        cmocka_unit_test(state_continues_from_any_batch),
        cmocka_unit_test(heads_together_are_heads_alone),
        cmocka_unit_test(update_never_moves_center_of_empty_cluster),
        cmocka_unit_test(members_that_cancel_leave_the_center),
        cmocka_unit_test(bound_is_the_floor_of_its_share),
        cmocka_unit_test(impossible_bounds_are_refused_in_words),
        cmocka_unit_test(duals_steer_sizes_towards_the_bounds),
        cmocka_unit_test(eta_follows_from_tau),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(enormous_numbers_do_no_harm),
        cmocka_unit_test(states_with_impossible_numbers_are_refused),
        cmocka_unit_test(states_without_a_newer_option_have_its_default),
        cmocka_unit_test(heads_refuse_an_empty_batch),
        cmocka_unit_test(many_clusters_are_stored_in_32_bits),
        cmocka_unit_test(predict_uses_last_epochs_centers_without_duals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
