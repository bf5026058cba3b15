/* test_repair.c - the frozen pass and the exact repair over rows, against a slow solver and a
 * full scan of all scores. */
#include "support.h"
#include "cluster/repair_scan.h"
#include "core/mem.h"

struct problem {
    int64_t n, k;
    int dim;
    float *x, *c;                 /* [n][dim], [k][dim] */
    int64_t *min_size, *max_size; /* most NULL = none */
    const double *weight;
    double tolerance;
    int expect;          /* `size` has estimated sizes */
    const double *allow; /* fill what a plain scan left missing, or NULL */
    const struct coke_callbacks *callbacks;
    const struct ck_kernels *kn;
    /* out */
    int32_t *label;
    float *price, *score;
    int64_t *size;
    struct ck_repair r;
};

static struct problem make(int64_t n, int64_t k, int dim, uint64_t seed)
{
    struct problem p = {.n = n, .k = k, .dim = dim, .kn = ck_kernels()};
    p.x = test_vectors(n, dim, (int)k + 1, 1.0, seed);
    p.c = test_vectors(k, dim, 0, 0, seed + 500);
    p.min_size = test_array((size_t)k, sizeof *p.min_size);
    p.label = test_array((size_t)n, sizeof *p.label);
    p.score = test_array((size_t)n, sizeof *p.score);
    p.price = test_array((size_t)k, sizeof *p.price);
    p.size = test_array((size_t)k, sizeof *p.size);
    return p;
}

static void drop(struct problem *p)
{
    free(p->x), free(p->c), free(p->min_size), free(p->max_size), free(p->label),
        free(p->score);
    free(p->price), free(p->size);
}

static void set_ratio(struct problem *p, double ratio)
{
    for (int64_t l = 0; l < p->k; l++)
        p->min_size[l] = (int64_t)(ratio * (double)p->n / (double)p->k + 1e-9);
}

static int fill(struct problem *p)
{
    struct ck_repair_scan scan;
    int rc = ck_repair_scan_init(&scan, &p->r);
    rc = rc ? rc : ck_repair_fill(&scan, *p->allow);
    ck_repair_scan_release(&scan);
    return rc;
}

static int64_t fail_at; /* this allocation of the repair; 0 = none */

static int run(struct problem *p, int exact)
{
    struct coke_rows *rows;
    struct ck_scan scan;
    struct ck_assigner *a;
    struct ck_labels labels;
    int ld = ck_padded(p->dim);
    /* exactly k rows, so that the sanitizer sees a read of one more */
    float *center = test_array((size_t)(p->k * ld), sizeof *center);
    for (int64_t l = 0; l < p->k; l++)
        memcpy(center + l * ld, p->c + l * p->dim, (size_t)p->dim * sizeof *center);
    assert_ok(coke_rows_from_array(&rows, p->x, p->n, p->dim));
    assert_ok(ck_scan_init(&scan, rows, p->kn, p->weight, 0, 0));
    assert_ok(ck_assigner_new(&a, p->kn, center, p->k, ld));
    assert_ok(ck_labels_init(&labels, p->n, p->k));
    p->r = (struct ck_repair){.scan = &scan,
                              .assigner = a,
                              .k = p->k,
                              .min_size = p->min_size,
                              .max_size = p->max_size,
                              .exact = exact,
                              .tolerance = p->tolerance,
                              .sample = 1,
                              .callbacks = p->callbacks,
                              .expected = p->expect ? p->size : NULL,
                              .price = p->price,
                              .labels = &labels,
                              .scores = p->score,
                              .size = p->size};
    ck_mem_fail_at(fail_at);
    int rc = ck_repair_run(&p->r);
    if (!rc && p->allow)
        rc = fill(p);
    ck_mem_fail_at(0);
    for (int64_t i = 0; i < p->n; i++)
        p->label[i] = ck_labels_get(&labels, i);
    ck_labels_release(&labels);
    ck_assigner_free(a);
    ck_scan_release(&scan);
    coke_rows_free(rows);
    free(center);
    return rc;
}

/* s [n][k] as the definition of the score has it, of the weighted rows. */
static double *all_scores(const struct problem *p)
{
    int ld = ck_padded(p->dim);
    double *s = test_array((size_t)(p->n * p->k), sizeof *s), sum = 0;
    float *x = test_array((size_t)ld, sizeof *x), *c = test_array((size_t)ld, sizeof *c);
    for (int64_t i = 0; p->weight && i < p->n; i++)
        sum += p->weight[i];
    for (int64_t i = 0; i < p->n; i++) {
        memcpy(x, p->x + i * p->dim, (size_t)p->dim * sizeof *x);
        ck_normalize(&ck_kernels_ref, x, ld);
        for (int j = 0; p->weight && j < ld; j++)
            x[j] *= (float)fmax(p->weight[i] * (double)p->n / sum, 1e-6); /* as scan.h says */
        for (int64_t l = 0; l < p->k; l++) {
            memcpy(c, p->c + l * p->dim, (size_t)p->dim * sizeof *c);
            s[i * p->k + l] = (double)ck_kernels_ref.dot(x, c, ld);
        }
    }
    free(x);
    free(c);
    return s;
}

