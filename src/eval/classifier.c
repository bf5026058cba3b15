/* classifier.c - a backbone with a linear layer, trained end to end. */
#include "core/error.h"
#include "core/mem.h"
#include "eval/finetune.h"
#include "eval/probe.h"
#include "nn/mlp.h"
#include "nn/optimizer.h"
#include "nn/plan.h"

#include <string.h>

/* For larger images, normalized activations are recomputed instead of stored, to save
 * memory. */
enum { SMALL_IMAGE = 64, PLANS = 2 };

struct ck_classifier {
    struct coke_encoder e;
    int ready; /* e is initialized */
    int32_t classes;
    int64_t height, width, steps;
    struct ck_optimizer *optim;
    struct ck_plan *plan[PLANS]; /* for full batches, and for the last other size */
    int64_t n[PLANS];
    float *grad; /* [max][classes] gradient of the logits */
    int64_t max;
};

int ck_classifier_new(struct ck_classifier **out, const struct coke_encoder *e, int32_t classes,
                      int64_t height, int64_t width)
{
    int rc = COKE_OK;
    struct ck_encoder_options o = e->o;
    struct ck_classifier *c = ck_calloc_array(1, sizeof *c);
    *out = NULL;
    if (!c)
        return COKE_ENOMEM;
    c->classes = classes;
    c->height = height;
    c->width = width;
    o.projector = (struct ck_layers){.word = CK_PROJECTOR_LINEAR};
    o.dim = classes;
    o.predictor = (struct ck_layers){.word = CK_PREDICTOR_OFF};
    CK_TRY(ck_encoder_init(&c->e, &o));
    c->ready = 1;
    *out = c;
    c = NULL;
done:
    ck_classifier_free(c);
    return rc;
}

void ck_classifier_free(struct ck_classifier *c)
{
    if (!c)
        return;
    for (int i = 0; i < PLANS; i++)
        ck_plan_free(c->plan[i]);
    ck_optimizer_free(c->optim);
    if (c->ready)
        ck_encoder_release(&c->e);
    ck_free(c->grad);
    ck_free(c);
}

struct coke_encoder *ck_classifier_encoder(struct ck_classifier *c)
{
    return &c->e;
}

/* Parameters of the projector and the predictor, which a classifier does not copy. */
static int is_head(const char *name)
{
    return strncmp(name, "fc.", 3) == 0 || strncmp(name, "predictor.", 10) == 0;
}

static int copy_backbone(struct ck_classifier *c, const struct coke_encoder *e)
{
    struct ck_state all = {0}, own = {0};
    int rc = COKE_OK;
    CK_TRY(ck_net_save(&e->net, &all));
    for (int i = 0; i < all.ntensors; i++) {
        const struct ck_tensor *t = &all.tensor[i];
        if (!is_head(t->name))
            CK_TRY(ck_state_add(&own, t->name, t->dtype, t->ndim, t->shape, t->data));
    }
    CK_TRY(ck_net_load(&c->e.net, &own, "the encoder", "fc."));
done:
    ck_state_release(&all);
    ck_state_release(&own);
    return rc;
}

/* Initializes the last layer like the linear probe. */
static int draw_last_layer(struct ck_classifier *c, uint64_t seed)
{
    struct ck_param *w = ck_net_param(&c->e.net, "fc.weight");
    struct ck_param *b = ck_net_param(&c->e.net, "fc.bias");
    struct ck_probe_shape shape = {(int)w->shape[1], c->classes, 1};
    struct ck_probe *p;
    int rc = ck_probe_new(&p, &shape, 0, seed);
    if (rc)
        return rc;
    memcpy(w->value, ck_probe_weight(p), (size_t)w->size * sizeof *w->value);
    memset(b->value, 0, (size_t)b->size * sizeof *b->value);
    w->version++;
    b->version++;
    ck_probe_free(p);
    return COKE_OK;
}

int ck_classifier_begin(struct ck_classifier *c, const struct coke_encoder *e,
                        double weight_decay, uint64_t seed)
{
    struct ck_optimizer_options sgd = ck_optimizer_options_default();
    CK_RETURN_IF(copy_backbone(c, e));
    CK_RETURN_IF(draw_last_layer(c, seed));
    ck_optimizer_free(c->optim);
    c->optim = NULL;
    c->steps = 0;
    sgd.kind = CK_SGD;
    sgd.momentum = 0.9;
    sgd.weight_decay = weight_decay;
    CK_RETURN_IF(ck_optimizer_new(&c->optim, c->e.net.param, c->e.net.nparams, &sgd));
    CK_RETURN_IF(ck_optimizer_set_rate(c->optim, "fc.weight", 10));
    return ck_optimizer_set_rate(c->optim, "fc.bias", 10);
}

/* Returns the plan for n images, compiling it if needed; owned by c, valid until the next
 * call. */
static int find_plan(struct ck_classifier *c, int64_t n, struct ck_plan **out)
{
    struct ck_plan_request r = ck_plan_request_default();
    int slot = c->n[0] == n || c->n[0] == 0 ? 0 : 1;
    if (n > c->max) {
        ck_free(c->grad);
        c->max = 0;
        c->grad = ck_alloc_array((size_t)n, (size_t)c->classes * sizeof *c->grad);
        if (!c->grad)
            return COKE_ENOMEM;
        c->max = n;
    }
    if (c->n[slot] != n) {
        ck_plan_free(c->plan[slot]);
        c->plan[slot] = NULL;
        c->n[slot] = 0;
        r.n = n;
        r.h = c->height;
        r.w = c->width;
        r.train = r.backward = 1;
        r.recompute = c->width > SMALL_IMAGE;
        r.want[r.nwant++] = r.grad[r.ngrad++] = c->e.node[COKE_OUTPUT_LOGITS];
        CK_RETURN_IF(ck_plan_new(&c->plan[slot], &c->e.net, &r));
        c->n[slot] = n;
    }
    *out = c->plan[slot];
    return COKE_OK;
}

int ck_classifier_step(struct ck_classifier *c, const float *x, const int32_t *label, int64_t n,
                       double rate, struct ck_score *score)
{
    struct ck_plan *plan;
    if (n < 2)
        return COKE_OK;
    CK_RETURN_IF(find_plan(c, n, &plan));
    const float *seed[] = {c->grad};
    ck_net_zero_grad(&c->e.net);
    CK_RETURN_IF(ck_plan_forward(plan, x));
    CK_RETURN_IF(ck_score(ck_plan_vector(plan, c->e.node[COKE_OUTPUT_LOGITS]), label, n,
                          c->classes, c->grad, score));
    CK_RETURN_IF(ck_plan_backward(plan, seed));
    return ck_optimizer_step(c->optim, rate, 1, ++c->steps);
}
