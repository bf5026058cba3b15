/* repair_crowds.c - many equal rows count as one in the repair.
 *
 * Copies of a row prefer the same center at any prices, and reach a border all at once. Where they
 * must fill many clusters, the prices of all of these have to tie for them, however far the centers
 * are: lists of near centers do not reach that far. A crowd of such rows is one point with a
 * multiplicity that knows all centers; Newton's method divides it by a smooth function, and between
 * centers that tie it may be divided in any way. For rows that differ by d from the one that stands
 * for them, values differ by at most d times the length of a center, which is added to the dual. */
#include "cluster/repair_crowds.h"
#include "cluster/near_groups.h"
#include "cluster/repair_scan.h"
#include "cluster/row_sum.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 2048,     /* rows */
    LEAST = 8,         /* rows of the sample that make a crowd */
    BYTES = 1 << 28,   /* memory for crowds, */
    EACH = 20,         /* of a crowd and a center: score, parts, rows given */
    ROUND_CHUNKS = 64, /* between two progress reports */
    SCORES = 4096,     /* that a thread computes at a time */
};

/* ---- the crowds ---- */

void ck_crowds_release(struct ck_crowds *c)
{
    ck_free(c->of);
    ck_free(c->x);
    ck_free(c->count);
    ck_free(c->scaled);
    ck_free(c->score);
    ck_free(c->nearest);
    ck_free(c->given);
    memset(c, 0, sizeof *c);
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Draws different usable rows. Returns how many. */
static int draw(const struct ck_repair *r, int64_t *id)
{
    int n = 0, kept = 0;
    for (int i = 0; i < SAMPLE; i++) {
        int64_t row = (int64_t)ck_rng_below((uint64_t)r->sample, CK_RNG_SAMPLE, (uint64_t)i, 1,
                                            (uint64_t)r->scan->rows->n);
        if (!ck_scan_is_bad(r->scan, row))
            id[n++] = row;
    }
    qsort(id, (size_t)n, sizeof *id, by_id);
    for (int i = 0; i < n; i++)
        if (i == 0 || id[i] != id[i - 1])
            id[kept++] = id[i];
    return kept;
}

/* Rows of the sample from which a group is large: as few as make a crowd, but no more groups than
 * there is memory for. size [groups]. */
static int least_size(const struct ck_repair *r, const int *size, int64_t groups, int n)
{
    double half = 0.5 * n / (double)r->k;
    int least = half > LEAST ? (int)half : LEAST;
    for (;; least *= 2) {
        int64_t large = 0;
        for (int64_t g = 0; g < groups; g++)
            large += size[g] >= least;
        if (large <= 1 || (double)large * (double)r->k * EACH <= BYTES)
            break;
    }
    return least;
}

/* Of the rows x [n][ld] of a sample, one of each large group stands for a crowd; none if most
 * copies are in smaller groups. */
static int choose_rows(struct ck_repair_scan *p, float *x, int n)
{
    struct ck_crowds *c = &p->crowds;
    const struct ck_scan *scan = p->r->scan;
    double radius;
    int64_t groups;
    int32_t group[SAMPLE];
    int size[SAMPLE] = {0}, copies = 0, crowded = 0;
    CK_RETURN_IF(ck_near_groups(x, n, scan->ld, c->near, group, &groups, &radius));
    for (int i = 0; i < n; i++)
        size[group[i]]++;
    int least = least_size(p->r, size, groups, n);
    for (int64_t g = 0; g < groups; g++) {
        copies += size[g] > 1 ? size[g] : 0;
        crowded += size[g] >= least ? size[g] : 0;
    }
    for (int i = 0; i < n && 2 * crowded > copies; i++) {
        if (size[group[i]] < least)
            continue;
        memmove(x + c->n++ * scan->ld, x + (int64_t)i * scan->ld, (size_t)scan->ld * sizeof *x);
        size[group[i]] = 0; /* only its first row */
    }
    return COKE_OK;
}

static int reserve(struct ck_repair_scan *p)
{
    struct ck_crowds *c = &p->crowds;
    size_t n = (size_t)c->n, k = (size_t)p->r->k;
    c->of = ck_alloc_array((size_t)p->r->scan->rows->n, sizeof *c->of);
    c->count = ck_calloc_array(n, sizeof *c->count);
    c->scaled = ck_calloc_array(n, sizeof *c->scaled);
    c->score = ck_alloc_array(n, k * sizeof *c->score);
    c->nearest = ck_alloc_array(n, sizeof *c->nearest);
    c->given = ck_calloc_array(n, k * sizeof *c->given);
    return c->of && c->count && c->scaled && c->score && c->nearest && c->given ? COKE_OK
                                                                                : COKE_ENOMEM;
}

struct scoring {
    struct ck_repair_scan *p;
    int64_t first; /* part of this round */
};

static void score_part(void *arg, int64_t at, int worker)
{
    (void)worker;
    const struct scoring *s = arg;
    const struct ck_repair *r = s->p->r;
    struct ck_crowds *c = &s->p->crowds;
    int64_t first = (s->first + at) * SCORES, end = first + SCORES;
    end = end < c->n * r->k ? end : c->n * r->k;
    for (int64_t i = first; i < end; i++)
        c->score[i] = ck_assigner_score(r->assigner, c->x + i / r->k * r->scan->ld, i % r->k);
}

/* The scores with all centers. */
static int score_crowds(struct ck_repair_scan *p)
{
    struct ck_crowds *c = &p->crowds;
    struct scoring s = {.p = p};
    int64_t k = p->r->k, parts = (c->n * k + SCORES - 1) / SCORES;
    for (; s.first < parts; s.first += ROUND_CHUNKS) {
        int64_t left = parts - s.first;
        ck_parallel(left < ROUND_CHUNKS ? left : ROUND_CHUNKS, score_part, &s);
        CK_RETURN_IF(ck_repair_scan_report(p->r, "repair", 0, 0));
    }
    for (int64_t i = 0; i < c->n; i++) {
        c->nearest[i] = -INFINITY;
        for (int64_t l = 0; l < k; l++)
            c->nearest[i] = fmaxf(c->nearest[i], c->score[i * k + l]);
    }
    return COKE_OK;
}

/* ---- their rows ---- */

struct joining {
    struct ck_repair_scan *p;
    float *line, *place; /* [ld], [crowds] along it */
    int64_t first;       /* chunk of this round */
    struct sums {
        double apart, weight, square;
    } * part; /* [chunks] */
};

/* The crowd of row x, or -1, and how far it is from it. */
static int32_t crowd_of(const struct joining *j, const float *x, double *distance)
{
    const struct ck_crowds *c = &j->p->crowds;
    const struct ck_scan *scan = j->p->r->scan;
    const double limit = c->near;
    float at = scan->kn->dot(x, j->line, scan->ld);
    float window = (float)(limit + 1e-5 * scan->longest); /* with what f32 rounds */
    for (int64_t i = 0; i < c->n; i++) {
        if (fabsf(j->place[i] - at) > window)
            continue;
        const float *y = c->x + i * scan->ld;
        int same = memcmp(x, y, (size_t)scan->ld * sizeof *x) == 0;
        *distance = same ? 0 : ck_near_distance(x, y, scan->ld);
        if (*distance <= limit)
            return (int32_t)i;
    }
    return -1;
}

static void join_chunk(void *arg, int64_t at, int worker)
{
    struct joining *j = arg;
    int64_t chunk = j->first + at;
    const struct ck_scan *scan = j->p->r->scan;
    int64_t first = chunk * CK_REPAIR_CHUNK, end = first + CK_REPAIR_CHUNK, id[CK_ASSIGN_BLOCK];
    float *x = j->p->worker[worker].x;
    int rc = COKE_OK, n = 0;
    end = end < scan->rows->n ? end : scan->rows->n;
    for (int64_t i = first; i < end && !rc; i++) {
        j->p->crowds.of[i] = -1;
        if (!ck_scan_is_bad(scan, i))
            id[n++] = i;
        if (n < CK_ASSIGN_BLOCK && i < end - 1)
            continue;
        rc = n > 0 ? ck_scan_get(scan, id, n, x) : COKE_OK;
        for (int b = 0; b < n && !rc; b++) {
            const float *row = x + (int64_t)b * scan->ld;
            double distance = 0;
            int32_t of = crowd_of(j, row, &distance);
            j->p->crowds.of[id[b]] = of;
            if (of < 0)
                continue;
            j->part[chunk].apart += distance;
            j->part[chunk].weight += ck_scan_weight(scan, id[b]);
            j->part[chunk].square += ck_frame_row_square(&scan->frame, scan->kn, row);
        }
        n = 0;
    }
    ck_first_error_keep(&j->p->error, rc);
}

static double longest_center(const struct ck_repair *r)
{
    double most = 0;
    for (int64_t k = 0; k < r->k; k++) {
        const float *c = ck_assigner_center(r->assigner, k);
        most = fmax(most, (double)r->scan->kn->dot(c, c, r->scan->ld));
    }
    return sqrt(most) * (1 + 1e-5);
}

static void add_up(struct ck_repair_scan *p, const struct joining *j)
{
    struct ck_crowds *c = &p->crowds;
    for (int64_t i = 0; i < p->r->scan->rows->n; i++)
        if (c->of[i] >= 0)
            c->count[c->of[i]]++;
    for (int64_t i = 0; i < c->n; i++)
        c->total += c->count[i];
    for (int64_t i = 0; i < p->chunks; i++) {
        c->apart += j->part[i].apart;
        c->weight += j->part[i].weight;
        c->square += j->part[i].square;
    }
    c->apart *= longest_center(p->r);
}

static int join_rows(struct ck_repair_scan *p)
{
    const struct ck_scan *scan = p->r->scan;
    struct ck_crowds *c = &p->crowds;
    struct joining j = {.p = p};
    int rc = COKE_ENOMEM;
    double *line = ck_alloc_array((size_t)scan->ld, sizeof *line);
    j.line = ck_alloc_array((size_t)scan->ld, sizeof *j.line);
    j.place = ck_alloc_array((size_t)c->n, sizeof *j.place);
    j.part = ck_calloc_array((size_t)p->chunks, sizeof *j.part);
    if (!line || !j.line || !j.place || !j.part)
        goto done;
    ck_near_line(scan->ld, line);
    for (int i = 0; i < scan->ld; i++)
        j.line[i] = (float)line[i];
    for (int64_t i = 0; i < c->n; i++)
        j.place[i] = scan->kn->dot(c->x + i * scan->ld, j.line, scan->ld);
    for (; j.first < p->chunks; j.first += ROUND_CHUNKS) {
        int64_t left = p->chunks - j.first, done = (j.first + ROUND_CHUNKS) * CK_REPAIR_CHUNK;
        ck_parallel(left < ROUND_CHUNKS ? left : ROUND_CHUNKS, join_chunk, &j);
        CK_TRY(ck_first_error_raise(&p->error));
        CK_TRY(ck_repair_scan_report(
            p->r, "repair", done < scan->rows->n ? done : scan->rows->n, scan->rows->n));
    }
    add_up(p, &j);
done:
    ck_free(line);
    ck_free(j.line);
    ck_free(j.place);
    ck_free(j.part);
    return rc;
}

int ck_crowds_find(struct ck_repair_scan *p, double near)
{
    struct ck_crowds *c = &p->crowds;
    const struct ck_repair *r = p->r;
    int64_t id[SAMPLE];
    int n = draw(r, id);
    c->near = near;
    c->x = ck_alloc_array(SAMPLE, (size_t)r->scan->ld * sizeof *c->x);
    if (!c->x)
        return COKE_ENOMEM;
    CK_RETURN_IF(ck_scan_get(r->scan, id, n, c->x));
    CK_RETURN_IF(choose_rows(p, c->x, n));
    if (c->n == 0)
        return COKE_OK;
    CK_RETURN_IF(reserve(p));
    CK_RETURN_IF(score_crowds(p));
    p->r->scans += 1;
    return join_rows(p);
}

/* ---- as points of the solver ---- */

void ck_crowds_add(struct ck_repair_scan *p)
{
    struct ck_crowds *c = &p->crowds;
    struct ck_repair *r = p->r;
    if (c->n == 0)
        return;
    r->total += (int64_t)(c->total * p->fraction);
    r->weight += c->weight;
    r->square += c->square;
    memset(c->given, 0, (size_t)(c->n * r->k) * sizeof *c->given);
    for (int64_t i = 0; i < c->n; i++) {
        const float *score = c->score + i * r->k;
        int64_t best = 0;
        for (int64_t k = 1; k < r->k; k++)
            if (score[k] + p->bias[k] > score[best] + p->bias[best])
                best = k;
        c->given[i * r->k + best] = (int64_t)c->count[i];
        r->size[best] += (int64_t)c->count[i];
        r->primal += c->count[i] * (double)score[best];
    }
}

void ck_crowds_load(struct ck_repair_scan *p, struct ck_exact *e)
{
    struct ck_crowds *c = &p->crowds;
    e->crowds = c->n;
    e->crowd = c->scaled;
    e->crowd_score = c->score;
    e->given = c->given;
    for (int64_t i = 0; i < c->n; i++)
        c->scaled[i] = c->count[i] * p->fraction;
}

/* ---- the division ---- */

/* How rows of one crowd may move: out of clusters with more than `most` rows, into those with less
 * than `least`, if they tie. */
struct shift {
    struct ck_exact *e;
    const float *score; /* [k] of the crowd */
    int64_t *given;     /* [k] */
    double worst;       /* values of clusters that take */
};

/* The sizes that suit the price of cluster k. */
static int64_t least_rows(const struct ck_exact *e, int64_t k)
{
    return e->price[k] < ck_exact_rest(e, k) ? e->max_size[k] : e->min_size[k];
}

static int64_t most_rows(const struct ck_exact *e, int64_t k)
{
    if (e->price[k] > ck_exact_rest(e, k))
        return e->min_size[k];
    return e->max_size ? e->max_size[k] : INT64_MAX / 4;
}

static int64_t no_less(const struct ck_exact *e, int64_t k)
{
    return e->min_size[k];
}

/* Rows move from clusters above keep(k) to those below want(k), both in ascending order. */
static void shift_rows(struct shift *s, int64_t (*keep)(const struct ck_exact *, int64_t),
                       int64_t (*want)(const struct ck_exact *, int64_t))
{
    struct ck_exact *e = s->e;
    int64_t from = 0;
    for (int64_t k = 0; k < e->k; k++) {
        if ((double)s->score[k] + e->price[k] < s->worst)
            continue;
        int64_t lack = want(e, k) - e->size[k];
        while (lack > 0 && from < e->k) {
            int64_t spare = e->size[from] - keep(e, from);
            spare = spare < s->given[from] ? spare : s->given[from];
            spare = spare < lack ? spare : lack;
            if (spare <= 0 || from == k) {
                from++;
                continue;
            }
            s->given[from] -= spare;
            s->given[k] += spare;
            e->size[from] -= spare;
            e->size[k] += spare;
            lack -= spare;
        }
    }
}

/* Parts of crowd i, of `count` rows, by the function of ck_newton_run on the scale T, rounded so
 * that they sum to `count`. */
static void round_parts(const struct ck_exact *e, int64_t i, double T, double count,
                        int64_t *given)
{
    const float *score = e->crowd_score + i * e->k;
    double best = ck_exact_crowd_value(e, i), sum = 0, until = 0;
    int64_t before = 0, last = 0;
    for (int64_t k = 0; k < e->k; k++)
        sum += exp(((double)score[k] + e->price[k] - best) / T);
    for (int64_t k = 0; k < e->k; k++) {
        double part = exp(((double)score[k] + e->price[k] - best) / T) / sum;
        until += part * count;
        given[k] = (int64_t)floor(until + 0.5) - before;
        before += given[k];
        last = part > 0.5 / (double)e->k ? k : last;
    }
    given[last] += (int64_t)count - before;
}

double ck_crowds_primal(const struct ck_repair_scan *p)
{
    const struct ck_crowds *c = &p->crowds;
    double sum = 0;
    for (int64_t i = 0; i < c->n * p->r->k; i++)
        sum += (double)c->given[i] * (double)c->score[i];
    return sum;
}

void ck_crowds_give(struct ck_repair_scan *p, struct ck_exact *e)
{
    const struct ck_crowds *c = &p->crowds;
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t k = 0; k < e->k; k++)
            p->base[k] += c->given[i * e->k + k];
    e->crowds = 0;
}

