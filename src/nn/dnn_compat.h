/* dnn_compat.h - oneDNN 2.6, 2.7 and 3.x behind one interface; included by dnn.c only.
 *
 * In 2.x a memory descriptor is a struct, and an operation is described before its primitive
 * descriptor is created; in 3.x the descriptor is a pointer, and one call does both. `ck_md` is
 * owned, `ck_cmd` is borrowed. */
#ifndef CK_DNN_COMPAT_H
#define CK_DNN_COMPAT_H

#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR < 2 || (DNNL_VERSION_MAJOR == 2 && DNNL_VERSION_MINOR < 6)
#error "oneDNN 2.6 or newer is needed"
#endif

#if DNNL_VERSION_MAJOR >= 3

typedef dnnl_memory_desc_t ck_md;
typedef const_dnnl_memory_desc_t ck_cmd;

static inline dnnl_status_t ck_md_tag(ck_md *md, int ndims, const dnnl_dims_t dims,
                                      dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_create_with_tag(md, ndims, dims, type, tag);
}

static inline dnnl_status_t ck_md_copy(ck_md *to, ck_cmd from)
{
    return dnnl_memory_desc_clone(to, from);
}

static inline void ck_md_release(ck_md *md)
{
    if (*md)
        dnnl_memory_desc_destroy(*md);
    *md = NULL;
}

static inline ck_cmd ck_md_lend(const ck_md *md)
{
    return *md;
}

static inline dnnl_status_t ck_pd_conv_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t e,
                                               dnnl_prop_kind_t prop, dnnl_alg_kind_t alg,
                                               ck_cmd src, ck_cmd weights, ck_cmd bias,
                                               ck_cmd dst, const dnnl_dims_t stride,
                                               const dnnl_dims_t pad_l, const dnnl_dims_t pad_r,
                                               dnnl_primitive_attr_t attr)
{
    const dnnl_dims_t dense = {0};
    return dnnl_convolution_forward_primitive_desc_create(
        pd, e, prop, alg, src, weights, bias, dst, stride, dense, pad_l, pad_r, attr);
}

static inline dnnl_status_t ck_pd_conv_data(dnnl_primitive_desc_t *pd, dnnl_engine_t e,
                                            dnnl_alg_kind_t alg, ck_cmd diff_src,
                                            ck_cmd weights, ck_cmd diff_dst,
                                            const dnnl_dims_t stride, const dnnl_dims_t pad_l,
                                            const dnnl_dims_t pad_r, dnnl_primitive_desc_t hint,
                                            dnnl_primitive_attr_t attr)
{
    const dnnl_dims_t dense = {0};
    return dnnl_convolution_backward_data_primitive_desc_create(
        pd, e, alg, diff_src, weights, diff_dst, stride, dense, pad_l, pad_r, hint, attr);
}

static inline dnnl_status_t
ck_pd_conv_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t e, dnnl_alg_kind_t alg, ck_cmd src,
                   ck_cmd diff_weights, ck_cmd diff_dst, const dnnl_dims_t stride,
                   const dnnl_dims_t pad_l, const dnnl_dims_t pad_r, dnnl_primitive_desc_t hint,
                   dnnl_primitive_attr_t attr)
{
    const dnnl_dims_t dense = {0};
    return dnnl_convolution_backward_weights_primitive_desc_create(
        pd, e, alg, src, diff_weights, NULL, diff_dst, stride, dense, pad_l, pad_r, hint, attr);
}

#else

typedef dnnl_memory_desc_t ck_md;
typedef const dnnl_memory_desc_t *ck_cmd;

static inline dnnl_status_t ck_md_tag(ck_md *md, int ndims, const dnnl_dims_t dims,
                                      dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_init_by_tag(md, ndims, dims, type, tag);
}

static inline dnnl_status_t ck_md_copy(ck_md *to, ck_cmd from)
{
    *to = *from;
    return dnnl_success;
}

static inline void ck_md_release(ck_md *md)
{
    (void)md;
}

static inline ck_cmd ck_md_lend(const ck_md *md)
{
    return md;
}

static inline dnnl_status_t ck_pd_conv_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t e,
                                               dnnl_prop_kind_t prop, dnnl_alg_kind_t alg,
                                               ck_cmd src, ck_cmd weights, ck_cmd bias,
                                               ck_cmd dst, const dnnl_dims_t stride,
                                               const dnnl_dims_t pad_l, const dnnl_dims_t pad_r,
                                               dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t s = dnnl_convolution_forward_desc_init(&d, prop, alg, src, weights, bias, dst,
                                                         stride, pad_l, pad_r);
    return s ? s : dnnl_primitive_desc_create(pd, &d, attr, e, NULL);
}

static inline dnnl_status_t ck_pd_conv_data(dnnl_primitive_desc_t *pd, dnnl_engine_t e,
                                            dnnl_alg_kind_t alg, ck_cmd diff_src,
                                            ck_cmd weights, ck_cmd diff_dst,
                                            const dnnl_dims_t stride, const dnnl_dims_t pad_l,
                                            const dnnl_dims_t pad_r, dnnl_primitive_desc_t hint,
                                            dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t s = dnnl_convolution_backward_data_desc_init(&d, alg, diff_src, weights,
                                                               diff_dst, stride, pad_l, pad_r);
    return s ? s : dnnl_primitive_desc_create(pd, &d, attr, e, hint);
}

static inline dnnl_status_t
ck_pd_conv_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t e, dnnl_alg_kind_t alg, ck_cmd src,
                   ck_cmd diff_weights, ck_cmd diff_dst, const dnnl_dims_t stride,
                   const dnnl_dims_t pad_l, const dnnl_dims_t pad_r, dnnl_primitive_desc_t hint,
                   dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t s = dnnl_convolution_backward_weights_desc_init(
        &d, alg, src, diff_weights, NULL, diff_dst, stride, pad_l, pad_r);
    return s ? s : dnnl_primitive_desc_create(pd, &d, attr, e, hint);
}

#endif
#endif
