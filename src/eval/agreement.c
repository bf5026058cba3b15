/* agreement.c - agreement of a clustering with known classes: accuracy, NMI, ARI, purity. */
#include "eval/agreement.h"
#include "core/error.h"
#include "core/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Counts of pairs: squares of 64-bit counts. */
__extension__ typedef __int128 wide;

/* ---- the table ---- */

static int fail_range(const char *what, int64_t i, int32_t value, int32_t end)
{
    return ck_fail(COKE_EUSAGE, "%s of sample %lld is %d, outside 0..%d", what, (long long)i,
                   value, end - 1);
}

int ck_confusion(const int32_t *truth, const int32_t *labels, int64_t n, int32_t classes,
                 int32_t clusters, int64_t *count)
{
    memset(count, 0, (size_t)classes * (size_t)clusters * sizeof *count);
    for (int64_t i = 0; i < n; i++) {
        if (truth[i] >= classes)
            return fail_range("class", i, truth[i], classes);
        if (labels[i] >= clusters)
            return fail_range("cluster", i, labels[i], clusters);
        if (truth[i] >= 0 && labels[i] >= 0)
            count[(int64_t)truth[i] * clusters + labels[i]]++;
    }
    return COKE_OK;
}

/* The most frequent class of a cluster, -1 if it is empty. */
static int32_t major_of(const int64_t *count, int32_t classes, int32_t clusters, int32_t k,
                        int64_t *max, int64_t *size)
{
    int32_t major = -1;
    *max = *size = 0;
    for (int32_t c = 0; c < classes; c++) {
        int64_t x = count[(int64_t)c * clusters + k];
        *size += x;
        if (x > *max) {
            *max = x;
            major = c;
        }
    }
    return major;
}

void ck_purity(const int64_t *count, int32_t classes, int32_t clusters, double *purity,
               int32_t *major)
{
    for (int32_t k = 0; k < clusters; k++) {
        int64_t max, size;
        int32_t c = major_of(count, classes, clusters, k, &max, &size);
        if (purity)
            purity[k] = size ? (double)max / (double)size : NAN;
        if (major)
            major[k] = c;
    }
}

/* ---- one-to-one matching ---- */

/* Solves the assignment problem by shortest augmenting paths: every row gets a column of its
 * own, and the total of the counts is maximal. rows <= columns; integers, hence exact. */
struct matching {
    const int64_t *count;
    int32_t rows, columns;
    int64_t row_step, column_step; /* strides in count */
    int64_t *row_price, *column_price;
    int64_t *distance; /* [columns] from the row being assigned */
    int32_t *owner;    /* [columns] row, or -1 */
    int32_t *column;   /* [rows] column of that row, or -1 */
    int32_t *from;     /* [columns] row that the shortest path comes from */
    int8_t *reached;   /* [columns] distance is final */
};

static void release(struct matching *m)
{
    ck_free(m->row_price);
    ck_free(m->column_price);
    ck_free(m->distance);
    ck_free(m->owner);
    ck_free(m->column);
    ck_free(m->from);
    ck_free(m->reached);
}

static int init(struct matching *m, const int64_t *count, int32_t classes, int32_t clusters)
{
    int turned = classes > clusters;
    *m = (struct matching){.count = count};
    m->rows = turned ? clusters : classes;
    m->columns = turned ? classes : clusters;
    m->row_step = turned ? 1 : clusters;
    m->column_step = turned ? clusters : 1;
    size_t rows = (size_t)m->rows, columns = (size_t)m->columns;
    m->row_price = ck_calloc_array(rows, sizeof *m->row_price);
    m->column_price = ck_calloc_array(columns, sizeof *m->column_price);
    m->distance = ck_alloc_array(columns, sizeof *m->distance);
    m->owner = ck_alloc_array(columns, sizeof *m->owner);
    m->column = ck_alloc_array(rows, sizeof *m->column);
    m->from = ck_alloc_array(columns, sizeof *m->from);
    m->reached = ck_alloc_array(columns, sizeof *m->reached);
    if (!m->row_price || !m->column_price || !m->distance || !m->owner || !m->column ||
        !m->from || !m->reached)
        return COKE_ENOMEM;
    memset(m->owner, -1, columns * sizeof *m->owner);
    memset(m->column, -1, rows * sizeof *m->column);
    return COKE_OK;
}

