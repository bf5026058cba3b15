/* newton.c - prices of size bounds by Newton's method.
 *
 * Moved one at a time, prices spread a surplus from neighbor to neighbor, and the distance that it
 * travels grows with the root of the sweeps. Here all prices move together. A point whose best
 * values are close counts for both of its first two clusters, by a logistic function of their
 * difference on a scale T. The sizes s(p) are then smooth, and their derivatives form the Laplacian
 * of a graph of the clusters, in which points on a border are the edges:
 *
 *     (L + lambda) step = target - s(p),   L = sum_i w_i (e_a - e_b)(e_a - e_b)',
 *
 * solved by conjugate gradients, over the points themselves. T falls from step to step. (Newton's
 * method for semi-discrete optimal transport: Kitagawa, Merigot, Thibert 2019.) */
#include "cluster/newton.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK = 4096,
    SOLVER_STEPS = 80,
    STEPS = 4,      /* at one scale */
    MORE = 30,      /* at the last one, if the sizes matter more than the dual */
    EXP = 8,        /* arcs that one takes as long as */
    UNIT = 1 << 20, /* of a fractional size: integers sum to the same in any order */
};

/* A lead of more than so many T is not shared. */
static const double FAR = 8;

/* A point that two clusters share. */
struct border {
    int32_t a, b;
    float weight; /* d size_a / d price_a */
};

/* The best choice of a point, and how far ahead it is: see is_sure. */
struct sure {
    double ahead;
    int32_t choice; /* from its first one */
};

struct newton {
    struct ck_exact *e;
    double scale;      /* T */
    double rise;       /* sum of the largest rise of a price at each look */
    struct sure *sure; /* [n] */
    double *last;      /* [k] prices of the last look */
    int workers;
    int64_t **part;        /* [workers][k] sizes that a thread counted, in UNIT */
    struct border *border; /* [n], weight 0 = none; then the first `borders` */
    int64_t borders;
    double *value;                /* [chunks] sums of smoothed best values */
    double *part_of;              /* [crowds][k] of a crowd that goes to a cluster */
    double *arrive;               /* [k] points of crowds */
    double *lack;                 /* [k] target - size */
    uint8_t *fixed;               /* [k] the price stays */
    double *diagonal;             /* [k] of L + lambda */
    double *step, *r, *z, *d, *q; /* [k] of the conjugate gradients */
    double *was;                  /* [k] prices before the step */
    double *sought;               /* [k] what they lacked there */
    double lambda;
};

/* ---- sizes and borders ---- */

/* A lead shrinks by what the leader's price falls and, at most, by the largest rise of all. While
 * it is long, the point has a known label and is on no border. */
static int is_sure(const struct newton *t, int64_t i, int32_t leader)
{
    return t->sure[i].ahead - t->rise + t->e->price[leader] > FAR * t->scale;
}

/* Returns the smoothed best value of point i. */
static double share_point(struct newton *t, int64_t i, int64_t *size)
{
    const struct ck_exact *e = t->e;
    double best = -INFINITY, second = -INFINITY;
    int32_t a = -1, b = -1;
    t->border[i] = (struct border){0};
    const struct ck_choice *leader = &e->choice[e->first[i] + t->sure[i].choice];
    if (is_sure(t, i, leader->k)) {
        size[leader->k] += UNIT;
        return (double)leader->score + e->price[leader->k];
    }
    for (int64_t c = e->first[i]; c < e->first[i + 1]; c++) {
        double v = (double)e->choice[c].score + e->price[e->choice[c].k];
        if (v > best) {
            second = best;
            b = a;
            best = v;
            a = e->choice[c].k;
            t->sure[i].choice = (int32_t)(c - e->first[i]);
        } else if (v > second) {
            second = v;
            b = e->choice[c].k;
        }
    }
    double lead = (best - second) / t->scale;
    t->sure[i].ahead = best - second + t->rise - e->price[a];
    if (b < 0 || lead > FAR) {
        size[a] += UNIT;
        return best;
    }
    double other = 1 / (1 + exp(lead));
    int64_t units = (int64_t)(other * UNIT);
    size[a] += UNIT - units;
    size[b] += units;
    t->border[i] = (struct border){a, b, (float)(other * (1 - other) / t->scale)};
    return best - t->scale * log1p(-other);
}

