/* test_pool.c - pooling against loops in double, with PyTorch's ties and NaN; the same bytes
 * from every version and team. */
#include "layers_test.h"

static const struct ck_pool_shape pool_shapes[] = {
    {.n = 2,
     .cb = 2,
     .blk = 16,
     .h = 9,
     .w = 8,
     .kh = 3,
     .kw = 3,
     .stride_h = 2,
     .stride_w = 2,
     .pad_h = 1,
     .pad_w = 1},
    {.n = 1,
     .cb = 1,
     .blk = 16,
     .h = 1,
     .w = 1,
     .kh = 1,
     .kw = 1,
     .stride_h = 1,
     .stride_w = 1},
    {.n = 3,
     .cb = 1,
     .blk = 5,
     .h = 7,
     .w = 11,
     .kh = 2,
     .kw = 3,
     .stride_h = 1,
     .stride_w = 3},
    {.n = 1, .cb = 3, .blk = 8, .h = 6, .w = 6, .kh = 2, .kw = 2, .stride_h = 2, .stride_w = 2},
    {.n = 2,
     .cb = 1,
     .blk = 70,
     .h = 5,
     .w = 13,
     .kh = 5,
     .kw = 4,
     .stride_h = 3,
     .stride_w = 1,
     .pad_h = 2,
     .pad_w = 2},
    {.n = 1,
     .cb = 2,
     .blk = 16,
     .h = 17,
     .w = 16,
     .kh = 15,
     .kw = 15,
     .stride_h = 1,
     .stride_w = 4,
     .pad_h = 7,
     .pad_w = 7},
    {.n = 2,
     .cb = 1,
     .blk = 17,
     .h = 10,
     .w = 10,
     .kh = 2,
     .kw = 1,
     .stride_h = 4,
     .stride_w = 3},
    {.n = 1,
     .cb = 1,
     .blk = 3,
     .h = 2,
     .w = 3,
     .kh = 3,
     .kw = 3,
     .stride_h = 1,
     .stride_w = 1,
     .pad_h = 1,
     .pad_w = 1},
    {.n = 2,
     .cb = 4,
     .blk = 16,
     .h = 40,
     .w = 40,
     .kh = 3,
     .kw = 3,
     .stride_h = 2,
     .stride_w = 2,
     .pad_h = 1,
     .pad_w = 1},
};
enum { POOL_SHAPES = sizeof pool_shapes / sizeof *pool_shapes };

struct pool_case {
    struct ck_pool_shape p;
    enum ck_dtype t;
    int max;
    void *x, *dy;
    int64_t nx, ny;
    void *y, *dx;
    uint8_t *where;
    void *first_y, *first_dx; /* of the reference */
    uint8_t *first_where;
};

static void run_pool(void *arg, const char *way)
{
    struct pool_case *c = arg;
    size_t size = type_size(c->t), bx = (size_t)c->nx * size, by = (size_t)c->ny * size;
    memset(c->y, 0x5a, by);
    memset(c->dx, 0x5a, bx);
    if (c->max) {
        ck_max_pool(&c->p, c->t, c->x, c->y, NULL);
        void *y = copy_of(c->y, by);
        ck_max_pool(&c->p, c->t, c->x, c->y, c->where);
        assert_memory_equal(y, c->y, by);
        free(y);
        ck_max_pool_grad(&c->p, c->t, c->dy, c->where, c->dx);
    } else {
        ck_avg_pool(&c->p, c->t, c->x, c->y);
        ck_avg_pool_grad(&c->p, c->t, c->dy, c->dx);
    }
    if (!c->first_y) {
        c->first_y = copy_of(c->y, by);
        c->first_dx = copy_of(c->dx, bx);
        c->first_where = copy_of(c->where, (size_t)c->ny);
    }
    if (memcmp(c->y, c->first_y, by) || memcmp(c->dx, c->first_dx, bx) ||
        memcmp(c->where, c->first_where, (size_t)c->ny))
        fail_msg("%s: other bytes than the reference", way);
}

