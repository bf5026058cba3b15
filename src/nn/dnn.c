/* dnn.c - convolutions and layout conversions by oneDNN. */
#include "nn/dnn.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/thread.h"
#include "kernels/gemm.h"
#include "nn/dnn_compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ck_format {
    ck_md md;
};

/* A primitive with its memory objects, whose data pointers are set before each run. */
struct ck_dnn_op {
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    int narg;
    int role[CK_DNN_ARGS + 1]; /* enum ck_dnn_arg */
    dnnl_exec_arg_t arg[CK_DNN_ARGS + 1];
    void *handle[CK_DNN_ARGS + 1]; /* current data pointers, to skip redundant updates */
    struct ck_format format[CK_DNN_ARGS];
    int has_format[CK_DNN_ARGS];
    size_t scratch;
};

/* ---- the engine: one per process ---- */

static struct {
    struct ck_once once;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr; /* scratchpad provided by the caller */
    dnnl_status_t status;
} cpu = {.once = CK_ONCE};

/* Never destroyed: the engine lives as long as the process. */
static void start(void)
{
    ck_gemm_prepare();
    cpu.status = dnnl_engine_create(&cpu.engine, dnnl_cpu, 0);
    if (!cpu.status)
        cpu.status = dnnl_stream_create(&cpu.stream, cpu.engine, dnnl_stream_default_flags);
    if (!cpu.status)
        cpu.status = dnnl_primitive_attr_create(&cpu.attr);
    if (!cpu.status)
        cpu.status =
            dnnl_primitive_attr_set_scratchpad_mode(cpu.attr, dnnl_scratchpad_mode_user);
}

static int fail_dnn(const char *what, dnnl_status_t s)
{
    return ck_fail(s == dnnl_out_of_memory ? COKE_ENOMEM : COKE_EFAIL, "oneDNN: %s: %s", what,
                   s == dnnl_out_of_memory       ? "out of memory"
                   : s == dnnl_unimplemented     ? "not implemented"
                   : s == dnnl_invalid_arguments ? "invalid arguments"
                                                 : "failed");
}

/* oneDNN generates code for each primitive, and crashes if it gets no memory for it. */
enum { ROOM = 16 << 20 };

/* Every function that creates something calls this first; thread-safe. */
static int engine_up(void)
{
    CK_RETURN_IF(ck_mem_check_room(ROOM));
    ck_once(&cpu.once, start);
    return cpu.status ? fail_dnn("starting", cpu.status) : COKE_OK;
}

static int has_isa(dnnl_cpu_isa_t isa)
{
    ck_gemm_prepare();
    return ((int)dnnl_get_effective_cpu_isa() & (int)isa) == (int)isa;
}

int ck_dnn_block(void)
{
    return has_isa(dnnl_cpu_isa_avx512_core) ? 16 : 8;
}