/* Sizes, scores, primal, dual bound and nearest similarity, all counted again. */
static void check_certificate(const struct problem *p, const double *s)
{
    double primal = 0, dual = 0, nearest = 0, room = 1e-6 * (double)p->n;
    int64_t *size = test_array((size_t)p->k, sizeof *size);
    for (int64_t i = 0; i < p->n; i++) {
        const double *row = s + i * p->k;
        double best = -INFINITY, top = -INFINITY;
        assert_true(p->label[i] >= 0 && p->label[i] < p->k);
        size[p->label[i]]++;
        assert_true((double)p->score[i] == row[p->label[i]]);
        primal += row[p->label[i]];
        for (int64_t l = 0; l < p->k; l++) {
            best = fmax(best, row[l] + (double)p->price[l]);
            top = fmax(top, row[l]);
        }
        dual += best;
        nearest += top;
    }
    for (int64_t l = 0; l < p->k; l++) {
        double price = (double)p->price[l];
        assert_int_equal(size[l], p->size[l]);
        assert_true(size[l] >= p->min_size[l]);
        assert_true(!p->max_size || size[l] <= p->max_size[l]);
        assert_true(p->max_size || price >= 0);
        dual -= price * (double)(price >= 0 ? p->min_size[l] : p->max_size[l]);
    }
    free(size);
    assert_close(p->r.primal, primal, room);
    assert_close(p->r.dual, dual, room);
    assert_true(p->r.dual >= p->r.primal - room);
    assert_close(p->r.dual, p->r.primal, room);
    assert_close(p->r.nearest, nearest, room);
    assert_int_equal(p->r.total, p->n);
}

/* From no prices, good ones and two kinds of bad ones: the same optimum, proven. */
static void check_all_starts(struct problem *p, uint64_t seed)
{
    double *s = all_scores(p);
    double best = slow_best(s, p->n, p->k, p->min_size, p->max_size, NULL);
    assert_true(best == best); /* not NAN: the sizes can be met */
    for (int start = 0; start < 4; start++) {
        for (int64_t l = 0; l < p->k && start != 1; l++) {
            double u = test_unit(seed, (uint64_t)(l + 1000 * start));
            p->price[l] = start == 0 ? 0 : (float)(start == 2 ? u : 4 * u - 2);
        }
        assert_ok(run(p, 1));
        check_certificate(p, s);
        assert_close(p->r.primal, best, 1e-6 * (double)p->n);
    }
    free(s);
}

static void repair_is_the_optimum_from_any_prices(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct problem p = make(20 + (int64_t)(seed * 13 % 41), 1 + (int64_t)(seed % 6),
                                3 + (int)(seed % 19), seed);
        set_ratio(&p, (double)(seed % 5) / 4);
        check_all_starts(&p, seed);
        drop(&p);
    }
}

static void balanced_sizes_are_met(void **state)
{
    (void)state;
    const int64_t n[] = {60, 61, 64, 65};
    for (int i = 0; i < 4; i++)
        for (int64_t k = 2; k <= 6; k++) {
            struct problem p = make(n[i], k, 8, (uint64_t)(n[i] * k));
            set_ratio(&p, 1);
            check_all_starts(&p, (uint64_t)k);
            drop(&p);
        }
}

static void both_bounds_are_met(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        int64_t k = 2 + (int64_t)(seed % 5), n = 60, room = 0, left = n;
        struct problem p = make(n, k, 5, seed);
        p.max_size = test_array((size_t)k, sizeof *p.max_size);
        for (int64_t l = 0; l < k; l++) {
            double u = test_unit(seed, (uint64_t)l + 50);
            p.min_size[l] = seed % 4 ? (int64_t)(u * (double)n / (double)k) : 0;
            left -= p.min_size[l];
            p.max_size[l] = p.min_size[l] + (int64_t)(test_unit(seed, (uint64_t)l + 90) * 6);
            room += p.max_size[l];
        }
        for (int64_t l = 0; room < n; l = (l + 1) % k, room++)
            p.max_size[l]++;
        assert_true(left >= 0);
        check_all_starts(&p, seed);
        drop(&p);
    }
}

static void equal_points_are_shared_out(void **state)
{
    (void)state;
    for (int64_t k = 1; k <= 6; k++) {
        struct problem p = make(48, k, 7, 3);
        for (int64_t i = 1; i < p.n; i++)
            memcpy(p.x + i * p.dim, p.x, (size_t)p.dim * sizeof *p.x);
        set_ratio(&p, 1);
        check_all_starts(&p, 1);
        set_ratio(&p, 0.5);
        check_all_starts(&p, 2);
        for (int64_t l = 1; l < k; l++) /* centers equal, too */
            memcpy(p.c + l * p.dim, p.c, (size_t)p.dim * sizeof *p.c);
        check_all_starts(&p, 3);
        drop(&p);
    }
}