/* Relaxes the edges of a row at distance `base`; returns the nearest column not yet reached,
 * preferring a free one. */
static int32_t relax(struct matching *m, int32_t row, int64_t base)
{
    const int64_t *count = m->count + row * m->row_step;
    int32_t nearest = -1;
    for (int32_t j = 0; j < m->columns; j++) {
        if (m->reached[j])
            continue;
        int64_t d = base - count[j * m->column_step] - m->row_price[row] - m->column_price[j];
        if (d < m->distance[j]) {
            m->distance[j] = d;
            m->from[j] = row;
        }
        if (nearest < 0 || m->distance[j] < m->distance[nearest] ||
            (m->distance[j] == m->distance[nearest] && m->owner[j] < 0 &&
             m->owner[nearest] >= 0))
            nearest = j;
    }
    return nearest;
}

/* Updates the prices after a search that ended at distance `total`, so that all reduced costs
 * stay >= 0. */
static void reprice(struct matching *m, int32_t start, int64_t total)
{
    m->row_price[start] += total;
    for (int32_t j = 0; j < m->columns; j++) {
        if (!m->reached[j])
            continue;
        int64_t gain = total - m->distance[j];
        m->column_price[j] -= gain;
        if (m->owner[j] >= 0)
            m->row_price[m->owner[j]] += gain;
    }
}

/* Assigns a row: searches the shortest path to a free column and augments along it. */
static void place(struct matching *m, int32_t start)
{
    int32_t row = start, sink;
    int64_t base = 0;
    memset(m->reached, 0, (size_t)m->columns);
    for (int32_t j = 0; j < m->columns; j++)
        m->distance[j] = INT64_MAX;
    for (;;) {
        sink = relax(m, row, base);
        base = m->distance[sink];
        m->reached[sink] = 1;
        if (m->owner[sink] < 0)
            break;
        row = m->owner[sink];
    }
    reprice(m, start, base);
    /* Walk the path backwards: every row takes the column that it was reached through. */
    do {
        row = m->from[sink];
        int32_t old = m->column[row];
        m->owner[sink] = row;
        m->column[row] = sink;
        sink = old;
    } while (row != start);
}

int ck_match(const int64_t *count, int32_t classes, int32_t clusters, int32_t *match,
             int64_t *right)
{
    struct matching m;
    int64_t sum = 0;
    int rc = init(&m, count, classes, clusters);
    if (rc)
        goto done;
    for (int32_t i = 0; i < m.rows; i++)
        place(&m, i);
    for (int32_t k = 0; k < clusters; k++) {
        match[k] = classes > clusters ? m.column[k] : m.owner[k];
        if (match[k] >= 0)
            sum += count[(int64_t)match[k] * clusters + k];
    }
    if (right)
        *right = sum;
done:
    release(&m);
    return rc;
}

/* ---- the measures ---- */

/* Marginal sums of the table; owns the arrays. */
struct margins {
    int64_t *class_size, *cluster_size;
    int64_t n;
    int32_t classes, clusters; /* non-empty ones */
};

static int add_up(struct margins *s, const int64_t *count, int32_t classes, int32_t clusters)
{
    s->class_size = ck_calloc_array((size_t)classes, sizeof *s->class_size);
    s->cluster_size = ck_calloc_array((size_t)clusters, sizeof *s->cluster_size);
    if (!s->class_size || !s->cluster_size)
        return COKE_ENOMEM;
    for (int32_t c = 0; c < classes; c++)
        for (int32_t k = 0; k < clusters; k++) {
            int64_t x = count[(int64_t)c * clusters + k];
            s->class_size[c] += x;
            s->cluster_size[k] += x;
            s->n += x;
        }
    for (int32_t c = 0; c < classes; c++)
        s->classes += s->class_size[c] > 0;
    for (int32_t k = 0; k < clusters; k++)
        s->clusters += s->cluster_size[k] > 0;
    return COKE_OK;
}

static double entropy(const int64_t *size, int32_t k, double n)
{
    double h = 0;
    for (int32_t i = 0; i < k; i++)
        if (size[i])
            h -= (double)size[i] / n * (log((double)size[i]) - log(n));
    return h;
}

