/* test_kernels.c - every version of every kernel returns the bits that kernels_ref.c
 * defines. */
#include "support.h"

static uint32_t bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* A row of awkward numbers of a given kind; the padding is zero. */
static void fill(float *x, int dim, int ld, int kind, uint64_t seed)
{
    for (int j = 0; j < ld; j++)
        x[j] = 0;
    for (int j = 0; j < dim; j++) {
        float g = test_normal(seed, (uint64_t)j);
        switch (kind) {
        case 0:
            x[j] = g / sqrtf((float)dim);
            break;
        case 1:
            x[j] = 1 / sqrtf((float)dim);
            break;
        case 2:
            x[j] = 0;
            break;
        case 3:
            x[j] = g * 1e8f;
            break;
        case 4:
            x[j] = g * 1e-20f;
            break;
        case 5:
            x[j] = j % 2 ? 1e6f : -1e6f + g;
            break;
        default:
            x[j] = j == dim - 1 ? 1 : 0;
            break;
        }
    }
}

enum { KINDS = 7 };

/* ((p0+p4)+(p2+p6))+((p1+p5)+(p3+p7)), written from the words of kernels.h alone. */
static float score_by_the_book(const float *x, const float *c, int ld)
{
    float p[8];
    for (int l = 0; l < 8; l++) {
        p[l] = 0;
        for (int j = l; j < ld; j += 8)
            p[l] = (float)fmaf(x[j], c[j], p[l]);
    }
    float a = p[0] + p[4], b = p[2] + p[6], c1 = p[1] + p[5], d = p[3] + p[7];
    float left = a + b, right = c1 + d;
    return left + right;
}

static void dot_is_the_defined_one(void **state)
{
    (void)state;
    for (int dim = 1; dim <= 130; dim++) {
        int ld = ck_padded(dim);
        float *x = test_array((size_t)ld, sizeof *x), *c = test_array((size_t)ld, sizeof *c);
        for (int kind = 0; kind < KINDS * KINDS; kind++) {
            fill(x, dim, ld, kind % KINDS, (uint64_t)dim);
            fill(c, dim, ld, kind / KINDS, (uint64_t)dim + 500);
            uint32_t want = bits(score_by_the_book(x, c, ld));
            for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
                if (bits((*kn)->dot(x, c, ld)) != want)
                    fail_msg("%s: dim %d, kind %d", (*kn)->name, dim, kind);
        }
        free(x);
        free(c);
    }
}

static void dense_tile_scores_hits_and_mask_agree(void **state)
{
    (void)state;
    const int dims[] = {1, 3, 15, 16, 17, 31, 47, 100, 128, 130};
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
        for (int d = 0; d < 10; d++) {
            int ld = ck_padded(dims[d]), width = (*kn)->panel;
            float *x = test_array((size_t)(CK_TILE * ld), sizeof *x);
            float *c = test_array((size_t)(width * ld), sizeof *c);
            float *panel = test_array((size_t)(width * ld), sizeof *panel);
            float bias[CK_PANEL_MAX], limit[CK_TILE], out[CK_TILE * CK_PANEL_MAX];
            uint64_t hits[CK_TILE];
            for (int r = 0; r < CK_TILE; r++) {
                fill(x + r * ld, dims[d], ld, r % KINDS, (uint64_t)r + 3);
                limit[r] = r == 6 ? INFINITY : r == 7 ? -INFINITY : 0.05f * (float)(r - 3);
            }
            for (int k = 0; k < width; k++) {
                fill(c + k * ld, dims[d], ld, k % 3, (uint64_t)(k / 2));
                bias[k] = k == 2 ? -INFINITY : 0.01f * (float)(k - 10);
                ck_panel_set(panel, width, k, c + k * ld, ld);
            }
            unsigned mask = (*kn)->dense_tile(panel, bias, x, ld, limit, hits, out);
            for (int r = 0; r < CK_TILE; r++) {
                int any = 0;
                for (int k = 0; k < width; k++) {
                    float s = score_by_the_book(x + r * ld, c + k * ld, ld) + bias[k];
                    int hit = s >= limit[r];
                    any |= hit;
                    assert_int_equal(hits[r] >> k & 1, hit);
                    if (hit)
                        assert_int_equal(bits(out[r * width + k]), bits(s));
                }
                assert_int_equal(mask >> r & 1, any);
                assert_true(width == 64 || hits[r] >> width == 0);
            }
            free(x);
            free(c);
            free(panel);
        }
}

