/* twin.c - a second network with the same weights, but gradients and statistics of its own. */
#include "nn/twin.h"
#include "core/error.h"
#include "core/mem.h"
#include "kernels/layers.h"

#include <math.h>
#include <string.h>

static void *duplicate(const void *from, int n, size_t size)
{
    void *to = ck_alloc_array((size_t)n, size);
    if (to && n)
        memcpy(to, from, (size_t)n * size);
    return to;
}

/* Lists whose tensors are all absent, so that release finds what was made so far. */
static int copy_lists(struct ck_net *twin, const struct ck_net *net)
{
    twin->node = duplicate(net->node, net->nnodes, sizeof *net->node);
    twin->counter = duplicate(net->counter, net->ncounters, sizeof *net->counter);
    twin->param = duplicate(net->param, net->nparams, sizeof *net->param);
    twin->buffer = duplicate(net->buffer, net->nbuffers, sizeof *net->buffer);
    if (!twin->node || !twin->counter || !twin->param || !twin->buffer)
        return COKE_ENOMEM;
    twin->nnodes = net->nnodes;
    twin->ncounters = net->ncounters;
    twin->nparams = net->nparams;
    twin->nbuffers = net->nbuffers;
    for (int i = 0; i < twin->nparams; i++)
        twin->param[i].grad = NULL;
    for (int i = 0; i < twin->nbuffers; i++)
        twin->buffer[i].value = NULL;
    return COKE_OK;
}

int ck_twin_init(struct ck_net *twin, const struct ck_net *net)
{
    int rc = COKE_OK;
    memset(twin, 0, sizeof *twin);
    CK_TRY(copy_lists(twin, net));
    for (int i = 0; i < twin->nparams; i++) {
        twin->param[i].grad = ck_calloc_array((size_t)twin->param[i].size, sizeof(float));
        if (!twin->param[i].grad)
            CK_LEAVE(COKE_ENOMEM);
    }
    for (int i = 0; i < twin->nbuffers; i++) {
        twin->buffer[i].value = ck_calloc_array((size_t)twin->buffer[i].size, sizeof(float));
        if (!twin->buffer[i].value)
            CK_LEAVE(COKE_ENOMEM);
    }
done:
    if (rc)
        ck_twin_release(twin);
    return rc;
}

void ck_twin_release(struct ck_net *twin)
{
    for (int i = 0; i < twin->nparams; i++)
        twin->param[i].value = NULL; /* borrowed */
    ck_net_release(twin);
}

/* Statistics begin at 0: what a batch leaves there is its share of the running ones. */
void ck_twin_begin(struct ck_net *twin, const struct ck_net *net)
{
    for (int i = 0; i < twin->nparams; i++) {
        twin->param[i].value = net->param[i].value;
        twin->param[i].version = net->param[i].version;
    }
    for (int i = 0; i < twin->nbuffers; i++)
        memset(twin->buffer[i].value, 0, (size_t)twin->buffer[i].size * sizeof(float));
    for (int i = 0; i < twin->ncounters; i++)
        twin->counter[i].value = 0;
}

void ck_twin_add_statistics(struct ck_net *net, const struct ck_net *twin)
{
    for (int i = 0; i < net->nnodes; i++) {
        const struct ck_node *v = &net->node[i];
        int64_t batches = v->kind == CK_LAYER_NORM ? twin->counter[v->counter].value : 0;
        double keep = pow(1 - CK_NORM_MOMENTUM, (double)batches);
        for (int j = v->buffer; batches && j < v->buffer + 2; j++)
            for (int64_t c = 0; c < net->buffer[j].size; c++)
                net->buffer[j].value[c] = (float)(keep * (double)net->buffer[j].value[c] +
                                                  (double)twin->buffer[j].value[c]);
        if (batches)
            net->counter[v->counter].value += batches;
    }
}

void ck_twin_add_gradients(struct ck_net *net, struct ck_net *twin)
{
    for (int i = 0; i < net->nparams; i++)
        ck_accumulate_f32(net->param[i].size, twin->param[i].grad, net->param[i].grad);
    ck_net_zero_grad(twin);
}
