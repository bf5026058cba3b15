/* onnx.c - writes an encoder as an ONNX model. Field numbers are those of onnx.proto3.
 *
 * The fill_* functions write one message each. io/protobuf.h calls them twice: first to count
 * the bytes of a message, which precede it, then to write them. */
#include "nn/onnx.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/protobuf.h"
#include "nn/unit.h"

#include <stdio.h>
#include <string.h>

enum { IR_VERSION = 7, OPSET = 13, FLOAT = 1 };
enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };
enum { NAME = 80 };

/* One export; everything but `needed` is borrowed. */
struct model {
    const struct coke_encoder *e;
    const struct ck_state *meta;
    char *needed; /* [nodes] ancestors of the outputs */
    int output[2];
    const char *output_name[2];
    int noutputs;
};

/* ---- attributes and operators ---- */

struct attribute {
    const char *name;
    int type, n;
    int64_t i[4];
    float f;
};

static void fill_attribute(struct ck_proto *p, const void *message)
{
    const struct attribute *a = message;
    ck_proto_text(p, 1, a->name);
    if (a->type == ATTRIBUTE_FLOAT)
        ck_proto_float(p, 2, a->f);
    if (a->type == ATTRIBUTE_INT)
        ck_proto_int(p, 3, a->i[0]);
    for (int i = 0; a->type == ATTRIBUTE_INTS && i < a->n; i++)
        ck_proto_int(p, 8, a->i[i]);
    ck_proto_int(p, 20, a->type);
}

/* One ONNX operator. */
struct step {
    const char *type;
    char in[5][NAME], out[NAME];
    int nin;
    struct attribute attribute[4];
    int nattributes;
};

static void fill_operator(struct ck_proto *p, const void *message)
{
    const struct step *o = message;
    for (int i = 0; i < o->nin; i++)
        ck_proto_text(p, 1, o->in[i]);
    ck_proto_text(p, 2, o->out);
    ck_proto_text(p, 3, o->out);
    ck_proto_text(p, 4, o->type);
    for (int i = 0; i < o->nattributes; i++)
        ck_proto_message(p, 5, fill_attribute, &o->attribute[i]);
}

static void add_input(struct step *o, const char *name)
{
    snprintf(o->in[o->nin++], NAME, "%s", name);
}

static void add_ints(struct step *o, const char *name, int n, int64_t a, int64_t b)
{
    o->attribute[o->nattributes++] =
        (struct attribute){.name = name, .type = ATTRIBUTE_INTS, .n = n, .i = {a, b, a, b}};
}

static void add_int(struct step *o, const char *name, int64_t value)
{
    o->attribute[o->nattributes++] =
        (struct attribute){.name = name, .type = ATTRIBUTE_INT, .i = {value}};
}

/* ---- nodes ---- */

/* The name of a node's output; the model's input and outputs have names that users see. */
static const char *value_name(const struct model *m, int node, char out[NAME])
{
    const struct ck_node *v = &m->e->net.node[node];
    for (int i = 0; i < m->noutputs; i++)
        if (m->output[i] == node)
            return m->output_name[i];
    if (v->kind == CK_LAYER_INPUT)
        return "images";
    snprintf(out, NAME, "node%d%s%s", node, v->name[0] ? "_" : "", v->name);
    return out;
}

/* An operator with the node's output and inputs. */
static struct step begin(const struct model *m, int node, const char *type)
{
    const struct ck_node *v = &m->e->net.node[node];
    char name[NAME];
    struct step o = {.type = type};
    snprintf(o.out, NAME, "%s", value_name(m, node, name));
    for (int i = 0; i < 2 && v->in[i] >= 0; i++)
        add_input(&o, value_name(m, v->in[i], name));
    return o;
}

static void put_operator(struct ck_proto *p, const struct step *o)
{
    ck_proto_message(p, 1, fill_operator, o);
}

static void add_window(struct step *o, const struct ck_node *v)
{
    add_ints(o, "kernel_shape", 2, v->kernel, v->kernel);
    add_ints(o, "strides", 2, v->stride, v->stride);
    add_ints(o, "pads", 4, v->pad, v->pad);
}

static void put_norm(struct ck_proto *p, const struct model *m, int node)
{
    const struct ck_node *v = &m->e->net.node[node];
    struct step o = begin(m, node, "BatchNormalization");
    add_input(&o, m->e->net.param[v->param].name);
    add_input(&o, m->e->net.param[v->param + 1].name);
    add_input(&o, m->e->net.buffer[v->buffer].name);
    add_input(&o, m->e->net.buffer[v->buffer + 1].name);
    o.attribute[o.nattributes++] =
        (struct attribute){.name = "epsilon", .type = ATTRIBUTE_FLOAT, .f = (float)CK_NORM_EPS};
    put_operator(p, &o);
}

