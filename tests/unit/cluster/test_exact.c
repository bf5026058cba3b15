/* test_exact.c - the solver on graphs with all arcs, against slow and exhaustive search. */
#include "support.h"
#include "cluster/auction.h"
#include "cluster/narrow.h"
#include "cluster/newton.h"
#include "core/mem.h"

struct instance {
    int64_t n, k;
    double *s; /* [n][k] */
    float *f;  /* the same in f32, which s holds exactly */
    int64_t *min_size, *max_size;
    int32_t *label; /* [n] */
    float *score;   /* [n] */
    double *price;  /* [k] */
    int64_t *size;  /* [k] */
    int64_t *base;  /* [k] zeros */
    int64_t *start;
    struct ck_arc *arc;
    int64_t *first; /* the same by point */
    struct ck_choice *choice;
};

static struct instance make(int64_t n, int64_t k, uint64_t seed)
{
    struct instance t = {.n = n, .k = k};
    t.s = test_array((size_t)(n * k), sizeof *t.s);
    t.f = test_array((size_t)(n * k), sizeof *t.f);
    t.min_size = test_array((size_t)k, sizeof *t.min_size);
    t.max_size = test_array((size_t)k, sizeof *t.max_size);
    t.label = test_array((size_t)n, sizeof *t.label);
    t.score = test_array((size_t)n, sizeof *t.score);
    t.price = test_array((size_t)k, sizeof *t.price);
    t.size = test_array((size_t)k, sizeof *t.size);
    t.base = test_array((size_t)k, sizeof *t.base);
    t.start = test_array((size_t)k + 1, sizeof *t.start);
    t.arc = test_array((size_t)(n * k), sizeof *t.arc);
    t.first = test_array((size_t)n + 1, sizeof *t.first);
    t.choice = test_array((size_t)(n * k), sizeof *t.choice);
    for (int64_t e = 0; e < n * k; e++) {
        t.f[e] = (float)(2 * test_unit(seed, (uint64_t)e) - 1);
        t.s[e] = (double)t.f[e];
    }
    for (int64_t l = 0; l < k; l++)
        t.max_size[l] = n;
    return t;
}

static void drop(struct instance *t)
{
    free(t->s), free(t->f), free(t->min_size), free(t->max_size), free(t->label),
        free(t->score);
    free(t->price), free(t->size), free(t->base), free(t->start), free(t->arc);
    free(t->first), free(t->choice);
}

/* Every point at its best arc at these prices, as the solver wants it. */
static void start_at(struct instance *t, const double *price)
{
    for (int64_t i = 0; i < t->n; i++) {
        int32_t best = 0;
        for (int32_t l = 1; l < t->k; l++)
            if (t->s[i * t->k + l] + price[l] > t->s[i * t->k + best] + price[best])
                best = l;
        t->label[i] = best;
        t->score[i] = t->f[i * t->k + best];
    }
    memcpy(t->price, price, (size_t)t->k * sizeof *price);
    for (int64_t l = 0, at = 0; l < t->k; l++) {
        for (int64_t i = 0; i < t->n; i++)
            t->arc[at++] = (struct ck_arc){(int32_t)i, t->f[i * t->k + l]};
        t->start[l + 1] = at;
    }
    for (int64_t i = 0; i < t->n; i++) {
        for (int32_t l = 0; l < t->k; l++)
            t->choice[i * t->k + l] = (struct ck_choice){l, t->f[i * t->k + l]};
        t->first[i + 1] = (i + 1) * t->k;
    }
}

static int approach_first; /* one price at a time before the solver */
static double narrow;      /* then try a box this much narrower; 0 = not */
static int narrow_helped;

/* Points beyond those of the instance, as crowds. */
enum { CROWDS = 3, MOST_K = 8 };
static struct {
    int64_t n;
    double count[CROWDS];
    float score[CROWDS * MOST_K];   /* [n][k] */
    int64_t given[CROWDS * MOST_K]; /* [n][k] */
} crowd;

