/* golden_loss.c - recorded losses: value and gradients, from the vectors before they were
 * brought to length 1. */
#include "coke.h"
#include "golden_data.h"
#include "nn/loss.h"
#include "nn/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tests/golden's README: "Suggested tolerance". */
static const double LOSS = 2e-6, GRADIENT = 2e-7;

struct replay {
    const struct golden_case *c;
    struct golden_report *r;
    int heads, views, dim;
    int64_t n, k[COKE_MAX_HEADS];
    float *centers[COKE_MAX_HEADS]; /* [K][dim] */
    struct ck_targets targets[COKE_MAX_HEADS];
    float *unit[2], *length[2], *grad[2]; /* of proj and pred, [views][n][dim] */
    double loss;
};

static const char *const names[2] = {"proj", "pred"};

/* ---- setting up ---- */

static int read_sizes(struct replay *p)
{
    const struct golden_array *proj = golden_array(p->c, "proj_raw");
    p->heads = (int)golden_number(p->c, "num_head", 1);
    p->views = (int)golden_number(p->c, "views", 0);
    p->dim = (int)golden_number(p->c, "dim", 0);
    p->n = (int64_t)golden_number(p->c, "batch", 0);
    if (p->heads < 1 || p->heads > COKE_MAX_HEADS || proj->n != p->views * p->n * p->dim)
        return golden_refuse(p->r, "num_head, views, batch and dim do not fit proj_raw");
    for (int h = 0; h < p->heads; h++)
        p->k[h] = golden_item(p->c, "K", h);
    return 0;
}

static int read_centers(struct replay *p, int h)
{
    const struct golden_array *a = golden_array(p->c, "centers_%d", h);
    int64_t k = p->k[h];
    if (!a || a->n != k * p->dim)
        return golden_refuse(p->r, "centers_%d are missing or of another size", h);
    p->centers[h] = malloc((size_t)a->n * sizeof(float));
    for (int64_t i = 0; i < k; i++) /* recorded [d][k] */
        for (int64_t j = 0; j < p->dim; j++)
            p->centers[h][i * p->dim + j] = a->f[j * k + i];
    return 0;
}

/* The entries of a dense row that are not 0. */
static void pairs_of_row(const float *row, int64_t k, int slots, int32_t *label, float *weight)
{
    int n = 0;
    for (int64_t i = 0; i < k; i++)
        if (row[i] != 0) {
            label[n] = (int32_t)i;
            weight[n++] = row[i];
        }
    for (; n < slots; n++) {
        label[n] = -1;
        weight[n] = 0;
    }
}

static void read_soft(struct replay *p, int h, const struct golden_array *soft)
{
    int64_t k = p->k[h];
    int slots = 1;
    for (int64_t i = 0; i < p->n; i++) {
        int used = 0;
        for (int64_t j = 0; j < k; j++)
            used += soft->f[i * k + j] != 0;
        slots = used > slots ? used : slots;
    }
    size_t pairs = (size_t)(p->n * slots);
    struct ck_targets *t = &p->targets[h];
    t->slots = slots;
    t->label = malloc(pairs * sizeof *t->label);
    t->weight = malloc(pairs * sizeof *t->weight);
    for (int64_t i = 0; i < p->n; i++)
        pairs_of_row(soft->f + i * k, k, slots, t->label + i * slots, t->weight + i * slots);
}

static int read_targets(struct replay *p, int h)
{
    const struct golden_array *soft = golden_array(p->c, "soft_labels_%d", h);
    const struct golden_array *labels = golden_array(p->c, "labels");
    struct ck_targets *t = &p->targets[h];
    t->n = p->n;
    if (soft && soft->n == p->n * p->k[h]) {
        read_soft(p, h, soft);
        return 0;
    }
    if (!labels || labels->n != p->heads * p->n)
        return golden_refuse(p->r, "neither labels nor soft_labels_%d", h);
    t->slots = 1;
    t->label = malloc((size_t)p->n * sizeof *t->label);
    memcpy(t->label, labels->i + h * p->n, (size_t)p->n * sizeof *t->label);
    return 0;
}

static void read_vectors(struct replay *p, int o)
{
    const struct golden_array *raw = golden_array(p->c, "%s_raw", names[o]);
    if (!raw)
        return;
    int64_t rows = p->views * p->n;
    p->unit[o] = malloc((size_t)raw->n * sizeof(float));
    p->grad[o] = malloc((size_t)raw->n * sizeof(float));
    p->length[o] = malloc((size_t)rows * sizeof(float));
    ck_unit_forward(raw->f, rows, p->dim, p->unit[o], p->length[o]);
}