static void share_chunk(void *arg, int64_t chunk, int worker)
{
    struct newton *t = arg;
    int64_t end = (chunk + 1) * CHUNK < t->e->n ? (chunk + 1) * CHUNK : t->e->n;
    double sum = 0;
    for (int64_t i = chunk * CHUNK; i < end; i++)
        sum += share_point(t, i, t->part[worker]);
    t->value[chunk] = sum;
}

/* A crowd divides by the logistic function of all values: copies spread over centers that tie.
 * Returns its smoothed best value. */
static double share_crowd(struct newton *t, int64_t i)
{
    const struct ck_exact *e = t->e;
    const float *score = e->crowd_score + i * e->k;
    const double far = 40;
    double *part = t->part_of + i * e->k, best = ck_exact_crowd_value(e, i), sum = 0;
    for (int64_t k = 0; k < e->k; k++) {
        double behind = (best - (double)score[k] - e->price[k]) / t->scale;
        part[k] = behind < far ? exp(-behind) : 0;
        sum += part[k];
    }
    for (int64_t k = 0; k < e->k; k++) {
        part[k] /= sum;
        t->arrive[k] += e->crowd[i] * part[k];
    }
    return e->crowd[i] * (best + t->scale * log(sum));
}

/* As share_crowd for all. */
static double share_crowds(struct newton *t)
{
    double sum = 0;
    memset(t->arrive, 0, (size_t)t->e->k * sizeof *t->arrive);
    for (int64_t i = 0; i < t->e->crowds; i++)
        sum += share_crowd(t, i);
    return sum;
}

/* Adds the crowds' part of the diagonal of L. */
static void weigh_crowds(struct newton *t)
{
    int64_t n = t->e->k;
    for (int64_t i = 0; i < t->e->crowds; i++)
        for (int64_t k = 0; k < n; k++) {
            double part = t->part_of[i * n + k];
            t->diagonal[k] += t->e->crowd[i] / t->scale * part * (1 - part);
        }
}

/* q += L d, of the crowds. */
static void multiply_crowds(struct newton *t)
{
    int64_t n = t->e->k;
    for (int64_t i = 0; i < t->e->crowds; i++) {
        const double *part = t->part_of + i * n;
        double mean = 0, weight = t->e->crowd[i] / t->scale;
        for (int64_t k = 0; k < n; k++)
            mean += part[k] * t->d[k];
        for (int64_t k = 0; k < n; k++)
            t->q[k] += weight * part[k] * (t->d[k] - mean);
    }
}

/* Sizes at the present prices, what they lack, which prices stay, and the borders. Returns the
 * smoothed dual. */
static double look(struct newton *t)
{
    struct ck_exact *e = t->e;
    int64_t chunks = (e->n + CHUNK - 1) / CHUNK;
    double dual = share_crowds(t), most = -INFINITY;
    for (int64_t k = 0; k < e->k; k++) {
        most = fmax(most, e->price[k] - t->last[k]);
        t->last[k] = e->price[k];
    }
    t->rise += most + 1e-14; /* of rounding, which only shifts FAR */
    ck_parallel(chunks, share_chunk, t);
    for (int64_t c = 0; c < chunks; c++)
        dual += t->value[c];
    for (int64_t k = 0; k < e->k; k++) {
        int64_t units = 0;
        for (int w = 0; w < t->workers; w++) {
            units += t->part[w][k];
            t->part[w][k] = 0;
        }
        double size = (double)e->base[k] + t->arrive[k] + (double)units / UNIT;
        double rest = ck_exact_rest(e, k);
        double low = (double)e->min_size[k] - size;
        double high = e->max_size ? (double)e->max_size[k] - size : INFINITY;
        double lack = e->price[k] > rest   ? low
                      : e->price[k] < rest ? high
                                           : fmin(fmax(0, low), high);
        int edge =
            (lack > 0 && e->price[k] >= e->high[k]) || (lack < 0 && e->price[k] <= e->low[k]);
        t->fixed[k] = edge || (e->price[k] == rest && lack == 0);
        t->lack[k] = t->fixed[k] ? 0 : lack;
        t->diagonal[k] = 0;
        int64_t bound = e->price[k] >= 0 ? e->min_size[k] : e->max_size[k];
        dual += e->price[k] * (double)(e->base[k] - bound);
    }
    weigh_crowds(t);
    e->scanned += e->n + EXP * e->crowds * e->k;
    t->borders = 0;
    for (int64_t i = 0; i < e->n; i++)
        if (t->border[i].weight > 0) {
            struct border x = t->border[i];
            t->diagonal[x.a] += (double)x.weight;
            t->diagonal[x.b] += (double)x.weight;
            t->border[t->borders++] = x;
        }
    return dual;
}

