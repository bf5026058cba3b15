/* golden_gradients.c - gradients of recorded ResNets, sharply.
 *
 * A flipped ReLU moves gradients by a jump, and which ReLUs were on is not recorded. So the
 * comparison has two steps: double arithmetic (naive_net.c) gives the recorded double run; and
 * the engine gives what double arithmetic does where ReLUs and maxima decide as in the engine
 * (naive_follow.h). Distances are l2 norms relative to the norm of what is expected. */
#include "coke.h"
#include "golden_net.h"
#include "unit/nn/naive_follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Double against double, and against double that was rounded to f32 for the file. */
static const double RECORDED = 1e-9, ROUNDED = 1e-7;
/* f32 against double, all gradients of parameters as one vector, and those of the images.
 * Measured: 7e-7 in evaluation; in training 6e-6, and 4e-4 for ResNet-50, whose last batch norms
 * see eight values per channel. unit/nn/test_gradients.c holds every tensor of ResNets that
 * magnify less to 1e-5. */
static const double F32 = 1e-5, F32_RESNET50_TRAINING = 1e-3;
/* bf16 against double: numbers are rounded by up to 4e-3 of themselves in every layer. Measured:
 * outputs 8e-3, in training 1.2e-2; gradients 1.2e-2, in training 2.5e-2. */
static const double BF16_OUTPUTS = .03, BF16_EVALUATION = .03, BF16_TRAINING = .08;

struct distance {
    double apart, norm; /* squared */
};

static void add(struct distance *d, double got, double want)
{
    d->apart += (got - want) * (got - want);
    d->norm += want * want;
}

static int judge(struct golden_report *r, const char *what, struct distance d, double tolerance)
{
    double apart = sqrt(d.apart / d.norm);
    r->compared++;
    r->apart = apart > r->apart ? apart : r->apart;
    return apart <= tolerance ? 0
                              : golden_refuse(r, "%s: %g apart in length, %g is allowed", what,
                                              apart, tolerance);
}

/* Both passes in double; follow: decisions are those of the engine. */
static void compute(struct naive *v, struct golden_net *p, int train, int follow)
{
    struct ck_plan_request q = golden_net_request(p, train, 1);
    naive_init(v, &p->net, p->n, p->size, p->size, train);
    for (int64_t i = 0; i < v->value[0].size; i++)
        v->value[0].x[i] = (double)p->images[i];
    if (follow)
        naive_follow(v, &p->net, &q, p->images);
    naive_forward(v);
    for (int64_t i = 0; i < v->value[p->fc].size; i++)
        v->value[p->fc].g[i] = (double)p->seed[i];
    naive_backward(v);
}

/* Norm and first 8 values of every gradient. */
static int compare_params(struct golden_net *p, const struct naive *v, const char *suffix)
{
    const struct golden_array *norm = golden_array(p->c, "grad_norm%s_f64", suffix);
    const struct golden_array *first = golden_array(p->c, "grad_first8%s_f64", suffix);
    const json_t *list = json_object_get(p->c->manifest, "params");
    struct distance norms = {0, 0}, values = {0, 0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
        const struct ck_param *q = ck_net_param(&p->net, name);
        if (!q)
            return golden_refuse(p->r, "there is no %s", name);
        const double *g = v->param_grad[q - p->net.param];
        double sum = 0;
        for (int64_t j = 0; j < q->size; j++)
            sum += g[j] * g[j];
        add(&norms, sqrt(sum), norm->d[i]);
        for (int64_t j = 0; j < 8 && j < q->size; j++)
            add(&values, g[j], first->d[(int64_t)i * 8 + j]);
    }
    return judge(p->r, "recorded norms", norms, RECORDED) ||
                   judge(p->r, "recorded gradients", values, RECORDED)
               ? -1
               : 0;
}

