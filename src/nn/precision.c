/* precision.c - which precision is faster here: measured on a network. */
#include "nn/precision.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "kernels/conv_tiles.h"

enum {
    PIXELS = 65536, /* of a batch that is measured */
    BATCH = 16,
    RUNS = 3, /* after one to warm up */
};

enum ck_dtype ck_precision_dtype(enum ck_precision p)
{
    return p == CK_PRECISION_BF16 ? CK_BF16 : CK_F32;
}

int ck_precision_has_bf16(void)
{
    return ck_tiles_how() != NULL;
}

/* Input of one measurement; gradients all have this one array. */
struct trial {
    struct ck_plan *plan;
    float *images, *gradient;
};

/* Numbers of either sign and usual size: speed depends on them through denormals only. */
static float *fill(int64_t n)
{
    float *x = ck_alloc_array((size_t)n, sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = (float)((uint32_t)i * 2654435761u >> 22) / 512 - 1;
    return x;
}

static int run(const struct trial *t, const struct ck_plan_request *r)
{
    const float *gradient[CK_PLAN_NODES];
    for (int i = 0; i < r->ngrad; i++)
        gradient[i] = t->gradient;
    CK_RETURN_IF(ck_plan_forward(t->plan, t->images));
    return r->backward ? ck_plan_backward(t->plan, gradient) : COKE_OK;
}

static int measure(struct ck_net *net, const struct ck_plan_request *r, double *seconds)
{
    struct trial t = {NULL, NULL, NULL};
    int64_t largest = 1;
    int rc = COKE_OK;
    *seconds = 1e30;
    CK_TRY(ck_plan_new(&t.plan, net, r));
    for (int i = 0; i < r->ngrad; i++) {
        int64_t n = ck_plan_elements(t.plan, r->grad[i]);
        largest = n > largest ? n : largest;
    }
    t.images = fill(r->n * net->node[0].channels * r->h * r->w);
    t.gradient = fill(largest);
    if (!t.images || !t.gradient)
        CK_LEAVE(COKE_ENOMEM);
    for (int i = 0; i <= RUNS; i++) {
        double start = ck_clock_seconds();
        CK_TRY(run(&t, r));
        double now = (ck_clock_seconds() - start) / (double)r->n;
        *seconds = i && now < *seconds ? now : *seconds;
    }
done:
    ck_plan_free(t.plan);
    ck_free(t.images);
    ck_free(t.gradient);
    return rc;
}

int ck_precision_measure(struct ck_net *net, const struct ck_plan_request *like,
                         double seconds[2])
{
    struct ck_plan_request r = *like;
    int64_t fits = PIXELS / (r.h * r.w);
    r.n = fits > BATCH ? BATCH : fits < 2 ? 2 : fits;
    for (int i = 0; i < 2; i++) {
        r.dtype = ck_precision_dtype((enum ck_precision)i);
        CK_RETURN_IF(measure(net, &r, &seconds[i]));
    }
    return COKE_OK;
}

int ck_precision_choose(int32_t *precision, struct ck_net *net,
                        const struct ck_plan_request *like, double seconds[2])
{
    seconds[0] = seconds[1] = 0;
    if (*precision != CK_PRECISION_AUTO)
        return COKE_OK;
    *precision = CK_PRECISION_F32;
    if (!ck_precision_has_bf16())
        return COKE_OK;
    CK_RETURN_IF(ck_precision_measure(net, like, seconds));
    if (seconds[CK_PRECISION_BF16] < seconds[CK_PRECISION_F32])
        *precision = CK_PRECISION_BF16;
    return COKE_OK;
}