/* Points come in pairs, centers lie on points: ties and zero-cost moves. */
static void twins_and_ties_are_no_trouble(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct problem p = make(50, 5, 2, seed);
        for (int64_t i = 0; i < p.n; i++) {
            double angle = floor(test_unit(seed, (uint64_t)i) * 8) * 0.78539816339744831;
            p.x[2 * i] = (float)cos(angle);
            p.x[2 * i + 1] = (float)sin(angle);
        }
        for (int64_t l = 0; l < p.k; l++)
            memcpy(p.c + 2 * l, p.x + 2 * l, 2 * sizeof *p.c);
        set_ratio(&p, 0.8);
        check_all_starts(&p, seed);
        drop(&p);
    }
}

/* Many centers in one tight bundle, where the points are; a few far away that must get some:
 * prices have to rise by 2 although the margin is small. */
static void far_centers_get_their_share(void **state)
{
    (void)state;
    struct problem p = make(600, 60, 6, 9);
    for (int64_t i = 0; i < p.n + p.k; i++) {
        int center = i >= p.n, far = center && i - p.n >= p.k - 4;
        float *v = center ? p.c + (i - p.n) * p.dim : p.x + i * p.dim;
        for (int j = 0; j < p.dim; j++)
            v[j] = (j == 0 ? far ? -1.0f : 1.0f : 0) +
                   0.002f * test_normal(5, (uint64_t)(i * 9 + j));
        test_normalize(v, p.dim);
    }
    set_ratio(&p, 0.5);
    double *s = all_scores(&p);
    double best = slow_best(s, p.n, p.k, p.min_size, NULL, NULL);
    for (int start = 0; start < 3; start++) {
        for (int64_t l = 0; l < p.k; l++)
            p.price[l] = (float)(start * test_unit(2, (uint64_t)l));
        assert_ok(run(&p, 1));
        check_certificate(&p, s);
        assert_close(p.r.primal, best, 1e-6 * (double)p.n);
    }
    free(s);
    drop(&p);
}

static void larger_instances_are_proven(void **state)
{
    (void)state;
    const double ratio[] = {0.4, 1};
    for (int i = 0; i < 2; i++)
        for (int upper = 0; upper < 2; upper++) {
            int slow = strcmp(ck_kernels()->name, "ref") == 0;
            struct problem p = make(slow ? 1000 : 5000, 50, 24, 77);
            set_ratio(&p, ratio[i]);
            if (upper) {
                p.max_size = test_array((size_t)p.k, sizeof *p.max_size);
                for (int64_t l = 0; l < p.k; l++)
                    p.max_size[l] = p.n / 50 * 6 / 5;
            }
            double *s = all_scores(&p);
            for (int start = 0; start < 3; start++) {
                for (int64_t l = 0; l < p.k && start != 1; l++)
                    p.price[l] = start ? (float)test_unit(4, (uint64_t)l) : 0;
                assert_ok(run(&p, 1));
                check_certificate(&p, s);
            }
            free(s);
            drop(&p);
        }
}

/* So many rows that the first prices come from a part of them. */
static void sampled_first_prices_lead_to_the_optimum(void **state)
{
    (void)state;
    for (int upper = 0; upper < 2; upper++) {
        struct problem p = make(8000, 9, 10, 91);
        set_ratio(&p, 0.95);
        if (upper) {
            p.max_size = test_array((size_t)p.k, sizeof *p.max_size);
            for (int64_t l = 0; l < p.k; l++)
                p.max_size[l] = 920;
        }
        double *s = all_scores(&p);
        for (int start = 0; start < 2; start++) {
            for (int64_t l = 0; l < p.k; l++)
                p.price[l] = (float)(start * test_unit(4, (uint64_t)l));
            assert_ok(run(&p, 1));
            check_certificate(&p, s);
        }
        free(s);
        drop(&p);
    }
}

static void weights_weigh_the_objective(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct problem p = make(60, 4, 6, seed);
        double w[60];
        for (int64_t i = 0; i < p.n; i++)
            w[i] = i % 7 ? test_unit(seed, (uint64_t)i) * 3 : 0;
        p.weight = w;
        set_ratio(&p, 0.9);
        check_all_starts(&p, seed);
        drop(&p);
    }
}