static void accumulate_rounds_to_even_and_adds(void **state)
{
    (void)state;
    const float scales[] = {1, 0x1p20f, 0x1p36f};
    for (int s = 0; s < 3; s++)
        for (int kind = 0; kind < 4; kind++) {
            enum { LD = 64 };
            float x[LD];
            for (int j = 0; j < LD; j++) {
                float g = test_normal(4, (uint64_t)j);
                x[j] = kind == 0   ? g
                       : kind == 1 ? ((float)j - 32) / 2 / scales[s] /* halves: to even */
                       : kind == 2 ? g * 8192 / scales[0]
                                   : (j % 2 ? -1.0f : 1.0f) * 0x1.fffffep+14f;
            }
            for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++) {
                int64_t sum[LD];
                for (int j = 0; j < LD; j++)
                    sum[j] = (int64_t)j * 1000000007 - 5;
                (*kn)->accumulate(sum, x, LD, scales[s]);
                for (int j = 0; j < LD; j++) {
                    double exact = (double)x[j] * (double)scales[s];
                    if (fabs(exact) >= 0x1p51)
                        continue;
                    int64_t want = (int64_t)j * 1000000007 - 5 + (int64_t)rint(exact);
                    if (sum[j] != want)
                        fail_msg("%s: %a * %a", (*kn)->name, (double)x[j], (double)scales[s]);
                }
            }
        }
}

static void normalize_gives_unit_length_or_leaves_alone(void **state)
{
    (void)state;
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
        for (int e = -38; e <= 37; e++) {
            float x[16] = {0};
            double sum = 0;
            for (int j = 0; j < 9; j++)
                x[j] = test_normal(8, (uint64_t)j) * (float)pow(10, e);
            double length = ck_normalize(*kn, x, 16);
            assert_true(length > 0);
            for (int j = 0; j < 16; j++)
                sum += (double)x[j] * (double)x[j];
            assert_close(sqrt(sum), 1, 1e-6);
        }
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++) {
        float zero[16] = {0}, bad[16] = {1, INFINITY}, nan[16] = {1, NAN};
        assert_true(ck_normalize(*kn, zero, 16) == 0);
        assert_true(zero[0] == 0);
        assert_true(isinf(ck_normalize(*kn, bad, 16)));
        assert_true(bad[0] == 1);
        assert_true(isnan(ck_normalize(*kn, nan, 16)));
        assert_true(nan[0] == 1);
    }
}

/* ---- rounding to 8 bits ---- */

static void check_rounded(const struct ck_kernels *kn, const float *v, const float *m, int ld,
                          int kind)
{
    uint8_t *row = test_array((size_t)ld, 1), *center = test_array((size_t)ld * 48, 1);
    float norm, least = kn->range8(v, m, ld, &norm);
    struct ck_rounded a = kn->round8(v, m, ld, least, 1, 4, row);
    struct ck_rounded b = kn->round8(v, m, ld, least, 0, 4 * 48, center);
    double rest2 = 0, length2 = 0, norm2 = 0, range = 0;
    int32_t sum = 0;
    for (int j = 0; j < ld; j++) {
        int q = row[j] - 128, same = (int8_t)center[j / 4 * 4 * 48 + j % 4];
        double y = (double)(v[j] - m[j]), approx = (double)a.scale * q;
        assert_int_equal(q, same);
        assert_true(q >= -127 && q <= 127);
        rest2 += (y - approx) * (y - approx);
        length2 += approx * approx;
        norm2 += y * y;
        range = fmax(range, fabs(y));
        sum += q;
    }
    assert_int_equal(a.sum, sum);
    assert_int_equal(b.sum, sum);
    assert_true(a.scale == b.scale);
    assert_true((double)least == range);
    assert_true(kn->round8(v, m, ld, (float)range * 2, 1, 4, row).scale ==
                (float)range * 2 / 127);
    if ((double)a.residue < sqrt(rest2) || (double)norm < sqrt(norm2) ||
        (double)a.length < sqrt(length2))
        fail_msg("kind %d, ld %d: rest %g stated %g, norm %g stated %g, length %g stated %g",
                 kind, ld, sqrt(rest2), (double)a.residue, sqrt(norm2), (double)norm,
                 sqrt(length2), (double)a.length);
    if (kind != 4) /* not so loose that screening would be useless */
        assert_true((double)a.residue <= sqrt(rest2) * 1.001 + 1e-12 * sqrt(norm2) + 1e-15);
    free(row);
    free(center);
}

