/* golden_class.c - recorded losses of class scores and of labels that may be missing: SCAN, its
 * self-labelling, IIC (in double) and DeepCluster-v2 (in f32, as it is trained). */
#include "coke.h"
#include "golden_data.h"
#include "nn/class_loss.h"
#include "nn/kept_loss.h"
#include "nn/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the largest entry: as suggested with the recordings for double and float32. */
static const double F64 = 1e-10, F32 = 5e-6;

struct replay {
    const struct golden_case *c;
    struct golden_report *r;
    int64_t n;
    int classes;
};

/* ---- comparing ---- */

static int close_run(struct replay *p, const char *what, const char *run, const double *got,
                     double tolerance)
{
    const struct golden_array *a = golden_array(p->c, "%s_%s", what, run);
    double most = 0;
    if (!a)
        return golden_refuse(p->r, "%s_%s is missing", what, run);
    for (int64_t i = 0; i < a->n; i++)
        most = fmax(most, fabs(a->d ? a->d[i] : (double)a->f[i]));
    for (int64_t i = 0; i < a->n; i++) {
        double want = a->d ? a->d[i] : (double)a->f[i];
        if (golden_close_f64(p->r, a->name, &got[i], &want, 1, tolerance * most))
            return -1;
    }
    return 0;
}

static int close_both(struct replay *p, const char *what, const double *got, double f64)
{
    return close_run(p, what, "f64", got, f64) || close_run(p, what, "f32", got, F32) ? -1 : 0;
}

static double *widen(const struct golden_array *a)
{
    double *x = a ? malloc((size_t)a->n * sizeof *x) : NULL;
    for (int64_t i = 0; x && i < a->n; i++)
        x[i] = (double)a->f[i];
    return x;
}

/* ---- SCAN ---- */

/* The terms are recorded one by one: with weight 0 the loss is the first. */
static int check_cluster(struct replay *p)
{
    int64_t all = p->n * p->classes;
    double weight = golden_number(p->c, "entropy_weight", NAN);
    double *x = widen(golden_array(p->c, "anchor_logits")),
           *y = widen(golden_array(p->c, "neighbor_logits"));
    double *gx = calloc((size_t)all, sizeof *gx), *gy = calloc((size_t)all, sizeof *gy);
    double *s = calloc((size_t)ck_class_scratch(p->n, p->classes), sizeof *s);
    int rc = x && y ? 0 : golden_refuse(p->r, "anchor_logits or neighbor_logits is missing");
    if (!rc) {
        double first = ck_scan_loss(x, y, p->n, p->classes, 0, s, gx, gy);
        double loss = ck_scan_loss(x, y, p->n, p->classes, weight, s, gx, gy);
        double entropy = (first - loss) / weight;
        rc = close_both(p, "cluster_consistency", &first, F64) ||
                     close_both(p, "cluster_entropy", &entropy, F64) ||
                     close_both(p, "cluster_loss", &loss, F64) ||
                     close_both(p, "cluster_grad_anchor", gx, F64) ||
                     close_both(p, "cluster_grad_neighbor", gy, F64)
                 ? -1
                 : 0;
    }
    free(x);
    free(y);
    free(gx);
    free(gy);
    free(s);
    return rc;
}

static int check_selflabel(struct replay *p)
{
    int64_t all = p->n * p->classes;
    const struct golden_array *want = golden_array(p->c, "selflabel_target");
    double *weak = widen(golden_array(p->c, "weak_logits")),
           *strong = widen(golden_array(p->c, "strong_logits"));
    double *g = calloc((size_t)all, sizeof *g), *q = calloc((size_t)all, sizeof *q);
    double *weight = calloc((size_t)p->classes, sizeof *weight);
    int32_t *label = calloc((size_t)p->n, sizeof *label);
    int rc = weak && strong && want ? 0 : golden_refuse(p->r, "logits or targets are missing");
    if (!rc) {
        ck_confident_labels(weak, p->n, p->classes, golden_number(p->c, "threshold", NAN), q,
                            label);
        ck_balance_classes(label, p->n, p->classes, weight);
        double loss = ck_label_cross_entropy(strong, p->n, p->classes, label, weight, g);
        for (int64_t i = 0; i < p->n && !rc; i++, p->r->compared++)
            if (label[i] != want->i[i])
                rc = golden_refuse(p->r, "selflabel_target %d: %d, not %d", (int)i, label[i],
                                   want->i[i]);
        rc = rc || close_both(p, "selflabel_weight", weight, F64) ||
                     close_both(p, "selflabel_loss", &loss, F64) ||
                     close_both(p, "selflabel_grad_strong", g, F64)
                 ? -1
                 : 0;
    }
    free(weak);
    free(strong);
    free(g);
    free(q);
    free(weight);
    free(label);
    return rc;
}

