/* golden_method.c - recorded losses of other methods, in double from the vectors before they were
 * brought to length 1: value and gradients of every sub-case. */
#include "golden_method.h"
#include "nn/coding_loss.h"
#include "nn/column_loss.h"
#include "nn/pair_loss.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double *replay_room(int64_t n)
{
    return n > 0 ? calloc((size_t)n, sizeof(double)) : NULL;
}

/* ---- comparing ---- */

int replay_close_run(struct replay *p, const char *what, const char *run, const double *got,
                     double tolerance)
{
    const char *mark = *p->name ? "_" : "";
    const struct golden_array *a = golden_array(p->c, "%s%s%s_%s", p->name, mark, what, run);
    double most = 0;
    if (!a)
        return golden_refuse(p->r, "%s%s%s_%s is missing", p->name, mark, what, run);
    for (int64_t i = 0; i < a->n; i++)
        most = fmax(most, fabs(a->d ? a->d[i] : (double)a->f[i]));
    for (int64_t i = 0; i < a->n; i++) {
        double want = a->d ? a->d[i] : (double)a->f[i];
        if (golden_close_f64(p->r, a->name, &got[i], &want, 1, tolerance * most))
            return -1;
    }
    return 0;
}

int replay_close(struct replay *p, const char *what, const double *got)
{
    return replay_close_run(p, what, "f64", got, GOLDEN_F64) ||
                   replay_close_run(p, what, "f32", got, GOLDEN_F32)
               ? -1
               : 0;
}

/* ---- length 1 ---- */

static double length(const double *x, int dim)
{
    double square = 0;
    for (int j = 0; j < dim; j++)
        square += x[j] * x[j];
    return sqrt(square);
}

double *replay_unit(const double *raw, int64_t rows, int dim)
{
    double *u = replay_room(rows * dim);
    for (int64_t i = 0; i < rows * dim; i++)
        u[i] = raw[i] / length(raw + i / dim * dim, dim);
    return u;
}

void replay_through_length(const double *raw, int64_t rows, int dim, double *g)
{
    for (int64_t r = 0; r < rows; r++) {
        const double *x = raw + r * dim;
        double *at = g + r * dim, size = length(x, dim), along = 0;
        for (int j = 0; j < dim; j++)
            along += at[j] * x[j] / size;
        for (int j = 0; j < dim; j++)
            at[j] = (at[j] - x[j] / size * along) / size;
    }
}

double *replay_read(const struct replay *p, int64_t n, const char *name)
{
    const struct golden_array *a = golden_array(p->c, "%s", name);
    double *x = a && a->n == n ? replay_room(n) : NULL;
    for (int64_t i = 0; x && i < n; i++)
        x[i] = a->d ? a->d[i] : (double)a->f[i];
    return x;
}

/* All views. */
static double *read_raw(const struct replay *p, const char *name)
{
    return replay_read(p, p->views * p->n * p->dim, name);
}

static double *unit_of(const struct replay *p, const double *raw)
{
    return replay_unit(raw, p->views * p->n, p->dim);
}

static void through_length(const struct replay *p, const double *raw, double *g)
{
    replay_through_length(raw, p->views * p->n, p->dim, g);
}

/* ---- the methods ---- */

/* hyper.<case>_<key> */
double replay_number(const struct replay *p, const char *key)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", p->name, key);
    return golden_number(p->c, name, NAN);
}

static int check_simclr(struct replay *p)
{
    double *raw = read_raw(p, "proj_raw");
    if (!raw)
        return golden_refuse(p->r, "proj_raw is missing or of another size");
    double *u = unit_of(p, raw), *g = replay_room(p->views * p->n * p->dim),
           *s = replay_room(ck_simclr_scratch(p->n));
    double loss = ck_simclr_loss(u, p->n, p->dim, replay_number(p, "T"), s, g);
    through_length(p, raw, g);
    int rc = replay_close(p, "loss", &loss) || replay_close(p, "grad_proj", g) ? -1 : 0;
    free(raw);
    free(u);
    free(g);
    free(s);
    return rc;
}

/* x W^T + c */
static void apply_linear(const struct replay *p, const double *x, double *out)
{
    const struct golden_array *w = golden_array(p->c, "linear_weight");
    const struct golden_array *c = golden_array(p->c, "linear_bias");
    for (int64_t i = 0; i < p->views * p->n * p->dim; i++) {
        int64_t o = i % p->dim;
        out[i] = (double)c->f[o];
        for (int j = 0; j < p->dim; j++)
            out[i] += x[i / p->dim * p->dim + j] * (double)w->f[o * p->dim + j];
    }
}

