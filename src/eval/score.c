/* score.c - cross-entropy of a classifier's logits, its gradient, and top-1 and top-5
 * accuracy. */
#include "eval/score.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 32 }; /* samples per chunk; fixed, so that sums do not depend on the threads */

/* Shared by the threads; part [chunks] is written by one thread each. */
struct job {
    const float *logits;
    const int32_t *label;
    int64_t n, known;
    int32_t classes;
    float *grad;
    struct ck_score *part; /* [chunks] */
};

/* Number of classes that rank before the right one. */
static int32_t rank_of(const float *z, int32_t classes, int32_t right)
{
    int32_t rank = 0;
    for (int32_t c = 0; c < classes; c++)
        rank += z[c] > z[right] || (z[c] == z[right] && c < right);
    return rank;
}

static void score_sample(const struct job *j, int64_t i, struct ck_score *s)
{
    const float *z = j->logits + i * j->classes;
    int32_t right = j->label[i];
    float *grad = j->grad ? j->grad + i * j->classes : NULL;
    if (right < 0) {
        if (grad)
            memset(grad, 0, (size_t)j->classes * sizeof *grad);
        return;
    }
    double top = (double)z[0], sum = 0;
    for (int32_t c = 1; c < j->classes; c++)
        top = fmax(top, (double)z[c]);
    for (int32_t c = 0; c < j->classes; c++)
        sum += exp((double)z[c] - top);
    int32_t rank = rank_of(z, j->classes, right);
    s->asked++;
    s->top1 += rank < 1;
    s->top5 += rank < 5;
    s->loss += top + log(sum) - (double)z[right];
    for (int32_t c = 0; grad && c < j->classes; c++)
        grad[c] = (float)((exp((double)z[c] - top) / sum - (c == right)) / (double)j->known);
}

static void score_chunk(void *arg, int64_t chunk, int worker)
{
    const struct job *j = arg;
    int64_t end = (chunk + 1) * CHUNK < j->n ? (chunk + 1) * CHUNK : j->n;
    (void)worker;
    for (int64_t i = chunk * CHUNK; i < end; i++)
        score_sample(j, i, &j->part[chunk]);
}

int ck_score(const float *logits, const int32_t *label, int64_t n, int32_t classes, float *grad,
             struct ck_score *score)
{
    int rc = COKE_OK;
    int64_t chunks = (n + CHUNK - 1) / CHUNK;
    struct job j = {logits, label, n, 0, classes, grad, NULL};
    j.part = ck_calloc_array((size_t)chunks + 1, sizeof *j.part);
    if (!j.part)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        j.known += label[i] >= 0;
    ck_parallel(chunks, score_chunk, &j);
    struct ck_score sum = *score;
    for (int64_t c = 0; c < chunks; c++) {
        sum.asked += j.part[c].asked;
        sum.top1 += j.part[c].top1;
        sum.top5 += j.part[c].top5;
        sum.loss += j.part[c].loss;
    }
    if (!isfinite(sum.loss))
        CK_FAIL(COKE_ENUMERIC, "the classifier's outputs are no longer finite: a smaller "
                               "learning rate may help");
    *score = sum;
done:
    ck_free(j.part);
    return rc;
}

void ck_mean_deviation(const double *x, int64_t n, double *mean, double *deviation)
{
    double sum = 0, square = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        square += (x[i] - *mean) * (x[i] - *mean);
    *deviation = n > 1 ? sqrt(square / (double)(n - 1)) : 0;
}
