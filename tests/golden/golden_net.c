/* golden_net.c - recorded passes through whole networks: ResNets, and the MLPs with a step of
 * the optimiser. */
#include "coke.h"
#include "golden_net.h"
#include "nn/loss.h"
#include "nn/mlp.h"
#include "nn/optimizer.h"
#include "nn/plan.h"
#include "nn/resnet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(struct golden_report *r, const char *words)
{
    snprintf(r->text, sizeof r->text, "%s (%s)", words, coke_last_error());
    return -1;
}

/* ---- weights and data from the recordings' hash (golden README) ---- */

static uint32_t key_of(const char *name, uint32_t seed)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h + seed * 0x85EBCA6Bu;
}

static double hash_unit(uint32_t key, int64_t i)
{
    uint32_t x = key + (uint32_t)i * 0x9E3779B9u;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    return (2.0 * (double)(x >> 8) + 1 - 16777216) / 16777216;
}

static float *hash_array(const char *name, uint32_t seed, int64_t n)
{
    float *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)hash_unit(key_of(name, seed), i);
    return x;
}

static void hash_param(struct ck_param *p, uint32_t seed, int is_norm, const char *prefix)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, p->name);
    uint32_t key = key_of(name, seed);
    double fan_in = (double)(p->size / p->shape[0]);
    int bias = strstr(p->name, "bias") != NULL;
    for (int64_t i = 0; i < p->size; i++) {
        double u = hash_unit(key, i);
        p->value[i] = (float)(p->ndim >= 2       ? sqrt(3 / fan_in) * u
                              : is_norm && !bias ? 1 + 0.1 * u
                                                 : 0.1 * u);
    }
    p->version++;
}

static void hash_net(struct ck_net *net, uint32_t seed, const char *prefix)
{
    for (int i = 0; i < net->nnodes; i++) {
        const struct ck_node *v = &net->node[i];
        int n = v->kind == CK_LAYER_CONV ? 1 : 2;
        for (int j = 0; v->param >= 0 && j < n; j++)
            hash_param(&net->param[v->param + j], seed, v->kind == CK_LAYER_NORM,
                       strncmp(v->name, "fc.", 3) == 0 ? prefix : "");
    }
}

/* ---- ResNets ---- */

/* Largest |got - want| over the arrays, and the relative distance. */
static int near_enough(struct golden_net *p, const char *what, const float *got,
                       const float *want, int64_t n, double absolute, double relative)
{
    double far = 0, base = 0, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)got[i] - (double)want[i];
        if (!(fabs(d) <= worst))
            worst = fabs(d);
        far += d * d;
        base += (double)want[i] * (double)want[i];
    }
    p->r->compared += n;
    p->r->apart = worst > p->r->apart ? worst : p->r->apart;
    if (worst <= absolute && far <= relative * relative * base)
        return 0;
    snprintf(p->r->text, sizeof p->r->text,
             "%s: %g at most and %g relative apart, allowed are %g and %g", what, worst,
             sqrt(far / base), absolute, relative);
    return -1;
}

static int compare(struct golden_net *p, const char *name, const float *got, double absolute,
                   double relative)
{
    /* The double run is the truth; the recorded f32 one is as far from it as we may be. */
    const struct golden_array *want = golden_array(p->c, "%s_f64", name);
    if (!want)
        return refuse(p->r, name);
    return near_enough(p, name, got, want->f, want->n, absolute, relative);
}

/* A rounding that flips a ReLU changes gradients by a jump; the recordings' own f32 runs differ
 * from the double ones by up to 1.6e-3 (ResNet-18) and 3.5e-2 (ResNet-50) over seeds. Which ReLUs
 * were on is not recorded: golden_gradients.c fixes them and compares to 1e-5. */
struct tolerance {
    double output, gradients, norms, eval_gradients;
};

static struct tolerance tolerance_of(const struct golden_case *c)
{
    const char *arch = json_string_value(json_object_get(c->hyper, "arch"));
    if (strncmp(arch, "resnet50", 8) == 0)
        return (struct tolerance){2e-3, 1e-1, 3e-2, 2e-3};
    return (struct tolerance){1e-4, 5e-3, 2e-3, 2e-3};
}

