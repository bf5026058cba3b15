/* distances.c - Euclidean results in the units of the data. */
#include "cluster/distances.h"
#include "cluster/row_sum.h"
#include "core/error.h"

#include <math.h>

struct pass {
    const struct ck_labelled *l;
    float *square;
};

static int is_usable(const void *arg, int64_t id)
{
    const struct pass *p = arg;
    return !ck_scan_is_bad(p->l->scan, id);
}

static int measure(const void *arg, const int64_t *id, int n, const float *x, double *sum)
{
    const struct pass *p = arg;
    const struct ck_scan *s = p->l->scan;
    double scale = ck_frame_scale(&s->frame);
    for (int r = 0; r < n; r++) {
        const float *c = p->l->center + ck_labels_get(p->l->labels, id[r]) * (int64_t)s->ld;
        double d = scale * ck_frame_square(&s->frame, s->kn, x + r * (int64_t)s->ld, c);
        *sum += d;
        if (p->square)
            p->square[id[r]] = (float)(d / ck_scan_weight(s, id[r]));
    }
    return COKE_OK;
}

int ck_distances(const struct ck_labelled *l, const struct ck_share *share, float *square,
                 double *sum)
{
    struct pass p = {.l = l, .square = square};
    struct ck_row_sum s = {
        .scan = l->scan, .share = share, .wanted = is_usable, .add = measure, .arg = &p};
    return ck_row_sum(&s, sum);
}

/* A Euclidean score is half the difference of two squares, |x - m|^2 - |x - c|^2: sums of scores
 * and of squared distances differ by the factor -2 and by a constant. The constant follows from
 * the inertia, which is known without cancellation. */
static double to_squares(const struct ck_repair *r, double inertia, double scores)
{
    return inertia + 2 * ck_frame_scale(&r->scan->frame) * (r->primal - scores);
}

void ck_summary_objectives(struct coke_head_summary *s, const struct ck_repair *r,
                           double inertia)
{
    int euclidean = r->scan->frame.metric == COKE_METRIC_EUCLIDEAN;
    double nearest = euclidean ? fmax(0, to_squares(r, inertia, r->nearest)) : r->nearest;
    s->metric = r->scan->frame.metric;
    s->primal = euclidean ? inertia : r->primal;
    s->dual = euclidean ? to_squares(r, inertia, r->dual) : r->dual;
    s->gap = euclidean ? s->primal - s->dual : s->dual - s->primal;
    s->inertia = euclidean ? inertia : NAN;
    s->objective = nearest / r->weight;
    s->labels_objective = s->primal / r->weight;
}