/* Without the solver: nearest with the prices given, and the objective all the same. */
static void frozen_pass_labels_with_its_prices(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct problem p = make(300, 7, 9, 4);
        double *s = all_scores(&p), nearest = 0, primal = 0;
        for (int64_t l = 0; l < p.k; l++)
            p.price[l] = (float)(kind * 0.5 * (test_unit(8, (uint64_t)l) - (kind - 1)));
        set_ratio(&p, 0.9);
        assert_ok(run(&p, 0));
        for (int64_t i = 0; i < p.n; i++) {
            double top = -INFINITY;
            int32_t best = 0;
            for (int32_t l = 0; l < p.k; l++) {
                float v = (float)s[i * p.k + l] + p.price[l];
                if (v > (float)s[i * p.k + best] + p.price[best])
                    best = l;
                top = fmax(top, s[i * p.k + l]);
            }
            assert_int_equal(p.label[i], best);
            nearest += top;
            primal += s[i * p.k + best];
        }
        assert_close(p.r.primal, primal, 1e-4);
        assert_close(p.r.nearest, nearest, 1e-4);
        free(s);
        drop(&p);
    }
}

/* The same problem, solved by every version of the kernels and any number of threads. */
static void versions_and_threads_agree(void **state)
{
    (void)state;
    struct problem first = {0};
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
        for (int threads = 1; threads <= 5; threads += 2) {
            struct problem p = make(4000, 5 + 0, 12, 21);
            p.kn = *kn;
            set_ratio(&p, 0.95);
            coke_set_threads(threads);
            assert_ok(run(&p, 1));
            coke_set_threads(1);
            if (!first.x) {
                first = p;
                continue;
            }
            assert_memory_equal(p.label, first.label, (size_t)p.n * sizeof *p.label);
            assert_memory_equal(p.price, first.price, (size_t)p.k * sizeof *p.price);
            assert_true(p.r.primal == first.r.primal && p.r.dual == first.r.dual);
            drop(&p);
        }
    drop(&first);
}

/* Sizes kept, a dual that its prices prove, and a gap within the tolerance. */
static void check_near(const struct problem *p)
{
    double *s = all_scores(p), primal = 0, dual = 0, room = 1e-6 * (double)p->n;
    int64_t *size = test_array((size_t)p->k, sizeof *size);
    for (int64_t i = 0; i < p->n; i++) {
        double best = -INFINITY;
        size[p->label[i]]++;
        assert_true((double)p->score[i] == s[i * p->k + p->label[i]]);
        primal += (double)p->score[i];
        for (int64_t l = 0; l < p->k; l++)
            best = fmax(best, s[i * p->k + l] + (double)p->price[l]);
        dual += best;
    }
    for (int64_t l = 0; l < p->k; l++) {
        int64_t bound = p->price[l] >= 0 ? p->min_size[l] : p->max_size[l];
        assert_int_equal(size[l], p->size[l]);
        assert_true(size[l] >= p->min_size[l] && (!p->max_size || size[l] <= p->max_size[l]));
        dual -= (double)p->price[l] * (double)bound;
    }
    free(s);
    free(size);
    assert_close(p->r.primal, primal, room);
    assert_true(p->r.dual >= dual - room); /* never less than what the prices prove */
    assert_true(p->r.dual - primal <= p->tolerance * fabs(primal) + room);
}

static void allow_at_most(struct problem *p, double ratio)
{
    p->max_size = test_array((size_t)p->k, sizeof *p->max_size);
    for (int64_t l = 0; l < p->k; l++)
        p->max_size[l] = (int64_t)ceil(ratio * (double)p->n / (double)p->k);
}

/* Runs it on one thread and on three. */
static void check_near_on_teams(struct problem *p)
{
    struct problem twin = *p;
    assert_ok(run(p, 1));
    check_near(p);
    twin.label = test_array((size_t)p->n, sizeof *p->label);
    twin.price = test_array((size_t)p->k, sizeof *p->price);
    coke_set_threads(3);
    assert_ok(run(&twin, 1));
    coke_set_threads(1);
    assert_memory_equal(p->label, twin.label, (size_t)p->n * sizeof *p->label);
    assert_memory_equal(p->price, twin.price, (size_t)p->k * sizeof *p->price);
    free(twin.label);
    free(twin.price);
}

/* Loose, balanced and two-sided bounds, from prices of 0, without and with known sizes. */
static void near_labels_keep_sizes_within_the_tolerance(void **state)
{
    (void)state;
    const double ratio[] = {0.4, 0.9, 1, 0, 0.8, 1}, most[] = {0, 0, 0, 1.3, 1.2, 1};
    for (int c = 0; c < 6; c++)
        for (int dim = 2; dim <= 20; dim += 18) {
            struct problem p = make(3000, 40, dim, (uint64_t)(c + 1));
            set_ratio(&p, ratio[c]);
            if (most[c] > 0)
                allow_at_most(&p, most[c]);
            p.tolerance = 1e-4;
            check_near_on_teams(&p);
            memset(p.price, 0, (size_t)p.k * sizeof *p.price);
            assert_ok(run(&p, 0));
            p.expect = 1;
            assert_ok(run(&p, 1));
            check_near(&p);
            drop(&p);
        }
}