/* Norms and first 8 values of all gradients in the manifest's order. */
static int compare_grads(struct golden_net *p, const char *suffix, double relative,
                         double norms)
{
    const json_t *list = json_object_get(p->c->manifest, "params");
    int64_t n = (int64_t)json_array_size(list);
    float *norm = calloc((size_t)n, sizeof *norm),
          *first = calloc((size_t)n * 8, sizeof *first);
    char name[64];
    int rc = 0;
    for (int64_t i = 0; i < n && !rc; i++) {
        const json_t *row = json_array_get(list, (size_t)i);
        const struct ck_param *q =
            ck_net_param(&p->net, json_string_value(json_object_get(row, "name")));
        if (!q || q->size != json_integer_value(json_object_get(row, "size"))) {
            rc = refuse(p->r, json_string_value(json_object_get(row, "name")));
            break;
        }
        double sum = 0;
        for (int64_t j = 0; j < q->size; j++)
            sum += (double)q->grad[j] * (double)q->grad[j];
        norm[i] = (float)sqrt(sum);
        for (int64_t j = 0; j < 8 && j < q->size; j++)
            first[i * 8 + j] = q->grad[j];
    }
    snprintf(name, sizeof name, "grad_norm%s", suffix);
    if (!rc)
        rc = compare(p, name, norm, 1e30, norms);
    snprintf(name, sizeof name, "grad_first8%s", suffix);
    if (!rc)
        rc = compare(p, name, first, 1e30, relative);
    free(norm);
    free(first);
    return rc;
}

static int compare_running(struct golden_net *p, double absolute)
{
    const json_t *list = json_object_get(p->c->manifest, "buffers");
    const struct golden_array *want = golden_array(p->c, "running_f64");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(row, "name"));
        int64_t at = json_integer_value(json_object_get(row, "offset"));
        if (strncmp(name, "encoder.", 8) == 0)
            name += 8;
        const struct ck_param *b = NULL;
        for (int j = 0; j < p->net.nbuffers; j++)
            if (strcmp(p->net.buffer[j].name, name) == 0)
                b = &p->net.buffer[j];
        if (!b || b->size != json_integer_value(json_object_get(row, "size")))
            return refuse(p->r, name);
        if (near_enough(p, name, b->value, want->f + at, b->size, absolute, 1e-3))
            return -1;
    }
    return 0;
}

struct ck_plan_request golden_net_request(const struct golden_net *p, int train, int backward)
{
    struct ck_plan_request q = ck_plan_request_default();
    q.n = p->n;
    q.h = q.w = p->size;
    q.dtype = p->dtype;
    q.train = train;
    q.backward = backward;
    q.input_grad = backward;
    q.want[q.nwant++] = p->fc;
    q.grad[q.ngrad++] = p->fc;
    return q;
}

static int run_pass(struct golden_net *p, struct ck_plan **plan, int train, int backward,
                    const int *taps, int ntaps)
{
    struct ck_plan_request q = golden_net_request(p, train, backward);
    for (int i = 0; i < ntaps; i++)
        q.want[q.nwant++] = taps[i];
    const float *seeds[] = {p->seed};
    ck_net_zero_grad(&p->net);
    int rc = ck_plan_new(plan, &p->net, &q);
    if (!rc)
        rc = ck_plan_forward(*plan, p->images);
    if (!rc && backward)
        rc = ck_plan_backward(*plan, seeds);
    return rc ? refuse(p->r, "pass") : 0;
}

static int compare_activation(struct golden_net *p, struct ck_plan *plan, int node, int64_t at)
{
    const struct golden_array *norms = golden_array(p->c, "act_norm_f64");
    const struct golden_array *first = golden_array(p->c, "act_first8_f64");
    int64_t n = ck_plan_elements(plan, node);
    float *x = malloc((size_t)n * sizeof *x), norm;
    double sum = 0;
    if (ck_plan_read(plan, node, x))
        return refuse(p->r, p->net.node[node].name);
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    norm = (float)sqrt(sum);
    int rc = near_enough(p, p->net.node[node].name, &norm, norms->f + at, 1, 1e30, 1e-4);
    if (!rc)
        rc = near_enough(p, p->net.node[node].name, x, first->f + at * 8, 8,
                         tolerance_of(p->c).output * 2, 1);
    free(x);
    return rc;
}

