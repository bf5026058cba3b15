/* test_norm.c - batch norm's sums and elementwise kernels: against formulas in double; the same
 * bytes from every version and team. */
#include "layers_test.h"

/* `out` must hold what the first call put there, bit for bit. */
struct same {
    void *out, *first;
    size_t bytes;
    int calls;
};

static void check_same(struct same *s, const char *way)
{
    if (!s->calls++)
        s->first = copy_of(s->out, s->bytes);
    else if (memcmp(s->out, s->first, s->bytes))
        fail_msg("%s: other bytes than the reference", way);
}

static void same_release(struct same *s)
{
    free(s->first);
    free(s->out);
}

/* Aligned, as results that bypass the caches must be. */
static struct same same_array(size_t n, size_t size)
{
    struct same s = {.bytes = n * size};
    assert_int_equal(posix_memalign(&s.out, 64, s.bytes), 0);
    return s;
}

/* ---- sums ---- */

struct sums_case {
    const struct test_shape *s;
    enum ck_dtype t;
    const void *x;
    struct same sums; /* [2][channels] */
};

static void run_sums(void *arg, const char *way)
{
    struct sums_case *c = arg;
    double *sum = c->sums.out;
    memset(sum, 0x5a, c->sums.bytes);
    ck_bn_sums(&c->s->a, c->t, c->x, sum, sum + ck_act_channels(&c->s->a));
    check_same(&c->sums, way);
}

/* Mean and variance of channel c, computed directly. */
static void slow_moments(const struct ck_act_shape *a, enum ck_dtype t, const void *x,
                         int64_t channel, double *mean, double *var)
{
    double sum = 0, square = 0;
    int64_t count = a->n * a->s;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < count; i++) {
            int64_t plane = i / a->s * a->cb + channel / a->blk;
            double v = get(t, x, (plane * a->s + i % a->s) * a->blk + channel % a->blk);
            if (pass == 0)
                sum += v;
            else
                square += (v - *mean) * (v - *mean);
        }
        *mean = sum / (double)count;
    }
    *var = square / (double)count;
}

static void check_sums(const struct sums_case *c)
{
    const struct ck_act_shape *a = &c->s->a;
    int64_t channels = ck_act_channels(a);
    const double *sum = c->sums.out, *sumsq = sum + channels;
    double count = (double)(a->n * a->s);
    for (int64_t k = 0; k < channels; k++) {
        double mean, var;
        slow_moments(a, c->t, c->x, k, &mean, &var);
        double m = sum[k] / count, v = sumsq[k] / count - m * m;
        if (k >= c->s->channels)
            assert_true(sum[k] == 0 && sumsq[k] == 0);
        assert_close(m, mean, 3e-7 * sqrt(var) + 1e-15 * fabs(mean));
        assert_close(v, var, 1e-6 * var + 1e-14 * mean * mean);
    }
}

static void sums_keep_the_variance_beside_a_large_mean(void **state)
{
    (void)state;
    const double means[] = {0, 100, -9999};
    for (int i = 0; i < TEST_SHAPES; i++)
        for (int m = 0; m < 3; m++)
            for (int t = 0; t < 2; t++) {
                const struct test_shape *s = &test_shapes[i];
                void *x = test_acts(s, types[t], means[m], 5);
                struct sums_case c = {
                    s, types[t], x,
                    same_array(2 * (size_t)ck_act_channels(&s->a), sizeof(double))};
                each_way(run_sums, &c);
                check_sums(&c);
                same_release(&c.sums);
                free(x);
            }
}

