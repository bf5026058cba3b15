/* plan_cache.c - a network compiled for the batch sizes of a training. */
#include "train/plan_cache.h"
#include "core/error.h"

static void clear(struct ck_plans *p)
{
    for (int v = 0; v < COKE_MAX_VIEWS; v++) {
        ck_plan_free(p->plan[v]);
        p->plan[v] = NULL;
    }
    p->n = 0;
}

int ck_plan_cache_get(struct ck_plan_cache *c, struct ck_net *net,
                      const struct ck_plan_request *like, const struct coke_batch *b, int first,
                      int views, int64_t n, struct ck_plans **out)
{
    struct ck_plans *oldest = &c->set[0];
    struct ck_plan_request r = *like;
    c->clock++;
    for (int p = 0; p < CK_PLAN_SETS; p++) {
        struct ck_plans *at = &c->set[p];
        if (at->n && at->size != b->width[first])
            clear(at);
        if (at->n == n) {
            at->used = c->clock;
            *out = at;
            return COKE_OK;
        }
        oldest = at->used < oldest->used ? at : oldest;
    }
    clear(oldest);
    r.n = n;
    for (int v = 0; v < views; v++) {
        r.h = b->height[first + v];
        r.w = b->width[first + v];
        CK_RETURN_IF(ck_plan_new(&oldest->plan[v], net, &r));
    }
    oldest->n = n;
    oldest->size = b->width[first];
    oldest->used = c->clock;
    *out = oldest;
    return COKE_OK;
}

void ck_plan_cache_release(struct ck_plan_cache *c)
{
    for (int p = 0; p < CK_PLAN_SETS; p++)
        clear(&c->set[p]);
}
