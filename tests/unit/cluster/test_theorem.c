/* test_theorem.c - Theorem 1, measured: one pass over fixed centers, one row at a time, in
 * random orders, tau = 2 |rho*|_1, eta = tau / sqrt(2N), projection on. With R the regret
 * against the best assignment that keeps the sizes and V = max_k (gamma_k - size_k):
 *
 *     E[ R + tau max(V, 0) ] <= tau sqrt(2N)   for every N,
 *     log R and log V grow with a slope of at most .6 in log N.
 *
 * Without the duals it must not hold, else the test would prove nothing. */
#include "as_options.h"
#include "support.h"
#include "cluster/kmeans_internal.h"
#include "cluster/repair.h"
#include "core/mem.h"

enum { K = 8, DIM = 16, SIZES = 6, ORDERS = 8, FIRST = 1000, MOST = FIRST << (SIZES - 1) };

struct world {
    int64_t n;
    float *x; /* [n + tile][DIM] unit vectors; DIM is a multiple of CK_PAD */
    float *c; /* [K][DIM] */
    int64_t min_size[K];
    double optimum, tau;
};

struct outcome {
    double regret[SIZES], violation[SIZES], bound[SIZES],
        both[SIZES]; /* means over the orders */
};

/* Eight groups of very different sizes, so that the bounds of most of them bind. */
static void make_world(struct world *w, int64_t n)
{
    *w = (struct world){.n = n};
    w->c = test_vectors(K, DIM, 0, 0, 31);
    w->x = test_array((size_t)((n + CK_TILE) * DIM), sizeof *w->x);
    for (int64_t i = 0; i < n; i++) {
        double u = test_unit((uint64_t)n, (uint64_t)i);
        int g = (int)(u * u * u * K);
        for (int j = 0; j < DIM; j++)
            w->x[i * DIM + j] = w->c[g * DIM + j] +
                                0.25f * test_normal((uint64_t)n + 7, (uint64_t)(i * DIM + j));
        test_normalize(w->x + i * DIM, DIM);
    }
    for (int k = 0; k < K; k++)
        w->min_size[k] = (int64_t)(0.8 * (double)n / K + 1e-9);
}

static void drop_world(struct world *w)
{
    free(w->x);
    free(w->c);
}

static void solve_exactly(struct world *w)
{
    struct coke_rows *rows;
    struct ck_scan scan;
    struct ck_assigner *a;
    struct ck_labels labels;
    float price[K] = {0};
    int64_t size[K];
    assert_ok(coke_rows_from_array(&rows, w->x, w->n, DIM));
    assert_ok(ck_scan_init(&scan, rows, ck_kernels(), NULL, 0, 0));
    assert_ok(ck_assigner_new(&a, ck_kernels(), w->c, K, DIM));
    assert_ok(ck_labels_init(&labels, w->n, K));
    struct ck_repair r = {.scan = &scan,
                          .assigner = a,
                          .k = K,
                          .min_size = w->min_size,
                          .exact = 1,
                          .sample = 1,
                          .price = price,
                          .labels = &labels,
                          .size = size};
    assert_ok(ck_repair_run(&r));
    assert_close(r.primal, r.dual, 1e-5 * (double)w->n);
    w->optimum = r.primal;
    for (int k = 0; k < K; k++)
        w->tau += 2 * (double)price[k];
    assert_true(w->tau > 0.1); /* the bounds bind */
    ck_labels_release(&labels);
    ck_assigner_free(a);
    ck_scan_release(&scan);
    coke_rows_free(rows);
}