/* x / max(|x|, CK_UNIT_MIN) as three operators. */
static void put_unit(struct ck_proto *p, const struct model *m, int node)
{
    struct step length = begin(m, node, "ReduceL2"), most = {.type = "Max"};
    struct step unit = begin(m, node, "Div");
    snprintf(length.out, NAME, "node%d_length", node);
    add_ints(&length, "axes", 1, 1, 0);
    add_int(&length, "keepdims", 1);
    snprintf(most.out, NAME, "node%d_divisor", node);
    add_input(&most, length.out);
    add_input(&most, "least_length");
    add_input(&unit, most.out);
    put_operator(p, &length);
    put_operator(p, &most);
    put_operator(p, &unit);
}

/* x / 2 * (1 + erf(x / sqrt(2))) as five operators: Gelu itself is newer than this opset. */
static void put_gelu(struct ck_proto *p, const struct model *m, int node)
{
    static const char *const type[] = {"Mul", "Erf", "Add", "Mul", "Mul"};
    static const char *const constant[] = {"sqrt_half", NULL, "one", NULL, "half"};
    struct step o[5];
    for (int i = 0; i < 5; i++) {
        o[i] = begin(m, node, type[i]); /* the input, which steps 0 and 3 read */
        if (i == 1 || i == 2 || i == 4)
            memcpy(o[i].in[0], o[i - 1].out, NAME);
        if (constant[i])
            add_input(&o[i], constant[i]);
        if (i == 3)
            add_input(&o[i], o[2].out);
        if (i < 4)
            snprintf(o[i].out, NAME, "node%d_gelu%d", node, i);
        put_operator(p, &o[i]);
    }
}

/* The mean over the image is [N][C][1][1] first; Flatten makes it [N][C]. */
static void put_mean(struct ck_proto *p, const struct model *m, int node)
{
    struct step mean = begin(m, node, "GlobalAveragePool"), flat = begin(m, node, "Flatten");
    snprintf(mean.out, NAME, "node%d_mean", node);
    snprintf(flat.in[0], NAME, "%s", mean.out);
    add_int(&flat, "axis", 1);
    put_operator(p, &mean);
    put_operator(p, &flat);
}

static void put_node(struct ck_proto *p, const struct model *m, int node)
{
    static const char *const types[] = {
        [CK_LAYER_CONV] = "Conv",   [CK_LAYER_RELU] = "Relu",
        [CK_LAYER_ADD] = "Add",     [CK_LAYER_MAX_POOL] = "MaxPool",
        [CK_LAYER_LINEAR] = "Gemm", [CK_LAYER_AVG_POOL] = "AveragePool",
    };
    const struct ck_node *v = &m->e->net.node[node];
    if (v->kind == CK_LAYER_INPUT)
        return;
    if (v->kind == CK_LAYER_NORM) {
        put_norm(p, m, node);
        return;
    }
    if (v->kind == CK_LAYER_UNIT) {
        put_unit(p, m, node);
        return;
    }
    if (v->kind == CK_LAYER_GELU) {
        put_gelu(p, m, node);
        return;
    }
    if (v->kind == CK_LAYER_MEAN) {
        put_mean(p, m, node);
        return;
    }
    struct step o = begin(m, node, types[v->kind]);
    if (v->param >= 0)
        add_input(&o, m->e->net.param[v->param].name);
    if (v->kind == CK_LAYER_LINEAR) {
        add_input(&o, m->e->net.param[v->param + 1].name);
        add_int(&o, "transB", 1);
    }
    if (v->kernel)
        add_window(&o, v);
    if (v->kind == CK_LAYER_AVG_POOL)
        add_int(&o, "count_include_pad", 1);
    put_operator(p, &o);
}

/* ---- tensors, inputs, outputs ---- */

static void fill_tensor(struct ck_proto *p, const void *message)
{
    const struct ck_param *t = message;
    for (int i = 0; i < t->ndim; i++)
        ck_proto_int(p, 1, t->shape[i]);
    ck_proto_int(p, 2, FLOAT);
    ck_proto_text(p, 8, t->name);
    ck_proto_bytes(p, 9, t->value, (size_t)t->size * sizeof *t->value);
}

static void put_constant(struct ck_proto *p, const char *name, float value)
{
    struct ck_param constant = {.ndim = 1, .shape = {1}, .size = 1, .value = &value};
    snprintf(constant.name, sizeof constant.name, "%s", name);
    ck_proto_message(p, 5, fill_tensor, &constant);
}

static void put_weights(struct ck_proto *p, const struct model *m)
{
    const struct ck_net *net = &m->e->net;
    int units = 0, gelus = 0;
    for (int i = 0; i < net->nnodes; i++) {
        const struct ck_node *v = &net->node[i];
        int n = v->param < 0 ? 0 : v->kind == CK_LAYER_CONV ? 1 : 2;
        for (int j = 0; m->needed[i] && j < n; j++)
            ck_proto_message(p, 5, fill_tensor, &net->param[v->param + j]);
        for (int j = 0; m->needed[i] && v->buffer >= 0 && j < 2; j++)
            ck_proto_message(p, 5, fill_tensor, &net->buffer[v->buffer + j]);
        units += m->needed[i] && v->kind == CK_LAYER_UNIT;
        gelus += m->needed[i] && v->kind == CK_LAYER_GELU;
    }
    if (units)
        put_constant(p, "least_length", CK_UNIT_MIN);
    if (gelus) {
        put_constant(p, "sqrt_half", 0.70710678118654752440f);
        put_constant(p, "half", 0.5f);
        put_constant(p, "one", 1);
    }
}

