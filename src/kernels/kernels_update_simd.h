/* kernels_update_simd.h - the vector versions of the optimizers' kernels, written once.
 *
 * Included after kernels_layers_simd.h, by files that also define
 *
 *   struct wide                     LANES doubles
 *   wide_zero, wide_add_square(w, v)  w + v^2, which is exact before the addition
 *   wide_store(p, w)
 *   count_bad(v)                    lanes that are NaN or infinite */

enum { SUM_LANES = 16, SUM_PARTS = SUM_LANES / LANES };

INLINE vec change_of(const struct ck_update_rule *u, vec p, vec g)
{
    return add(mul(g, all(u->scale)), mul(all(u->decay), p));
}

static double fold(const struct wide w[SUM_PARTS])
{
    double s[SUM_LANES];
    for (int k = 0; k < SUM_PARTS; k++)
        wide_store(s + k * LANES, w[k]);
    for (int half = SUM_LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++)
            s[l] += s[l + half];
    return s[0];
}

/* Lanes past the end hold zeros, which change no sum. */
static void update_measure(const struct ck_update_rule *u, int64_t n, const float *p,
                           const float *grad, struct ck_update_norms *out)
{
    const struct ck_update_rule c = *u;
    struct wide square[SUM_PARTS], change[SUM_PARTS];
    int64_t bad = 0;
    for (int k = 0; k < SUM_PARTS; k++)
        square[k] = change[k] = wide_zero();
    for (int64_t i = 0; i < n; i += SUM_LANES)
        for (int k = 0; k < SUM_PARTS && i + k * LANES < n; k++) {
            int64_t at = i + k * LANES;
            int used = lanes(at, n);
            vec x = load_f32(p + at, used), g = load_f32(grad + at, used);
            bad += count_bad(g);
            square[k] = wide_add_square(square[k], x);
            change[k] = wide_add_square(change[k], change_of(&c, x, g));
        }
    *out = (struct ck_update_norms){fold(square), fold(change), bad};
}

static int64_t update_check(int64_t n, const float *grad)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i += LANES)
        bad += count_bad(load_f32(grad + i, lanes(i, n)));
    return bad;
}

static void update_move(const struct ck_update_rule *u, int64_t n, const float *grad, float *p,
                        float *m)
{
    const struct ck_update_rule c = *u;
    for (int64_t i = 0; i < n; i += LANES) {
        int used = lanes(i, n);
        vec x = load_f32(p + i, used), g = load_f32(grad + i, used);
        vec dp = mul(change_of(&c, x, g), all(c.trust));
        vec v = add(mul(all(c.keep), load_f32(m + i, used)), dp);
        store_f32(m + i, v, used);
        store_f32(p + i, sub(x, mul(all(c.rate), v)), used);
    }
}