/* A row of more than a thousand times the mean weight, beside which scores of the others differ by
 * little more than what rounding may do to its own. */
static void one_row_may_weigh_more_than_most(void **state)
{
    (void)state;
    const double heavy[] = {100, 2000};
    double *w = test_array(3000, sizeof *w);
    for (int c = 0; c < 8; c++) {
        struct problem p = make(3000, 20, 6, (uint64_t)c + 1);
        for (int64_t i = 0; i < p.n; i++) {
            w[i] = i % 7 ? test_unit(9, (uint64_t)i) : 0;
            if (c % 4 > 1 && i % 5 > 1)
                memcpy(p.x + i * p.dim, p.x, (size_t)p.dim * sizeof *p.x);
        }
        w[3] = heavy[c % 2] * 0.5;
        p.weight = w;
        set_ratio(&p, 0.9);
        p.tolerance = c < 4 ? 0 : 1e-4;
        assert_ok(run(&p, 1));
        p.tolerance = c < 4 ? 1e-6 : 1e-4;
        check_near(&p);
        drop(&p);
    }
    free(w);
}

/* One cluster lacks four rows: a sample has some, unless the total must fall by less. */
static void a_sample_fills_a_cluster_if_that_is_near_enough(void **state)
{
    (void)state;
    const double none = 0, little = 1e-9, plenty = 1e9, *allow[] = {&none, &little, &plenty};
    double primal[3], scans[3], before = 0;
    struct problem p = make(4000, 10, 8, 11);
    int32_t *label = test_array((size_t)p.n, sizeof *label);
    for (int c = 0; c < 3; c++) {
        p.allow = NULL;
        assert_ok(run(&p, 0));
        before = p.r.primal;
        for (int64_t l = 0; l < p.k; l++)
            p.min_size[l] = p.size[l] > 100 ? p.size[l] - 100 : 0;
        p.min_size[3] = p.size[3] + 4;
        p.allow = allow[c];
        assert_ok(run(&p, 0));
        for (int64_t l = 0; l < p.k; l++)
            assert_true(p.size[l] >= p.min_size[l]);
        assert_int_equal(p.size[3], p.min_size[3]);
        primal[c] = 0;
        for (int64_t i = 0; i < p.n; i++)
            primal[c] += (double)p.score[i];
        assert_close(p.r.primal, primal[c], 1e-6 * (double)p.n);
        scans[c] = p.r.scans;
        if (c == 1)
            assert_memory_equal(p.label, label, (size_t)p.n * sizeof *label);
        memcpy(label, p.label, (size_t)p.n * sizeof *label);
        for (int64_t l = 0; l < p.k; l++)
            p.min_size[l] = 0;
    }
    assert_close(scans[0], 1.1, 1e-9); /* all rows are compared with one center of ten */
    assert_close(scans[1], 1.1125, 1e-9);
    assert_close(scans[2], 1.0125, 1e-9);
    assert_true(before > primal[0] && primal[0] > primal[2]);
    free(label);
    drop(&p);
}

/* On a circle cosines of neighbors differ by far less than lists usually span. */
static void near_lists_are_short_on_a_circle(void **state)
{
    (void)state;
    struct problem p = make(4000, 2000, 2, 5);
    p.tolerance = 1e-4;
    check_near_on_teams(&p);
    assert_true(p.r.arcs > 0 && p.r.arcs <= 12 * p.n);
    drop(&p);
}

/* All centers but a few are one, up to rounding, and so are most rows: the group is divided. */
static void coinciding_centers_share_their_rows(void **state)
{
    (void)state;
    for (int c = 0; c < 4; c++) {
        struct problem p = make(2000, 50, 8, 3);
        for (int64_t i = 0; i < p.n; i++)
            if (i % 10)
                memcpy(p.x + i * p.dim, p.x, (size_t)p.dim * sizeof *p.x);
        test_normalize(p.x, p.dim);
        for (int64_t l = 4; l < p.k; l++) {
            memcpy(p.c + l * p.dim, p.x, (size_t)p.dim * sizeof *p.c);
            p.c[l * p.dim + l % p.dim] += 5e-8f * (float)l / (float)p.k;
        }
        set_ratio(&p, c % 2 ? 0.9 : 0.4);
        if (c == 3)
            allow_at_most(&p, 1.2);
        p.tolerance = c < 2 ? 0 : 1e-4;
        assert_ok(run(&p, 1));
        for (int64_t l = 0; l < p.k; l++)
            assert_true(p.size[l] >= p.min_size[l]);
        if (c == 0 || c == 1) {
            p.tolerance = 2e-6; /* what the distances of the centers may hide */
            check_near(&p);
        }
        drop(&p);
    }
}