/* Sums are taken about the mean of every fourth row; these rows are the worst case. */
static void rows_unlike_the_others_do_not_hurt_the_variance(void **state)
{
    (void)state;
    const struct test_shape s = {{3, 2, 300, 16}, 32};
    for (int kind = 0; kind < 3; kind++) {
        float *x = test_acts(&s, CK_F32, 0, 12);
        struct sums_case c = {&s, CK_F32, x, same_array(64, sizeof(double))};
        for (int64_t i = 0; i < ck_act_size(&s.a); i++) {
            int64_t row = i / 16 % 300;
            if (kind == 0 ? row % 4 == 0 : kind == 1 ? row % 4 != 0 : row == 0)
                x[i] = 1000 + 0.001f * x[i];
        }
        each_way(run_sums, &c);
        check_sums(&c);
        same_release(&c.sums);
        free(x);
    }
}

static void constant_channels_have_no_variance(void **state)
{
    (void)state;
    const struct test_shape s = {{5, 2, 333, 16}, 32};
    float *x = test_array((size_t)ck_act_size(&s.a), sizeof *x), mean[32], var[32], invstd[32];
    double sum[32], sumsq[32];
    for (int64_t i = 0; i < ck_act_size(&s.a); i++)
        x[i] = 0.1f * (float)channel_of(&s.a, i) - 1.3f;
    ck_bn_sums(&s.a, CK_F32, x, sum, sumsq);
    ck_bn_finish(32, 32, 5 * 333, sum, sumsq, 1e-5, mean, var, invstd);
    for (int c = 0; c < 32; c++) {
        assert_close((double)mean[c], (double)(0.1f * (float)c - 1.3f), 1e-7);
        assert_true(var[c] >= 0);
        assert_close((double)var[c], 0, 1e-13);
    }
    free(x);
}

static void nan_and_infinity_reach_the_sums_of_their_channel_only(void **state)
{
    (void)state;
    const struct test_shape s = {{3, 2, 9, 16}, 32};
    float *x = test_acts(&s, CK_F32, 0, 3);
    double sum[32], sumsq[32];
    x[5] = NAN;
    x[6] = INFINITY;
    ck_bn_sums(&s.a, CK_F32, x, sum, sumsq);
    for (int c = 0; c < 32; c++)
        assert_int_equal(isfinite(sum[c]) && isfinite(sumsq[c]), c != 5 && c != 6);
    free(x);
}

static void an_empty_batch_gives_zeros(void **state)
{
    (void)state;
    const struct ck_act_shape shapes[] = {{0, 2, 4, 16}, {0, 1, 4, 10}, {0, 1, 1, 10}};
    for (int i = 0; i < 3; i++) {
        double sum[32], sumsq[32];
        const struct ck_bn_grad in = {.dy = sum, .x = sum};
        float coef[32] = {0};
        ck_bn_sums(&shapes[i], CK_F32, sum, sum, sumsq);
        for (int64_t c = 0; c < ck_act_channels(&shapes[i]); c++)
            assert_true(sum[c] == 0 && sumsq[c] == 0);
        sum[0] = 1;
        ck_bn_grad_sums(&shapes[i], CK_F32, &in, coef, coef, sum, sumsq, NULL);
        assert_true(sum[0] == 0 && sumsq[0] == 0);
        ck_bn_apply(&shapes[i], CK_F32, sum, coef, coef, NULL, 1, sum);
        ck_bn_grad_apply(&shapes[i], CK_F32, &in, coef, coef, coef, sum);
    }
}

/* ---- forward ---- */

enum { RES_NONE, RES_PLAIN, RES_AFFINE };

struct apply_case {
    const struct test_shape *s;
    enum ck_dtype t;
    int res, relu;
    const void *x, *z;
    float *scale, *shift, *res_scale, *res_shift;
    struct same y;
};

static struct ck_bn_residual residual_of(const struct apply_case *c, const void *z)
{
    struct ck_bn_residual r = {0};
    if (c->res != RES_NONE)
        r.x = z;
    if (c->res == RES_AFFINE) {
        r.scale = c->res_scale;
        r.shift = c->res_shift;
    }
    return r;
}

