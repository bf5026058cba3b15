/* test_assign.c - every version and every path labels as the naive loop over the defined score
 * does: one table of cases. */
#include "support.h"
#include "cluster/assign.h"
#include "core/mem.h"

struct shape {
    const char *name;
    int64_t k;
    int dim;
    int n; /* rows */
    int kind;
    int bias;
};

enum kind {
    PLAIN,     /* unit vectors */
    EQUAL,     /* all centers and rows the same */
    TIES,      /* every center twice, in different panels */
    ULP,       /* copies with one component one step further */
    ZERO_ROWS, /* some rows are 0 */
    ZERO_CENTERS,
    LARGE,      /* lengths of 1e4 */
    HUGE_ROWS,  /* lengths of 1e18: squares are near the end of f32 */
    GIANT_ROWS, /* lengths of 1e25: squares leave f32 */
    TIGHT,      /* rows and centers in few tight bundles */
    OFFSET,     /* all centers near one direction */
    TINY,       /* lengths of 1e-12 */
    VANISHING,  /* lengths of 1e-23, whose squares are 0, and centers whose mean is 0 */
    ONE_HOT,
    /* Euclidean, with a last column that is not rounded (frame.h): */
    LENGTHS,  /* of any length */
    WEIGHTED, /* the same, rows times weights */
    GRID,     /* integers, with many ties */
    OUTLIER,  /* one center and some rows are 1000 times farther away */
};
enum { NO_BIAS, SMALL_BIAS, NEGATIVE_BIAS, SOME_MINUS_INF, BIG_BIAS };

static const struct shape shapes[] = {
    {"one center", 1, 5, 9, PLAIN, NO_BIAS},
    {"few centers", 2, 3, 70, PLAIN, SMALL_BIAS},
    {"a panel less one", 47, 16, 64, PLAIN, SMALL_BIAS},
    {"a panel", 48, 17, 64, PLAIN, NO_BIAS},
    {"a panel and one", 49, 31, 65, PLAIN, NEGATIVE_BIAS},
    {"odd", 97, 33, 131, PLAIN, SMALL_BIAS},
    {"200 x 130", 200, 130, 77, PLAIN, SOME_MINUS_INF},
    {"all equal", 60, 20, 30, EQUAL, NO_BIAS},
    {"all equal, bias", 60, 20, 30, EQUAL, SMALL_BIAS},
    {"ties", 150, 24, 90, TIES, NO_BIAS},
    {"ties in two dimensions", 100, 2, 90, TIES, NO_BIAS},
    {"one-ulp neighbours", 120, 40, 100, ULP, NO_BIAS},
    {"one-ulp neighbours, bias", 120, 40, 100, ULP, SMALL_BIAS},
    {"zero rows", 70, 12, 66, ZERO_ROWS, SMALL_BIAS},
    {"zero rows, no bias", 70, 12, 66, ZERO_ROWS, NO_BIAS},
    {"zero centers", 70, 12, 66, ZERO_CENTERS, NO_BIAS},
    {"large", 130, 50, 70, LARGE, NO_BIAS},
    {"large, bias", 130, 50, 70, LARGE, BIG_BIAS},
    {"huge rows", 60, 30, 40, HUGE_ROWS, NO_BIAS},
    {"huge rows, equal centers", 60, 30, 40, HUGE_ROWS, SMALL_BIAS},
    {"giant rows", 60, 30, 40, GIANT_ROWS, NO_BIAS},
    {"giant rows, equal centers", 60, 30, 40, GIANT_ROWS, SMALL_BIAS},
    {"tiny", 60, 30, 40, TINY, NO_BIAS},
    {"vanishing", 120, 30, 40, VANISHING, NO_BIAS},
    {"tight", 200, 64, 150, TIGHT, NO_BIAS},
    {"tight, bias", 200, 64, 150, TIGHT, SMALL_BIAS},
    {"shared offset", 190, 64, 150, OFFSET, NO_BIAS},
    {"shared offset, bias", 190, 64, 150, OFFSET, SMALL_BIAS},
    {"one hot", 128, 128, 128, ONE_HOT, NO_BIAS},
    {"big bias", 90, 20, 64, PLAIN, BIG_BIAS},
    {"several panels a group", 3073, 8, 100, PLAIN, SMALL_BIAS},
    {"several panels a group, ties", 6500, 4, 64, TIES, NO_BIAS},
    {"wide rows", 50, 3000, 40, PLAIN, NO_BIAS},
    {"rows too wide to screen", 9, 9001, 10, PLAIN, NO_BIAS},
    {"lengths", 200, 24, 150, LENGTHS, NO_BIAS},
    {"lengths, bias", 200, 24, 150, LENGTHS, SMALL_BIAS},
    {"lengths, a multiple of 16", 150, 32, 100, LENGTHS, SMALL_BIAS},
    {"lengths in two dimensions", 500, 2, 150, LENGTHS, NO_BIAS},
    {"lengths, one column", 90, 1, 64, LENGTHS, SMALL_BIAS},
    {"lengths, wide", 50, 1536, 40, LENGTHS, SMALL_BIAS},
    {"weighted", 200, 20, 150, WEIGHTED, SMALL_BIAS},
    {"weighted, a multiple of 16", 200, 48, 150, WEIGHTED, BIG_BIAS},
    {"grid", 300, 2, 150, GRID, NO_BIAS},
    {"grid, bias", 300, 3, 150, GRID, SMALL_BIAS},
    {"outlier", 200, 16, 150, OUTLIER, NO_BIAS},
    {"outlier, bias", 200, 10, 150, OUTLIER, SMALL_BIAS},
};