static int begin(struct replay *p)
{
    if (read_sizes(p))
        return -1;
    for (int h = 0; h < p->heads; h++)
        if (read_centers(p, h) || read_targets(p, h))
            return -1;
    read_vectors(p, 0);
    read_vectors(p, 1);
    return 0;
}

static void end(struct replay *p)
{
    for (int h = 0; h < COKE_MAX_HEADS; h++) {
        free(p->centers[h]);
        free(p->targets[h].label);
        free(p->targets[h].weight);
    }
    for (int o = 0; o < 2; o++) {
        free(p->unit[o]);
        free(p->grad[o]);
        free(p->length[o]);
    }
}

/* ---- running and comparing ---- */

/* With small views the recordings call the large ones' weight beta, and pred's is a half
 * unless they say pred_weight. */
static struct ck_loss_options options_of(const struct golden_case *c)
{
    struct ck_loss_options o = ck_loss_options_default();
    int multi = strcmp(golden_word(c, "mode"), "multi") == 0;
    double beta = golden_number(c, "beta", 0.5);
    o.temperature = golden_number(c, "T", 0);
    o.alpha = golden_number(c, "alpha", 1);
    o.large_weight = multi ? beta : 0.5;
    o.beta = multi ? golden_number(c, "pred_weight", 0.5) : beta;
    return o;
}

static int run(struct replay *p)
{
    struct ck_loss *loss = NULL;
    struct ck_loss_options o = options_of(p->c);
    struct ck_loss_shape shape = {.views = p->views,
                                  .large = p->views < 2 ? p->views : 2,
                                  .max_n = p->n,
                                  .dim = p->dim,
                                  .heads = p->heads,
                                  .k = p->k};
    struct ck_loss_input in = {.n = p->n,
                               .proj = p->unit[0],
                               .pred = p->unit[1],
                               .centers = (const float *const *)p->centers,
                               .targets = p->targets};
    double head_loss[COKE_MAX_HEADS];
    struct ck_loss_output out = {
        .grad_proj = p->grad[0], .grad_pred = p->grad[1], .head_loss = head_loss};
    int rc = ck_loss_new(&loss, &shape, &o);
    if (!rc)
        rc = ck_loss_step(loss, &in, &out);
    ck_loss_free(loss);
    p->loss = out.loss;
    return rc ? golden_refuse(p->r, "loss (%s)", coke_last_error()) : 0;
}

static int compare_gradients(struct replay *p, int o)
{
    char text[96];
    int64_t rows = p->views * p->n;
    if (!p->unit[o])
        return 0;
    ck_unit_backward(p->unit[o], p->length[o], p->grad[o], rows, p->dim, p->grad[o]);
    for (int bits = 32; bits <= 64; bits += 32) {
        const struct golden_array *want = golden_array(p->c, "grad_%s_f%d", names[o], bits);
        snprintf(text, sizeof text, "grad_%s_f%d", names[o], bits);
        if (want && want->n != rows * p->dim)
            return golden_refuse(p->r, "%s is of another size", text);
        if (want && golden_close_to(p->r, text, p->grad[o], want, GRADIENT))
            return -1;
    }
    return 0;
}

static int compare(struct replay *p)
{
    const struct golden_array *narrow = golden_array(p->c, "loss_f32");
    const struct golden_array *wide = golden_array(p->c, "loss_f64");
    double rounded = narrow ? (double)narrow->f[0] : 0;
    if (!narrow && !wide)
        return golden_refuse(p->r, "neither loss_f32 nor loss_f64");
    if (narrow && golden_close_f64(p->r, "loss_f32", &p->loss, &rounded, 1, LOSS))
        return -1;
    if (wide && golden_close_f64(p->r, "loss_f64", &p->loss, wide->d, 1, LOSS))
        return -1;
    return compare_gradients(p, 0) ? -1 : compare_gradients(p, 1);
}

int golden_check_loss(const struct golden_case *c, struct golden_report *r)
{
    struct replay p = {.c = c, .r = r};
    memset(r, 0, sizeof *r);
    int rc = begin(&p);
    if (!rc)
        rc = run(&p);
    if (!rc)
        rc = compare(&p);
    end(&p);
    return rc;
}
