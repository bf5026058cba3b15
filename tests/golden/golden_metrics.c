/* golden_metrics.c - accuracy, NMI and ARI of recorded pairs of partitions. */
#include "coke.h"
#include "eval/agreement.h"
#include "golden_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MEASURE = 1e-12;

static int32_t end_of(const int32_t *x, int64_t n)
{
    int32_t end = 0;
    for (int64_t i = 0; i < n; i++)
        end = x[i] >= end ? x[i] + 1 : end;
    return end;
}

static int32_t count_distinct(const int32_t *x, int64_t n, int32_t end)
{
    int32_t distinct = 0;
    char *seen = calloc((size_t)end, 1);
    for (int64_t i = 0; i < n; i++) {
        distinct += !seen[x[i]];
        seen[x[i]] = 1;
    }
    free(seen);
    return distinct;
}

static int check_pair(struct golden_report *r, const int32_t *truth, const int32_t *pred,
                      int64_t n, const int32_t *distinct, const double *values)
{
    struct ck_agreement a;
    int32_t classes = end_of(truth, n), clusters = end_of(pred, n);
    int32_t found[2] = {count_distinct(pred, n, clusters), count_distinct(truth, n, classes)};
    if (ck_agreement(truth, pred, n, classes, clusters, &a))
        return golden_refuse(r, "%s", coke_last_error());
    double got[3] = {a.accuracy, a.nmi, a.ari};
    if (a.n != n || golden_same_ints(r, "num_clusters", found, distinct, 2))
        return -1;
    return golden_close_f64(r, "values", got, values, 3, MEASURE);
}

int golden_check_metrics(const struct golden_case *c, struct golden_report *r)
{
    const struct golden_array *truth = golden_array(c, "truth"),
                              *pred = golden_array(c, "pred"),
                              *values = golden_array(c, "values"),
                              *distinct = golden_array(c, "num_clusters");
    memset(r, 0, sizeof *r);
    if (!truth || !pred || !values || !values->d || !distinct)
        return golden_refuse(r, "an array is missing");
    int64_t pairs = truth->shape[0], n = truth->shape[1];
    for (int64_t p = 0; p < pairs; p++)
        if (check_pair(r, truth->i + p * n, pred->i + p * n, n, distinct->i + 2 * p,
                       values->d + 3 * p))
            return -1;
    return 0;
}