static void rounded_vectors_lie_within_the_stated_lengths(void **state)
{
    (void)state;
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
        for (int dim = 1; (*kn)->round8 && dim <= 130; dim += dim < 20 ? 1 : 13)
            for (int kind = 0; kind < KINDS; kind++) {
                int ld = ck_padded(dim);
                float *v = test_array((size_t)ld, sizeof *v),
                      *m = test_array((size_t)ld, sizeof *m);
                fill(v, dim, ld, kind, (uint64_t)dim);
                check_rounded(*kn, v, m, ld, kind);
                fill(m, dim, ld, 0, 99);
                if (kind != 4) /* tiny numbers vanish next to m: nothing to measure */
                    check_rounded(*kn, v, m, ld, kind);
                check_rounded(*kn, m, m, ld, kind);
                free(v);
                free(m);
            }
}

enum { ROWS = 40, CENTERS = 2 * CK_SCREEN_PANEL - 5, WIDE = 208, WIDE_BYTES = 256 };

/* Vectors of one comparison of bounds with scores, and what versions make of them. */
struct screening {
    int dim, ld;
    float x[ROWS * WIDE], c[CENTERS * WIDE], m[WIDE], center_lift[CENTERS];
    uint8_t xq[64 * WIDE_BYTES];
    float scale[ROWS], lift[ROWS], length[ROWS / CK_TILE], residue[ROWS / CK_TILE];
    char panel[2 * (sizeof(struct ck_screen_panel) + WIDE_BYTES * CK_SCREEN_PANEL)]
        __attribute__((aligned(64)));
    float top[ROWS * 32];
};

/* shape 0: m = 0; 1: usual; 2: centers near m; 3: large numbers. */
static void draw_screening(struct screening *s, int trial, int shape)
{
    fill(s->m, s->dim, s->ld, shape == 0 ? 2 : 0, (uint64_t)trial);
    for (int k = 0; k < CENTERS; k++) {
        float *c = s->c + k * s->ld;
        fill(c, s->dim, s->ld, shape == 3 ? 5 : 0, (uint64_t)(trial * 100 + k));
        for (int j = 0; j < s->ld && shape == 2; j++)
            c[j] = s->m[j] + 1e-4f * c[j];
        s->center_lift[k] = trial % 2 ? (float)(k % 7) - 3.5f : 0;
    }
    for (int r = 0; r < ROWS; r++) {
        fill(s->x + r * s->ld, s->dim, s->ld, r == 7 ? 2 : 0, (uint64_t)(trial * 1000 + r));
        s->lift[r] = trial % 2 ? 1 + 0.1f * (float)r : 0;
    }
}

/* Packs rows and centers and computes the bounds. `least` gives all rows one scale. */
static void screen(struct screening *s, const struct ck_kernels *kn, float least, int group)
{
    int stride = (s->ld + 63) / 64 * 64;
    struct ck_screen_panels panels = {.first = s->panel,
                                      .n = 2,
                                      .group = group,
                                      .ld = s->ld,
                                      .bytes = sizeof(struct ck_screen_panel) +
                                               (size_t)stride * CK_SCREEN_PANEL};
    struct ck_screen_rows rows = {.q = s->xq,
                                  .stride = stride,
                                  .n = ROWS,
                                  .scale = s->scale,
                                  .lift = s->lift,
                                  .length = s->length,
                                  .residue = s->residue};
    memset(s->panel, 0, sizeof s->panel);
    memset(s->length, 0, sizeof s->length);
    memset(s->residue, 0, sizeof s->residue);
    for (int k = 0; k < 2 * CK_SCREEN_PANEL; k++) {
        struct ck_screen_panel *p =
            (void *)(s->panel + (size_t)(k / CK_SCREEN_PANEL) * panels.bytes);
        int column = k % CK_SCREEN_PANEL;
        p->bias[column] = k == 5 || k >= CENTERS ? -INFINITY : 0;
        if (k >= CENTERS)
            continue;
        ck_screen_panel_set(kn, p, column, s->c + k * s->ld, s->m, s->ld);
        p->lift[column] = s->center_lift[k];
    }
    for (int r = 0; r < ROWS; r++) {
        float norm, range = kn->range8(s->x + r * s->ld, s->m, s->ld, &norm);
        struct ck_rounded q = kn->round8(s->x + r * s->ld, s->m, s->ld, fmaxf(range, least),
                                         !kn->unit_rows, 4, s->xq + r * stride);
        s->scale[r] = q.scale;
        s->length[r / CK_TILE] = fmaxf(s->length[r / CK_TILE], q.length);
        s->residue[r / CK_TILE] = fmaxf(s->residue[r / CK_TILE], q.residue);
    }
    kn->screen(&panels, &rows, s->top, 32);
}