/* Of the n points the last `copies` become crowds, given to clusters at random. */
static void make_crowds(struct instance *t, int64_t crowds, int64_t copies, uint64_t seed)
{
    int64_t first = t->n - copies;
    memset(&crowd, 0, sizeof crowd);
    crowd.n = crowds;
    for (int64_t i = 0; i < copies; i++) {
        int64_t c = i % crowds,
                l = (int64_t)(test_unit(seed, 700 + (uint64_t)i) * (double)t->k);
        memcpy(t->f + (first + i) * t->k, t->f + (first + c) * t->k,
               (size_t)t->k * sizeof *t->f);
        memcpy(t->s + (first + i) * t->k, t->s + (first + c) * t->k,
               (size_t)t->k * sizeof *t->s);
        crowd.count[c]++;
        crowd.given[c * t->k + l]++;
    }
    memcpy(crowd.score, t->f + first * t->k, (size_t)(crowds * t->k) * sizeof *t->f);
    t->n = first;
}

/* In a box of `width` around the present prices; 0 = no box. */
static struct ck_exact problem_of(struct instance *t, int upper, double width)
{
    struct ck_exact e;
    assert_ok(ck_exact_init(&e, t->k, t->min_size, upper ? t->max_size : NULL));
    e.n = t->n;
    e.base = t->base;
    e.label = t->label;
    e.score = t->score;
    e.start = t->start;
    e.arc = t->arc;
    memcpy(e.price, t->price, (size_t)t->k * sizeof *e.price);
    for (int64_t l = 0; l < t->k; l++) {
        e.low[l] = width > 0 ? t->price[l] - width : -1e3;
        e.high[l] = width > 0 ? t->price[l] + width : 1e3;
        if (!upper && e.low[l] < 0)
            e.low[l] = 0;
    }
    e.first = t->first;
    e.choice = t->choice;
    e.crowds = crowd.n;
    e.crowd = crowd.count;
    e.crowd_score = crowd.score;
    e.given = crowd.given;
    return e;
}

static double solve(struct instance *t, int upper, double width, int *inside)
{
    struct ck_exact e = problem_of(t, upper, width);
    if (approach_first)
        assert_ok(ck_exact_approach(&e, 12));
    *inside = 0;
    if (narrow > 0 && !ck_exact_at_edges(&e))
        assert_ok(ck_exact_solve_narrow(&e, narrow, inside));
    narrow_helped += *inside;
    if (!*inside)
        assert_ok(ck_exact_solve(&e, inside));
    memcpy(t->price, e.price, (size_t)t->k * sizeof *e.price);
    memcpy(t->size, e.size, (size_t)t->k * sizeof *e.size);
    ck_exact_release(&e);
    double total = 0;
    for (int64_t i = 0; i < t->n; i++) {
        assert_true(t->label[i] >= 0 && t->label[i] < t->k);
        assert_true(t->score[i] == t->f[i * t->k + t->label[i]]);
        total += t->s[i * t->k + t->label[i]];
    }
    for (int64_t c = 0; c < crowd.n * t->k; c++)
        total += (double)crowd.score[c] * (double)crowd.given[c];
    return total;
}

static double dual_bound(const struct instance *t, int upper)
{
    double d = 0;
    for (int64_t i = 0; i < t->n; i++) {
        double best = -INFINITY;
        for (int64_t l = 0; l < t->k; l++)
            best = fmax(best, t->s[i * t->k + l] + t->price[l]);
        d += best;
    }
    for (int64_t c = 0; c < crowd.n; c++) {
        double best = -INFINITY;
        for (int64_t l = 0; l < t->k; l++)
            best = fmax(best, (double)crowd.score[c * t->k + l] + t->price[l]);
        d += crowd.count[c] * best;
    }
    for (int64_t l = 0; l < t->k; l++) {
        if (!upper)
            assert_true(t->price[l] >= 0);
        d -= t->price[l] * (double)(t->price[l] >= 0 ? t->min_size[l] : t->max_size[l]);
    }
    return d;
}