static void run_apply(void *arg, const char *way)
{
    struct apply_case *c = arg;
    struct ck_bn_residual r = residual_of(c, c->z);
    memset(c->y.out, 0x5a, c->y.bytes);
    ck_bn_apply(&c->s->a, c->t, c->x, c->scale, c->shift, c->res == RES_NONE ? NULL : &r,
                c->relu, c->y.out);
    check_same(&c->y, way);
    void *x = copy_of(c->x, c->y.bytes), *z = copy_of(c->z, c->y.bytes);
    ck_bn_apply(&c->s->a, c->t, x, c->scale, c->shift, &r, c->relu, x);
    assert_memory_equal(x, c->y.out, c->y.bytes);
    r = residual_of(c, z);
    ck_bn_apply(&c->s->a, c->t, c->x, c->scale, c->shift, &r, c->relu, z);
    assert_memory_equal(z, c->y.out, c->y.bytes);
    free(x);
    free(z);
}

static void check_apply(const struct apply_case *c)
{
    const struct ck_act_shape *a = &c->s->a;
    for (int64_t i = 0; i < ck_act_size(a); i++) {
        int64_t k = channel_of(a, i);
        double p = get(c->t, c->x, i) * (double)c->scale[k], q = 0, y;
        if (c->res != RES_NONE)
            q = get(c->t, c->z, i) * (c->res == RES_AFFINE ? (double)c->res_scale[k] : 1);
        double shift = (double)c->shift[k],
               res_shift = c->res == RES_AFFINE ? (double)c->res_shift[k] : 0;
        y = p + shift + q + res_shift;
        if (c->relu && y < 0)
            y = 0;
        double size = fabs(p) + fabs(shift) + fabs(q) + fabs(res_shift);
        assert_close(get(c->t, c->y.out, i), y, rounding(c->t) * fabs(y) + 1.3e-7 * size);
        if (k >= c->s->channels)
            assert_true(get(c->t, c->y.out, i) == 0);
    }
}

static void apply_is_the_formula_in_all_its_forms(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_SHAPES; i++)
        for (int form = 0; form < 12; form++) {
            const struct test_shape *s = &test_shapes[i];
            struct apply_case c = {
                .s = s, .t = types[form % 2], .relu = form / 2 % 2, .res = form / 4};
            void *x = test_acts(s, c.t, 0.3, 6), *z = test_acts(s, c.t, 0, 7);
            c.x = x;
            c.z = z;
            c.scale = test_coef(s, -2, 2, 1);
            c.shift = test_coef(s, -1, 1, 2);
            c.res_scale = test_coef(s, -2, 2, 3);
            c.res_shift = test_coef(s, -1, 1, 4);
            c.y = same_array((size_t)ck_act_size(&s->a), type_size(c.t));
            each_way(run_apply, &c);
            check_apply(&c);
            same_release(&c.y);
            free(x);
            free(z);
            free(c.scale);
            free(c.shift);
            free(c.res_scale);
            free(c.res_shift);
        }
}

/* ---- backward ---- */

enum { MASK_NONE, MASK_Y, MASK_X };

struct grad_case {
    const struct test_shape *s;
    enum ck_dtype t;
    struct ck_bn_grad in;
    float *mean, *invstd, *kg, *kx, *k0;
    int constant; /* constant statistics: kx = k0 = NULL */
    struct same sums, masked, dx;
};

static void run_grad(void *arg, const char *way)
{
    struct grad_case *c = arg;
    const struct ck_act_shape *a = &c->s->a;
    double *sums = c->sums.out;
    size_t channels = (size_t)ck_act_channels(a);
    memset(c->sums.out, 0x5a, c->sums.bytes);
    memset(c->masked.out, 0x5a, c->masked.bytes);
    memset(c->dx.out, 0x5a, c->dx.bytes);
    ck_bn_grad_sums(a, c->t, &c->in, c->mean, c->invstd, sums, sums + channels, c->masked.out);
    check_same(&c->sums, way);
    check_same(&c->masked, way);
    ck_bn_grad_sums(a, c->t, &c->in, c->mean, c->invstd, sums, sums + channels, NULL);
    check_same(&c->sums, way);
    ck_bn_grad_apply(a, c->t, &c->in, c->kg, c->constant ? NULL : c->kx,
                     c->constant ? NULL : c->k0, c->dx.out);
    check_same(&c->dx, way);
}

