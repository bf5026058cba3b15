/* golden_secu_loss.c - SeCu's recorded losses with their gradients, and its learning rates. */
#include "coke.h"
#include "golden_data.h"
#include "nn/center_loss.h"
#include "nn/loss.h"
#include "nn/unit.h"
#include "train/secu.h"

#include <stdlib.h>
#include <string.h>

/* As suggested with the recordings for float32; the float64 runs are met as closely. */
static const double LOSS = 2e-6, GRADIENT = 1e-6, RATE = 1e-12;

struct replay {
    const struct golden_case *c;
    struct golden_report *r;
    int heads, dim;
    int64_t n, k[COKE_MAX_HEADS];
    float *unit, *length, *grad; /* [2][n][dim] */
};

static float *read_centers(const struct replay *p, const char *what, int h)
{
    const struct golden_array *a = golden_array(p->c, "%s_%d", what, h);
    if (!a || a->n != p->k[h] * p->dim)
        return NULL;
    float *out = malloc((size_t)a->n * sizeof *out);
    for (int64_t i = 0; i < a->n; i++) /* recorded [d][k] */
        out[i % p->k[h] * p->dim + i / p->k[h]] = a->f[i];
    return out;
}

static int close_both(const struct replay *p, const char *name, const float *got, int64_t n,
                      double tolerance)
{
    static const char *const run[] = {"f32", "f64"};
    for (int i = 0; i < 2; i++) {
        const struct golden_array *want = golden_array(p->c, "%s_%s", name, run[i]);
        if (!want || want->n != n)
            return golden_refuse(p->r, "%s_%s is missing or of another size", name, run[i]);
        if (golden_close_to(p->r, want->name, got, want, tolerance))
            return -1;
    }
    return 0;
}

/* ---- of the representation ---- */

static int check_labels(struct replay *p)
{
    const struct golden_array *used = golden_array(p->c, "labels_used");
    struct ck_loss_options o = {.temperature = golden_number(p->c, "tx", 0),
                                .alpha = golden_number(p->c, "tau", 0),
                                .large_weight = 0.5};
    struct ck_loss_shape shape = {2, 2, p->n, p->dim, p->heads, p->k};
    struct ck_targets target[COKE_MAX_HEADS];
    float *centers[COKE_MAX_HEADS];
    double head_loss[COKE_MAX_HEADS];
    struct ck_loss *l = NULL;
    struct ck_loss_input in = {p->n, p->unit, NULL, (const float *const *)centers, target};
    struct ck_loss_output out = {.grad_proj = p->grad, .head_loss = head_loss};
    for (int h = 0; h < p->heads; h++) {
        centers[h] = read_centers(p, "pre_centers", h);
        target[h] = (struct ck_targets){
            .n = p->n, .slots = 1, .label = used ? used->i + h * p->n : NULL};
    }
    int rc = !used || ck_loss_new(&l, &shape, &o) || ck_loss_step(l, &in, &out)
                 ? golden_refuse(p->r, "the loss (%s)", coke_last_error())
                 : 0;
    float loss = (float)out.loss;
    ck_loss_free(l);
    for (int h = 0; h < p->heads; h++)
        free(centers[h]);
    if (rc || close_both(p, "loss_x", &loss, 1, LOSS))
        return -1;
    ck_unit_backward(p->unit, p->length, p->grad, 2 * p->n, p->dim, p->grad);
    return close_both(p, "grad_view", p->grad, 2 * p->n * p->dim, GRADIENT);
}

/* ---- of the centers ---- */

static int check_gradient(struct replay *p, int h, const float *centers, const double *sum)
{
    double scale = 1.0 / (2.0 * p->heads * (double)p->n);
    char name[40];
    int64_t size = p->k[h] * p->dim;
    float *grad = malloc((size_t)size * sizeof *grad), *as = malloc((size_t)size * sizeof *as);
    ck_center_gradient(centers, sum, p->k[h], p->dim, scale, grad);
    for (int64_t i = 0; i < size; i++)
        as[i] = grad[i % p->k[h] * p->dim + i / p->k[h]];
    snprintf(name, sizeof name, "grad_centers_%d", h);
    int rc = close_both(p, name, as, size, GRADIENT);
    free(grad);
    free(as);
    return rc;
}