static void check_sizes(const struct instance *t, int upper)
{
    int64_t *size = test_array((size_t)t->k, sizeof *size);
    for (int64_t i = 0; i < t->n; i++)
        size[t->label[i]]++;
    for (int64_t c = 0; c < crowd.n; c++) {
        int64_t all = 0;
        for (int64_t l = 0; l < t->k; l++) {
            assert_true(crowd.given[c * t->k + l] >= 0);
            all += crowd.given[c * t->k + l];
            size[l] += crowd.given[c * t->k + l];
        }
        assert_int_equal(all, (int64_t)crowd.count[c]);
    }
    for (int64_t l = 0; l < t->k; l++) {
        assert_int_equal(size[l], t->size[l]);
        assert_true(size[l] >= t->min_size[l]);
        assert_true(!upper || size[l] <= t->max_size[l]);
    }
    free(size);
}

/* All labellings of n points, for n^k small. */
static double try_all(const struct instance *t, int upper)
{
    double best = NAN;
    int64_t codes = 1;
    for (int64_t i = 0; i < t->n; i++)
        codes *= t->k;
    for (int64_t code = 0; code < codes; code++) {
        int64_t size[8] = {0}, rest = code;
        double total = 0;
        for (int64_t i = 0; i < t->n; i++, rest /= t->k) {
            size[rest % t->k]++;
            total += t->s[i * t->k + rest % t->k];
        }
        int fits = 1;
        for (int64_t l = 0; l < t->k; l++)
            fits &= size[l] >= t->min_size[l] && (!upper || size[l] <= t->max_size[l]);
        if (fits && !(total <= best))
            best = total;
    }
    return best;
}

/* Random bounds that can be met. */
static void draw_bounds(struct instance *t, uint64_t seed)
{
    int64_t left = t->n, room = 0;
    for (int64_t l = 0; l < t->k; l++) {
        t->min_size[l] =
            (int64_t)(test_unit(seed, (uint64_t)l) * 1.5 * (double)t->n / (double)t->k);
        t->min_size[l] = t->min_size[l] > left ? left : t->min_size[l];
        left -= t->min_size[l];
    }
    for (int64_t l = 0; l < t->k; l++) {
        t->max_size[l] = t->min_size[l] + (int64_t)(test_unit(seed, 100 + (uint64_t)l) * 4);
        room += t->max_size[l];
    }
    for (int64_t l = 0; room < t->n; l = (l + 1) % t->k, room++)
        t->max_size[l]++;
}

static void draw_prices(const struct instance *t, uint64_t seed, int upper, double size,
                        double *price)
{
    for (int64_t l = 0; l < t->k; l++) {
        price[l] = size * test_unit(seed, 200 + (uint64_t)l);
        if (upper && test_unit(seed, 300 + (uint64_t)l) < 0.5)
            price[l] = -price[l];
        if (test_unit(seed, 400 + (uint64_t)l) < 0.2)
            price[l] = 0;
    }
}

static void slow_solver_finds_the_best_of_all(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        int64_t n = 3 + (int64_t)(seed % 5), k = 2 + (int64_t)(seed % 2);
        struct instance t = make(n, k, seed);
        draw_bounds(&t, seed);
        int upper = seed % 3 != 0;
        double best = try_all(&t, upper);
        assert_close(slow_best(t.s, n, k, t.min_size, upper ? t.max_size : NULL, NULL), best,
                     1e-9);
        drop(&t);
    }
}