struct data {
    int64_t k;
    int ld, n;
    int lift; /* column that is not rounded, or -1 */
    float *c, *x, *bias;
    float *s; /* [n][k] the defined scores */
};

static void unit_row(float *v, int dim, uint64_t seed)
{
    for (int j = 0; j < dim; j++)
        v[j] = test_normal(seed, (uint64_t)j);
    test_normalize(v, dim);
}

static void make_center(const struct shape *s, const struct data *d, int64_t k)
{
    float *c = d->c + k * d->ld;
    int64_t half = s->k / 2;
    unit_row(c, s->dim, (uint64_t)(k + 10));
    if (s->kind == EQUAL || (s->kind == ULP && k > 0))
        unit_row(c, s->dim, 10);
    if (s->kind == TIES && k >= half && k - half < half)
        memcpy(c, c - half * d->ld, (size_t)d->ld * sizeof *c);
    if (s->kind == ULP && k > 0)
        c[k % s->dim] = nextafterf(c[k % s->dim], k % 3 ? 2.0f : -2.0f);
    if (s->kind == ZERO_CENTERS && k % 3 == 0)
        memset(c, 0, (size_t)d->ld * sizeof *c);
    if (s->kind == TIGHT) {
        float *base = d->c + k % 5 * d->ld;
        for (int j = 0; k >= 5 && j < s->dim; j++)
            c[j] = base[j] + 1e-4f * c[j];
        test_normalize(c, s->dim);
    }
    if (s->kind == OFFSET) {
        for (int j = 0; j < s->dim; j++)
            c[j] = c[j] * 0.01f + (j == 3 ? 1.0f : 0);
        test_normalize(c, s->dim);
    }
    if ((s->kind == HUGE_ROWS || s->kind == GIANT_ROWS) && s->bias)
        unit_row(c, s->dim, 11);
    for (int j = 0; s->kind == VANISHING && k >= half && j < s->dim; j++)
        c[j] = -c[j - half * d->ld];
    for (int j = 0; j < s->dim; j++)
        c[j] = s->kind == ONE_HOT ? (float)(j == k) : s->kind == LARGE ? c[j] * 1e4f : c[j];
}

