/* plan_cache.c - a network compiled for the batch sizes of a training. */
#include "train/plan_cache.h"
#include "core/error.h"
#include "core/workers.h"

static void clear(struct ck_plans *p)
{
    for (int v = 0; v < COKE_MAX_VIEWS; v++) {
        ck_plan_free(p->plan[v]);
        p->plan[v] = NULL;
    }
    p->n = 0;
}

int ck_lanes_pay(int views, int threads)
{
    int rounds = (views + threads - 1) / threads;
    return threads > 1 && 4 * views >= 3 * rounds * threads;
}

/* The network that the plan of view v runs: net, or with lanes a twin of it. */
static int net_of(struct ck_plan_cache *c, struct ck_net *net, int v, struct ck_net **out)
{
    *out = net;
    if (!c->lanes || v == 0)
        return COKE_OK;
    *out = &c->twin[v - 1];
    return (*out)->nnodes ? COKE_OK : ck_twin_init(*out, net);
}

static int compile(struct ck_plan_cache *c, struct ck_net *net, const struct ck_plan_request *r,
                   int v, struct ck_plan **out)
{
    struct ck_net *own;
    CK_RETURN_IF(net_of(c, net, v, &own));
    int before = ck_set_alone(c->lanes);
    int rc = ck_plan_new(out, own, r);
    ck_set_alone(before);
    return rc;
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
        CK_RETURN_IF(compile(c, net, &r, v, &oldest->plan[v]));
    }
    oldest->n = n;
    oldest->size = b->width[first];
    oldest->used = c->clock;
    *out = oldest;
    return COKE_OK;
}

void ck_plan_cache_begin(struct ck_plan_cache *c, const struct ck_net *net)
{
    for (int v = 0; v < COKE_MAX_VIEWS - 1 && c->twin[v].nnodes; v++)
        ck_twin_begin(&c->twin[v], net);
}

void ck_plan_cache_add_statistics(struct ck_plan_cache *c, struct ck_net *net)
{
    for (int v = 0; v < COKE_MAX_VIEWS - 1 && c->twin[v].nnodes; v++)
        ck_twin_add_statistics(net, &c->twin[v]);
}

void ck_plan_cache_add_gradients(struct ck_plan_cache *c, struct ck_net *net)
{
    for (int v = 0; v < COKE_MAX_VIEWS - 1 && c->twin[v].nnodes; v++)
        ck_twin_add_gradients(net, &c->twin[v]);
}

void ck_plan_cache_release(struct ck_plan_cache *c)
{
    for (int p = 0; p < CK_PLAN_SETS; p++)
        clear(&c->set[p]);
    for (int v = 0; v < COKE_MAX_VIEWS - 1; v++)
        ck_twin_release(&c->twin[v]);
}