/* Nine rows of ten, or two of three, are copies of one or two rows, up to `noise`, and must fill
 * clusters far away. */
static void crowds_fill_clusters_far_away(void **state)
{
    (void)state;
    const double ratio[] = {0.4, 1, 0.8}, most[] = {0, 0, 1.2};
    for (int c = 0; c < 12; c++) {
        struct problem p = make(4000, 40, 16, (uint64_t)c);
        int one = c % 2, noisy = c >= 6;
        for (int64_t i = 2; i < p.n; i++) {
            if (one ? i % 10 == 0 : i % 3 == 0)
                continue;
            float *x = p.x + i * p.dim;
            memcpy(x, p.x + (one ? 0 : i % 3 - 1) * p.dim, (size_t)p.dim * sizeof *x);
            x[i % p.dim] += noisy ? 5e-5f * test_normal(7, (uint64_t)i) : 0;
            test_normalize(x, p.dim);
        }
        test_normalize(p.x, p.dim);
        test_normalize(p.x + p.dim, p.dim);
        set_ratio(&p, ratio[c % 3]);
        if (most[c % 3] > 0)
            allow_at_most(&p, most[c % 3]);
        /* the noise is 5e-5 of rows far from their centers */
        p.tolerance = noisy ? 6e-4 : 1e-4;
        check_near_on_teams(&p);
        drop(&p);
    }
}

/* Rows of weight 0 are copies as far as the total can tell, but they have directions: where the
 * bounds leave room, as here with the fewest rows that a cluster may have, each is in the cluster of
 * its nearest center. */
static void rows_without_weight_go_to_their_nearest_center(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++) {
        int64_t off = 0;
        struct problem p = make(6000, 12, 8, (uint64_t)c + 21);
        double *w = test_array((size_t)p.n, sizeof *w);
        for (int64_t i = 0; i < p.n; i++)
            w[i] = i % 3 ? 1 : 0;
        p.weight = w;
        assert_ok(run(&p, 0));
        int64_t least = p.n;
        for (int64_t l = 0; l < p.k; l++)
            least = p.size[l] < least ? p.size[l] : least;
        set_ratio(&p, 0.5 * (double)(least * p.k) / (double)p.n);
        if (c == 2)
            allow_at_most(&p, (double)p.k);
        p.tolerance = 1e-4;
        check_near_on_teams(&p);
        double *s = all_scores(&p);
        for (int64_t i = 0; i < p.n; i++) {
            double best = -INFINITY;
            for (int64_t l = 0; l < p.k; l++)
                best = fmax(best, s[i * p.k + l]);
            off += (double)p.score[i] < best;
        }
        assert_true(100 * off <= p.n);
        free(s);
        free(w);
        drop(&p);
    }
}

/* Rows that no center is like, copies or not: a part of their total is 0, too. */
static void a_total_of_zero_is_divided(void **state)
{
    (void)state;
    for (int c = 0; c < 8; c++) {
        struct problem p = make(2000, 12, 8, 4);
        for (int64_t i = 0; i < p.n; i++)
            for (int j = 0; j < p.dim; j++)
                p.x[i * p.dim + j] = j == (c % 2 ? 0 : i % 3);
        for (int64_t l = 0; l < p.k; l++)
            memset(p.c + l * p.dim, 0, 3 * sizeof *p.c);
        set_ratio(&p, c / 2 % 2 ? 1 : 0.5);
        if (c % 4 == 3)
            allow_at_most(&p, 1.2);
        p.tolerance = c < 4 ? 1e-4 : 0;
        assert_ok(run(&p, 1));
        p.tolerance = 0;
        check_near(&p);
        drop(&p);
    }
}

/* `part` of the rows become copies of the first `originals`, in mixed order. Returns how many rows
 * are equal to another. */
static int64_t copy_rows(struct problem *p, double part, int64_t originals, uint64_t seed)
{
    int64_t copies = originals;
    for (int64_t i = originals; i < p->n; i++) {
        if (test_unit(seed, 900 + (uint64_t)i) >= part)
            continue;
        memcpy(p->x + i * p->dim, p->x + i % originals * p->dim, (size_t)p->dim * sizeof *p->x);
        copies++;
    }
    return copies;
}

/* Loose, balanced and two-sided bounds. */
static void set_bounds(struct problem *p, int kind)
{
    const double ratio[] = {0.5, 1, 0.8}, most[] = {0, 0, 1.2};
    set_ratio(p, ratio[kind]);
    if (most[kind] > 0)
        allow_at_most(p, most[kind]);
}

