/* test_update.c - the optimizers' kernels: every version returns the bits of the reference, and
 * the reference those that update.h specifies. */
#include "layers_test.h"

struct piece {
    struct ck_update_rule u;
    int64_t n, bad;
    float *p, *g, *m;
    float *want_p, *want_m;
    struct ck_update_norms want; /* of the first call */
    int first;
};

static void check_piece(void *arg, const char *way)
{
    struct piece *c = arg;
    struct ck_update_norms got;
    size_t bytes = (size_t)c->n * sizeof(float);
    ck_update_measure(&c->u, c->n, c->p, c->g, &got);
    if (c->first)
        c->want = got;
    c->first = 0;
    assert_int_equal(got.bad, c->bad);
    assert_int_equal(ck_update_check(c->n, c->g), c->bad);
    if (!c->bad)
        assert_memory_equal(&got, &c->want, sizeof got);
    float *p = copy_of(c->p, bytes), *m = copy_of(c->m, bytes);
    ck_update_move(&c->u, c->n, c->g, p, m);
    for (int64_t i = 0; i < c->n; i++)
        if (isnan(c->want_p[i]) ? !isnan(p[i]) : p[i] != c->want_p[i] || m[i] != c->want_m[i])
            fail_msg("%s: element %d of %d", way, (int)i, (int)c->n);
    free(p);
    free(m);
}

/* The norms in another order, and the update as update.h writes it. */
static void expect(struct piece *c, double *square, double *change)
{
    *square = *change = 0;
    for (int64_t i = 0; i < c->n; i++) {
        float scaled = c->g[i] * c->u.scale, decayed = c->u.decay * c->p[i];
        float dp = scaled + decayed, kept = c->u.keep * c->m[i], moved = dp * c->u.trust;
        c->want_m[i] = kept + moved;
        float by = c->u.rate * c->want_m[i];
        c->want_p[i] = c->p[i] - by;
        *square += (double)c->p[i] * (double)c->p[i];
        *change += (double)dp * (double)dp;
        c->bad += !isfinite(c->g[i]);
    }
}

static void run_piece(int64_t n, int broken)
{
    struct piece c = {.u = {0.3f, 1e-2f, 0.9f, 1.7f, 0.05f}, .n = n, .first = 1};
    float **array[] = {&c.p, &c.g, &c.m, &c.want_p, &c.want_m};
    for (int k = 0; k < 5; k++) {
        *array[k] = test_array((size_t)n + 1, sizeof(float));
        for (int64_t i = 0; i < n; i++)
            (*array[k])[i] = (float)noise((uint64_t)k, i);
    }
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    for (int64_t i = 0; broken && i < n; i += 3)
        c.g[i] = odd[i / 3 % 3];
    double square, change;
    expect(&c, &square, &change);
    each_way(check_piece, &c);
    if (!broken) {
        assert_close(c.want.square, square, 1e-13 * square);
        assert_close(c.want.change, change, 1e-13 * change);
    }
    for (int k = 0; k < 5; k++)
        free(*array[k]);
}

static void every_version_returns_the_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 7, 8, 9, 15, 16, 17, 31, 40, 1000, 16384};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        run_piece(sizes[i], 0);
        run_piece(sizes[i], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_version_returns_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