static void solver_finds_the_optimum_from_any_prices(void **state)
{
    (void)state;
    double price[8];
    for (uint64_t seed = 1; seed <= 400; seed++) {
        int64_t n = 6 + (int64_t)(seed * 7 % 55), k = 1 + (int64_t)(seed % 6);
        struct instance t = make(n, k, seed);
        draw_bounds(&t, seed);
        int upper = seed % 2 != 0, inside;
        double best = slow_best(t.s, n, k, t.min_size, upper ? t.max_size : NULL, NULL);
        for (int start = 0; start < 4; start++) {
            draw_prices(&t, seed + (uint64_t)start, upper, start == 0 ? 0 : start, price);
            start_at(&t, price);
            double total = solve(&t, upper, 0, &inside);
            assert_int_equal(inside, 1);
            check_sizes(&t, upper);
            assert_close(total, best, 1e-9);
            assert_close(dual_bound(&t, upper), best, 1e-7);
        }
        drop(&t);
    }
}

static void prices_that_prove_the_optimum_are_kept(void **state)
{
    (void)state;
    double price[8];
    int inside;
    struct instance t = make(60, 6, 5);
    draw_bounds(&t, 9);
    start_at(&t, (double[8]){0});
    double best = solve(&t, 0, 0, &inside);
    memcpy(price, t.price, sizeof(double) * 6);
    start_at(&t, price);
    assert_close(solve(&t, 0, 0, &inside), best, 1e-9);
    drop(&t);
}

/* Scores on a coarse grid: ties everywhere, zero-cost cycles. */
static void ties_do_not_confuse_it(void **state)
{
    (void)state;
    double price[8];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        int64_t n = 40, k = 5;
        struct instance t = make(n, k, seed);
        for (int64_t e = 0; e < n * k; e++) {
            t.f[e] = roundf(t.f[e] * (float)(seed % 3)) / 2;
            t.s[e] = (double)t.f[e];
        }
        draw_bounds(&t, seed);
        int upper = seed % 2 != 0, inside;
        draw_prices(&t, seed, upper, 0.5, price);
        for (int64_t l = 0; l < k; l++)
            price[l] = rint(2 * price[l]) / 2;
        start_at(&t, price);
        double total = solve(&t, upper, 0, &inside);
        assert_int_equal(inside, 1);
        check_sizes(&t, upper);
        assert_close(total, slow_best(t.s, n, k, t.min_size, upper ? t.max_size : NULL, NULL),
                     1e-9);
        drop(&t);
    }
}

static void balanced_bounds_leave_no_freedom(void **state)
{
    (void)state;
    int inside;
    for (int rest = 0; rest < 3; rest++) {
        struct instance t = make(30 + rest, 6, 11);
        for (int64_t l = 0; l < 6; l++)
            t.min_size[l] = 5;
        start_at(&t, (double[8]){0});
        double total = solve(&t, 0, 0, &inside);
        assert_int_equal(inside, 1);
        check_sizes(&t, 0);
        assert_close(total, slow_best(t.s, t.n, 6, t.min_size, NULL, NULL), 1e-9);
        drop(&t);
    }
}

/* Points that have no choice count in the sizes. */
static void points_without_a_choice_count(void **state)
{
    (void)state;
    int inside;
    struct instance t = make(10, 2, 3);
    t.base[0] = 5;
    t.base[1] = 1;
    t.min_size[0] = 6;
    t.min_size[1] = 8;
    start_at(&t, (double[8]){0});
    solve(&t, 0, 0, &inside);
    assert_int_equal(inside, 1);
    assert_true(t.size[0] >= 6 && t.size[1] >= 8);
    assert_int_equal(t.size[0] + t.size[1], 16);
    drop(&t);
}

/* No arc leads into cluster 1: its price goes to the edge of the box, and it says so. */
static void missing_arcs_push_the_price_to_the_edge(void **state)
{
    (void)state;
    int inside;
    struct instance t = make(10, 2, 3);
    t.min_size[1] = 4;
    start_at(&t, (double[8]){0});
    for (int64_t i = 0; i < t.n; i++) {
        t.label[i] = 0;
        t.score[i] = t.f[i * 2];
    }
    t.start[2] = t.start[1];
    solve(&t, 0, 0.25, &inside);
    assert_int_equal(inside, 0);
    assert_close(t.price[1], 0.25, 1e-12);
    assert_close(t.price[0], 0, 1e-12);
    drop(&t);
}