/* In groups of what a plan yields at once. A pass with taps in it is fused differently. */
static int compare_activations(struct golden_net *p)
{
    const json_t *list = json_object_get(p->c->manifest, "activation_points");
    int rc = 0;
    int64_t n = (int64_t)json_array_size(list);
    for (int64_t from = 0; from < n && !rc; from += CK_PLAN_NODES - 1) {
        struct ck_plan *plan = NULL;
        int taps[CK_PLAN_NODES], ntaps = 0;
        int64_t at[CK_PLAN_NODES];
        for (int64_t i = from; i < n && ntaps < CK_PLAN_NODES - 1; i++) {
            const char *name =
                json_string_value(json_object_get(json_array_get(list, (size_t)i), "point"));
            int node = ck_net_find(&p->net, name);
            if (node < 0)
                return refuse(p->r, name);
            at[ntaps] = i;
            taps[ntaps++] = node;
        }
        rc = run_pass(p, &plan, 1, 0, taps, ntaps);
        for (int i = 0; i < ntaps && !rc; i++)
            rc = compare_activation(p, plan, taps[i], at[i]);
        ck_plan_free(plan);
    }
    return rc;
}

static int check_eval(struct golden_net *p, const char *name, int backward)
{
    struct ck_plan *plan = NULL;
    struct tolerance t = tolerance_of(p->c);
    int rc = run_pass(p, &plan, 0, backward, NULL, 0);
    if (!rc)
        rc = compare(p, name, ck_plan_vector(plan, p->fc), t.output, 1e-3);
    if (!rc && backward)
        rc = compare_grads(p, "_eval", t.eval_gradients, t.eval_gradients);
    ck_plan_free(plan);
    return rc;
}

static int check_train(struct golden_net *p)
{
    struct ck_plan *plan = NULL;
    struct tolerance t = tolerance_of(p->c);
    const struct golden_array *grad = golden_array(p->c, "grad_input_f64");
    float *got = malloc((size_t)(p->n * grad->n) * sizeof *got), loss = 0;
    int rc = run_pass(p, &plan, 1, 1, NULL, 0);
    if (!rc) {
        const float *y = ck_plan_vector(plan, p->fc);
        for (int64_t i = 0; i < p->n * p->classes; i++)
            loss += y[i] * p->seed[i];
        rc = compare(p, "output_train", y, t.output, 1e-2);
    }
    if (!rc)
        rc = compare(p, "loss", &loss, t.output * 10, 1e-2);
    if (!rc)
        rc = compare_grads(p, "", t.gradients, t.norms);
    if (!rc && ck_plan_read_input_grad(plan, got))
        rc = refuse(p->r, "grad_input");
    if (!rc)
        rc = compare(p, "grad_input", got, 1e30, t.gradients);
    if (!rc)
        rc = compare_running(p, t.output);
    free(got);
    ck_plan_free(plan);
    return rc;
}

static int build_resnet(struct golden_net *p)
{
    const char *arch = json_string_value(json_object_get(p->c->hyper, "arch"));
    static const char *const names[] = {"resnet18", "resnet34", "resnet50"};
    struct ck_resnet_options o = {CK_RESNET18, CK_STEM_IMAGENET, 1, 3};
    int known = 0;
    for (int i = 0; i < 3; i++)
        if (strncmp(arch, names[i], strlen(names[i])) == 0) {
            o.arch = (enum ck_arch)i;
            known = 1;
        }
    if (strstr(arch, "cifar"))
        o.stem = CK_STEM_CIFAR;
    int features = known ? ck_resnet_build(&p->net, &o) : -1;
    ck_net_tap(&p->net, features, "avgpool");
    p->fc = ck_net_linear(&p->net, "fc", features, p->classes);
    return p->fc < 0 ? refuse(p->r, arch) : 0;
}

int golden_net_init(struct golden_net *p, const struct golden_case *c, struct golden_report *r)
{
    uint32_t seed = (uint32_t)golden_number(c, "hash_seed", 0);
    *r = (struct golden_report){.compared = 0};
    *p = (struct golden_net){.c = c,
                             .r = r,
                             .dtype = CK_F32,
                             .n = (int64_t)golden_number(c, "batch", 0),
                             .size = (int64_t)golden_number(c, "size", 0),
                             .classes = (int64_t)golden_number(c, "num_classes", 0)};
    if (build_resnet(p))
        return -1;
    p->images = hash_array("input", seed, p->n * 3 * p->size * p->size);
    p->seed = hash_array("grad_output", seed, p->n * p->classes);
    hash_net(&p->net, seed, "");
    return 0;
}

