/* kept_loss.c - cross-entropy to centers that leaves out images without a label: moves the others
 * together and hands them to ck_loss, head by head. */
#include "nn/kept_loss.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

struct ck_kept_loss {
    struct ck_loss_shape shape; /* k is not kept */
    struct ck_loss **head;      /* [heads] of one head each */
    float *x, *grad;            /* [views][max_n][dim] of the images kept */
    int32_t *label;             /* [max_n] */
    int64_t *image;             /* [max_n] where they came from */
};

int ck_kept_loss_new(struct ck_kept_loss **out, const struct ck_loss_shape *shape,
                     double temperature)
{
    int rc = COKE_OK;
    struct ck_loss_options o = ck_loss_options_default();
    struct ck_kept_loss *l = ck_calloc_array(1, sizeof *l);
    size_t rows = (size_t)shape->views * (size_t)shape->max_n * (size_t)shape->dim;
    *out = NULL;
    if (!l)
        return COKE_ENOMEM;
    l->shape = *shape;
    o.temperature = temperature;
    o.alpha = 1;
    o.beta = 0;
    l->head = ck_calloc_array((size_t)shape->heads, sizeof(struct ck_loss *));
    l->x = ck_alloc_array(rows, sizeof *l->x);
    l->grad = ck_alloc_array(rows, sizeof *l->grad);
    l->label = ck_alloc_array((size_t)shape->max_n, sizeof *l->label);
    l->image = ck_alloc_array((size_t)shape->max_n, sizeof *l->image);
    if (!l->head || !l->x || !l->grad || !l->label || !l->image)
        CK_LEAVE(COKE_ENOMEM);
    for (int h = 0; h < shape->heads; h++) {
        struct ck_loss_shape one = *shape;
        one.heads = 1;
        one.k = shape->k + h;
        one.large = shape->views;
        CK_TRY(ck_loss_new(&l->head[h], &one, &o));
    }
    *out = l;
    l = NULL;
done:
    ck_kept_loss_free(l);
    return rc;
}

void ck_kept_loss_free(struct ck_kept_loss *l)
{
    if (!l)
        return;
    for (int h = 0; l->head && h < l->shape.heads; h++)
        ck_loss_free(l->head[h]);
    ck_free(l->head);
    ck_free(l->x);
    ck_free(l->grad);
    ck_free(l->label);
    ck_free(l->image);
    ck_free(l);
}

/* Returns the number of images with a label. */
static int64_t collect(struct ck_kept_loss *l, const struct ck_loss_input *in, int h)
{
    int64_t kept = 0, dim = l->shape.dim;
    for (int64_t i = 0; i < in->n; i++)
        if (in->targets[h].label[i] >= 0) {
            l->label[kept] = in->targets[h].label[i];
            l->image[kept++] = i;
        }
    for (int v = 0; v < l->shape.views; v++)
        for (int64_t i = 0; i < kept; i++)
            memcpy(l->x + (v * kept + i) * dim, in->proj + (v * in->n + l->image[i]) * dim,
                   (size_t)dim * sizeof *l->x);
    return kept;
}

static void add_gradients(const struct ck_kept_loss *l, int64_t kept, int64_t n, float *to)
{
    int64_t dim = l->shape.dim;
    float fraction = 1 / (float)l->shape.heads;
    for (int v = 0; v < l->shape.views; v++)
        for (int64_t i = 0; i < kept * dim; i++)
            to[(v * n + l->image[i / dim]) * dim + i % dim] +=
                fraction * l->grad[v * kept * dim + i];
}

int ck_kept_loss_step(struct ck_kept_loss *l, const struct ck_loss_input *in,
                      struct ck_loss_output *out)
{
    out->loss = 0;
    if (out->grad_proj)
        memset(out->grad_proj, 0,
               (size_t)(l->shape.views * in->n * l->shape.dim) * sizeof *out->grad_proj);
    for (int h = 0; h < l->shape.heads; h++) {
        int64_t kept = collect(l, in, h);
        struct ck_targets target = {.n = kept, .slots = 1, .label = l->label};
        double loss = 0, accuracy = 0;
        struct ck_loss_input one = {kept, l->x, NULL, in->centers + h, &target};
        struct ck_loss_output got = {.grad_proj = out->grad_proj ? l->grad : NULL,
                                     .head_loss = &loss,
                                     .accuracy = &accuracy};
        if (kept > 0)
            CK_RETURN_IF(ck_loss_step(l->head[h], &one, &got));
        if (kept > 0 && out->grad_proj)
            add_gradients(l, kept, in->n, out->grad_proj);
        out->head_loss[h] = loss;
        if (out->accuracy)
            out->accuracy[h] = accuracy;
        out->loss += loss / l->shape.heads;
    }
    return COKE_OK;
}