/* One window of a plane, one lane: its value, and dy spread over the plane's gradient dx. */
static double slow_window(const struct pool_case *c, int64_t plane, int oh, int ow,
                          int64_t lane, int *winner, double dy, double *dx)
{
    const struct ck_pool_shape *p = &c->p;
    double best = -INFINITY, sum = 0;
    int64_t best_at = -1;
    for (int i = 0; i < p->kh; i++)
        for (int j = 0; j < p->kw; j++) {
            int h = oh * p->stride_h - p->pad_h + i, w = ow * p->stride_w - p->pad_w + j;
            if (h < 0 || h >= p->h || w < 0 || w >= p->w)
                continue;
            int64_t at = ((plane * p->h + h) * p->w + w) * p->blk + lane;
            double v = get(c->t, c->x, at);
            sum += v;
            if (!c->max)
                dx[at] += dy / (p->kh * p->kw);
            if (best_at < 0 || v > best || isnan(v)) {
                best = v;
                best_at = at;
                *winner = i * p->kw + j;
            }
        }
    if (c->max)
        dx[best_at] += dy;
    return c->max ? best : sum / (p->kh * p->kw);
}

static void check_pool(const struct pool_case *c)
{
    const struct ck_pool_shape *p = &c->p;
    double *dx = test_array((size_t)c->nx, sizeof *dx), half = rounding(c->t);
    for (int64_t i = 0; i < c->ny; i++) {
        int64_t lane = i % p->blk, pixel = i / p->blk, plane = pixel / (p->oh * p->ow);
        int oh = (int)(pixel / p->ow % p->oh), ow = (int)(pixel % p->ow), winner = 0;
        double want = slow_window(c, plane, oh, ow, lane, &winner, get(c->t, c->dy, i), dx);
        double got = get(c->t, c->y, i);
        if (c->max) {
            assert_int_equal(c->where[i], winner);
            assert_true(isnan(want) ? isnan(got) : got == want);
        } else {
            assert_close(got, want, half * fabs(want) + 1e-6);
        }
    }
    for (int64_t i = 0; i < c->nx; i++)
        assert_close(get(c->t, c->dx, i), dx[i], half * fabs(dx[i]) + 2e-6);
    free(dx);
}

/* Few distinct values, if requested, produce ties. */
static void try_pool(const struct ck_pool_shape *shape, enum ck_dtype t, int max, int ties)
{
    struct pool_case c = {.p = *shape, .t = t, .max = max};
    ck_pool_out(&c.p);
    c.nx = c.p.n * c.p.cb * c.p.h * c.p.w * c.p.blk;
    c.ny = c.p.n * c.p.cb * c.p.oh * c.p.ow * c.p.blk;
    c.x = test_array((size_t)c.nx, type_size(t));
    c.dx = test_array((size_t)c.nx, type_size(t));
    c.y = test_array((size_t)c.ny, type_size(t));
    c.dy = test_array((size_t)c.ny, type_size(t));
    c.where = test_array((size_t)c.ny, 1);
    for (int64_t i = 0; i < c.nx; i++) {
        double v = noise(1, i);
        set(t, c.x, i, !ties ? v : v > 1.7 ? NAN : v < -1 ? -INFINITY : floor(v));
    }
    for (int64_t i = 0; i < c.ny; i++)
        set(t, c.dy, i, noise(2, i));
    each_way(run_pool, &c);
    check_pool(&c);
    void *owned[] = {c.x, c.dx, c.y, c.dy, c.where, c.first_y, c.first_dx, c.first_where};
    for (int k = 0; k < 8; k++)
        free(owned[k]);
}

static void max_pool_takes_the_first_of_equals_and_nan(void **state)
{
    (void)state;
    for (int i = 0; i < POOL_SHAPES; i++)
        for (int k = 0; k < 4; k++)
            try_pool(&pool_shapes[i], types[k % 2], 1, k / 2);
}

static void avg_pool_counts_the_padding(void **state)
{
    (void)state;
    for (int i = 0; i < POOL_SHAPES; i++)
        for (int t = 0; t < 2; t++)
            try_pool(&pool_shapes[i], types[t], 0, 0);
}