void golden_net_release(struct golden_net *p)
{
    free(p->images);
    free(p->seed);
    ck_net_release(&p->net);
}

int golden_check_net(const struct golden_case *c, struct golden_report *r)
{
    struct golden_net p;
    int rc = golden_net_init(&p, c, r);
    if (!rc)
        rc = check_eval(&p, "output_eval_before", 1);
    if (!rc)
        rc = check_train(&p);
    if (!rc)
        rc = check_eval(&p, "output_eval_after", 0);
    if (!rc)
        rc = compare_activations(&p);
    golden_net_release(&p);
    return rc;
}

/* ---- MLPs: forward, loss, backward and one step of LARS ---- */

struct heads {
    struct golden_net p; /* net, batch, report */
    int raw, proj, pred_raw, pred;
    int64_t in, dim;
    struct ck_plan *plan;
};

static int build_heads(struct heads *h, uint32_t seed)
{
    struct ck_net *net = &h->p.net;
    /* Features come as images of one pixel, whose mean they are. */
    int x = ck_net_mean(net, ck_net_input(net, h->in));
    struct ck_encoder_options o = ck_encoder_options_default();
    o.dim = h->dim;
    struct ck_layers projector = ck_projector_layers(&o, h->in),
                     predictor = ck_predictor_layers(&o, h->in);
    h->raw = ck_mlp_build(net, "fc", x, &projector);
    h->proj = ck_net_unit(net, h->raw);
    h->pred_raw = ck_mlp_build(net, "predictor", h->raw, &predictor);
    h->pred = ck_net_unit(net, h->pred_raw);
    if (h->pred < 0)
        return refuse(h->p.r, "building");
    hash_net(net, seed, "encoder.");
    struct ck_plan_request q = ck_plan_request_default();
    q.n = h->p.n;
    q.h = q.w = 1;
    q.train = q.backward = q.input_grad = 1;
    int nodes[] = {h->proj, h->pred, h->raw, h->pred_raw};
    memcpy(q.want, nodes, sizeof nodes);
    q.nwant = 4;
    memcpy(q.grad, nodes, 2 * sizeof *nodes);
    q.ngrad = 2;
    return ck_plan_new(&h->plan, net, &q) ? refuse(h->p.r, "plan") : 0;
}

static int heads_loss(struct heads *h, float *grad_proj, float *grad_pred)
{
    const struct golden_case *c = h->p.c;
    const struct golden_array *labels = golden_array(c, "labels");
    int heads = (int)golden_number(c, "num_head", 1);
    int64_t k[COKE_MAX_HEADS];
    float *centers[COKE_MAX_HEADS];
    struct ck_targets targets[COKE_MAX_HEADS];
    double head_loss[COKE_MAX_HEADS];
    for (int i = 0; i < heads; i++) {
        const struct golden_array *a = golden_array(c, "centers_%d", i);
        k[i] = golden_item(c, "K", i);
        centers[i] = malloc((size_t)(k[i] * h->dim) * sizeof **centers);
        for (int64_t j = 0; j < k[i]; j++)
            for (int64_t d = 0; d < h->dim; d++)
                centers[i][j * h->dim + d] = a->f[d * k[i] + j];
        targets[i] = (struct ck_targets){h->p.n, 1, labels->i + i * h->p.n, NULL, 0};
    }
    struct ck_loss_options o = ck_loss_options_default();
    o.temperature = golden_number(c, "T", 0);
    o.beta = golden_number(c, "beta", 0);
    struct ck_loss_shape shape = {1, 1, h->p.n, (int)h->dim, heads, k};
    struct ck_loss_input in = {h->p.n, ck_plan_vector(h->plan, h->proj),
                               ck_plan_vector(h->plan, h->pred), (const float *const *)centers,
                               targets};
    struct ck_loss_output out = {
        .grad_proj = grad_proj, .grad_pred = grad_pred, .head_loss = head_loss};
    struct ck_loss *l = NULL;
    int rc = ck_loss_new(&l, &shape, &o);
    if (!rc)
        rc = ck_loss_step(l, &in, &out);
    float value = (float)out.loss;
    rc = rc ? refuse(h->p.r, "loss") : compare(&h->p, "loss", &value, 5e-6, 1e-5);
    ck_loss_free(l);
    for (int i = 0; i < heads; i++)
        free(centers[i]);
    return rc;
}

