/* net_state.c - a network's initial values, and saving and loading its values. */
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "nn/net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- initial values ---- */

/* 64-bit FNV-1a: makes what a layer draws independent of the layers before it. */
static uint64_t hash_name(const char *name)
{
    uint64_t h = 14695981039346656037u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h;
}

/* Draws are indexed by position: any order of filling gives the same values. */
static void fill_normal(struct ck_param *p, uint64_t seed, double deviation)
{
    for (int64_t i = 0; i < p->size; i += 2) {
        double g[2];
        ck_rng_normal(seed, CK_RNG_WEIGHTS, (uint64_t)i, 0, g);
        p->value[i] = (float)(g[0] * deviation);
        if (i + 1 < p->size)
            p->value[i + 1] = (float)(g[1] * deviation);
    }
}

static void fill_uniform(struct ck_param *p, uint64_t seed, double bound)
{
    for (int64_t i = 0; i < p->size; i++)
        p->value[i] =
            (float)(bound * (2 * ck_rng_unit(seed, CK_RNG_WEIGHTS, (uint64_t)i, 0) - 1));
}

static void fill(struct ck_param *p, float value)
{
    for (int64_t i = 0; i < p->size; i++)
        p->value[i] = value;
}

static void init_node(struct ck_net *net, const struct ck_node *v, uint64_t seed)
{
    struct ck_param *p = &net->param[v->param];
    uint64_t own = seed ^ hash_name(v->name);
    if (v->kind == CK_LAYER_CONV) {
        fill_normal(p, own, sqrt(2.0 / (double)(p->shape[0] * v->kernel * v->kernel)));
    } else if (v->kind == CK_LAYER_LINEAR) {
        fill_uniform(p, own, 1 / sqrt((double)p->shape[1]));
        fill_uniform(p + 1, own ^ hash_name("bias"), 1 / sqrt((double)p->shape[1]));
        p[1].version++;
    } else {
        fill(p, 1);
        fill(p + 1, 0);
        fill(&net->buffer[v->buffer], 0);
        fill(&net->buffer[v->buffer + 1], 1);
        net->counter[v->counter].value = 0;
        p[1].version++;
    }
    p->version++;
}

void ck_net_init(struct ck_net *net, uint64_t seed)
{
    for (int i = 0; i < net->nnodes; i++)
        if (net->node[i].param >= 0)
            init_node(net, &net->node[i], seed);
}

/* ---- saving ---- */

int ck_net_save(const struct ck_net *net, struct ck_state *s)
{
    for (int i = 0; i < net->nparams; i++) {
        const struct ck_param *p = &net->param[i];
        if (!p->fixed)
            CK_RETURN_IF(ck_state_add(s, p->name, CK_F32, p->ndim, p->shape, p->value));
    }
    for (int i = 0; i < net->nbuffers; i++) {
        const struct ck_param *p = &net->buffer[i];
        CK_RETURN_IF(ck_state_add(s, p->name, CK_F32, p->ndim, p->shape, p->value));
    }
    for (int i = 0; i < net->ncounters; i++)
        CK_RETURN_IF(
            ck_state_add(s, net->counter[i].name, CK_I64, 0, NULL, &net->counter[i].value));
    return COKE_OK;
}

/* ---- loading ---- */

static void shape_text(char *text, size_t size, int ndim, const int64_t *shape)
{
    size_t at = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < ndim && at < size; i++)
        at +=
            (size_t)snprintf(text + at, size - at, i ? ", %lld" : "%lld", (long long)shape[i]);
    if (at < size)
        snprintf(text + at, size - at, "]");
}

/* Collects the first mismatch of each kind, and counts the others. */
struct mismatch {
    char missing[CK_PARAM_NAME], unexpected[128], shape[256];
    int nmissing, nunexpected, nshape;
};