/* Every array that a result may alias, one after the other. */
static void run_grad_aliases(struct grad_case *c)
{
    const struct ck_act_shape *a = &c->s->a;
    double *sums = test_array(2 * (size_t)ck_act_channels(a), sizeof *sums);
    for (int on = 0; on < 4; on++) {
        struct ck_bn_grad in = c->in;
        const void **field[4] = {&in.dy, &in.dy2, &in.y, &in.x};
        if (!*field[on])
            continue;
        void *p = copy_of(*field[on], c->dx.bytes);
        *field[on] = p;
        ck_bn_grad_apply(a, c->t, &in, c->kg, c->constant ? NULL : c->kx,
                         c->constant ? NULL : c->k0, p);
        assert_memory_equal(p, c->dx.out, c->dx.bytes);
        if (on < 3) {
            *field[on] = (const void *[]){c->in.dy, c->in.dy2, c->in.y}[on];
            memcpy(p, *field[on], c->dx.bytes);
            *field[on] = p;
            ck_bn_grad_sums(a, c->t, &in, c->mean, c->invstd, sums, sums + ck_act_channels(a),
                            p);
            assert_memory_equal(p, c->masked.out, c->masked.bytes);
            assert_memory_equal(sums, c->sums.out, c->sums.bytes);
        }
        free(p);
    }
    free(sums);
}

/* The gradient of element i before rounding. */
static double slow_gradient(const struct grad_case *c, int64_t i)
{
    int64_t k = channel_of(&c->s->a, i);
    double g = get(c->t, c->in.dy, i) + (c->in.dy2 ? get(c->t, c->in.dy2, i) : 0);
    double out = 1;
    if (c->in.y)
        out = get(c->t, c->in.y, i);
    else if (c->in.scale)
        out = get(c->t, c->in.x, i) * (double)c->in.scale[k] + (double)c->in.shift[k];
    return out <= 0 ? 0 : g;
}

static void check_grad(const struct grad_case *c)
{
    const struct ck_act_shape *a = &c->s->a;
    int64_t channels = ck_act_channels(a), n = ck_act_size(a);
    double *want = test_array(4 * (size_t)channels, sizeof *want);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = channel_of(a, i);
        double g = slow_gradient(c, i), x = get(c->t, c->in.x, i);
        double gx = g * (x - (double)c->mean[k]) * (double)c->invstd[k];
        want[k] += g;
        want[channels + k] += gx;
        want[2 * channels + k] += fabs(g);
        want[3 * channels + k] += fabs(gx);
        assert_close(get(c->t, c->masked.out, i), g, rounding(c->t) * fabs(g) + 1e-7 * fabs(g));
        double dg = (double)c->kg[k] * g, dx = (double)c->kx[k] * x;
        if (c->constant)
            dx = 0;
        double k0 = c->constant ? 0 : (double)c->k0[k], d = dg + dx + k0;
        assert_close(get(c->t, c->dx.out, i), d,
                     rounding(c->t) * fabs(d) + 1.3e-7 * (fabs(dg) + fabs(dx) + fabs(k0)));
    }
    const double *sums = c->sums.out;
    for (int64_t k = 0; k < 2 * channels; k++)
        assert_close(sums[k], want[k], 1e-6 * want[2 * channels + k]);
    free(want);
}

