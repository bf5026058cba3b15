/* conv.c - one pass of a convolution, computed by one of several algorithms. */
#include "nn/conv.h"
#include "core/error.h"
#include "core/workers.h"

#include <string.h>

/* oneDNN is fast for whole blocks of channels only. The blocks are padded with zeros anyway, so
 * it gets all their channels, and weights that are 0 there. */
static int64_t padded(int64_t channels)
{
    int64_t block = ck_dnn_block();
    return (channels + block - 1) / block * block;
}

/* Winograd reads the parameter as it is, without a copy in another layout. */
static int init_winograd(struct ck_conv *c, const struct ck_conv_shape *s)
{
    if (s->kernel != 3 || s->stride > 2 || s->pad != 1 || ck_dnn_block() != 16 ||
        !ck_wino_is_fast())
        return ck_fail(COKE_EUSAGE, "no Winograd convolution for this shape or CPU");
    size_t in = (size_t)(s->n * s->ih * s->iw), out = (size_t)(s->n * s->oh * s->ow);
    c->wino = (struct ck_wino_shape){s->n, s->ic, s->oc, s->ih, s->iw, s->stride == 2};
    c->scratch = ck_wino_scratch(&c->wino, (enum ck_wino_pass)c->pass, ck_threads());
    c->oc = s->oc;
    c->ic = s->ic;
    c->bytes[CK_ARG_SRC] = (size_t)padded(s->ic) * in * sizeof(float);
    c->bytes[CK_ARG_WEIGHTS] = (size_t)(s->oc * s->ic * 9) * sizeof(float);
    c->bytes[CK_ARG_DST] = (size_t)padded(s->oc) * out * sizeof(float);
    return COKE_OK;
}

/* Tiles convolve images of 32 channels per block; other convolutions of bf16 do not exist. */
static int init_tiles(struct ck_conv *c, const struct ck_conv_shape *s)
{
    struct ck_tiles_shape t = {s->n,  s->ic, s->ih,     s->iw,     s->oc,
                               s->oh, s->ow, s->kernel, s->stride, s->pad};
    int exists = c->pass == CK_CONV_WEIGHTS
                     ? ck_tiles_gradient_init(&c->gradient, &t)
                     : ck_tiles_init(&c->tiles, &t, (enum ck_tiles_pass)c->pass);
    if (!exists)
        return ck_fail(COKE_EUSAGE, "no bf16 convolution of %lldx%lld pixels with stride %lld",
                       (long long)s->kernel, (long long)s->kernel, (long long)s->stride);
    c->scratch = c->pass == CK_CONV_WEIGHTS
                     ? ck_tiles_gradient_scratch(&c->gradient, ck_threads())
                     : ck_tiles_scratch(&c->tiles, ck_threads());
    c->oc = s->oc;
    c->ic = s->ic;
    return COKE_OK;
}

/* src, the first layer's own format, is not padded. */
static int init_dnn(struct ck_conv *c, const struct ck_conv_shape *s,
                    const struct ck_format *src)
{
    int rc = COKE_OK;
    struct ck_conv_shape whole = *s;
    struct ck_format *in = NULL, *out = NULL;
    whole.ic = src ? s->ic : padded(s->ic);
    whole.oc = padded(s->oc);
    int64_t in_dims[4] = {s->n, whole.ic, s->ih, s->iw};
    int64_t out_dims[4] = {s->n, whole.oc, s->oh, s->ow};
    CK_TRY(ck_format_image(&in, in_dims, CK_BLOCKED));
    CK_TRY(ck_format_image(&out, out_dims, CK_BLOCKED));
    CK_TRY(ck_dnn_conv_new(&c->dnn, &whole, c->pass, src ? src : in, out, 0));
    c->oc = whole.oc;
    c->ic = whole.ic;
    c->scratch = ck_dnn_op_scratch(c->dnn);
    for (int i = 0; i < CK_DNN_ARGS; i++)
        c->bytes[i] = ck_format_bytes(ck_dnn_op_format(c->dnn, (enum ck_dnn_arg)i));
done:
    ck_format_free(in);
    ck_format_free(out);
    return rc;
}