static void look_for(struct mismatch *m, const struct ck_state *s, const char *name, int ndim,
                     const int64_t *shape, enum ck_dtype dtype)
{
    const struct ck_tensor *t = ck_state_find(s, name);
    if (!t) {
        if (!m->nmissing++)
            snprintf(m->missing, sizeof m->missing, "%s", name);
        return;
    }
    int same = t->ndim == ndim && t->dtype == dtype;
    for (int i = 0; same && i < ndim; i++)
        same = t->shape[i] == shape[i];
    if (same || m->nshape++)
        return;
    char got[96], want[96];
    shape_text(got, sizeof got, t->ndim, t->shape);
    shape_text(want, sizeof want, ndim, shape);
    snprintf(m->shape, sizeof m->shape, "%s is %s %s in the file and %s %s in the network",
             name, ck_dtype_name(t->dtype), got, ck_dtype_name(dtype), want);
}

static int known(const struct ck_net *net, const char *name)
{
    for (int i = 0; i < net->nparams; i++)
        if (strcmp(net->param[i].name, name) == 0 && !net->param[i].fixed)
            return 1;
    for (int i = 0; i < net->nbuffers; i++)
        if (strcmp(net->buffer[i].name, name) == 0)
            return 1;
    for (int i = 0; i < net->ncounters; i++)
        if (strcmp(net->counter[i].name, name) == 0)
            return 1;
    return 0;
}

static int is_ignored(const char *name, const char *ignore)
{
    return ignore && strncmp(name, ignore, strlen(ignore)) == 0;
}

static void compare(struct mismatch *m, const struct ck_net *net, const struct ck_state *s,
                    const char *ignore)
{
    for (int i = 0; i < net->nparams + net->nbuffers; i++) {
        const struct ck_param *p =
            i < net->nparams ? &net->param[i] : &net->buffer[i - net->nparams];
        if (!is_ignored(p->name, ignore) && !p->fixed)
            look_for(m, s, p->name, p->ndim, p->shape, CK_F32);
    }
    for (int i = 0; i < net->ncounters; i++) /* older PyTorch files have no counter */
        if (ck_state_find(s, net->counter[i].name) && !is_ignored(net->counter[i].name, ignore))
            look_for(m, s, net->counter[i].name, 0, NULL, CK_I64);
    for (int i = 0; i < s->ntensors; i++)
        if (!known(net, s->tensor[i].name) && !is_ignored(s->tensor[i].name, ignore) &&
            !m->nunexpected++)
            snprintf(m->unexpected, sizeof m->unexpected, "%s", s->tensor[i].name);
}

/* text starts with "; ", which is skipped. */
static int fail_mismatch(const struct mismatch *m, const char *source)
{
    char text[640];
    size_t at = 0;
    text[0] = 0;
    if (m->nmissing)
        at += (size_t)snprintf(text + at, sizeof text - at, "; %d missing, first %s",
                               m->nmissing, m->missing);
    if (m->nunexpected)
        at += (size_t)snprintf(text + at, sizeof text - at, "; %d unexpected, first %s",
                               m->nunexpected, m->unexpected);
    if (m->nshape)
        snprintf(text + at, sizeof text - at, "; %d of another type or shape, first: %s",
                 m->nshape, m->shape);
    return ck_fail(COKE_EFORMAT, "%s: not the weights of this network: %s", source, text + 2);
}

/* Compares everything before it changes anything. */
int ck_net_load(struct ck_net *net, const struct ck_state *s, const char *source,
                const char *ignore)
{
    struct mismatch m = {{0}, {0}, {0}, 0, 0, 0};
    compare(&m, net, s, ignore);
    if (m.nmissing || m.nunexpected || m.nshape)
        return fail_mismatch(&m, source);
    for (int i = 0; i < net->nparams + net->nbuffers; i++) {
        struct ck_param *p = i < net->nparams ? &net->param[i] : &net->buffer[i - net->nparams];
        if (is_ignored(p->name, ignore) || p->fixed)
            continue;
        CK_RETURN_IF(ck_state_copy(s, p->name, CK_F32, p->ndim, p->shape, p->value));
        p->version++;
    }
    for (int i = 0; i < net->ncounters; i++)
        if (ck_state_find(s, net->counter[i].name) && !is_ignored(net->counter[i].name, ignore))
            CK_RETURN_IF(ck_state_copy(s, net->counter[i].name, CK_I64, 0, NULL,
                                       &net->counter[i].value));
    return COKE_OK;
}
