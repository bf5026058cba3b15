/* loss_check.c - validates the loss's setup and input, with a message that names the first
 * fault. */
#include "nn/loss_check.h"
#include "core/error.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* ---- options and sizes ---- */

static int check_fraction(const char *name, double x)
{
    if (x >= 0 && x <= 1)
        return COKE_OK;
    return ck_fail(COKE_EUSAGE, "%s: %g is not within 0..1", name, x);
}

int ck_loss_check_setup(const struct ck_loss_shape *shape, const struct ck_loss_options *o)
{
    if (!(o->temperature > 0 && isfinite((float)(1 / o->temperature))))
        return ck_fail(COKE_EUSAGE, "temperature: %g is not positive", o->temperature);
    CK_RETURN_IF(check_fraction("alpha", o->alpha));
    CK_RETURN_IF(check_fraction("beta", o->beta));
    CK_RETURN_IF(check_fraction("large_weight", o->large_weight));
    if (shape->views < 1 || shape->dim < 1 || shape->heads < 1 || shape->max_n < 1)
        return ck_fail(COKE_EUSAGE,
                       "invalid loss: %d views, %d dimensions, %d heads and %lld images",
                       shape->views, shape->dim, shape->heads, (long long)shape->max_n);
    if (shape->large < (shape->views > 1 ? 2 : 1) || shape->large > shape->views)
        return ck_fail(COKE_EUSAGE, "invalid loss: %d large views of %d", shape->large,
                       shape->views);
    for (int h = 0; h < shape->heads; h++)
        if (shape->k[h] < 1 || shape->k[h] > INT32_MAX)
            return ck_fail(COKE_EUSAGE, "head %d: invalid number of centers: %lld", h,
                           (long long)shape->k[h]);
    return COKE_OK;
}

/* ---- finite numbers ---- */

enum { CHUNK = 1 << 14 };

/* A parallel search for the first value that is not finite. */
struct search {
    const float *x;
    int64_t n;
    _Atomic int64_t first; /* index of the first bad value; n = none */
};

/* Without branches, so that the compiler vectorises it. */
static int has_bad(const float *x, int64_t n)
{
    int bad = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return bad;
}

/* Lowers s->first to this chunk's first bad value: the minimum over all chunks, whatever their
 * order. */
static void search_chunk(void *arg, int64_t chunk, int worker)
{
    struct search *s = arg;
    int64_t from = chunk * CHUNK, end = from + CHUNK < s->n ? from + CHUNK : s->n;
    (void)worker;
    if (!has_bad(s->x + from, end - from))
        return;
    while (isfinite(s->x[from]))
        from++;
    int64_t first = s->first;
    while (from < first && !atomic_compare_exchange_weak(&s->first, &first, from))
        ;
}

/* Index of the first value that is not finite; n if there is none. */
static int64_t first_bad(const float *x, int64_t n)
{
    struct search s = {.x = x, .n = n, .first = n};
    ck_parallel((n + CHUNK - 1) / CHUNK, search_chunk, &s);
    return s.first;
}

static int check_vectors(const struct ck_loss_shape *shape, const char *what, const float *x,
                         int64_t n)
{
    int64_t all = shape->views * n * shape->dim, i = first_bad(x, all);
    if (i == all)
        return COKE_OK;
    return ck_fail(COKE_ENUMERIC, "%s of view %lld, image %lld is not finite", what,
                   (long long)(i / (n * shape->dim)), (long long)(i / shape->dim % n));
}

static int check_centers(int h, const float *centers, int64_t k, int dim)
{
    int64_t i = first_bad(centers, k * dim);
    if (i == k * dim)
        return COKE_OK;
    return ck_fail(COKE_ENUMERIC, "head %d: center %lld is not finite", h,
                   (long long)(i / dim));
}

/* ---- targets ---- */

static int check_label(int h, int64_t i, int32_t label, int64_t k)
{
    if (label >= 0 && label < k)
        return COKE_OK;
    return ck_fail(COKE_EUSAGE, "head %d, image %lld: label %d is not within 0..%lld", h,
                   (long long)i, label, (long long)k - 1);
}

static int check_pairs(int h, int64_t i, const int32_t *label, const float *weight, int slots,
                       int64_t k)
{
    double sum = 0;
    for (int j = 0; j < slots; j++) {
        if (!(weight[j] >= 0))
            return ck_fail(COKE_EUSAGE, "head %d, image %lld: invalid weight %g of label %d", h,
                           (long long)i, (double)weight[j], label[j]);
        if (weight[j] > 0)
            CK_RETURN_IF(check_label(h, i, label[j], k));
        sum += (double)weight[j];
    }
    if (!(fabs(sum - 1) <= 1e-3))
        return ck_fail(COKE_EUSAGE, "head %d, image %lld: the weights sum to %g, not to 1", h,
                       (long long)i, sum);
    return COKE_OK;
}

static int check_targets(int h, const struct ck_targets *t, int64_t n, int64_t k)
{
    if (t->n != n || t->slots < 1 || (!t->weight && t->slots != 1))
        return ck_fail(COKE_EUSAGE,
                       "head %d: targets of %lld images with %d slots for a batch of %lld", h,
                       (long long)t->n, t->slots, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (t->weight)
            CK_RETURN_IF(check_pairs(h, i, t->label + i * t->slots, t->weight + i * t->slots,
                                     t->slots, k));
        else
            CK_RETURN_IF(check_label(h, i, t->label[i], k));
    }
    return COKE_OK;
}

int ck_loss_check_input(const struct ck_loss_shape *shape, const struct ck_loss_input *in)
{
    if (in->n < 1 || in->n > shape->max_n)
        return ck_fail(COKE_EUSAGE, "batch of %lld images is not within 1..%lld",
                       (long long)in->n, (long long)shape->max_n);
    CK_RETURN_IF(check_vectors(shape, "proj", in->proj, in->n));
    if (in->pred)
        CK_RETURN_IF(check_vectors(shape, "pred", in->pred, in->n));
    for (int h = 0; h < shape->heads; h++) {
        if (!in->centers[h])
            return ck_fail(COKE_EUSAGE, "head %d: the centers are NULL", h);
        CK_RETURN_IF(check_targets(h, &in->targets[h], in->n, shape->k[h]));
        CK_RETURN_IF(check_centers(h, in->centers[h], shape->k[h], shape->dim));
    }
    return COKE_OK;
}