void ck_crowds_divide(struct ck_repair_scan *p, struct ck_exact *e, double scale)
{
    struct ck_crowds *c = &p->crowds;
    const double far = 16; /* behind the best, a cluster gets one row of ten million */
    for (int64_t i = 0; i < c->n; i++) {
        int64_t *given = c->given + i * e->k;
        round_parts(e, i, scale, c->count[i], given);
        for (int64_t k = 0; k < e->k; k++)
            e->size[k] += given[k];
    }
    for (int64_t i = 0; i < c->n; i++) {
        struct shift s = {e, c->score + i * e->k, c->given + i * e->k,
                          ck_exact_crowd_value(e, i) - far * scale};
        shift_rows(&s, most_rows, least_rows);
        shift_rows(&s, no_less, least_rows);
        shift_rows(&s, most_rows, most_rows);
    }
    ck_crowds_give(p, e);
}

void ck_crowds_take_back(struct ck_repair_scan *p, struct ck_exact *e)
{
    struct ck_crowds *c = &p->crowds;
    for (int64_t i = 0; i < c->n && e->crowds == 0; i++)
        for (int64_t k = 0; k < e->k; k++)
            p->base[k] -= c->given[i * e->k + k];
    e->crowds = c->n;
}

double ck_crowds_excess(const struct ck_repair_scan *p, const struct ck_exact *e)
{
    const struct ck_crowds *c = &p->crowds;
    double sum = c->apart;
    for (int64_t i = 0; i < c->n; i++) {
        const float *score = c->score + i * e->k;
        double best = ck_exact_crowd_value(e, i);
        for (int64_t k = 0; k < e->k; k++)
            sum += (double)c->given[i * e->k + k] * (best - (double)score[k] - e->price[k]);
    }
    return sum;
}