/* Numbers of a Euclidean row or center v [dim]. */
static void stretch(const struct shape *s, float *v, uint64_t seed)
{
    float length = expf(1.5f * test_normal(77, seed));
    if (s->kind == OUTLIER)
        length = seed % 50 == 7 ? 1000 : 1;
    for (int j = 0; j < s->dim; j++)
        v[j] = s->kind == GRID ? rintf(4 * test_normal(seed, (uint64_t)j)) : v[j] * length;
}

static void add_lift(const struct shape *s, const struct data *d)
{
    for (int64_t k = 0; k < d->k; k++) {
        float *c = d->c + k * d->ld;
        stretch(s, c, (uint64_t)k);
        c[d->lift] = -0.5f * ck_kernels_ref.dot(c, c, d->ld);
    }
    for (int i = 0; i < d->n; i++) {
        float *x = d->x + (int64_t)i * d->ld;
        float w = s->kind == WEIGHTED ? expf(2 * test_normal(78, (uint64_t)i)) : 1;
        stretch(s, x, (uint64_t)(i + 1000));
        x[d->lift] = 1;
        for (int j = 0; j < d->ld; j++)
            x[j] *= w;
    }
}

static const float row_length[] = {
    [PLAIN] = 1,          [EQUAL] = 1,        [TIES] = 1,          [ULP] = 1,
    [ZERO_ROWS] = 1,      [LARGE] = 1e4f,     [HUGE_ROWS] = 1e18f, [GIANT_ROWS] = 1e25f,
    [TIGHT] = 1,          [ZERO_CENTERS] = 1, [OFFSET] = 1,        [TINY] = 1e-12f,
    [VANISHING] = 1e-23f, [ONE_HOT] = 1,      [LENGTHS] = 1,       [WEIGHTED] = 1,
    [GRID] = 1,           [OUTLIER] = 1,
};

static void make_row(const struct shape *s, const struct data *d, int i)
{
    float *x = d->x + (int64_t)i * d->ld;
    const float *near = d->c + (i * 7) % s->k * d->ld;
    unit_row(x, s->dim, (uint64_t)(i + 100000));
    for (int j = 0; j < s->dim; j++) {
        if (s->kind == TIGHT || s->kind == ULP || s->kind == OFFSET)
            x[j] = near[j] + (i % 2 ? 1e-3f : 0) * x[j];
        if (s->kind == EQUAL || s->kind == ONE_HOT)
            x[j] = near[j];
        if (s->kind == ZERO_ROWS && i % 2)
            x[j] = 0;
        x[j] *= row_length[s->kind];
    }
}

static void score_all(struct data *d)
{
    for (int64_t i = 0; i < d->n; i++)
        for (int64_t k = 0; k < d->k; k++)
            d->s[i * d->k + k] = ck_kernels_ref.dot(d->x + i * d->ld, d->c + k * d->ld, d->ld);
}

static struct data make(const struct shape *s)
{
    struct data d = {.k = s->k, .n = s->n, .lift = s->kind >= LENGTHS ? s->dim : -1};
    d.ld = ck_padded(s->dim + (d.lift >= 0));
    d.c = test_array((size_t)(s->k * d.ld), sizeof *d.c);
    d.x = test_array((size_t)((s->n + CK_TILE) * d.ld), sizeof *d.x);
    d.bias = test_array((size_t)s->k, sizeof *d.bias);
    for (int64_t k = 0; k < s->k; k++) {
        float g = test_normal(3, (uint64_t)k);
        make_center(s, &d, k);
        d.bias[k] = s->bias == SMALL_BIAS       ? 0.05f * g
                    : s->bias == NEGATIVE_BIAS  ? -fabsf(g)
                    : s->bias == BIG_BIAS       ? 1e6f * g
                    : s->bias == SOME_MINUS_INF ? (k % 3 ? 0 : -INFINITY)
                                                : 0;
    }
    for (int i = 0; i < s->n; i++)
        make_row(s, &d, i);
    if (d.lift >= 0)
        add_lift(s, &d);
    d.s = test_array((size_t)(s->n * s->k), sizeof *d.s);
    score_all(&d);
    return d;
}

static void drop(struct data *d)
{
    free(d->c);
    free(d->x);
    free(d->bias);
    free(d->s);
}