static void run_online(const struct world *w, int duals, uint64_t order, double *regret,
                       double *violation)
{
    struct ck_kmeans_options o = ck_kmeans_options_default();
    struct coke_kmeans *km;
    struct ck_perm perm;
    int64_t count[K], worst = INT64_MIN;
    float row[CK_TILE * DIM] = {0};
    double value = 0;
    o.n = w->n, o.k = K, o.dim = DIM, o.update = CK_UPDATE_FIXED, o.keep_labels = 0;
    o.tau = duals ? w->tau : 0;
    o.eta = duals ? 0 : 1e-9; /* 0 would be automatic */
    assert_ok(coke_kmeans_new(&km, AS(kmeans, &o), w->c, w->min_size, NULL));
    if (duals)
        assert_close((double)km->duals.eta, w->tau / sqrt(2 * (double)w->n), 1e-6);
    ck_perm_init(&perm, order, TEST_STREAM, 0, (uint64_t)w->n);
    for (int64_t t = 0; t < w->n; t++) {
        const float *x = w->x + (int64_t)ck_perm_at(&perm, (uint64_t)t) * DIM;
        int32_t label;
        memcpy(row, x, DIM * sizeof *row);
        assert_ok(ck_kmeans_step(km, row, NULL, 1, &label));
        value += (double)km->kn->dot(x, w->c + label * DIM, DIM);
    }
    assert_ok(coke_kmeans_copy(km, COKE_ARRAY_COUNTS, count, K));
    for (int k = 0; k < K; k++)
        worst = w->min_size[k] - count[k] > worst ? w->min_size[k] - count[k] : worst;
    *regret = w->optimum - value;
    *violation = (double)worst;
    coke_kmeans_free(km);
}

static void measure(int duals, struct outcome *r)
{
    memset(r, 0, sizeof *r);
    coke_set_threads(1);
    for (int s = 0; s < SIZES; s++) {
        struct world w;
        make_world(&w, (int64_t)FIRST << s);
        solve_exactly(&w);
        for (int order = 1; order <= ORDERS; order++) {
            double regret, violation;
            run_online(&w, duals, (uint64_t)order, &regret, &violation);
            r->regret[s] += regret / ORDERS;
            r->violation[s] += violation / ORDERS;
            r->both[s] += (regret + w.tau * fmax(violation, 0)) / ORDERS;
        }
        r->bound[s] = w.tau * sqrt(2 * (double)w.n);
        print_message(
            "  N %6lld  tau %.3f  regret %9.2f  violation %8.2f  both %10.2f  bound %8.2f\n",
            (long long)w.n, w.tau, r->regret[s], r->violation[s], r->both[s], r->bound[s]);
        drop_world(&w);
    }
    coke_set_threads(0);
}

/* Least squares of log max(y, 1) on log N. */
static double slope(const double y[SIZES])
{
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (int s = 0; s < SIZES; s++) {
        mx += log((double)(FIRST << s)) / SIZES;
        my += log(fmax(y[s], 1)) / SIZES;
    }
    for (int s = 0; s < SIZES; s++) {
        double dx = log((double)(FIRST << s)) - mx;
        xy += dx * (log(fmax(y[s], 1)) - my);
        xx += dx * dx;
    }
    return xy / xx;
}

static int bound_holds(const struct outcome *r)
{
    int holds = 1;
    for (int s = 0; s < SIZES; s++)
        holds &= r->both[s] <= r->bound[s];
    return holds;
}

static void regret_and_violation_grow_as_the_root_of_n(void **state)
{
    (void)state;
    struct outcome r;
    measure(1, &r);
    print_message("  slopes: regret %.3f, violation %.3f\n", slope(r.regret),
                  slope(r.violation));
    assert_true(bound_holds(&r));
    assert_true(slope(r.regret) <= 0.6);
    assert_true(slope(r.violation) <= 0.6);
}

static void without_duals_the_theorem_fails(void **state)
{
    (void)state;
    struct outcome r;
    measure(0, &r);
    print_message("  slopes: regret %.3f, violation %.3f\n", slope(r.regret),
                  slope(r.violation));
    assert_true(!bound_holds(&r));
    assert_true(slope(r.violation) > 0.6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regret_and_violation_grow_as_the_root_of_n),
        cmocka_unit_test(without_duals_the_theorem_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