static int check_centers(struct replay *p)
{
    const struct golden_array *new = golden_array(p->c, "labels_new");
    double total = 0;
    int rc = 0;
    for (int h = 0; h < p->heads && !rc; h++) {
        float *centers = read_centers(p, "centers", h);
        double *sum = calloc((size_t)(p->k[h] * p->dim), sizeof *sum);
        struct ck_center_loss *l = NULL;
        if (!new || !centers || ck_center_loss_new(&l, 2 * p->n, p->k[h], p->dim))
            rc = golden_refuse(p->r, "labels_new or centers_%d is missing", h);
        if (!rc) {
            struct ck_center_input in = {2,
                                         p->n,
                                         p->k[h],
                                         p->unit,
                                         centers,
                                         new->i + h * p->n,
                                         golden_number(p->c, "tw", 0)};
            ck_center_loss_add(l, &in, &total, sum);
            rc = check_gradient(p, h, centers, sum);
        }
        ck_center_loss_free(l);
        free(sum);
        free(centers);
    }
    float loss = (float)(total / (2.0 * p->heads * (double)p->n));
    return rc ? rc : close_both(p, "loss_c", &loss, 1, LOSS);
}

int golden_check_secu_loss(const struct golden_case *c, struct golden_report *r)
{
    const struct golden_array *raw = golden_array(c, "view_raw");
    struct replay p = {.c = c,
                       .r = r,
                       .heads = (int)golden_number(c, "num_head", 1),
                       .dim = (int)golden_number(c, "dim", 0),
                       .n = (int64_t)golden_number(c, "batch", 0)};
    memset(r, 0, sizeof *r);
    if (!raw || raw->n != 2 * p.n * p.dim)
        return golden_refuse(r, "view_raw is not two views of batch and dim");
    for (int h = 0; h < p.heads; h++)
        p.k[h] = golden_item(c, "K", h);
    p.unit = malloc((size_t)raw->n * sizeof(float));
    p.grad = malloc((size_t)raw->n * sizeof(float));
    p.length = malloc((size_t)(2 * p.n) * sizeof(float));
    ck_unit_forward(raw->f, 2 * p.n, p.dim, p.unit, p.length);
    int rc = check_labels(&p) || check_centers(&p) ? -1 : 0;
    free(p.unit);
    free(p.grad);
    free(p.length);
    return rc;
}

/* ---- learning rates ---- */

/* set: epochs, steps per epoch, rate of the encoder, rate of the centers. */
static int check_rates(const struct golden_case *c, struct golden_report *r,
                       const double set[4], const char *suffix)
{
    int64_t epochs = (int64_t)set[0], steps = (int64_t)set[1];
    struct ck_schedule s = {set[2], epochs, (int64_t)golden_number(c, "warmup_epochs", 11) - 1,
                            steps};
    struct ck_method_options o = {.center_rate = set[3]};
    const struct golden_array *want[3] = {golden_array(c, "lr_encoder%s", suffix),
                                          golden_array(c, "lr_centers_constant%s", suffix),
                                          golden_array(c, "lr_centers_rising%s", suffix)};
    for (int w = 0; w < 3; w++) {
        if (!want[w] || want[w]->n != epochs * steps)
            return golden_refuse(r, "rates%s are missing or of another size", suffix);
        o.center_schedule = w == 2 ? CK_CENTERS_RISING : CK_CENTERS_CONSTANT;
        for (int64_t i = 0; i < epochs * steps; i++) {
            double got = w == 0 ? ck_schedule_rate(&s, i / steps, i % steps)
                                : ck_secu_rate(&o, epochs, steps, i);
            if (golden_close_f64(r, want[w]->name, &got, want[w]->d + i, 1, RATE))
                return -1;
        }
    }
    return 0;
}

int golden_check_secu_sched(const struct golden_case *c, struct golden_report *r)
{
    static const char *const sets[] = {"second", "short"};
    double set[4] = {golden_number(c, "epochs", 0), golden_number(c, "num_iter", 0),
                     golden_number(c, "lr", 0), golden_number(c, "clr", 0)};
    char suffix[16];
    memset(r, 0, sizeof *r);
    if (check_rates(c, r, set, ""))
        return -1;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 4; j++)
            set[j] = golden_real(c, sets[i], j, 0);
        snprintf(suffix, sizeof suffix, "_%s", sets[i]);
        if (set[0] > 0 && check_rates(c, r, set, suffix))
            return -1;
    }
    return 0;
}