static void naive(const struct data *d, const float *bias, int32_t *label, float *score)
{
    for (int64_t i = 0; i < d->n; i++) {
        float best = -INFINITY;
        label[i] = -1;
        for (int32_t k = 0; k < d->k; k++) {
            float s = d->s[i * d->k + k], v = s + (bias ? bias[k] : 0);
            if (v > best) {
                best = v;
                label[i] = k;
                score[i] = s;
            }
        }
    }
}

static struct ck_assigner *assigner(const struct ck_kernels *kn, const struct data *d,
                                    enum ck_assign_path path)
{
    struct ck_assigner *a;
    assert_ok(ck_assigner_new(&a, kn, d->c, d->k, d->ld));
    if (d->lift >= 0)
        ck_assigner_lift(a, d->lift);
    ck_assigner_force(a, path);
    return a;
}

static void check_labels(const char *what, const char *isa, const struct data *d,
                         const float *bias, const int32_t *label, const float *score)
{
    int32_t *want = test_array((size_t)d->n, sizeof *want);
    float *value = test_array((size_t)d->n, sizeof *value);
    naive(d, bias, want, value);
    for (int i = 0; i < d->n; i++)
        if (label[i] != want[i] || memcmp(&score[i], &value[i], sizeof *score) != 0)
            fail_msg("%s, %s: row %d is %d (%.9g), should be %d (%.9g)", what, isa, i, label[i],
                     (double)score[i], want[i], (double)value[i]);
    free(want);
    free(value);
}

static const enum ck_assign_path paths[] = {CK_PATH_DENSE, CK_PATH_SCREEN, CK_PATH_AUTO};

/* Is this path tested already? Versions without an 8-bit product have only the dense one. The
 * emulation is slow, and its dense path is the reference. */
static int is_tested(const struct ck_kernels *kn, enum ck_assign_path path)
{
    if (!kn->round8)
        return path != CK_PATH_DENSE;
    return strcmp(kn->name, "amx-emulated") == 0 && path != CK_PATH_SCREEN;
}

static void labels_and_scores_are_those_of_the_naive_loop(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct data d = make(&shapes[s]);
        int32_t *label = test_array((size_t)d.n, sizeof *label);
        float *score = test_array((size_t)d.n, sizeof *score);
        for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
            for (int p = 0; p < 3; p++) {
                if (is_tested(*kn, paths[p]))
                    continue;
                struct ck_assigner *a = assigner(*kn, &d, paths[p]);
                char what[128];
                snprintf(what, sizeof what, "%s, path %d", shapes[s].name, p);
                ck_assigner_settle(a, d.bias);
                ck_assign(a, d.x, d.n, label, score);
                check_labels(what, (*kn)->name, &d, d.bias, label, score);
                ck_assigner_settle(a, NULL);
                coke_set_threads(s % 4 == 0 ? 3 : 1);
                ck_assign(a, d.x, d.n, label, score);
                coke_set_threads(1);
                check_labels(what, (*kn)->name, &d, NULL, label, score);
                ck_assigner_free(a);
            }
        free(label);
        free(score);
        drop(&d);
    }
}

/* Odd numbers of rows, centers and columns, all small ones. */
static void every_small_size_works(void **state)
{
    (void)state;
    for (int64_t k = 1; k <= 200; k += k < 60 ? 1 : 17)
        for (int dim = 1 + (int)(k % 7); dim <= 130; dim += 5 + (int)(k % 11) * 4) {
            struct shape s = {"small", k,         dim, 1 + (int)((k * 5 + dim) % 20),
                              PLAIN,   SMALL_BIAS};
            struct data d = make(&s);
            int32_t label[32];
            float score[32];
            for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
                for (int p = 0; p < 2; p++) {
                    if (is_tested(*kn, paths[p]))
                        continue;
                    struct ck_assigner *a = assigner(*kn, &d, paths[p]);
                    ck_assigner_settle(a, d.bias);
                    ck_assign(a, d.x, d.n, label, score);
                    check_labels("small", (*kn)->name, &d, d.bias, label, score);
                    ck_assigner_free(a);
                }
            drop(&d);
        }
}