int ck_conv_init(struct ck_conv *c, const struct ck_conv_shape *s, enum ck_conv_pass pass,
                 enum ck_dtype t, const struct ck_format *src, enum ck_conv_way way)
{
    memset(c, 0, sizeof *c);
    c->pass = pass;
    c->way = way;
    if (t == CK_BF16 || way == CK_ON_TILES)
        return t == CK_BF16 && way == CK_ON_TILES
                   ? init_tiles(c, s)
                   : ck_fail(COKE_EUSAGE, "tiles convolve bf16, and nothing else does");
    if (way != CK_WINOGRAD)
        return init_dnn(c, s, src);
    return src ? ck_fail(COKE_EUSAGE, "no Winograd convolution for the first layer")
               : init_winograd(c, s);
}

void ck_conv_release(struct ck_conv *c)
{
    ck_dnn_op_free(c->dnn);
    memset(c, 0, sizeof *c);
}

const struct ck_format *ck_conv_weights(const struct ck_conv *c)
{
    return c->dnn ? ck_dnn_op_format(c->dnn, CK_ARG_WEIGHTS) : NULL;
}

const char *ck_conv_how(const struct ck_conv *c)
{
    if (c->dnn)
        return ck_dnn_op_impl(c->dnn);
    return c->wino.n ? "winograd 4x4" : c->way == CK_ON_TILES ? ck_tiles_how() : "";
}

int ck_conv_takes_producer(const struct ck_conv *c)
{
    if (c->way == CK_ON_TILES)
        return c->pass != CK_CONV_WEIGHTS;
    return c->wino.n && ck_wino_takes_producer(&c->wino, (enum ck_wino_pass)c->pass);
}

const struct ck_tiles_conv *ck_conv_packing(const struct ck_conv *c)
{
    return c->tiles.s.n ? &c->tiles : NULL;
}

static void run_tiles(const struct ck_conv *c, void *const data[CK_DNN_ARGS],
                      const struct ck_wino_producer *producer, const struct ck_tiles_sums *sums,
                      void *scratch)
{
    struct ck_tiles_producer tiles = {producer ? producer->run : NULL,
                                      producer ? producer->arg : NULL};
    void *src = data[CK_ARG_SRC], *weights = data[CK_ARG_WEIGHTS], *dst = data[CK_ARG_DST];
    if (c->pass == CK_CONV_WEIGHTS)
        ck_tiles_gradient_run(&c->gradient, src, dst, 1, weights, scratch);
    else if (c->pass == CK_CONV_FORWARD)
        ck_tiles_run(&c->tiles, src, weights, dst, producer ? &tiles : NULL, sums, scratch);
    else
        ck_tiles_run(&c->tiles, dst, weights, src, producer ? &tiles : NULL, NULL, scratch);
}

/* Winograd and tiles add to the gradient of the weights; oneDNN overwrites it
 * (ck_conv_weights). */
int ck_conv_run(struct ck_conv *c, void *const data[CK_DNN_ARGS],
                const struct ck_wino_producer *producer, const struct ck_tiles_sums *sums,
                void *scratch)
{
    if (c->dnn)
        return ck_dnn_op_run(c->dnn, data, scratch);
    if (c->way == CK_ON_TILES) {
        run_tiles(c, data, producer, sums, scratch);
        return COKE_OK;
    }
    void *src = data[CK_ARG_SRC], *weights = data[CK_ARG_WEIGHTS], *dst = data[CK_ARG_DST];
    if (c->pass == CK_CONV_FORWARD)
        ck_wino_forward(&c->wino, src, weights, dst, producer, scratch);
    else if (c->pass == CK_CONV_DATA)
        ck_wino_data(&c->wino, dst, weights, src, producer, scratch);
    else
        ck_wino_weights(&c->wino, src, dst, 1, weights, scratch);
    return COKE_OK;
}