static int check_scan(struct replay *p)
{
    return check_cluster(p) || check_selflabel(p) ? -1 : 0;
}

/* ---- IIC ---- */

static int check_iic(struct replay *p)
{
    int64_t half = p->n * p->classes;
    double *x = widen(golden_array(p->c, "logits"));
    double *g = calloc((size_t)(2 * half), sizeof *g);
    double *s = calloc((size_t)ck_class_scratch(p->n, p->classes), sizeof *s);
    int rc = x ? 0 : golden_refuse(p->r, "logits are missing");
    if (!rc) {
        double loss = ck_information_loss(x, x + half, p->n, p->classes, s, g, g + half);
        rc = close_both(p, "loss", &loss, F64) || close_both(p, "grad", g, F64) ? -1 : 0;
    }
    free(x);
    free(g);
    free(s);
    return rc;
}

/* ---- DeepCluster-v2 ---- */

enum { HEADS = 8 };

static int compare_deepcluster(struct replay *p, const struct ck_loss_output *out, int64_t all)
{
    double *g = malloc((size_t)all * sizeof *g);
    for (int64_t i = 0; i < all; i++)
        g[i] = (double)out->grad_proj[i];
    int rc = close_both(p, "head_loss", out->head_loss, F32) ||
                     close_both(p, "loss", &out->loss, F32) ||
                     close_both(p, "grad_proj", g, F32)
                 ? -1
                 : 0;
    free(g);
    return rc;
}

static int check_deepcluster(struct replay *p)
{
    const struct golden_array *raw = golden_array(p->c, "proj_raw"),
                              *proto = golden_array(p->c, "proto"),
                              *labels = golden_array(p->c, "labels");
    int heads = (int)golden_number(p->c, "heads", 0), dim = (int)golden_number(p->c, "dim", 0);
    int views = (int)golden_number(p->c, "views", 0);
    int64_t k[HEADS], all = views * p->n * dim,
                      K = (int64_t)golden_number(p->c, "prototypes", 0);
    if (!raw || !proto || !labels || heads < 1 || heads > HEADS || raw->n != all)
        return golden_refuse(p->r, "proj_raw, proto or labels are missing or of another size");
    struct ck_targets target[HEADS];
    const float *centers[HEADS];
    for (int h = 0; h < heads; h++) {
        k[h] = K;
        centers[h] = proto->f + h * K * dim;
        target[h] = (struct ck_targets){.n = p->n, .slots = 1, .label = labels->i + h * p->n};
    }
    struct ck_loss_shape shape = {views, views, p->n, dim, heads, k};
    struct ck_kept_loss *l = NULL;
    float *unit = malloc((size_t)all * sizeof *unit),
          *size = malloc((size_t)all * sizeof *size);
    float *g = malloc((size_t)all * sizeof *g);
    double head_loss[HEADS];
    ck_unit_forward(raw->f, views * p->n, dim, unit, size);
    struct ck_loss_input in = {p->n, unit, NULL, centers, target};
    struct ck_loss_output out = {.grad_proj = g, .head_loss = head_loss};
    int rc = ck_kept_loss_new(&l, &shape, golden_number(p->c, "T", NAN)) ||
                     ck_kept_loss_step(l, &in, &out)
                 ? golden_refuse(p->r, "%s", coke_last_error())
                 : 0;
    if (!rc) {
        ck_unit_backward(unit, size, g, views * p->n, dim, g);
        rc = compare_deepcluster(p, &out, all);
    }
    ck_kept_loss_free(l);
    free(unit);
    free(size);
    free(g);
    return rc;
}

int golden_check_class(const struct golden_case *c, struct golden_report *r)
{
    static const struct {
        const char *name;
        int (*check)(struct replay *p);
    } methods[] = {
        {"scan", check_scan}, {"iic", check_iic}, {"deepclusterv2", check_deepcluster}};
    struct replay p = {.c = c,
                       .r = r,
                       .n = (int64_t)golden_number(c, "batch", 0),
                       .classes = (int)golden_number(c, "classes", 0)};
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, golden_word(c, "method")) == 0)
            return methods[i].check(&p);
    return golden_refuse(r, "method %s is unknown", golden_word(c, "method"));
}