/* An input or output and its shape; a word stands for a free length. */
struct value {
    const char *name;
    int ndim;
    const char *word[4];
    int64_t length[4];
};

struct length {
    const char *word;
    int64_t number;
};

static void fill_length(struct ck_proto *p, const void *message)
{
    const struct length *l = message;
    if (l->word)
        ck_proto_text(p, 2, l->word);
    else
        ck_proto_int(p, 1, l->number);
}

static void fill_shape(struct ck_proto *p, const void *message)
{
    const struct value *v = message;
    for (int i = 0; i < v->ndim; i++)
        ck_proto_message(p, 1, fill_length, &(struct length){v->word[i], v->length[i]});
}

static void fill_tensor_type(struct ck_proto *p, const void *message)
{
    ck_proto_int(p, 1, FLOAT);
    ck_proto_message(p, 2, fill_shape, message);
}

static void fill_type(struct ck_proto *p, const void *message)
{
    ck_proto_message(p, 1, fill_tensor_type, message);
}

static void fill_value(struct ck_proto *p, const void *message)
{
    const struct value *v = message;
    ck_proto_text(p, 1, v->name);
    ck_proto_message(p, 2, fill_type, message);
}

/* ---- the model ---- */

static void fill_graph(struct ck_proto *p, const void *message)
{
    const struct model *m = message;
    const struct ck_net *net = &m->e->net;
    for (int i = 0; i < net->nnodes; i++)
        if (m->needed[i])
            put_node(p, m, i);
    ck_proto_text(p, 2, "coke");
    put_weights(p, m);
    struct value images = {
        "images", 4, {"N", NULL, "height", "width"}, {0, m->e->o.channels, 0, 0}};
    ck_proto_message(p, 11, fill_value, &images);
    for (int i = 0; i < m->noutputs; i++) {
        struct value v = {m->output_name[i], 2, {"N"}, {0, net->node[m->output[i]].channels}};
        ck_proto_message(p, 12, fill_value, &v);
    }
}

static void fill_opset(struct ck_proto *p, const void *message)
{
    (void)message;
    ck_proto_text(p, 1, "");
    ck_proto_int(p, 2, OPSET);
}

static void fill_meta(struct ck_proto *p, const void *message)
{
    const struct ck_meta *m = message;
    ck_proto_text(p, 1, m->key);
    ck_proto_text(p, 2, m->value);
}

static void fill_model(struct ck_proto *p, const void *message)
{
    const struct model *m = message;
    ck_proto_int(p, 1, IR_VERSION);
    ck_proto_text(p, 2, "coke");
    ck_proto_text(p, 3, COKE_VERSION);
    ck_proto_message(p, 7, fill_graph, m);
    ck_proto_message(p, 8, fill_opset, NULL);
    for (int i = 0; i < m->meta->nmeta; i++)
        ck_proto_message(p, 14, fill_meta, &m->meta->meta[i]);
}

/* Marks every ancestor of the outputs. Nodes are in topological order, so that one backward
 * sweep suffices. */
static void mark_needed(struct model *m)
{
    for (int i = 0; i < m->noutputs; i++)
        m->needed[m->output[i]] = 1;
    for (int i = m->e->net.nnodes - 1; i >= 0; i--)
        for (int j = 0; m->needed[i] && j < 2; j++)
            if (m->e->net.node[i].in[j] >= 0)
                m->needed[m->e->net.node[i].in[j]] = 1;
}

/* Fills the model once without a file, to count its bytes. */
int ck_onnx_write_to(struct ck_writer *w, const struct coke_encoder *e, int heads,
                     const struct ck_state *meta)
{
    int rc = COKE_OK;
    struct model m = {.e = e, .meta = meta};
    struct ck_proto counted = {0}, out = {.file = w};
    m.needed = ck_calloc_array((size_t)e->net.nnodes, 1);
    if (!m.needed)
        return COKE_ENOMEM;
    m.output[m.noutputs] = e->node[COKE_OUTPUT_FEATURES];
    m.output_name[m.noutputs++] = "features";
    if (heads && e->node[COKE_OUTPUT_PROJ] >= 0) {
        m.output[m.noutputs] = e->node[COKE_OUTPUT_PROJ];
        m.output_name[m.noutputs++] = "projection";
    }
    mark_needed(&m);
    fill_model(&counted, &m);
    if (counted.n > INT32_MAX)
        CK_FAIL(COKE_EUSAGE,
                "%s: %zu bytes, but ONNX files hold at most 2 GB; safetensors may be larger",
                w->path, counted.n);
    fill_model(&out, &m);
    rc = out.status;
done:
    ck_free(m.needed);
    return rc;
}
