/* test_batch_norm.c - batch norm as a layer uses it: against finite differences and PyTorch,
 * split over ranks; the formulas per channel. */
#include "layers_test.h"

static const double eps = 1e-5;

/* ---- a whole layer ----
 *
 * y = relu(bn(x) + bn(z)), both with statistics of the batch; the loss is sum(w * y). */

enum { FIELDS = 6 }; /* x, z, and gamma, beta of either */

struct layer {
    struct test_shape s;
    double *v[FIELDS]; /* x and z in the array's layout, the others [channels] */
    void *w;
};

/* y += bn(x). */
static void add_norm(const struct ck_act_shape *a, const double *x, const double *gamma,
                     const double *beta, double *y)
{
    double mean[32] = {0}, var[32] = {0}, count = (double)(a->n * a->s);
    int64_t n = ck_act_size(a);
    for (int64_t i = 0; i < n; i++)
        mean[channel_of(a, i)] += x[i] / count;
    for (int64_t i = 0; i < n; i++)
        var[channel_of(a, i)] += pow(x[i] - mean[channel_of(a, i)], 2) / count;
    for (int64_t i = 0; i < n; i++) {
        int64_t c = channel_of(a, i);
        y[i] += gamma[c] * (x[i] - mean[c]) / sqrt(var[c] + eps) + beta[c];
    }
}

static double layer_loss(const struct layer *l)
{
    double y[512] = {0}, loss = 0;
    add_norm(&l->s.a, l->v[0], l->v[2], l->v[3], y);
    add_norm(&l->s.a, l->v[1], l->v[4], l->v[5], y);
    for (int64_t i = 0; i < ck_act_size(&l->s.a); i++)
        loss += y[i] > 0 ? y[i] * get(CK_F32, l->w, i) : 0;
    return loss;
}

/* One batch norm of the layer, in the kernels' precision. */
struct side {
    float x[512], gamma[32], beta[32];
    float mean[32], var[32], invstd[32], scale[32], shift[32], dx[512];
    double sum_dy[32], sum_dy_xhat[32];
};

static void side_forward(const struct ck_act_shape *a, struct side *b)
{
    int64_t c = ck_act_channels(a);
    double sum[32], sumsq[32];
    ck_bn_sums(a, CK_F32, b->x, sum, sumsq);
    ck_bn_finish(c, c, (double)(a->n * a->s), sum, sumsq, eps, b->mean, b->var, b->invstd);
    ck_bn_affine(c, c, b->gamma, b->beta, b->mean, b->invstd, b->scale, b->shift);
}

static void side_backward(const struct ck_act_shape *a, struct side *b,
                          const struct ck_bn_grad *in, void *masked)
{
    int64_t c = ck_act_channels(a);
    float kg[32], kx[32], k0[32];
    ck_bn_grad_sums(a, CK_F32, in, b->mean, b->invstd, b->sum_dy, b->sum_dy_xhat, masked);
    ck_bn_grad_coef(c, c, (double)(a->n * a->s), b->gamma, b->mean, b->invstd, b->sum_dy,
                    b->sum_dy_xhat, kg, kx, k0);
    ck_bn_grad_apply(a, CK_F32, in, kg, kx, k0, b->dx);
}

static void check_slope(struct layer *l, double *at, double got)
{
    const double h = 1e-5, v = *at;
    *at = v + h;
    double up = layer_loss(l);
    *at = v - h;
    double down = layer_loss(l);
    *at = v;
    assert_close(got, (up - down) / (2 * h), 2e-5 + 2e-5 * fabs(got));
}

static void layer_fill(struct layer *l, struct side side[2])
{
    int64_t n = ck_act_size(&l->s.a), c = ck_act_channels(&l->s.a);
    for (int k = 0; k < FIELDS; k++)
        l->v[k] = test_array((size_t)n, sizeof(double));
    l->w = test_acts(&l->s, CK_F32, 0, 50);
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < n; i++) {
            side[k].x[i] = 2 * test_normal(51 + (uint64_t)k, (uint64_t)i) + 1;
            l->v[k][i] = (double)side[k].x[i];
        }
        for (int64_t i = 0; i < c; i++) {
            side[k].gamma[i] = (float)(0.5 + test_unit(53, (uint64_t)i + 100 * (uint64_t)k));
            side[k].beta[i] = test_normal(54, (uint64_t)i + 100 * (uint64_t)k);
            l->v[2 + 2 * k][i] = (double)side[k].gamma[i];
            l->v[3 + 2 * k][i] = (double)side[k].beta[i];
        }
    }
}