static void backward_is_the_formula_in_all_its_forms(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_SHAPES; i++)
        for (int form = 0; form < 24; form++) {
            const struct test_shape *s = &test_shapes[i];
            int mask = form / 2 % 3, two = form / 6 % 2;
            size_t n = (size_t)ck_act_size(&s->a), size = type_size(types[form % 2]);
            struct grad_case c = {.s = s, .t = types[form % 2], .constant = form / 12};
            void *dy = test_acts(s, c.t, 0.1, 8), *dy2 = test_acts(s, c.t, 0, 9);
            void *x = test_acts(s, c.t, 0.5, 10), *y = test_acts(s, c.t, 0, 11);
            float *scale = test_coef(s, -2, 2, 5), *shift = test_coef(s, -1, 1, 6);
            c.in = (struct ck_bn_grad){.dy = dy,
                                       .dy2 = two ? dy2 : NULL,
                                       .y = mask == MASK_Y ? y : NULL,
                                       .scale = mask == MASK_X ? scale : NULL,
                                       .shift = mask == MASK_X ? shift : NULL,
                                       .x = x};
            c.mean = test_coef(s, 0.3, 0.7, 1);
            c.invstd = test_coef(s, 0.5, 2, 2);
            c.kg = test_coef(s, -2, 2, 3);
            c.kx = test_coef(s, -0.1, 0.1, 4);
            c.k0 = test_coef(s, -1, 1, 7);
            c.sums = same_array(2 * (size_t)ck_act_channels(&s->a), sizeof(double));
            c.masked = same_array(n, size);
            c.dx = same_array(n, size);
            each_way(run_grad, &c);
            check_grad(&c);
            run_grad_aliases(&c);
            same_release(&c.sums);
            same_release(&c.masked);
            same_release(&c.dx);
            void *owned[] = {dy, dy2, x, y, scale, shift, c.mean, c.invstd, c.kg, c.kx, c.k0};
            for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
                free(owned[k]);
        }
}

static void nan_passes_the_relu_both_ways(void **state)
{
    (void)state;
    const struct test_shape s = {{1, 1, 5, 16}, 16};
    for (int t = 0; t < 2; t++) {
        void *x = test_acts(&s, types[t], 0, 1), *y = test_acts(&s, types[t], 0, 1);
        void *dy = test_acts(&s, types[t], 0, 2), *g = test_acts(&s, types[t], 0, 2);
        float *one = test_coef(&s, 1, 1, 1), *none = test_coef(&s, 0, 0, 1);
        double sum[32];
        set(types[t], x, 20, NAN);
        ck_bn_apply(&s.a, types[t], x, one, none, NULL, 1, y);
        for (int i = 0; i < 80; i++)
            assert_int_equal(isnan(get(types[t], y, i)), i == 20);
        struct ck_bn_grad from_y = {.dy = dy, .y = y, .x = x};
        struct ck_bn_grad from_x = {.dy = dy, .scale = one, .shift = none, .x = x};
        ck_bn_grad_sums(&s.a, types[t], &from_y, none, one, sum, sum + 16, g);
        assert_true(get(types[t], g, 20) == get(types[t], dy, 20));
        from_y.x = NULL; /* not read for constant statistics */
        ck_bn_grad_apply(&s.a, types[t], &from_y, one, NULL, NULL, y);
        assert_memory_equal(y, g, 80 * type_size(types[t]));
        ck_bn_grad_apply(&s.a, types[t], &from_x, one, NULL, NULL, y);
        assert_memory_equal(y, g, 80 * type_size(types[t]));
        free(x);
        free(y);
        free(dy);
        free(g);
        free(one);
        free(none);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_keep_the_variance_beside_a_large_mean),
        cmocka_unit_test(rows_unlike_the_others_do_not_hurt_the_variance),
        cmocka_unit_test(constant_channels_have_no_variance),
        cmocka_unit_test(nan_and_infinity_reach_the_sums_of_their_channel_only),
        cmocka_unit_test(an_empty_batch_gives_zeros),
        cmocka_unit_test(apply_is_the_formula_in_all_its_forms),
        cmocka_unit_test(backward_is_the_formula_in_all_its_forms),
        cmocka_unit_test(nan_passes_the_relu_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