/* The optimum, proven, and the same bytes on two and three threads. */
static void check_exact_on_teams(struct problem *p, const double *s)
{
    struct problem twin = *p;
    assert_ok(run(p, 1));
    check_certificate(p, s);
    assert_true(p->r.dual - p->r.primal <= 1e-9 * (double)p->n);
    twin.label = test_array((size_t)p->n, sizeof *p->label);
    twin.score = test_array((size_t)p->n, sizeof *p->score);
    twin.price = test_array((size_t)p->k, sizeof *p->price);
    for (int threads = 2; threads <= 3; threads++) {
        memset(twin.price, 0, (size_t)p->k * sizeof *p->price);
        coke_set_threads(threads);
        assert_ok(run(&twin, 1));
        coke_set_threads(1);
        assert_memory_equal(p->label, twin.label, (size_t)p->n * sizeof *p->label);
        assert_memory_equal(p->price, twin.price, (size_t)p->k * sizeof *p->price);
        assert_memory_equal(p->score, twin.score, (size_t)p->n * sizeof *p->score);
        assert_true(p->r.primal == twin.r.primal && p->r.dual == twin.r.dual);
    }
    free(twin.label);
    free(twin.score);
    free(twin.price);
}

/* A fifth, most or all of the rows are copies of one or three rows, with all kinds of bounds,
 * against a slow solver that knows nothing of copies. Copies have no lists of their own, or else
 * they would have been treated one by one. */
static void copies_are_divided_exactly(void **state)
{
    (void)state;
    const double part[] = {0.2, 0.9, 1};
    int crowded = 0;
    for (int c = 0; c < 18; c++) {
        int64_t originals = c % 2 ? 3 : 1;
        struct problem p = make(700, 14, 8, (uint64_t)c + 40);
        int64_t copies = copy_rows(&p, part[c / 2 % 3], originals, (uint64_t)c);
        set_bounds(&p, c / 6);
        double *s = all_scores(&p);
        double best = slow_best(s, p.n, p.k, p.min_size, p.max_size, NULL);
        check_exact_on_teams(&p, s);
        assert_close(p.r.primal, best, 1e-6 * (double)p.n);
        crowded += p.r.active <= p.n - copies;
        free(s);
        drop(&p);
    }
    assert_true(crowded >= 12);
}

/* Larger, with weights, which divide the copies into crowds of their own. */
static void large_crowds_are_proven(void **state)
{
    (void)state;
    for (int c = 0; c < 6; c++) {
        struct problem p = make(6000, 60, 16, (uint64_t)c + 3);
        int64_t copies = copy_rows(&p, 0.9, c < 3 ? 1 : 5, 7);
        double *w = test_array((size_t)p.n, sizeof *w);
        for (int64_t i = 0; i < p.n; i++)
            w[i] = i % 3 ? 1 : 2.5;
        p.weight = c % 2 ? w : NULL;
        set_bounds(&p, c % 3);
        double *s = all_scores(&p);
        check_exact_on_teams(&p, s);
        assert_true(p.r.active <= p.n - copies);
        free(s);
        free(w);
        drop(&p);
    }
}

/* A third of the rows move a little. */
static void add_noise(struct problem *p)
{
    for (int64_t i = 0; i < p->n; i += 3)
        p->x[i * p->dim + i % p->dim] += 2e-4f * test_normal(7, (uint64_t)i);
}

/* Copies up to some noise are rows of their own: some of them equal, the others nearly so. */
static void near_copies_are_told_apart(void **state)
{
    (void)state;
    for (int c = 0; c < 6; c++) {
        struct problem p = make(500, 10, 6, (uint64_t)c + 80);
        copy_rows(&p, 0.9, 1 + c % 2, (uint64_t)c);
        add_noise(&p);
        set_bounds(&p, c / 2);
        double *s = all_scores(&p);
        double best = slow_best(s, p.n, p.k, p.min_size, p.max_size, NULL);
        check_exact_on_teams(&p, s);
        assert_close(p.r.primal, best, 1e-8 * (double)p.n);
        free(s);
        drop(&p);
    }
}

static void crowds_survive_failed_allocations(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        struct problem p = make(300, 8, 6, 5);
        copy_rows(&p, 0.85, 2, 5);
        if (noisy)
            add_noise(&p);
        set_bounds(&p, 2);
        for (fail_at = 1;; fail_at++) {
            int64_t live = ck_mem_stats().live;
            memset(p.price, 0, (size_t)p.k * sizeof *p.price);
            int rc = run(&p, 1);
            assert_int_equal(ck_mem_stats().live, live);
            if (rc == COKE_OK)
                break;
            assert_int_equal(rc, COKE_ENOMEM);
        }
        assert_true(fail_at > 100); /* it got through all phases */
        fail_at = 0;
        drop(&p);
    }
}

static int stop(void *user, const struct coke_progress *p)
{
    (void)p;
    return ++*(int *)user >= 1;
}

