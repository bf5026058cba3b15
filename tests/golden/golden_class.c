/* golden_class.c - recorded losses of class scores and of labels that may be missing: SCAN, its
 * self-labelling, IIC and DeepCluster-v2. */
#include "golden_method.h"
#include "nn/class_loss.h"
#include "nn/kept_loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    int64_t all = p->n * p->dim;
    double weight = golden_number(p->c, "entropy_weight", NAN);
    double *x = widen(golden_array(p->c, "anchor_logits")),
           *y = widen(golden_array(p->c, "neighbor_logits"));
    double *gx = calloc((size_t)all, sizeof *gx), *gy = calloc((size_t)all, sizeof *gy);
    double *s = calloc((size_t)ck_class_scratch(p->n, p->dim), sizeof *s);
    int rc = x && y ? 0 : golden_refuse(p->r, "anchor_logits or neighbor_logits is missing");
    if (!rc) {
        double first = ck_scan_loss(x, y, p->n, p->dim, 0, s, gx, gy);
        double loss = ck_scan_loss(x, y, p->n, p->dim, weight, s, gx, gy);
        double entropy = (first - loss) / weight;
        rc = replay_close(p, "cluster_consistency", &first) ||
                     replay_close(p, "cluster_entropy", &entropy) ||
                     replay_close(p, "cluster_loss", &loss) ||
                     replay_close(p, "cluster_grad_anchor", gx) ||
                     replay_close(p, "cluster_grad_neighbor", gy)
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
    int64_t all = p->n * p->dim;
    const struct golden_array *want = golden_array(p->c, "selflabel_target");
    double *weak = widen(golden_array(p->c, "weak_logits")),
           *strong = widen(golden_array(p->c, "strong_logits"));
    double *g = calloc((size_t)all, sizeof *g), *q = calloc((size_t)all, sizeof *q);
    double *weight = calloc((size_t)p->dim, sizeof *weight);
    int32_t *label = calloc((size_t)p->n, sizeof *label);
    int rc = weak && strong && want ? 0 : golden_refuse(p->r, "logits or targets are missing");
    if (!rc) {
        ck_confident_labels(weak, p->n, p->dim, golden_number(p->c, "threshold", NAN), q,
                            label);
        ck_balance_classes(label, p->n, p->dim, weight);
        double loss = ck_label_cross_entropy(strong, p->n, p->dim, label, weight, g);
        for (int64_t i = 0; i < p->n && !rc; i++, p->r->compared++)
            if (label[i] != want->i[i])
                rc = golden_refuse(p->r, "selflabel_target %d: %d, not %d", (int)i, label[i],
                                   want->i[i]);
        rc = rc || replay_close(p, "selflabel_weight", weight) ||
                     replay_close(p, "selflabel_loss", &loss) ||
                     replay_close(p, "selflabel_grad_strong", g)
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
    int64_t half = p->n * p->dim;
    double *x = widen(golden_array(p->c, "logits"));
    double *g = calloc((size_t)(2 * half), sizeof *g);
    double *s = calloc((size_t)ck_class_scratch(p->n, p->dim), sizeof *s);
    int rc = x ? 0 : golden_refuse(p->r, "logits are missing");
    if (!rc) {
        double loss = ck_information_loss(x, x + half, p->n, p->dim, s, g, g + half);
        rc = replay_close(p, "loss", &loss) || replay_close(p, "grad", g) ? -1 : 0;
    }
    free(x);
    free(g);
    free(s);
    return rc;
}

/* ---- DeepCluster-v2 ---- */

enum { HEADS = 8 };

static int compare_deepcluster(struct replay *p, const double *head_loss, int heads,
                               const double *grad)
{
    double loss = 0;
    for (int h = 0; h < heads; h++)
        loss += head_loss[h] / heads;
    return replay_close(p, "head_loss", head_loss) || replay_close(p, "loss", &loss) ||
                   replay_close(p, "grad_proj", grad)
               ? -1
               : 0;
}

static int check_deepcluster(struct replay *p)
{
    const struct golden_array *raw = golden_array(p->c, "proj_raw"),
                              *proto = golden_array(p->c, "proto"),
                              *labels = golden_array(p->c, "labels");
    int heads = (int)golden_number(p->c, "heads", 0), dim = (int)golden_number(p->c, "dim", 0);
    int views = (int)golden_number(p->c, "views", 0);
    int64_t all = views * p->n * dim, k = (int64_t)golden_number(p->c, "prototypes", 0);
    if (!raw || !proto || !labels || heads < 1 || heads > HEADS || raw->n != all ||
        proto->n != heads * k * dim || labels->n != heads * p->n)
        return golden_refuse(p->r, "proj_raw, proto or labels are missing or of another size");
    double head_loss[HEADS], accuracy, *x = widen(raw);
    double *unit = replay_unit(x, views * p->n, dim), *g = replay_room(all);
    double *scratch = replay_room(ck_kept_scratch(p->n, k, dim));
    struct ck_kept_input in = {unit, views, p->n, dim, golden_number(p->c, "T", NAN)};
    for (int h = 0; h < heads; h++) {
        struct ck_kept_head head = {proto->f + h * k * dim, labels->i + h * p->n, k,
                                    1.0 / heads};
        head_loss[h] = ck_kept_loss(&in, &head, scratch, &accuracy, g);
    }
    replay_through_length(x, views * p->n, dim, g);
    int rc = compare_deepcluster(p, head_loss, heads, g);
    free(x);
    free(unit);
    free(g);
    free(scratch);
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
                       .dim = (int)golden_number(c, "classes", 0), /* scores of an image */
                       .name = ""};
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, golden_word(c, "method")) == 0)
            return methods[i].check(&p);
    return golden_refuse(r, "method %s is unknown", golden_word(c, "method"));
}