/* more [k] widens the margin of rows by their label, rise [k] that of centers; or NULL. */
static void check_near(const struct shape *s, const struct data *d, const char *isa, int n,
                       const float *more, const float *rise, float margin,
                       const struct ck_near_list *near)
{
    int64_t at = 0;
    for (int r = 0; r < n; r++) {
        float best = -INFINITY;
        int32_t label = 0;
        for (int32_t k = 0; k < d->k; k++)
            if (d->s[r * d->k + k] + d->bias[k] > best) {
                best = d->s[r * d->k + k] + d->bias[k];
                label = k;
            }
        float reach = margin + (more ? more[label] : 0);
        for (int32_t k = 0; k < d->k; k++) {
            float v = d->s[r * d->k + k];
            float raised = d->bias[k] + (rise ? rise[k] : 0);
            if (!(v + raised >= best - reach))
                continue;
            if (at >= near->n || near->item[at].row != r || near->item[at].k != k ||
                near->item[at].score != v)
                fail_msg("%s, %s, margin %g: row %d, center %d is missing", s->name, isa,
                         (double)margin, r, k);
            at++;
        }
    }
    if (at != near->n)
        fail_msg("%s, %s, margin %g: %lld near centers, should be %lld", s->name, isa,
                 (double)margin, (long long)near->n, (long long)at);
}

static void near_lists_are_the_brute_force_sets(void **state)
{
    (void)state;
    const float margins[] = {0, 1e-6f, 0.25f, 3};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].k > 1000 || shapes[i].dim > 1000 || shapes[i].kind == HUGE_ROWS ||
            shapes[i].kind == GIANT_ROWS)
            continue;
        struct data d = make(&shapes[i]);
        float more[1000], rise[1000];
        for (int64_t k = 0; k < d.k; k++) {
            more[k] = (float)test_unit(5, (uint64_t)k) * 0.3f;
            rise[k] = k % 3 ? (float)test_unit(6, (uint64_t)k) * 0.2f : 0;
        }
        for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
            for (int p = 0; p < 2; p++)
                /* two of eight cases, others for the next shape: the brute force takes its time */
                for (int m = ((int)i + p) % 4; m < 8 && !is_tested(*kn, paths[p]); m += 4) {
                    struct ck_assigner *a = assigner(*kn, &d, paths[p]);
                    struct ck_near_list near = {0};
                    const float *by_label = m % 2 ? more : NULL,
                                *by_center = m / 4 ? rise : NULL;
                    int32_t label[CK_ASSIGN_BLOCK];
                    float score[CK_ASSIGN_BLOCK];
                    int n = d.n < CK_ASSIGN_BLOCK ? d.n : CK_ASSIGN_BLOCK;
                    ck_assigner_widen(a, by_label, by_center, NULL);
                    ck_assigner_settle(a, d.bias);
                    assert_ok(
                        ck_assign_near_block(a, d.x, n, margins[m % 4], label, score, &near));
                    check_near(&shapes[i], &d, (*kn)->name, n, by_label, by_center,
                               margins[m % 4], &near);
                    struct data part = d;
                    part.n = n;
                    check_labels(shapes[i].name, (*kn)->name, &part, d.bias, label, score);
                    ck_free(near.item);
                    ck_assigner_free(a);
                }
        drop(&d);
    }
}

