/* copies.c - keeps parameters in the layouts and precision that convolutions use. */
#include "nn/copies.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"

#include <string.h>

/* Owns everything it points to. */
struct copy {
    int param;
    struct ck_dnn_op *reorder;   /* from the parameter's layout; its DST format is the copy's */
    struct ck_tiles_conv *tiles; /* in place of `reorder`: packed for tiles */
    void *data, *scratch;
    float *padded;    /* the parameter padded to the format's channels; NULL = no padding */
    int64_t ic;       /* input channels of the format */
    uint64_t version; /* the parameter's version when it was copied; 0 = never */
};

struct ck_copies {
    struct copy *v;
    int n;
    int64_t room;
};

static void free_copy(struct copy *v)
{
    ck_dnn_op_free(v->reorder);
    ck_free(v->tiles);
    ck_free(v->data);
    ck_free(v->scratch);
    ck_free(v->padded);
}

void ck_copies_free(struct ck_copies *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n; i++)
        free_copy(&c->v[i]);
    ck_free(c->v);
    ck_free(c);
}

static int find(const struct ck_copies *c, int param, const struct ck_format *format)
{
    for (int i = 0; i < c->n; i++)
        if (c->v[i].param == param && c->v[i].reorder &&
            ck_format_equal(ck_dnn_op_format(c->v[i].reorder, CK_ARG_DST), format))
            return i;
    return -1;
}

/* On failure the caller frees what was created. `data` starts at 0, as padding channels must
 * be. */
static int create(struct copy *v, const struct ck_param *p, const struct ck_format *format,
                  int64_t oc, int64_t ic)
{
    int rc = COKE_OK;
    struct ck_format *plain = NULL;
    int64_t dims[4] = {oc, ic, p->shape[2], p->shape[3]};
    v->ic = ic;
    CK_TRY(ck_format_weights(&plain, dims));
    CK_TRY(ck_reorder_new(&v->reorder, plain, format));
    v->data = ck_calloc_array(1, ck_format_bytes(format));
    v->scratch = ck_alloc_array(1, ck_dnn_op_scratch(v->reorder) + 1);
    if (oc != p->shape[0] || ic != p->shape[1])
        v->padded = ck_calloc_array(1, ck_format_bytes(plain));
    else
        v->padded = NULL;
    if (!v->data || !v->scratch || (!v->padded && oc * ic != p->shape[0] * p->shape[1]))
        rc = COKE_ENOMEM;
done:
    ck_format_free(plain);
    return rc;
}

/* Makes room for a copy; it counts only when the caller has created it. */
static int reserve(struct ck_net *net, int param, struct copy **v)
{
    struct ck_copies *c = net->copies;
    CK_RETURN_IF(CK_VEC_RESERVE(c->v, c->room, c->n + 1));
    *v = &c->v[c->n];
    **v = (struct copy){.param = param};
    return COKE_OK;
}

static int have_copies(struct ck_net *net)
{
    if (!net->copies)
        net->copies = ck_calloc_array(1, sizeof *net->copies);
    return net->copies ? COKE_OK : COKE_ENOMEM;
}

/* The number of the copy, or the status of its creation. */
static int keep(struct ck_copies *c, struct copy *v, int rc)
{
    if (!rc)
        return c->n++;
    free_copy(v);
    return rc;
}

int ck_copies_get(struct ck_net *net, int param, const struct ck_format *format, int64_t oc,
                  int64_t ic)
{
    struct copy *v;
    CK_RETURN_IF(have_copies(net));
    int at = find(net->copies, param, format);
    if (at >= 0)
        return at;
    CK_RETURN_IF(reserve(net, param, &v));
    return keep(net->copies, v, create(v, &net->param[param], format, oc, ic));
}

static int create_packed(struct copy *v, const struct ck_tiles_conv *tiles)
{
    v->tiles = ck_alloc_array(1, sizeof *tiles);
    v->data = ck_alloc_array(1, tiles->packed);
    if (!v->tiles || !v->data)
        return COKE_ENOMEM;
    *v->tiles = *tiles;
    return COKE_OK;
}

int ck_copies_get_packed(struct ck_net *net, int param, const struct ck_tiles_conv *tiles)
{
    struct copy *v;
    CK_RETURN_IF(have_copies(net));
    struct ck_copies *c = net->copies;
    for (int i = 0; i < c->n; i++)
        if (c->v[i].param == param && c->v[i].tiles &&
            ck_tiles_packs_alike(c->v[i].tiles, tiles))
            return i;
    CK_RETURN_IF(reserve(net, param, &v));
    return keep(c, v, create_packed(v, tiles));
}

/* Copies the parameter into `padded`, whose other channels stay 0. */
static void pad(const struct copy *v, const struct ck_param *p)
{
    int64_t window = p->shape[2] * p->shape[3], row = p->shape[1] * window;
    for (int64_t o = 0; o < p->shape[0]; o++)
        memcpy(v->padded + o * v->ic * window, p->value + o * row, (size_t)row * sizeof(float));
}

int ck_copies_fresh(struct ck_net *net, int copy, const void **data)
{
    struct copy *v = &net->copies->v[copy];
    const struct ck_param *p = &net->param[v->param];
    *data = v->data;
    if (v->version == p->version)
        return COKE_OK;
    if (v->tiles) {
        ck_tiles_pack(v->tiles, p->value, v->data);
        v->version = p->version;
        return COKE_OK;
    }
    if (v->padded)
        pad(v, p);
    void *arg[CK_DNN_ARGS] = {
        [CK_ARG_SRC] = v->padded ? v->padded : p->value, [CK_ARG_DST] = v->data};
    int rc = ck_dnn_op_run(v->reorder, arg, v->scratch);
    if (!rc)
        v->version = p->version;
    return rc;
}
