/* naive_follow.c - reads what ReLUs and maxima decided in the engine. */
#include "naive_follow.h"
#include "support.h"

/* Images are the same in both, so that what is decided by them alone is, too. */
static int decides(const struct ck_net *net, int node)
{
    int found = net->node[node].kind == CK_LAYER_RELU;
    for (int i = node + 1; i < net->nnodes && node > 0; i++)
        found |= net->node[i].kind == CK_LAYER_MAX_POOL && net->node[i].in[0] == node;
    return found;
}

/* Copies running statistics and counters to `kept` (back = 0), or from there. */
static void keep_running(struct ck_net *net, double *kept, int back)
{
    for (int i = 0; i < net->nbuffers; i++)
        for (int64_t j = 0; j < net->buffer[i].size; j++, kept++)
            if (back)
                net->buffer[i].value[j] = (float)*kept;
            else
                *kept = (double)net->buffer[i].value[j];
    for (int i = 0; i < net->ncounters; i++, kept++)
        if (back)
            net->counter[i].value = (int64_t)*kept;
        else
            *kept = (double)net->counter[i].value;
}

static double *room_for_running(const struct ck_net *net)
{
    int64_t n = net->ncounters;
    for (int i = 0; i < net->nbuffers; i++)
        n += net->buffer[i].size;
    return test_array((size_t)n, sizeof(double));
}

static void read_nodes(struct naive *v, struct ck_net *net, const struct ck_plan_request *r,
                       const float *images, int first)
{
    struct ck_plan *p;
    assert_ok(ck_plan_new(&p, net, r));
    assert_ok(ck_plan_forward(p, images));
    for (int i = first; i < r->nwant; i++) {
        float **to = &v->followed[r->want[i]];
        *to = test_array((size_t)v->value[r->want[i]].size, sizeof **to);
        assert_ok(ck_plan_read(p, r->want[i], *to));
    }
    ck_plan_free(p);
}

void naive_follow(struct naive *v, struct ck_net *net, const struct ck_plan_request *r,
                  const float *images)
{
    struct ck_plan_request more = *r;
    double *running = room_for_running(net);
    assert_true(r->nwant < CK_PLAN_NODES);
    keep_running(net, running, 0);
    for (int i = 0; i < net->nnodes; i++) {
        if (decides(net, i))
            more.want[more.nwant++] = i;
        if (more.nwant == CK_PLAN_NODES || i == net->nnodes - 1) {
            read_nodes(v, net, &more, images, r->nwant);
            more.nwant = r->nwant;
        }
    }
    keep_running(net, running, 1);
    free(running);
}