/* A box that follows the prices leads to the optimum, and prices never leave it. */
static void small_boxes_lead_to_the_optimum(void **state)
{
    (void)state;
    double price[8];
    for (uint64_t seed = 1; seed <= 100; seed++) {
        int64_t n = 40, k = 5;
        struct instance t = make(n, k, seed);
        draw_bounds(&t, seed);
        int upper = seed % 2 != 0, inside = 0, steps = 0;
        double best = slow_best(t.s, n, k, t.min_size, upper ? t.max_size : NULL, NULL),
               total = 0;
        draw_prices(&t, seed, upper, 1, price);
        for (; !inside; steps++) {
            assert_true(steps < 1000);
            start_at(&t, price);
            total = solve(&t, upper, 0.05, &inside);
            for (int64_t l = 0; l < k; l++)
                assert_true(fabs(t.price[l] - price[l]) <= 0.05 + 1e-9);
            memcpy(price, t.price, sizeof(double) * (size_t)k);
        }
        check_sizes(&t, upper);
        assert_close(total, best, 1e-9);
        drop(&t);
    }
}

/* A part of the points, or all, are copies of a few, given to any clusters at the start. */
static void crowds_are_divided_optimally(void **state)
{
    (void)state;
    const double part[] = {0.2, 0.9, 1};
    double price[8];
    for (uint64_t seed = 1; seed <= 600; seed++) {
        int64_t n = 10 + (int64_t)(seed * 7 % 55), k = 1 + (int64_t)(seed % 7);
        int64_t copies = (int64_t)(part[seed % 3] * (double)n);
        int64_t crowds = 1 + (int64_t)(seed % CROWDS);
        int upper = seed % 2 != 0, inside;
        struct instance t = make(n, k, seed);
        draw_bounds(&t, seed);
        for (int64_t e = 0; e < n * k && seed % 5 == 0; e++) { /* ties */
            t.f[e] = roundf(2 * t.f[e]) / 2;
            t.s[e] = (double)t.f[e];
        }
        make_crowds(&t, crowds < copies ? crowds : 1, copies, seed);
        double best = slow_best(t.s, n, k, t.min_size, upper ? t.max_size : NULL, NULL);
        for (int start = 0; start < 4; start++) {
            draw_prices(&t, seed + (uint64_t)start, upper, start == 0 ? 0 : start, price);
            start_at(&t, price);
            double total = solve(&t, upper, 0, &inside);
            assert_int_equal(inside, 1);
            check_sizes(&t, upper);
            assert_close(total, best, 1e-9);
            assert_close(dual_bound(&t, upper), best, 1e-7);
        }
        drop(&t);
    }
    crowd.n = 0;
}

/* Far more points than a search could move one by one. */
static void large_crowds_move_at_once(void **state)
{
    (void)state;
    const int64_t many = INT64_C(1) << 40;
    int inside;
    struct instance t = make(12, 6, 17);
    make_crowds(&t, 2, 4, 17);
    for (int64_t l = 0; l < 6; l++) {
        crowd.given[l] = l ? 0 : 5 * many;
        crowd.given[6 + l] = l == 3 ? many : 0;
        t.min_size[l] = many;
        t.max_size[l] = many + 2;
    }
    crowd.count[0] = 5 * (double)many;
    crowd.count[1] = (double)many;
    start_at(&t, (double[8]){0});
    double total = solve(&t, 1, 0, &inside);
    assert_int_equal(inside, 1);
    check_sizes(&t, 1);
    assert_close(dual_bound(&t, 1), total, 1e-9 * (double)many);
    crowd.n = 0;
    drop(&t);
}

/* Whatever the approach does to prices and labels, the solver ends at the optimum. */
static void approach_does_not_change_the_optimum(void **state)
{
    approach_first = 1;
    solver_finds_the_optimum_from_any_prices(state);
    ties_do_not_confuse_it(state);
    balanced_bounds_leave_no_freedom(state);
    points_without_a_choice_count(state);
    small_boxes_lead_to_the_optimum(state);
    approach_first = 0;
}