/* From the gradient g of the predictions to those of projections, weights and biases. */
static int compare_linear(struct replay *p, const double *x, const double *g)
{
    const struct golden_array *w = golden_array(p->c, "linear_weight");
    double *gx = replay_room(p->views * p->n * p->dim), *gw = replay_room(p->dim * p->dim),
           *gc = replay_room(p->dim);
    for (int64_t r = 0; r < p->views * p->n; r++)
        for (int o = 0; o < p->dim; o++) {
            double at = g[r * p->dim + o];
            gc[o] += at;
            for (int j = 0; j < p->dim; j++) {
                gx[r * p->dim + j] += at * (double)w->f[o * p->dim + j];
                gw[o * p->dim + j] += at * x[r * p->dim + j];
            }
        }
    int rc = replay_close(p, "grad_proj", gx) || replay_close(p, "grad_weight", gw) ||
                     replay_close(p, "grad_bias", gc)
                 ? -1
                 : 0;
    free(gx);
    free(gw);
    free(gc);
    return rc;
}

/* Sub-case linear has a predictor of one layer, the other free predictions. */
static int check_simsiam(struct replay *p)
{
    int linear = strcmp(p->name, "linear") == 0;
    double *proj = read_raw(p, "proj_raw"), *pred = read_raw(p, "pred_raw");
    if (!proj || !pred || !golden_array(p->c, "linear_weight"))
        return golden_refuse(p->r, "proj_raw, pred_raw or linear_weight is missing");
    if (linear)
        apply_linear(p, proj, pred);
    double *z = unit_of(p, proj), *q = unit_of(p, pred),
           *g = replay_room(p->views * p->n * p->dim);
    double loss = ck_cosine_loss(q, z, p->n, p->dim, g);
    through_length(p, pred, g);
    int rc = replay_close(p, "loss", &loss);
    if (!rc)
        rc = linear ? compare_linear(p, proj, g) : replay_close(p, "grad_pred", g);
    free(proj);
    free(pred);
    free(z);
    free(q);
    free(g);
    return rc;
}

/* Correlations, one by one: with a single column in either view, no weight and scale 1 the loss is
 * (1 - C)^2. */
static int compare_correlations(struct replay *p, const double *x, double *scratch,
                                double *grad)
{
    struct replay all = *p;
    double *corr = replay_room((int64_t)p->dim * p->dim), *pair = replay_room(2 * p->n);
    for (int i = 0; i < p->dim; i++)
        for (int j = 0; j < p->dim; j++) {
            for (int64_t r = 0; r < p->n; r++) {
                pair[r] = x[r * p->dim + i];
                pair[p->n + r] = x[(p->n + r) * p->dim + j];
            }
            corr[i * p->dim + j] = 1 - sqrt(ck_barlow_loss(pair, p->n, 1, 0, 1, scratch, grad));
        }
    all.name = "";
    int rc = replay_close(&all, "corr", corr);
    free(corr);
    free(pair);
    return rc;
}

static int check_barlow(struct replay *p)
{
    double *raw = read_raw(p, "proj_raw");
    if (!raw)
        return golden_refuse(p->r, "proj_raw is missing or of another size");
    double *g = replay_room(p->views * p->n * p->dim),
           *s = replay_room(ck_column_scratch(p->n, p->dim));
    double loss = ck_barlow_loss(raw, p->n, p->dim, replay_number(p, "lambda"),
                                 replay_number(p, "scale"), s, g);
    int rc = replay_close(p, "loss", &loss) || replay_close(p, "grad_proj", g) ||
                     compare_correlations(p, raw, s, g)
                 ? -1
                 : 0;
    free(raw);
    free(g);
    free(s);
    return rc;
}

/* The terms of both views are recorded one by one: of view v, with a second view like the first,
 * the sum of both views is twice that. */
static int compare_terms(struct replay *p, const double *x, double *scratch, double *grad)
{
    static const struct ck_vicreg_weights one[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 0.5}};
    struct replay all = *p;
    int64_t half = p->n * p->dim;
    double terms[5], *twice = replay_room(2 * half);
    terms[0] = ck_vicreg_loss(x, p->n, p->dim, &one[0], scratch, grad);
    for (int v = 0; v < 2; v++) {
        for (int64_t i = 0; i < 2 * half; i++)
            twice[i] = x[v * half + i % half];
        terms[1 + v] = ck_vicreg_loss(twice, p->n, p->dim, &one[1], scratch, grad);
        terms[3 + v] = ck_vicreg_loss(twice, p->n, p->dim, &one[2], scratch, grad);
    }
    free(twice);
    all.name = "";
    return replay_close(&all, "terms", terms);
}