/* Per thread, so that callers cannot overwrite each other's text. */
const char *ck_dnn_version(void)
{
    static _Thread_local char text[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

/* ---- formats ---- */

static int make_format(struct ck_format **out, const int64_t dims[4], dnnl_format_tag_t tag)
{
    dnnl_dims_t d = {dims[0], dims[1], dims[2], dims[3]};
    struct ck_format *f = ck_calloc_array(1, sizeof *f);
    *out = NULL;
    if (!f)
        return COKE_ENOMEM;
    dnnl_status_t s = ck_md_tag(&f->md, 4, d, dnnl_f32, tag);
    if (s) {
        ck_free(f);
        return fail_dnn("memory descriptor", s);
    }
    *out = f;
    return COKE_OK;
}

int ck_format_image(struct ck_format **out, const int64_t dims[4], enum ck_layout layout)
{
    dnnl_format_tag_t blocked = ck_dnn_block() == 16 ? dnnl_nChw16c : dnnl_nChw8c;
    return make_format(out, dims, layout == CK_PLAIN ? dnnl_nchw : blocked);
}

int ck_format_weights(struct ck_format **out, const int64_t dims[4])
{
    return make_format(out, dims, dnnl_oihw);
}

int ck_format_copy(struct ck_format **out, const struct ck_format *f)
{
    struct ck_format *copy = ck_calloc_array(1, sizeof *copy);
    *out = copy;
    if (!copy)
        return COKE_ENOMEM;
    dnnl_status_t s = ck_md_copy(&copy->md, ck_md_lend(&f->md));
    return s ? fail_dnn("memory descriptor", s) : COKE_OK;
}

void ck_format_free(struct ck_format *f)
{
    if (f)
        ck_md_release(&f->md);
    ck_free(f);
}

size_t ck_format_bytes(const struct ck_format *f)
{
    return dnnl_memory_desc_get_size(ck_md_lend(&f->md));
}

int ck_format_equal(const struct ck_format *a, const struct ck_format *b)
{
    return dnnl_memory_desc_equal(ck_md_lend(&a->md), ck_md_lend(&b->md));
}

/* ---- building an operation from its primitive descriptor ---- */

static int add_arg(struct ck_dnn_op *op, int role, int dnnl_arg, ck_cmd md)
{
    dnnl_memory_t memory = NULL;
    dnnl_status_t s = dnnl_memory_create(&memory, md, cpu.engine, NULL);
    if (s)
        return fail_dnn("memory", s);
    op->arg[op->narg].arg = dnnl_arg;
    op->arg[op->narg].memory = memory;
    if (role >= 0) {
        op->role[op->narg] = role;
        s = ck_md_copy(&op->format[role].md, md);
        op->has_format[role] = !s;
    }
    op->narg++;
    return s ? fail_dnn("memory descriptor", s) : COKE_OK;
}

/* Connects an argument of ours with oneDNN's; role -1 ends a list. */
struct arg_row {
    int role, dnnl_arg;
    dnnl_query_t query;
};

/* Takes ownership of pd, also on failure. */
static int finish(struct ck_dnn_op **out, dnnl_primitive_desc_t pd, const struct arg_row *row)
{
    int rc = COKE_OK;
    struct ck_dnn_op *op = ck_calloc_array(1, sizeof *op);
    if (!op) {
        dnnl_primitive_desc_destroy(pd);
        return COKE_ENOMEM;
    }
    op->pd = pd;
    dnnl_status_t s = dnnl_primitive_create(&op->primitive, pd);
    if (s)
        CK_FAIL(s == dnnl_out_of_memory ? COKE_ENOMEM : COKE_EFAIL,
                "oneDNN: cannot create %s (status %d)", ck_dnn_op_impl(op), (int)s);
    for (; row->role >= 0; row++)
        CK_TRY(add_arg(op, row->role, row->dnnl_arg,
                       dnnl_primitive_desc_query_md(pd, row->query, 0)));
    ck_cmd scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    op->scratch = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    if (op->scratch) {
        CK_TRY(add_arg(op, -1, DNNL_ARG_SCRATCHPAD, scratch));
        op->role[op->narg - 1] = -1;
    }
    *out = op;
    op = NULL;
done:
    ck_dnn_op_free(op);
    return rc;
}

void ck_dnn_op_free(struct ck_dnn_op *op)
{
    if (!op)
        return;
    for (int i = 0; i < op->narg; i++)
        dnnl_memory_destroy(op->arg[i].memory);
    for (int i = 0; i < CK_DNN_ARGS; i++)
        if (op->has_format[i])
            ck_md_release(&op->format[i].md);
    if (op->primitive)
        dnnl_primitive_destroy(op->primitive);
    if (op->pd)
        dnnl_primitive_desc_destroy(op->pd);
    ck_free(op);
}

const struct ck_format *ck_dnn_op_format(const struct ck_dnn_op *op, enum ck_dnn_arg arg)
{
    return op->has_format[arg] ? &op->format[arg] : NULL;
}

size_t ck_dnn_op_scratch(const struct ck_dnn_op *op)
{
    return op->scratch;
}

const char *ck_dnn_op_impl(const struct ck_dnn_op *op)
{
    const char *text = NULL;
    dnnl_primitive_desc_query(op->pd, dnnl_query_impl_info_str, 0, &text);
    return text ? text : "?";
}

int ck_dnn_op_run(struct ck_dnn_op *op, void *const data[CK_DNN_ARGS], void *scratch)
{
    for (int i = 0; i < op->narg; i++) {
        void *p = op->role[i] < 0 ? scratch : data[op->role[i]];
        if (p == op->handle[i])
            continue;
        dnnl_status_t s = dnnl_memory_set_data_handle(op->arg[i].memory, p);
        if (s)
            return fail_dnn("memory", s);
        op->handle[i] = p;
    }
    dnnl_status_t s = dnnl_primitive_execute(op->primitive, cpu.stream, op->narg, op->arg);
    if (!s)
        s = dnnl_stream_wait(cpu.stream);
    return s ? fail_dnn(ck_dnn_op_impl(op), s) : COKE_OK;
}

/* ---- convolutions ---- */

/* The parts of a primitive descriptor, for either version of oneDNN. */
struct conv_parts {
    ck_md src, weights, dst;
    dnnl_dims_t stride, pad_l, pad_r;
    dnnl_alg_kind_t algorithm;
};

static void release_parts(struct conv_parts *p)
{
    ck_md_release(&p->src);
    ck_md_release(&p->weights);
    ck_md_release(&p->dst);
}

static dnnl_status_t image_md(ck_md *md, const struct ck_format *f, int64_t n, int64_t c,
                              int64_t h, int64_t w)
{
    dnnl_dims_t dims = {n, c, h, w};
    return f ? ck_md_copy(md, ck_md_lend(&f->md))
             : ck_md_tag(md, 4, dims, dnnl_f32, dnnl_format_tag_any);
}

/* Right padding is whatever makes the output size exact; it may differ from the left. */
static dnnl_status_t make_parts(struct conv_parts *p, const struct ck_conv_shape *s,
                                const struct ck_format *src, const struct ck_format *dst)
{
    dnnl_dims_t w = {s->oc, s->ic, s->kernel, s->kernel};
    for (int i = 0; i < 2; i++) {
        int64_t in = i ? s->iw : s->ih, out = i ? s->ow : s->oh;
        p->pad_l[i] = s->pad;
        p->pad_r[i] = (out - 1) * s->stride + s->kernel - in - s->pad;
        /* With a single output the stride is irrelevant: the plainest case. */
        p->stride[i] = out == 1 && p->pad_r[i] >= 0 ? 1 : s->stride;
    }
    dnnl_status_t status = image_md(&p->src, src, s->n, s->ic, s->ih, s->iw);
    if (!status)
        status = image_md(&p->dst, dst, s->n, s->oc, s->oh, s->ow);
    if (!status)
        status = ck_md_tag(&p->weights, 4, w, dnnl_f32, dnnl_format_tag_any);
    return status;
}

/* Forward, or what backward passes need as a hint. */
static dnnl_status_t find_forward(dnnl_primitive_desc_t *pd, const struct conv_parts *p)
{
    return ck_pd_conv_forward(pd, cpu.engine, dnnl_forward_training, p->algorithm,
                              ck_md_lend(&p->src), ck_md_lend(&p->weights), NULL,
                              ck_md_lend(&p->dst), p->stride, p->pad_l, p->pad_r, cpu.attr);
}

static dnnl_status_t find_conv(dnnl_primitive_desc_t *pd, const struct conv_parts *p,
                               enum ck_conv_pass pass)
{
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t status = find_forward(pass == CK_CONV_FORWARD ? pd : &hint, p);
    ck_cmd src = ck_md_lend(&p->src), weights = ck_md_lend(&p->weights),
           dst = ck_md_lend(&p->dst);
    if (!status && pass == CK_CONV_DATA)
        status = ck_pd_conv_data(pd, cpu.engine, p->algorithm, src, weights, dst, p->stride,
                                 p->pad_l, p->pad_r, hint, cpu.attr);
    if (!status && pass == CK_CONV_WEIGHTS)
        status = ck_pd_conv_weights(pd, cpu.engine, p->algorithm, src, weights, dst, p->stride,
                                    p->pad_l, p->pad_r, hint, cpu.attr);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    return status;
}

static const struct arg_row conv_args[CK_CONV_PASSES][5] = {
    {{CK_ARG_SRC, DNNL_ARG_SRC, dnnl_query_src_md},
     {CK_ARG_WEIGHTS, DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
     {CK_ARG_DST, DNNL_ARG_DST, dnnl_query_dst_md},
     {-1, 0, dnnl_query_undef}},
    {{CK_ARG_SRC, DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md},
     {CK_ARG_WEIGHTS, DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
     {CK_ARG_DST, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md},
     {-1, 0, dnnl_query_undef}},
    {{CK_ARG_SRC, DNNL_ARG_SRC, dnnl_query_src_md},
     {CK_ARG_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md},
     {CK_ARG_DST, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md},
     {-1, 0, dnnl_query_undef}},
};

int ck_dnn_conv_new(struct ck_dnn_op **out, const struct ck_conv_shape *s,
                    enum ck_conv_pass pass, const struct ck_format *src,
                    const struct ck_format *dst, int winograd)
{
    int rc = COKE_OK;
    struct conv_parts parts;
    dnnl_primitive_desc_t pd = NULL;
    memset(&parts, 0, sizeof parts);
    *out = NULL;
    CK_TRY(engine_up());
    parts.algorithm = winograd ? dnnl_convolution_winograd : dnnl_convolution_direct;
    dnnl_status_t status = make_parts(&parts, s, src, dst);
    if (!status)
        status = find_conv(&pd, &parts, pass);
    if (status == dnnl_out_of_memory)
        CK_FAIL(COKE_ENOMEM, "oneDNN: convolution: out of memory");
    if (status)
        CK_FAIL(COKE_EUSAGE,
                "oneDNN has no convolution %lld -> %lld channels, kernel %lld, stride %lld, "
                "image %lldx%lld (status %d)",
                (long long)s->ic, (long long)s->oc, (long long)s->kernel, (long long)s->stride,
                (long long)s->ih, (long long)s->iw, (int)status);
    CK_TRY(finish(out, pd, conv_args[pass]));
done:
    if (rc) {
        ck_dnn_op_free(*out);
        *out = NULL;
    }
    release_parts(&parts);
    return rc;
}

/* ---- layout conversions ---- */

int ck_reorder_new(struct ck_dnn_op **out, const struct ck_format *from,
                   const struct ck_format *to)
{
    static const struct arg_row args[] = {{CK_ARG_SRC, DNNL_ARG_FROM, dnnl_query_src_md},
                                          {CK_ARG_DST, DNNL_ARG_TO, dnnl_query_dst_md},
                                          {-1, 0, dnnl_query_undef}};
    dnnl_primitive_desc_t pd = NULL;
    *out = NULL;
    int rc = engine_up();
    if (rc)
        return rc;
    dnnl_status_t s = dnnl_reorder_primitive_desc_create(
        &pd, ck_md_lend(&from->md), cpu.engine, ck_md_lend(&to->md), cpu.engine, cpu.attr);
    return s ? fail_dnn("layout conversion", s) : finish(out, pd, args);
}