/* ---- as rows again ---- */

static int in_crowd(const void *arg, int64_t id)
{
    const struct ck_repair_scan *p = arg;
    return p->crowds.of[id] >= 0;
}

static int add_difference(const void *arg, const int64_t *id, int n, const float *x,
                          double *sum)
{
    const struct ck_repair_scan *p = arg;
    const struct ck_repair *r = p->r;
    for (int i = 0; i < n; i++, x += r->scan->ld) {
        int32_t k = ck_labels_get(r->labels, id[i]);
        float score = ck_assigner_score(r->assigner, x, k);
        *sum += (double)score - (double)p->crowds.score[p->crowds.of[id[i]] * r->k + k];
        if (r->scores)
            r->scores[id[i]] = score;
    }
    return COKE_OK;
}

/* Labels in the order of the rows; at [crowds]: the present cluster of each, left: the rows that it
 * still gets. Where rows are only nearly equal, ck_repair_scan_nearest looks for the nearest center
 * of each. */
static void label_rows(struct ck_repair_scan *p, int64_t *at, int64_t *left)
{
    struct ck_crowds *c = &p->crowds;
    struct ck_repair *r = p->r;
    for (int64_t i = 0; i < c->n; i++) {
        at[i] = 0;
        left[i] = c->given[i * r->k];
    }
    for (int64_t row = 0; row < r->scan->rows->n; row++) {
        int32_t i = c->of[row];
        if (i < 0)
            continue;
        while (left[i] == 0)
            left[i] = c->given[i * r->k + ++at[i]];
        left[i]--;
        ck_labels_set(r->labels, row, (int32_t)at[i]);
        p->mark[row] = CK_ROW_FAR;
        if (c->apart > 0)
            continue;
        float score = c->score[i * r->k + at[i]];
        p->mark[row] = (uint8_t)ck_repair_off_mark(p, score, c->nearest[i]);
        r->nearest += (double)c->nearest[i];
        if (r->scores)
            r->scores[row] = score;
    }
}

int ck_crowds_settle(struct ck_repair_scan *p)
{
    struct ck_crowds *c = &p->crowds;
    struct ck_row_sum s = {
        .scan = p->r->scan, .wanted = in_crowd, .add = add_difference, .arg = p};
    int64_t *at = ck_alloc_array(2 * (size_t)c->n, sizeof *at);
    double difference;
    if (!at)
        return COKE_ENOMEM;
    label_rows(p, at, at + c->n);
    ck_free(at);
    if (c->apart == 0)
        return COKE_OK;
    CK_RETURN_IF(ck_row_sum(&s, &difference));
    p->r->primal += difference;
    p->r->scans += c->total / (double)p->r->scan->rows->n;
    return COKE_OK;
}
