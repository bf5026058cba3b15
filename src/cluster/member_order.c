/* member_order.c - the rows of each cluster, the closest first. */
#include "cluster/member_order.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"

#include <stdlib.h>
#include <string.h>

struct member {
    int64_t row;
    float score;
};

static int closer(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

struct sorting {
    struct member *member;
    const int64_t *offset;
};

static void sort_cluster(void *arg, int64_t c, int worker)
{
    (void)worker;
    const struct sorting *s = arg;
    int64_t first = s->offset[c], n = s->offset[c + 1] - first;
    if (n > 1)
        qsort(s->member + first, (size_t)n, sizeof *s->member, closer);
}

/* offset[c + 1] moves from the first place of cluster c to its end while its rows are placed:
 * then it is that of c + 1. */
int ck_member_order(const int32_t *label, const float *score, int64_t n, int64_t k,
                    int64_t *order, int64_t *offset)
{
    struct member *m = ck_alloc_array((size_t)n, sizeof *m);
    if (!m)
        return ck_fail(COKE_ENOMEM, "out of memory to sort %lld rows", (long long)n);
    memset(offset, 0, (size_t)(k + 1) * sizeof *offset);
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0 && label[i] + 1 < k)
            offset[label[i] + 2]++;
    for (int64_t c = 2; c <= k; c++)
        offset[c] += offset[c - 1];
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0)
            m[offset[label[i] + 1]++] = (struct member){i, score[i]};
    struct sorting s = {m, offset};
    ck_parallel(k, sort_cluster, &s);
    for (int64_t i = 0; i < offset[k]; i++)
        order[i] = m[i].row;
    int64_t at = offset[k];
    for (int64_t i = 0; i < n; i++)
        if (label[i] < 0)
            order[at++] = i;
    ck_free(m);
    return COKE_OK;
}