static double nmi(const struct margins *s, const int64_t *count, int32_t classes,
                  int32_t clusters)
{
    double n = (double)s->n, mutual = 0;
    if (s->classes == 1 && s->clusters == 1)
        return 1;
    for (int32_t c = 0; c < classes; c++)
        for (int32_t k = 0; k < clusters; k++) {
            double x = (double)count[(int64_t)c * clusters + k];
            /* Grouped so that the sum is exactly 0 with a single cluster or class. */
            if (x > 0)
                mutual += x / n *
                          ((log(x) - log((double)s->class_size[c])) +
                           (log(n) - log((double)s->cluster_size[k])));
        }
    if (mutual <= DBL_EPSILON)
        return 0;
    double sum = entropy(s->class_size, classes, n) + entropy(s->cluster_size, clusters, n);
    return fmin(2 * mutual / sum, 1); /* rounding may exceed it */
}

static wide sum_of_squares(const int64_t *x, int64_t n)
{
    wide sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (wide)x[i] * x[i];
    return sum;
}

/* From the numbers of ordered pairs that are together or apart in the classes and in the
 * clusters. */
static double ari(const struct margins *s, const int64_t *count, int32_t classes,
                  int32_t clusters)
{
    wide both = sum_of_squares(count, (int64_t)classes * clusters);
    wide in_class = sum_of_squares(s->class_size, classes);
    wide in_cluster = sum_of_squares(s->cluster_size, clusters);
    wide only_class = in_class - both, only_cluster = in_cluster - both;
    if (only_class == 0 && only_cluster == 0)
        return 1;
    double c = (double)only_class, k = (double)only_cluster, together = (double)(both - s->n);
    double apart = (double)((wide)s->n * s->n - in_class - in_cluster + both);
    double below = (together + c) * (c + apart) + (together + k) * (k + apart);
    return 2 * (together * apart - c * k) / below;
}

int ck_agreement_of_counts(const int64_t *count, int32_t classes, int32_t clusters,
                           struct ck_agreement *out)
{
    struct margins s = {0};
    int32_t *match = NULL;
    int64_t right, major = 0;
    int rc = add_up(&s, count, classes, clusters);
    if (rc)
        goto done;
    *out = (struct ck_agreement){s.n, NAN, NAN, NAN, NAN};
    if (s.n == 0)
        goto done;
    match = ck_alloc_array((size_t)clusters, sizeof *match);
    if (!match)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_match(count, classes, clusters, match, &right));
    for (int32_t k = 0; k < clusters; k++) {
        int64_t max, size;
        major_of(count, classes, clusters, k, &max, &size);
        major += max;
    }
    out->accuracy = (double)right / (double)s.n;
    out->many_to_one = (double)major / (double)s.n;
    out->nmi = nmi(&s, count, classes, clusters);
    out->ari = ari(&s, count, classes, clusters);
done:
    ck_free(match);
    ck_free(s.class_size);
    ck_free(s.cluster_size);
    return rc;
}

int ck_agreement(const int32_t *truth, const int32_t *labels, int64_t n, int32_t classes,
                 int32_t clusters, struct ck_agreement *out)
{
    if (classes < 1 || clusters < 1)
        return ck_fail(COKE_EUSAGE, "cannot compare %d classes with %d clusters", classes,
                       clusters);
    int rc = COKE_OK;
    int64_t *count = ck_alloc_array((size_t)classes, (size_t)clusters * sizeof *count);
    if (!count)
        return COKE_ENOMEM;
    CK_TRY(ck_confusion(truth, labels, n, classes, clusters, count));
    CK_TRY(ck_agreement_of_counts(count, classes, clusters, out));
done:
    ck_free(count);
    return rc;
}

int ck_agreement_checked(const int32_t *truth, const int32_t *labels, int64_t n,
                         int32_t classes, int32_t clusters, struct ck_agreement *out)
{
    if (n < 0 || classes < 1 || clusters < 1)
        return ck_fail(COKE_EUSAGE, "%lld samples, %d classes, %d clusters", (long long)n,
                       (int)classes, (int)clusters);
    for (int64_t i = 0; i < n; i++)
        if (truth[i] >= classes || labels[i] >= clusters)
            return ck_fail(COKE_EUSAGE, "sample %lld: class %d of %d, cluster %d of %d",
                           (long long)i, (int)truth[i], (int)classes, (int)labels[i],
                           (int)clusters);
    return ck_agreement(truth, labels, n, classes, clusters, out);
}