/* Nor does a narrow box, whether it holds the optimum or not. */
static void narrow_box_does_not_change_the_optimum(void **state)
{
    const double widths[] = {1e-5, 0.03, 0.3};
    for (int w = 0; w < 3; w++) {
        narrow = widths[w];
        narrow_helped = 0;
        approach_does_not_change_the_optimum(state);
        crowds_are_divided_optimally(state);
        assert_true(narrow_helped > 0);
    }
    narrow = 0;
}

static int stop(void *arg)
{
    ++*(int *)arg;
    return COKE_ESTOPPED;
}

static int run_method(struct ck_exact *e, int method)
{
    int inside;
    if (method == 0)
        return ck_exact_approach(e, 30);
    if (method == 1)
        return ck_newton_run(e, 0.1, 1e-3, 1, 0);
    if (method == 2)
        return ck_auction_run(e, 1e-6, 1 << 20);
    return method == 3 ? ck_exact_solve(e, &inside) : ck_exact_solve_narrow(e, 1, &inside);
}

/* Each asks whether to go on before much work is done. */
static void every_method_can_be_stopped(void **state)
{
    (void)state;
    for (int method = 0; method < 5; method++) {
        int calls = 0;
        int64_t live = ck_mem_stats().live;
        struct instance t = make(60, 6, 3);
        for (int64_t l = 0; l < 6; l++)
            t.min_size[l] = 10;
        start_at(&t, (double[8]){0});
        struct ck_exact e = problem_of(&t, 0, 0);
        e.poll = stop;
        e.poll_arg = &calls;
        assert_int_equal(run_method(&e, method), COKE_ESTOPPED);
        assert_int_equal(calls, 1);
        for (int64_t l = 0; l < 6; l++)
            assert_int_equal(e.state[l], 0);
        ck_exact_release(&e);
        drop(&t);
        assert_int_equal(ck_mem_stats().live, live);
    }
}

/* The pool and the crowds have no arcs, but searches look at all of their edges. */
static void work_without_arcs_counts(void **state)
{
    (void)state;
    int inside;
    struct instance t = make(12, 6, 17);
    make_crowds(&t, 2, 12, 17);
    for (int64_t l = 0; l < 6; l++)
        t.min_size[l] = 2;
    start_at(&t, (double[8]){0});
    struct ck_exact e = problem_of(&t, 0, 0);
    assert_ok(ck_exact_solve(&e, &inside));
    assert_true(e.searches > 0 && e.scanned >= 6 * e.searches);
    int64_t before = e.scanned;
    for (int64_t l = 0; l < 6; l++)
        e.price[l] = 0;
    assert_ok(ck_newton_run(&e, 0.1, 1e-3, 1, 0));
    assert_true(e.scanned >= before + 2 * 6);
    ck_exact_release(&e);
    crowd.n = 0;
    drop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_solver_finds_the_best_of_all),
        cmocka_unit_test(solver_finds_the_optimum_from_any_prices),
        cmocka_unit_test(prices_that_prove_the_optimum_are_kept),
        cmocka_unit_test(ties_do_not_confuse_it),
        cmocka_unit_test(balanced_bounds_leave_no_freedom),
        cmocka_unit_test(points_without_a_choice_count),
        cmocka_unit_test(missing_arcs_push_the_price_to_the_edge),
        cmocka_unit_test(small_boxes_lead_to_the_optimum),
        cmocka_unit_test(crowds_are_divided_optimally),
        cmocka_unit_test(large_crowds_move_at_once),
        cmocka_unit_test(every_method_can_be_stopped),
        cmocka_unit_test(work_without_arcs_counts),
        cmocka_unit_test(approach_does_not_change_the_optimum),
        cmocka_unit_test(narrow_box_does_not_change_the_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