static void gradients_are_the_finite_differences(void **state)
{
    (void)state;
    const struct test_shape shapes[] = {
        {{3, 2, 4, 16}, 32}, {{4, 1, 3, 10}, 10}, {{9, 1, 1, 5}, 5}};
    for (int k = 0; k < 3; k++) {
        struct layer l = {.s = shapes[k]};
        const struct ck_act_shape *a = &l.s.a;
        struct side side[2];
        float y[512], g[512];
        layer_fill(&l, side);
        side_forward(a, &side[0]);
        side_forward(a, &side[1]);
        const struct ck_bn_residual res = {side[1].x, side[1].scale, side[1].shift};
        ck_bn_apply(a, CK_F32, side[0].x, side[0].scale, side[0].shift, &res, 1, y);
        const struct ck_bn_grad in = {.dy = l.w, .y = y, .x = side[0].x};
        side_backward(a, &side[0], &in, g);
        const struct ck_bn_grad branch = {.dy = g, .x = side[1].x};
        side_backward(a, &side[1], &branch, NULL);
        for (int b = 0; b < 2; b++) {
            for (int64_t i = 0; i < ck_act_size(a); i += 7)
                check_slope(&l, &l.v[b][i], (double)side[b].dx[i]);
            for (int64_t c = 0; c < ck_act_channels(a); c++) {
                check_slope(&l, &l.v[2 + 2 * b][c], side[b].sum_dy_xhat[c]);
                check_slope(&l, &l.v[3 + 2 * b][c], side[b].sum_dy[c]);
            }
        }
        for (int f = 0; f < FIELDS; f++)
            free(l.v[f]);
        free(l.w);
    }
}

/* One rank's arrays of a layer relu(bn(x)). */
struct rank {
    struct ck_act_shape a;
    const float *x, *dy;
    float *y, *dx;
    double sums[4][48];
};

struct shared {
    float mean[48], var[48], invstd[48], scale[48], shift[48], kg[48], kx[48], k0[48];
    float running_mean[48], running_var[48];
};

static void add_sums(struct rank *ranks, int n, int row, double *out)
{
    for (int c = 0; c < 48; c++) {
        out[c] = 0;
        for (int r = 0; r < n; r++)
            out[c] += ranks[r].sums[row][c];
    }
}

/* A synchronised step of n ranks. */
static void step(struct rank *ranks, int n, const float *gamma, const float *beta,
                 struct shared *s)
{
    double count = 0, total[4][48];
    for (int r = 0; r < n; r++) {
        ck_bn_sums(&ranks[r].a, CK_F32, ranks[r].x, ranks[r].sums[0], ranks[r].sums[1]);
        count += (double)(ranks[r].a.n * ranks[r].a.s);
    }
    add_sums(ranks, n, 0, total[0]);
    add_sums(ranks, n, 1, total[1]);
    ck_bn_finish(40, 48, count, total[0], total[1], eps, s->mean, s->var, s->invstd);
    ck_bn_affine(40, 48, gamma, beta, s->mean, s->invstd, s->scale, s->shift);
    ck_bn_running(40, count, 0.1, s->mean, s->var, s->running_mean, s->running_var);
    for (int r = 0; r < n; r++) {
        const struct ck_bn_grad in = {
            .dy = ranks[r].dy, .scale = s->scale, .shift = s->shift, .x = ranks[r].x};
        ck_bn_apply(&ranks[r].a, CK_F32, ranks[r].x, s->scale, s->shift, NULL, 1, ranks[r].y);
        ck_bn_grad_sums(&ranks[r].a, CK_F32, &in, s->mean, s->invstd, ranks[r].sums[2],
                        ranks[r].sums[3], NULL);
    }
    add_sums(ranks, n, 2, total[2]);
    add_sums(ranks, n, 3, total[3]);
    ck_bn_grad_coef(40, 48, count, gamma, s->mean, s->invstd, total[2], total[3], s->kg, s->kx,
                    s->k0);
    for (int r = 0; r < n; r++) {
        const struct ck_bn_grad in = {
            .dy = ranks[r].dy, .scale = s->scale, .shift = s->shift, .x = ranks[r].x};
        ck_bn_grad_apply(&ranks[r].a, CK_F32, &in, s->kg, s->kx, s->k0, ranks[r].dx);
    }
}