/* Indices recorded from torch.nn.functional.max_pool2d 1.13. */
static void max_pool_meets_pytorch_on_ties_and_nan(void **state)
{
    (void)state;
    const float rows[4][5] = {{1, NAN, 3, NAN, 0},
                              {1, 3, 3, 2, 0},
                              {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
                              {NAN, 5, 6, 7, 8}};
    const int want[4] = {3, 1, 0, 0};
    struct ck_pool_shape p = {.n = 1,
                              .cb = 1,
                              .blk = 1,
                              .h = 1,
                              .w = 5,
                              .kh = 1,
                              .kw = 5,
                              .stride_h = 1,
                              .stride_w = 1};
    ck_pool_out(&p);
    for (int r = 0; r < 4; r++) {
        float y;
        uint8_t where;
        ck_max_pool(&p, CK_F32, rows[r], &y, &where);
        assert_int_equal(where, want[r]);
        assert_int_equal(isnan(y), isnan(rows[r][want[r]]));
    }
}

static void pool_sizes_are_rounded_down(void **state)
{
    (void)state;
    struct ck_pool_shape p = {
        .h = 112, .w = 7, .kh = 3, .kw = 2, .stride_h = 2, .stride_w = 3, .pad_h = 1};
    ck_pool_out(&p);
    assert_int_equal(p.oh, 56);
    assert_int_equal(p.ow, 2);
}

/* ---- over the whole image ---- */

struct mean_case {
    const struct test_shape *s;
    enum ck_dtype t;
    int64_t ld;
    const void *x;
    const float *dy;
    float *y, *first_y;
    void *dx, *first_dx;
};

static void run_mean(void *arg, const char *way)
{
    struct mean_case *c = arg;
    size_t by = (size_t)(c->s->a.n * c->ld) * sizeof(float);
    size_t bx = (size_t)ck_act_size(&c->s->a) * type_size(c->t);
    memset(c->y, 0, by);
    memset(c->dx, 0x5a, bx);
    ck_mean_pool(&c->s->a, c->t, c->x, c->s->channels, c->ld, c->y);
    ck_mean_pool_grad(&c->s->a, c->t, c->dy, c->s->channels, c->ld, c->dx);
    if (!c->first_y) {
        c->first_y = copy_of(c->y, by);
        c->first_dx = copy_of(c->dx, bx);
    }
    if (memcmp(c->y, c->first_y, by) || memcmp(c->dx, c->first_dx, bx))
        fail_msg("%s: other bytes than the reference", way);
}

static void check_mean(const struct mean_case *c)
{
    const struct ck_act_shape *a = &c->s->a;
    double *sum = test_array((size_t)(a->n * c->ld), sizeof *sum), s = (double)a->s;
    for (int64_t i = 0; i < ck_act_size(a); i++) {
        int64_t k = channel_of(a, i), image = i / (a->cb * a->s * a->blk);
        double got = get(c->t, c->dx, i), want = 0;
        if (k < c->s->channels) {
            sum[image * c->ld + k] += get(c->t, c->x, i);
            want = (double)c->dy[image * c->ld + k] / s;
        }
        assert_close(got, want, rounding(c->t) * fabs(want));
    }
    for (int64_t i = 0; i < a->n * c->ld; i++)
        assert_close((double)c->y[i], sum[i] / s, 1e-6 + 1e-6 * fabs(sum[i] / s));
    free(sum);
}

static void mean_pool_leaves_the_padding_out(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_SHAPES; i++)
        for (int k = 0; k < 4; k++) {
            const struct test_shape *s = &test_shapes[i];
            struct mean_case c = {.s = s, .t = types[k % 2], .ld = s->channels + k / 2 * 3};
            size_t n = (size_t)(s->a.n * c.ld);
            void *x = test_acts(s, c.t, 0.5, 4);
            float *dy = test_array(n, sizeof *dy);
            for (size_t j = 0; j < n; j++)
                dy[j] = (float)noise(5, (int64_t)j);
            c.x = x;
            c.dy = dy;
            c.y = test_array(n, sizeof(float));
            c.dx = test_array((size_t)ck_act_size(&s->a), type_size(c.t));
            each_way(run_mean, &c);
            check_mean(&c);
            void *owned[] = {x, dy, c.y, c.dx, c.first_y, c.first_dx};
            for (int j = 0; j < 6; j++)
                free(owned[j]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_pool_takes_the_first_of_equals_and_nan),
        cmocka_unit_test(max_pool_meets_pytorch_on_ties_and_nan),
        cmocka_unit_test(avg_pool_counts_the_padding),
        cmocka_unit_test(pool_sizes_are_rounded_down),
        cmocka_unit_test(mean_pool_leaves_the_padding_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
