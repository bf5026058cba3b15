/* sampler.c - selects the images of each batch, per epoch, step and rank. */
#include "data/sampler.h"

int64_t ck_sampler_steps(const struct ck_sampler *s)
{
    int64_t whole = s->n / s->batch, rest = s->n % s->batch;
    return whole + (rest > 1 || (rest == 1 && whole == 0));
}

/* A single leftover image makes the last batch larger than s->batch. */
static int64_t batch_end(const struct ck_sampler *s, int64_t step)
{
    return step + 1 == ck_sampler_steps(s) ? s->n : (step + 1) * s->batch;
}

/* The first ranks get one image more. ck_share_first distributes the remainder differently;
 * using it here would move images between ranks and change the bytes of a resumed training. */
static int64_t part_start(const struct ck_sampler *s, int64_t total, int32_t rank)
{
    return total / s->ranks * rank + (rank < total % s->ranks ? rank : total % s->ranks);
}

int64_t ck_sampler_max(const struct ck_sampler *s)
{
    int64_t steps = ck_sampler_steps(s), last = s->n - (steps - 1) * s->batch;
    int64_t max = steps > 1 && s->batch > last ? s->batch : last;
    return (max + s->ranks - 1) / s->ranks;
}

int64_t ck_sampler_get(const struct ck_sampler *s, int64_t epoch, int64_t step, int64_t *index,
                       int64_t *first, int64_t *total)
{
    struct ck_perm perm;
    int64_t start = step * s->batch, all = batch_end(s, step) - start;
    int64_t from = part_start(s, all, s->rank), to = part_start(s, all, s->rank + 1);
    ck_perm_init(&perm, s->seed, CK_RNG_ORDER, (uint64_t)epoch, (uint64_t)s->n);
    for (int64_t i = from; i < to; i++)
        index[i - from] =
            s->shuffle ? (int64_t)ck_perm_at(&perm, (uint64_t)(start + i)) : start + i;
    if (first)
        *first = from;
    if (total)
        *total = all;
    return to - from;
}