static void two_unequal_ranks_equal_one_batch(void **state)
{
    (void)state;
    const struct test_shape s = {{11, 3, 49, 16}, 40};
    int64_t n = ck_act_size(&s.a), image = n / 11;
    float *x = test_acts(&s, CK_F32, 3, 60), *dy = test_acts(&s, CK_F32, 0, 61);
    float *gamma = test_coef(&s, 0.5, 2, 1), *beta = test_coef(&s, -1, 1, 2);
    float *out[4];
    for (int k = 0; k < 4; k++)
        out[k] = test_array((size_t)n, sizeof(float));
    struct shared one = {.running_var = {1, 1, 1}}, two = {.running_var = {1, 1, 1}};
    struct rank whole = {.a = s.a, .x = x, .dy = dy, .y = out[0], .dx = out[1]};
    struct rank split[2] = {{.a = s.a, .x = x, .dy = dy, .y = out[2], .dx = out[3]},
                            {.a = s.a,
                             .x = x + 3 * image,
                             .dy = dy + 3 * image,
                             .y = out[2] + 3 * image,
                             .dx = out[3] + 3 * image}};
    split[0].a.n = 3;
    split[1].a.n = 8;
    step(&whole, 1, gamma, beta, &one);
    step(split, 2, gamma, beta, &two);
    for (int c = 0; c < 48; c++) {
        assert_close((double)two.mean[c], (double)one.mean[c], 3e-7);
        assert_close((double)two.running_mean[c], (double)one.running_mean[c], 3e-8);
        assert_close((double)two.running_var[c], (double)one.running_var[c], 3e-7);
    }
    for (int64_t i = 0; i < n; i++) {
        assert_close((double)out[2][i], (double)out[0][i], 2e-6);
        if (fabs((double)out[0][i]) > 1e-5 || out[0][i] == out[2][i])
            assert_close((double)out[3][i], (double)out[1][i], 3e-6);
    }
    for (int k = 0; k < 4; k++)
        free(out[k]);
    free(x);
    free(dy);
    free(gamma);
    free(beta);
}

/* ---- formulas ---- */

/* torch.nn.BatchNorm1d(2), momentum .1, eps 1e-5, weight (2, .5), bias (.25, -1), on rows
 * (1, -2), (2, 0), (4, 7), (-3, .5); gradient of the output (1, .5), (-1, 2), (.25, 0), (3, 1).
 */
static void numbers_of_pytorch_are_met(void **state)
{
    (void)state;
    const struct ck_act_shape a = {4, 1, 1, 2};
    const float x[8] = {1, -2, 2, 0, 4, 7, -3, 0.5f}, dy[8] = {1, 0.5f, -1, 2, 0.25f, 0, 3, 1};
    const float gamma[2] = {2, 0.5f}, beta[2] = {0.25f, -1};
    const double y[8] = {0.25,       -1.49931532,  1.03446394,  -1.20342476,
                         2.60339181, -0.167807803, -2.88785575, -1.12945212};
    const double dx[8] = {0.147086988, -0.11353935,   -1.05223825, 0.142784418,
                          0.667546933, -0.0326856697, 0.237604332, 0.00344060107};
    const double running[4] = {0.1, 0.1375, 1.76666667, 2.42291667};
    const double parameters[4] = {3.25, 3.5, -4.80484161, -1.57191859};
    float mean[2], var[2], invstd[2], scale[2], shift[2], kg[2], kx[2], k0[2], out[8];
    float running_mean[2] = {0, 0}, running_var[2] = {1, 1};
    double sum[2], sumsq[2], grad[4];
    ck_bn_sums(&a, CK_F32, x, sum, sumsq);
    ck_bn_finish(2, 2, 4, sum, sumsq, eps, mean, var, invstd);
    ck_bn_affine(2, 2, gamma, beta, mean, invstd, scale, shift);
    ck_bn_running(2, 4, 0.1, mean, var, running_mean, running_var);
    ck_bn_apply(&a, CK_F32, x, scale, shift, NULL, 0, out);
    for (int i = 0; i < 8; i++)
        assert_close((double)out[i], y[i], 3e-7);
    const struct ck_bn_grad in = {.dy = dy, .x = x};
    ck_bn_grad_sums(&a, CK_F32, &in, mean, invstd, grad, grad + 2, NULL);
    ck_bn_grad_coef(2, 2, 4, gamma, mean, invstd, grad, grad + 2, kg, kx, k0);
    ck_bn_grad_apply(&a, CK_F32, &in, kg, kx, k0, out);
    for (int i = 0; i < 8; i++)
        assert_close((double)out[i], dx[i], 3e-7);
    for (int c = 0; c < 2; c++) {
        assert_close((double)running_mean[c], running[c], 1e-7);
        assert_close((double)running_var[c], running[2 + c], 1e-7);
        assert_close(grad[c], parameters[c], 1e-6);
        assert_close(grad[2 + c], parameters[2 + c], 1e-6);
    }
}