/* All values or gradients in the manifest's order. */
static int compare_params(struct heads *h, const char *name, int grads, double absolute)
{
    const json_t *list = json_object_get(h->p.c->manifest, "params");
    const struct golden_array *want = golden_array(h->p.c, "%s_f64", name);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const char *full = json_string_value(json_object_get(row, "name"));
        const struct ck_param *q =
            ck_net_param(&h->p.net, strncmp(full, "encoder.", 8) ? full : full + 8);
        int64_t at = json_integer_value(json_object_get(row, "offset"));
        if (!q || q->size != json_integer_value(json_object_get(row, "size")))
            return refuse(h->p.r, full);
        if (near_enough(&h->p, full, grads ? q->grad : q->value, want->f + at, q->size,
                        absolute, 1e30))
            return -1;
    }
    return 0;
}

static int step_heads(struct heads *h)
{
    const struct golden_case *c = h->p.c;
    struct ck_optimizer_options o = {.kind = CK_LARS,
                                     .momentum = golden_number(c, "momentum", 0),
                                     .weight_decay = golden_number(c, "weight_decay", 0),
                                     .trust = golden_number(c, "trust_coefficient", 0)};
    struct ck_optimizer *optim = NULL;
    int rc = ck_optimizer_new(&optim, h->p.net.param, h->p.net.nparams, &o);
    if (!rc)
        rc = ck_optimizer_step(optim, golden_number(c, "lr", 0), 1, 1);
    ck_optimizer_free(optim);
    return rc ? refuse(h->p.r, "step") : 0;
}

static int run_heads(struct heads *h)
{
    int64_t n = h->p.n * h->dim;
    float *grad_proj = malloc((size_t)n * sizeof *grad_proj);
    float *grad_pred = malloc((size_t)n * sizeof *grad_pred);
    float *grad_input = malloc((size_t)(h->p.n * h->in) * sizeof *grad_input);
    const float *seeds[] = {grad_proj, grad_pred};
    int rc = ck_plan_forward(h->plan, golden_array(h->p.c, "input")->f)
                 ? refuse(h->p.r, "forward")
                 : 0;
    if (!rc)
        rc = compare(&h->p, "proj", ck_plan_vector(h->plan, h->raw), 1e-5, 1e-5);
    if (!rc)
        rc = compare(&h->p, "pred", ck_plan_vector(h->plan, h->pred_raw), 1e-5, 1e-5);
    if (!rc)
        rc = heads_loss(h, grad_proj, grad_pred);
    if (!rc &&
        (ck_plan_backward(h->plan, seeds) || ck_plan_read_input_grad(h->plan, grad_input)))
        rc = refuse(h->p.r, "backward");
    if (!rc)
        rc = compare(&h->p, "grad_input", grad_input, 1e-6, 1e-5);
    if (!rc)
        rc = compare_params(h, "grads", 1, 2e-6);
    if (!rc)
        rc = compare_running(&h->p, 1e-6);
    if (!rc)
        rc = step_heads(h);
    if (!rc)
        rc = compare_params(h, "params_after", 0, 1e-6);
    free(grad_proj);
    free(grad_pred);
    free(grad_input);
    return rc;
}

int golden_check_heads(const struct golden_case *c, struct golden_report *r)
{
    struct heads h = {.p = {.c = c, .r = r, .n = (int64_t)golden_number(c, "batch", 0)},
                      .in = (int64_t)golden_number(c, "dim_mlp", 0),
                      .dim = (int64_t)golden_number(c, "dim", 0)};
    *r = (struct golden_report){.compared = 0};
    int rc = build_heads(&h, (uint32_t)golden_number(c, "hash_seed", 0));
    if (!rc)
        rc = run_heads(&h);
    ck_plan_free(h.plan);
    ck_net_release(&h.p.net);
    return rc;
}