static void a_caller_can_stop_it(void **state)
{
    (void)state;
    int calls = 0;
    const struct coke_callbacks callbacks = {
        .size = sizeof(struct coke_callbacks), .user = &calls, .progress = stop};
    struct problem p = make(300, 3, 4, 4);
    struct coke_rows *rows;
    struct ck_scan scan;
    struct ck_assigner *a;
    struct ck_labels labels;
    float *center = test_array((size_t)(3 * 16), sizeof *center);
    int64_t live = ck_mem_stats().live;
    assert_ok(coke_rows_from_array(&rows, p.x, p.n, p.dim));
    assert_ok(ck_scan_init(&scan, rows, p.kn, NULL, 0, 0));
    assert_ok(ck_assigner_new(&a, p.kn, center, p.k, 16));
    assert_ok(ck_labels_init(&labels, p.n, p.k));
    struct ck_repair r = {.scan = &scan,
                          .assigner = a,
                          .k = 3,
                          .min_size = p.min_size,
                          .exact = 1,
                          .callbacks = &callbacks,
                          .price = p.price,
                          .labels = &labels,
                          .size = p.size};
    assert_fails(ck_repair_run(&r), COKE_ESTOPPED, "stopped");
    ck_labels_release(&labels);
    ck_assigner_free(a);
    ck_scan_release(&scan);
    coke_rows_free(rows);
    free(center);
    drop(&p);
    assert_int_equal(ck_mem_stats().live, live);
}

struct patience {
    int calls, last;
};

static int stop_later(void *user, const struct coke_progress *p)
{
    (void)p;
    struct patience *t = user;
    return ++t->calls >= t->last;
}

/* Rows that move are read one by one: reports come in between. */
static void many_moves_are_reported(void **state)
{
    (void)state;
    const double none = 0;
    struct patience t = {.last = 1 << 30};
    const struct coke_callbacks callbacks = {
        .size = sizeof callbacks, .user = &t, .progress = stop_later};
    struct problem p = make(4000, 2, 6, 8);
    assert_ok(run(&p, 0));
    int64_t small = p.size[0] < p.size[1] ? 0 : 1;
    p.min_size[small] = p.size[small] + 1500;
    p.allow = &none;
    p.callbacks = &callbacks;
    assert_ok(run(&p, 0));
    assert_int_equal(p.size[small], p.min_size[small]);
    assert_true(t.calls >= 1500 / 256 + 2);
    drop(&p);
}

/* Whichever report the caller stops at, in both modes; reports come from every phase. */
static void it_stops_at_any_report(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        int64_t live = ck_mem_stats().live;
        for (int last = 1, rc = COKE_ESTOPPED; rc == COKE_ESTOPPED; last++) {
            struct patience t = {.last = last};
            const struct coke_callbacks callbacks = {
                .size = sizeof callbacks, .user = &t, .progress = stop_later};
            struct problem p = make(1500, 30, 6, 8);
            set_ratio(&p, 1);
            p.tolerance = mode ? 1e-4 : 0;
            p.callbacks = &callbacks;
            rc = run(&p, 1);
            assert_true(rc == COKE_ESTOPPED || (rc == COKE_OK && last > 5));
            drop(&p);
        }
        assert_int_equal(ck_mem_stats().live, live);
    }
}

int main(void)
{
    coke_set_threads(1); /* but where a test says otherwise: small jobs would only wait */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repair_is_the_optimum_from_any_prices),
        cmocka_unit_test(balanced_sizes_are_met),
        cmocka_unit_test(both_bounds_are_met),
        cmocka_unit_test(equal_points_are_shared_out),
        cmocka_unit_test(twins_and_ties_are_no_trouble),
        cmocka_unit_test(far_centers_get_their_share),
        cmocka_unit_test(larger_instances_are_proven),
        cmocka_unit_test(sampled_first_prices_lead_to_the_optimum),
        cmocka_unit_test(weights_weigh_the_objective),
        cmocka_unit_test(one_row_may_weigh_more_than_most),
        cmocka_unit_test(frozen_pass_labels_with_its_prices),
        cmocka_unit_test(versions_and_threads_agree),
        cmocka_unit_test(near_labels_keep_sizes_within_the_tolerance),
        cmocka_unit_test(a_sample_fills_a_cluster_if_that_is_near_enough),
        cmocka_unit_test(near_lists_are_short_on_a_circle),
        cmocka_unit_test(coinciding_centers_share_their_rows),
        cmocka_unit_test(crowds_fill_clusters_far_away),
        cmocka_unit_test(rows_without_weight_go_to_their_nearest_center),
        cmocka_unit_test(a_total_of_zero_is_divided),
        cmocka_unit_test(copies_are_divided_exactly),
        cmocka_unit_test(large_crowds_are_proven),
        cmocka_unit_test(near_copies_are_told_apart),
        cmocka_unit_test(crowds_survive_failed_allocations),
        cmocka_unit_test(many_moves_are_reported),
        cmocka_unit_test(it_stops_at_any_report),
        cmocka_unit_test(a_caller_can_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