static void counts_of_none_and_one_divide_by_nothing(void **state)
{
    (void)state;
    double sum[1] = {0}, sumsq[1] = {0};
    float mean[3] = {7, 7, 7}, var[3] = {7, 7, 7}, invstd[3] = {7, 7, 7}, kg[3], kx[3], k0[3];
    ck_bn_finish(1, 3, 0, sum, sumsq, eps, mean, var, invstd);
    assert_true(mean[0] == 0 && var[0] == 0);
    assert_close((double)invstd[0], 1 / sqrt(eps), 1e-4);
    ck_bn_grad_coef(1, 3, 0, NULL, mean, invstd, sum, sumsq, kg, kx, k0);
    assert_true(isfinite(kg[0]) && kx[0] == 0 && k0[0] == 0);
    sum[0] = 3;
    sumsq[0] = 9;
    ck_bn_finish(1, 3, 1, sum, sumsq, eps, mean, var, invstd);
    assert_true(mean[0] == 3 && var[0] == 0);
    float running_mean[1] = {1}, running_var[1] = {2};
    ck_bn_running(1, 1, 0.1, mean, var, running_mean, running_var);
    assert_close((double)running_mean[0], 1.2, 1e-6);
    assert_close((double)running_var[0], 1.8, 1e-6);
    for (int c = 1; c < 3; c++)
        assert_true(mean[c] == 0 && var[c] == 0 && invstd[c] == 0 && kg[c] == 0 && kx[c] == 0 &&
                    k0[c] == 0);
}

static void no_gamma_and_beta_mean_one_and_zero(void **state)
{
    (void)state;
    const float mean[2] = {3, -1}, invstd[2] = {0.5f, 4}, gamma[2] = {1, 1}, beta[2] = {0, 0};
    const double sum[2] = {1, 2}, sum_xhat[2] = {-1, 3};
    float a[2][4], b[2][4], k[2][3][4];
    for (int own = 0; own < 2; own++) {
        ck_bn_affine(2, 4, own ? gamma : NULL, own ? beta : NULL, mean, invstd, a[own], b[own]);
        ck_bn_grad_coef(2, 4, 10, own ? gamma : NULL, mean, invstd, sum, sum_xhat, k[own][0],
                        k[own][1], k[own][2]);
    }
    assert_memory_equal(a[0], a[1], sizeof a[0]);
    assert_memory_equal(b[0], b[1], sizeof b[0]);
    assert_memory_equal(k[0], k[1], sizeof k[0]);
    assert_true(a[0][0] == 0.5f && b[0][0] == -1.5f && a[0][2] == 0 && b[0][3] == 0);
}

static void evaluation_takes_the_running_variance(void **state)
{
    (void)state;
    const float var[2] = {4, 0.25f};
    float invstd[4];
    ck_bn_invstd(2, 4, var, 0, invstd);
    assert_true(invstd[0] == 0.5f && invstd[1] == 2 && invstd[2] == 0 && invstd[3] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_finite_differences),
        cmocka_unit_test(two_unequal_ranks_equal_one_batch),
        cmocka_unit_test(numbers_of_pytorch_are_met),
        cmocka_unit_test(counts_of_none_and_one_divide_by_nothing),
        cmocka_unit_test(no_gamma_and_beta_mean_one_and_zero),
        cmocka_unit_test(evaluation_takes_the_running_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