/* Rows that look as far behind their best as the nearest center can be find it. */
static void nearest_centers_are_found_behind_biases(void **state)
{
    (void)state;
    struct shape s = {"nearest", 300, 20, CK_ASSIGN_BLOCK, PLAIN, SMALL_BIAS};
    struct data d = make(&s);
    float look[300], rise[300], lowest = INFINITY;
    for (int64_t k = 0; k < d.k; k++)
        lowest = fminf(lowest, d.bias[k]);
    for (int64_t k = 0; k < d.k; k++) {
        look[k] = d.bias[k] - lowest;
        rise[k] = k % 3 ? 0.01f : 0;
    }
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
        for (int p = 0; p < 4; p++) {
            struct ck_assigner *a = assigner(*kn, &d, paths[p / 2]);
            struct ck_near_list near = {0};
            int32_t label[CK_ASSIGN_BLOCK];
            float score[CK_ASSIGN_BLOCK];
            ck_assigner_widen(a, NULL, p % 2 ? rise : NULL, look);
            ck_assigner_settle(a, d.bias);
            assert_ok(ck_assign_near_block(a, d.x, d.n, 0, label, score, &near));
            for (int64_t r = 0; r < d.n; r++) {
                float nearest = -INFINITY;
                for (int64_t k = 0; k < d.k; k++)
                    nearest = fmaxf(nearest, d.s[r * d.k + k]);
                assert_true(fabsf(near.nearest[r] - nearest) <= 1e-6f * fabsf(nearest));
            }
            ck_free(near.item);
            ck_assigner_free(a);
        }
    drop(&d);
}

/* Centers that move one by one, in whichever path was packed first. */
static void updated_centers_are_seen_by_every_path(void **state)
{
    (void)state;
    struct shape s = {"updates", 150, 20, 100, PLAIN, SMALL_BIAS};
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++) {
        struct data d = make(&s);
        int32_t label[128];
        float score[128];
        struct ck_assigner *a = assigner(*kn, &d, CK_PATH_DENSE);
        for (int round = 0; round < 12; round++) {
            ck_assigner_force(a, round % 3 ? CK_PATH_SCREEN : CK_PATH_DENSE);
            for (int64_t k = round; round && k < d.k; k += 3) {
                unit_row(d.c + k * d.ld, s.dim, (uint64_t)(k + 5000 * round));
                if (round == 7) /* far from the reference point */
                    for (int j = 0; j < s.dim; j++)
                        d.c[k * d.ld + j] *= 50;
                ck_assigner_update(a, k);
            }
            score_all(&d);
            ck_assigner_settle(a, d.bias);
            ck_assign(a, d.x, d.n, label, score);
            check_labels("updates", (*kn)->name, &d, d.bias, label, score);
        }
        float *moved = test_array((size_t)(d.k * d.ld), sizeof *moved);
        memcpy(moved, d.c, (size_t)(d.k * d.ld) * sizeof *moved);
        free(d.c);
        d.c = moved;
        moved[0] += 1;
        score_all(&d);
        ck_assigner_reset(a, moved);
        ck_assigner_settle(a, NULL);
        ck_assign(a, d.x, d.n, label, score);
        check_labels("reset", (*kn)->name, &d, NULL, label, score);
        ck_assigner_free(a);
        drop(&d);
    }
}

/* Whatever ck_assigner_choose decides, labels stay. */
static void choosing_a_path_never_changes_a_label(void **state)
{
    (void)state;
    struct shape s = {"choice", 100, 16, 64, TIGHT, NO_BIAS};
    struct data d = make(&s);
    struct ck_assigner *a;
    int32_t label[64];
    float score[64];
    assert_ok(ck_assigner_new(&a, ck_kernels(), d.c, d.k, d.ld));
    for (int round = 0; round < 60; round++) {
        ck_assigner_settle(a, d.bias);
        ck_assign(a, d.x, d.n, label, score);
        check_labels("choice", ck_kernels()->name, &d, d.bias, label, score);
        ck_assigner_choose(a);
        ck_assigner_update(a, round);
    }
    ck_assigner_free(a);
    drop(&d);
}

int main(void)
{
    coke_set_threads(1); /* but where a test says otherwise: small jobs would only wait */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_and_scores_are_those_of_the_naive_loop),
        cmocka_unit_test(every_small_size_works),
        cmocka_unit_test(near_lists_are_the_brute_force_sets),
        cmocka_unit_test(nearest_centers_are_found_behind_biases),
        cmocka_unit_test(updated_centers_are_seen_by_every_path),
        cmocka_unit_test(choosing_a_path_never_changes_a_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