/* Ours is the mean of the variances of both views; sub-case sum has twice its weight. */
static int check_vicreg(struct replay *p)
{
    double *raw = read_raw(p, "proj_raw"), twice = strcmp(p->name, "sum") == 0 ? 2 : 1;
    struct ck_vicreg_weights w = {golden_number(p->c, "sim", NAN),
                                  twice * golden_number(p->c, "var", NAN),
                                  golden_number(p->c, "cov", NAN)};
    if (!raw)
        return golden_refuse(p->r, "proj_raw is missing or of another size");
    double *g = replay_room(p->views * p->n * p->dim),
           *s = replay_room(ck_column_scratch(p->n, p->dim));
    double loss = ck_vicreg_loss(raw, p->n, p->dim, &w, s, g);
    int rc = replay_close(p, "loss", &loss) || replay_close(p, "grad_proj", g) ||
                     compare_terms(p, raw, s, g)
                 ? -1
                 : 0;
    free(raw);
    free(g);
    free(s);
    return rc;
}

/* total = weight inv - tcr and, with weight 0, -tcr give all four recordings. */
static int compare_coding(struct replay *p, const char *what, double *total, double *minus,
                          int64_t n)
{
    static const char *const cases[] = {"total", "flipped", "tcr", "inv"};
    double weight = golden_number(p->c, "inv", NAN), *x = replay_room(n);
    struct replay one = *p;
    int rc = 0;
    for (int k = 0; k < 4 && !rc; k++) {
        for (int64_t i = 0; i < n; i++)
            x[i] = k == 0   ? total[i]
                   : k == 1 ? total[i] - 2 * minus[i]
                   : k == 2 ? -minus[i]
                            : (total[i] - minus[i]) / weight;
        one.name = cases[k];
        rc = replay_close(&one, what, x);
    }
    free(x);
    return rc;
}

/* All recordings are compared at sub-case total, which is the method's loss. */
static int check_emp(struct replay *p)
{
    double weight = golden_number(p->c, "inv", NAN), eps = golden_number(p->c, "eps", NAN);
    double *raw = read_raw(p, "proj_raw");
    int64_t all = p->views * p->n * p->dim;
    if (strcmp(p->name, "total") != 0) {
        free(raw);
        return 0;
    }
    if (!raw)
        return golden_refuse(p->r, "proj_raw is missing or of another size");
    double *u = unit_of(p, raw), *g = replay_room(all), *minus = replay_room(all),
           *s = replay_room(ck_coding_scratch(p->views, p->n));
    double total = ck_coding_loss(u, p->views, p->n, p->dim, weight, eps, s, g);
    double rate = ck_coding_loss(u, p->views, p->n, p->dim, 0, eps, s, minus);
    through_length(p, raw, g);
    through_length(p, raw, minus);
    int rc = compare_coding(p, "loss", &total, &rate, 1) ||
                     compare_coding(p, "grad_proj", g, minus, all)
                 ? -1
                 : 0;
    free(raw);
    free(u);
    free(g);
    free(minus);
    free(s);
    return rc;
}

static const struct {
    const char *name;
    int (*check)(struct replay *p);
} methods[] = {{"simclr", check_simclr},
               {"simsiam", check_simsiam},
               {"barlow", check_barlow},
               {"vicreg", check_vicreg},
               {"emp", check_emp},
               {"ema", golden_replay_average},
               {"byol", golden_replay_byol},
               {"mocov2", golden_replay_mocov2},
               {"mocov3", golden_replay_mocov3},
               {"nnclr", golden_replay_nnclr},
               {"swav", golden_replay_swav},
               {"dino", golden_replay_dino},
               {"msn", golden_replay_msn}};

int golden_check_method(const struct golden_case *c, struct golden_report *r)
{
    const json_t *cases = json_object_get(c->hyper, "cases");
    struct replay p = {.c = c,
                       .r = r,
                       .n = (int64_t)golden_number(c, "batch", 0),
                       .dim = (int)golden_number(c, "dim", 0),
                       .views = (int)golden_number(c, "views", 0)};
    size_t i;
    memset(r, 0, sizeof *r);
    for (i = 0; i < (cases ? json_array_size(cases) : 1); i++) {
        p.name = cases ? json_string_value(json_array_get(cases, i)) : "";
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
            if (strcmp(methods[m].name, golden_word(c, "method")) == 0 && methods[m].check(&p))
                return -1;
    }
    return r->compared > 0 ? 0 : golden_refuse(r, "no sub-case was compared");
}