static int check_recorded(struct golden_net *p, int train)
{
    const struct golden_array *output =
        golden_array(p->c, train ? "output_train_f64" : "output_eval_before_f64");
    const struct golden_array *images = golden_array(p->c, "grad_input_f64");
    struct distance outputs = {0, 0}, pixels = {0, 0};
    struct naive v;
    compute(&v, p, train, 0);
    for (int64_t i = 0; i < output->n; i++)
        add(&outputs, v.value[p->fc].x[i], output->d[i]);
    int rc = judge(p->r, "recorded outputs", outputs, RECORDED);
    if (!rc)
        rc = compare_params(p, &v, train ? "" : "_eval");
    for (int64_t i = 0; i < images->n && train; i++)
        add(&pixels, v.value[0].g[i], (double)images->f[i]);
    if (!rc && train)
        rc = judge(p->r, "recorded gradients of the images", pixels, ROUNDED);
    naive_release(&v);
    return rc;
}

static int run_engine(struct golden_net *p, int train, float *output, float *images_grad)
{
    struct ck_plan_request q = golden_net_request(p, train, 1);
    struct ck_plan *plan = NULL;
    const float *seeds[] = {p->seed};
    ck_net_zero_grad(&p->net);
    int rc = ck_plan_new(&plan, &p->net, &q);
    if (!rc)
        rc = ck_plan_forward(plan, p->images);
    if (!rc)
        memcpy(output, ck_plan_vector(plan, p->fc),
               (size_t)(p->n * p->classes) * sizeof *output);
    if (!rc)
        rc = ck_plan_backward(plan, seeds);
    if (!rc)
        rc = ck_plan_read_input_grad(plan, images_grad);
    ck_plan_free(plan);
    return rc ? golden_refuse(p->r, "pass: %s", coke_last_error()) : 0;
}

static int is_resnet50(const struct golden_net *p)
{
    return strncmp(json_string_value(json_object_get(p->c->hyper, "arch")), "resnet50", 8) == 0;
}

static double bound_of(const struct golden_net *p, int train)
{
    if (p->dtype == CK_BF16)
        return train ? BF16_TRAINING : BF16_EVALUATION;
    return train && is_resnet50(p) ? F32_RESNET50_TRAINING : F32;
}

static int check_engine(struct golden_net *p, int train)
{
    double near = bound_of(p, train);
    struct distance outputs = {0, 0}, params = {0, 0}, pixels = {0, 0};
    struct naive v;
    compute(&v, p, train, 1);
    float *images_grad = malloc((size_t)v.value[0].size * sizeof *images_grad);
    float *output = malloc((size_t)(p->n * p->classes) * sizeof *output);
    int rc = run_engine(p, train, output, images_grad);
    for (int64_t i = 0; i < p->n * p->classes && !rc; i++)
        add(&outputs, (double)output[i], v.value[p->fc].x[i]);
    for (int i = 0; i < p->net.nparams && !rc; i++)
        for (int64_t j = 0; j < p->net.param[i].size; j++)
            add(&params, (double)p->net.param[i].grad[j], v.param_grad[i][j]);
    for (int64_t i = 0; i < v.value[0].size && !rc; i++)
        add(&pixels, (double)images_grad[i], v.value[0].g[i]);
    if (!rc)
        rc = judge(p->r, "outputs", outputs, p->dtype == CK_BF16 ? BF16_OUTPUTS : near);
    if (!rc)
        rc = judge(p->r, train ? "gradients in training" : "gradients in evaluation", params,
                   near);
    if (!rc)
        rc = judge(p->r, "gradients of the images", pixels, near);
    free(images_grad);
    free(output);
    naive_release(&v);
    return rc;
}

/* In training ResNet-50 magnifies roundings a hundredfold (F32_RESNET50_TRAINING), too much for
 * bf16: only its evaluation is compared. */
int golden_check_bf16(const struct golden_case *c, struct golden_report *r)
{
    struct golden_net p;
    int rc = golden_net_init(&p, c, r);
    p.dtype = CK_BF16;
    for (int train = 0; train < (is_resnet50(&p) ? 1 : 2) && !rc; train++)
        rc = check_engine(&p, train);
    golden_net_release(&p);
    return rc;
}

int golden_check_gradients(const struct golden_case *c, struct golden_report *r)
{
    struct golden_net p;
    int rc = golden_net_init(&p, c, r);
    /* Evaluation first: it was recorded with fresh running statistics. */
    for (int train = 0; train < 2 && !rc; train++) {
        rc = check_recorded(&p, train);
        if (!rc)
            rc = check_engine(&p, train);
    }
    golden_net_release(&p);
    return rc;
}