static void check_bounds(const struct screening *s, const char *name, int group)
{
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < CENTERS; k++) {
            double exact = (double)s->lift[r] * (double)s->center_lift[k], size = fabs(exact);
            for (int j = 0; j < s->ld; j++) {
                double y = (double)s->x[r * s->ld + j] - (double)s->m[j];
                double z = (double)s->c[k * s->ld + j] - (double)s->m[j];
                exact += y * z;
                size += fabs(y * z);
            }
            int at = r * 32 + k / CK_SCREEN_PANEL / group * 16 + k % CK_SCREEN_PANEL % 16;
            if (k != 5 && (double)s->top[at] < exact - 3e-6 * (1 + size))
                fail_msg("%s: ld %d, row %d, center %d: %g < %g", name, s->ld, r, k,
                         (double)s->top[at], exact);
        }
}

/* The bound that screening relies on is never below the f32 score. */
static void screening_bound_is_above_every_score(void **state)
{
    (void)state;
    const int dims[] = {41, 100, 128, 200}; /* one, two and more steps of the matrix unit */
    struct screening *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    assert_non_null(s);
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
        for (int trial = 0; trial < 48 && (*kn)->screen; trial++) {
            int group = 1 + trial % 3 % 2;
            s->dim = dims[trial / 2 % 4];
            s->ld = ck_padded(s->dim);
            draw_screening(s, trial, trial / 8 % 4);
            screen(s, *kn, trial % 4 < 2 ? 4 : 0, group);
            check_bounds(s, (*kn)->name, group);
        }
    free(s);
}

/* The matrix unit and its emulation round the same way, but for the last bits of lengths. */
static void the_unit_and_its_emulation_give_the_same_bounds(void **state)
{
    (void)state;
    struct screening *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
    float *want = test_array(ROWS * 32, sizeof *want);
    const struct ck_kernels *first = ck_kernels_named("amx-emulated");
    for (int trial = 0; trial < 8; trial++) {
        s->dim = trial % 2 ? 130 : 64;
        s->ld = ck_padded(s->dim);
        for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++) {
            if (!(*kn)->unit_rows)
                continue;
            draw_screening(s, 2 * trial, 1);
            screen(s, *kn, trial % 4 < 2 ? 4 : 0, 1);
            if (*kn == first)
                memcpy(want, s->top, sizeof s->top);
            for (int i = 0; i < ROWS * 32; i++)
                if (want[i] > -INFINITY)
                    assert_close((double)s->top[i], (double)want[i], 3e-4);
        }
    }
    free(want);
    free(s);
}

static void peak_and_reach_find_what_is_there(void **state)
{
    (void)state;
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
        for (int n = 16; (*kn)->peak && n <= 1024; n += n < 64 ? 16 : 160) {
            float top[1024];
            int32_t index[1024];
            for (int i = 0; i < n; i++)
                top[i] = i % 5 ? test_normal((uint64_t)n, (uint64_t)i) : -INFINITY;
            int at = (*kn)->peak(top, n), found = 0;
            for (int i = 0; i < n; i++)
                assert_true(top[i] <= top[at]);
            int count = (*kn)->reach(top, n, 0.3f, index);
            for (int i = 0; i < n; i++)
                if (top[i] >= 0.3f)
                    assert_int_equal(index[found++], i);
            assert_int_equal(found, count);
        }
}

static void versions_are_found_by_name(void **state)
{
    (void)state;
    assert_string_equal(ck_kernels_all()[0]->name, "ref");
    for (const struct ck_kernels *const *kn = ck_kernels_all(); *kn; kn++)
        assert_ptr_equal(ck_kernels_named((*kn)->name), *kn);
    assert_null(ck_kernels_named("sse9"));
    assert_string_equal(coke_isa(), ck_kernels()->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_is_the_defined_one),
        cmocka_unit_test(dense_tile_scores_hits_and_mask_agree),
        cmocka_unit_test(accumulate_rounds_to_even_and_adds),
        cmocka_unit_test(normalize_gives_unit_length_or_leaves_alone),
        cmocka_unit_test(rounded_vectors_lie_within_the_stated_lengths),
        cmocka_unit_test(screening_bound_is_above_every_score),
        cmocka_unit_test(the_unit_and_its_emulation_give_the_same_bounds),
        cmocka_unit_test(peak_and_reach_find_what_is_there),
        cmocka_unit_test(versions_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