/* ---- one step ---- */

/* q = (L + lambda) d, without the rows and columns of fixed prices, where d is 0. */
static void multiply(struct newton *t)
{
    int64_t k = t->e->k;
    for (int64_t c = 0; c < k; c++)
        t->q[c] = t->lambda * t->d[c];
    for (int64_t i = 0; i < t->borders; i++) {
        const struct border *x = &t->border[i];
        double flow = (double)x->weight * (t->d[x->a] - t->d[x->b]);
        t->q[x->a] += flow;
        t->q[x->b] -= flow;
    }
    multiply_crowds(t);
    for (int64_t c = 0; c < k; c++)
        t->q[c] = t->fixed[c] ? 0 : t->q[c];
}

static double product(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Solves for t->step, with the diagonal as preconditioner, to a thousandth. */
static int solve(struct newton *t)
{
    int64_t k = t->e->k;
    memset(t->step, 0, (size_t)k * sizeof *t->step);
    for (int64_t c = 0; c < k; c++) {
        t->r[c] = t->lack[c];
        t->d[c] = t->z[c] = t->r[c] / (t->diagonal[c] + t->lambda);
    }
    double rz = product(t->r, t->z, k), end = 1e-6 * rz;
    for (int s = 0; s < SOLVER_STEPS && rz > end; s++) {
        multiply(t);
        t->e->scanned += t->borders + t->e->crowds * k;
        CK_RETURN_IF(ck_exact_poll(t->e));
        double alpha = rz / product(t->d, t->q, k);
        for (int64_t c = 0; c < k; c++) {
            t->step[c] += alpha * t->d[c];
            t->r[c] -= alpha * t->q[c];
            t->z[c] = t->r[c] / (t->diagonal[c] + t->lambda);
        }
        double next = product(t->r, t->z, k);
        for (int64_t c = 0; c < k; c++)
            t->d[c] = t->z[c] + next / rz * t->d[c];
        rz = next;
    }
    return COKE_OK;
}

/* Prices follow this part of the step, as far as the box and `reach` allow: farther away the
 * borders are others. A price that would pass its rest price stops there. */
static void follow(struct newton *t, double part, double reach)
{
    struct ck_exact *e = t->e;
    for (int64_t k = 0; k < e->k; k++) {
        double step = fmax(-reach, fmin(part * t->step[k], reach));
        double was = t->was[k], rest = ck_exact_rest(e, k), now = was + step;
        if (was == rest && step * t->sought[k] <= 0)
            continue; /* only its neighbors would move it there */
        if ((was > rest && now < rest) || (was < rest && now > rest))
            now = rest;
        e->price[k] = fmin(fmax(now, e->low[k]), e->high[k]);
    }
}

/* Points by which the smoothed sizes are off their bounds. */
static double off_bounds(const struct newton *t)
{
    double sum = 0;
    for (int64_t k = 0; k < t->e->k; k++)
        sum += fabs(t->lack[k]);
    return sum;
}

/* Steps at one scale, while they lower the dual. */
static int descend(struct newton *t, double reach, int steps)
{
    struct ck_exact *e = t->e;
    double dual = look(t), few = 0.1 * (double)e->k;
    for (int s = 0; s < steps; s++) {
        double mean = 0, part = 1, next = dual;
        for (int64_t k = 0; k < e->k; k++)
            mean += t->diagonal[k] / (double)e->k;
        t->lambda = 1e-4 * mean + 1e-12;
        CK_RETURN_IF(solve(t));
        memcpy(t->was, e->price, (size_t)e->k * sizeof *t->was);
        memcpy(t->sought, t->lack, (size_t)e->k * sizeof *t->sought);
        for (; part > 1e-4; part /= 4) {
            follow(t, part, part * reach);
            next = look(t);
            CK_RETURN_IF(ck_exact_poll(e));
            if (next < dual)
                break;
        }
        if (!(next < dual)) {
            memcpy(e->price, t->was, (size_t)e->k * sizeof *t->was);
            break;
        }
        double gain = dual - next;
        dual = next;
        if (gain < 1e-7 * fabs(dual) && (steps == STEPS || off_bounds(t) < few))
            break;
        if (e->poll)
            CK_RETURN_IF(e->poll(e->poll_arg));
    }
    return COKE_OK;
}

static void release(struct newton *t)
{
    for (int w = 0; t->part && w < t->workers; w++)
        ck_free(t->part[w]);
    ck_free(t->part);
    ck_free(t->border);
    ck_free(t->value);
    ck_free(t->sure);
    ck_free(t->last);
    ck_free(t->part_of);
    ck_free(t->arrive);
    ck_free(t->was);
    ck_free(t->sought);
    ck_free(t->lack);
    ck_free(t->fixed);
    ck_free(t->diagonal);
    ck_free(t->step);
    ck_free(t->r);
    ck_free(t->z);
    ck_free(t->d);
    ck_free(t->q);
}

static int reserve(struct newton *t)
{
    size_t k = (size_t)t->e->k;
    double **of[] = {&t->lack, &t->diagonal, &t->step, &t->was,    &t->sought, &t->r,
                     &t->z,    &t->d,        &t->q,    &t->arrive, &t->last};
    int ok = 1;
    t->workers = ck_threads();
    t->part = ck_calloc_array((size_t)t->workers, sizeof *t->part);
    for (int w = 0; t->part && w < t->workers; w++) {
        t->part[w] = ck_calloc_array(k, sizeof **t->part);
        ok &= t->part[w] != NULL;
    }
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        *of[i] = ck_calloc_array(k, sizeof **of[i]);
        ok &= *of[i] != NULL;
    }
    t->border = ck_alloc_array((size_t)t->e->n, sizeof *t->border);
    t->sure = ck_alloc_array((size_t)t->e->n, sizeof *t->sure);
    t->value = ck_alloc_array((size_t)(t->e->n / CHUNK + 1), sizeof *t->value);
    t->fixed = ck_calloc_array(k, sizeof *t->fixed);
    t->part_of = ck_alloc_array((size_t)t->e->crowds, k * sizeof *t->part_of);
    for (int64_t i = 0; t->sure && i < t->e->n; i++)
        t->sure[i] = (struct sure){.ahead = -INFINITY};
    return ok && t->part && t->sure && t->part_of && t->border && t->fixed && t->value
               ? COKE_OK
               : COKE_ENOMEM;
}

int ck_newton_run(struct ck_exact *e, double from, double to, double reach, int patient)
{
    struct newton t = {.e = e};
    int rc;
    CK_TRY(reserve(&t));
    for (t.scale = from; e->n + e->crowds > 0; t.scale = fmax(to, t.scale / 4)) {
        CK_TRY(descend(&t, reach, patient && t.scale <= to ? MORE : STEPS));
        if (t.scale <= to)
            break;
    }
    ck_exact_take_labels(e);
done:
    release(&t);
    return rc;
}
