/* golden_secu.c - replays recorded trainings of SeCu with given outputs of the encoder: the
 * method's row runs in a session that has no network. */
#include "coke.h"
#include "golden_data.h"
#include "io/safetensors.h"
#include "nn/unit.h"
#include "train/clusters.h"
#include "train/secu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As suggested with the recordings. Centers: times max(1, length). */
static const double LOSS = 5e-6, VIEWS = 1e-6, CENTER_GRAD = 2e-6, CENTERS = 5e-6, LAST = 2e-6,
                    MOMENTUM = 5e-6, DUALS = 2e-6, RATE = 1e-12;

struct replay {
    const struct golden_case *c;
    struct golden_report *r;
    const char *folder;
    struct ck_session s;
    struct ck_dataset set;
    struct coke_dataset data;
    int64_t n, epochs, steps;
    const int32_t *bounds;
    float *raw, *length;   /* both views of a step and their lengths */
    float *t;              /* scratch for one head's centers */
    struct ck_param probe; /* stands for the encoder */
    struct ck_optimizer *encoder;
};

/* ---- setting up ---- */

/* Recorded [d][k], ours [k][d]. */
static void transpose(const float *from, int64_t rows, int64_t cols, float *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[j * rows + i] = from[i * cols + j];
}

static struct ck_train_options options_of(const struct golden_case *c)
{
    struct ck_train_options o = ck_train_options_default();
    int entropy = strcmp(golden_word(c, "constraint"), "entropy") == 0;
    o.k.n = (int32_t)golden_number(c, "num_head", 1);
    for (int h = 0; h < o.k.n; h++)
        o.k.v[h] = (int32_t)golden_item(c, "K", h);
    o.encoder.dim = (int64_t)golden_number(c, "dim", 0);
    o.loader.batch = (int64_t)golden_number(c, "batch", 0);
    o.epochs = (int64_t)golden_number(c, "epochs", 0);
    o.loss.temperature = golden_number(c, "tx", 0);
    o.loss.alpha = golden_number(c, "tau", 0);
    o.alpha_start = 0; /* constant */
    o.kmeans.ratio = golden_number(c, "ratio", 0);
    o.kmeans.eta = golden_number(c, "dual_rate", 0);
    o.eta_mode = CK_ETA_MODE_SHARED;
    o.optimizer.kind = strcmp(golden_word(c, "optimizer"), "lars") == 0 ? CK_LARS : CK_SGD;
    o.optimizer.momentum = golden_number(c, "momentum", 0);
    o.optimizer.weight_decay = golden_number(c, "weight_decay", 0);
    o.own.constraint = entropy ? CK_CONSTRAINT_ENTROPY : CK_CONSTRAINT_SIZE;
    o.own.entropy_weight = golden_number(c, "entropy_weight", 0);
    o.own.center_rate = golden_number(c, "clr", 0);
    o.own.center_temperature = golden_number(c, "tw", 0);
    return o;
}

static int open_session(struct replay *p)
{
    struct ck_session *s = &p->s;
    memset(s, 0, sizeof *s);
    s->o = options_of(p->c);
    p->data.set = &p->set;
    p->set.n = p->n;
    s->data = &p->data;
    s->views = s->large = 2;
    s->dim = (int)s->o.encoder.dim;
    s->max_batch = s->max_local = s->o.loader.batch + 1;
    size_t rows = (size_t)(2 * s->max_local * s->dim);
    s->proj = malloc(rows * sizeof(float));
    s->grad_proj = malloc(rows * sizeof(float));
    s->projections = malloc(rows * sizeof(float));
    s->ids = malloc((size_t)s->max_batch * sizeof *s->ids);
    s->method = &ck_method_secu;
    if (ck_ranks_init(&s->ranks) || s->method->init(s))
        return golden_refuse(p->r, "the session (%s)", coke_last_error());
    return 0;
}

static void close_session(struct replay *p)
{
    struct ck_session *s = &p->s;
    ck_method_secu.release(s);
    ck_loss_free(s->loss);
    ck_heads_release(&s->heads);
    ck_ranks_release(&s->ranks);
    free(s->proj);
    free(s->grad_proj);
    free(s->projections);
    free(s->ids);
    memset(s, 0, sizeof *s);
}

/* Heads that begin with the recorded centers instead of random ones. */
static int set_centers(struct replay *p)
{
    struct ck_secu *u = p->s.own;
    struct coke_kmeans *fresh[COKE_MAX_HEADS] = {NULL};
    for (int h = 0; h < p->s.heads.n; h++) {
        const struct golden_array *a = golden_array(p->c, "init_centers_%d", h);
        struct ck_param *q = &u->center[h];
        struct ck_kmeans_options o = p->s.o.kmeans;
        o.n = p->n;
        o.k = q->shape[0];
        o.dim = p->s.dim;
        o.update = CK_UPDATE_FIXED;
        if (!a || a->n != q->size)
            return golden_refuse(p->r, "init_centers_%d are missing or of another size", h);
        transpose(a->f, p->s.dim, q->shape[0], q->value);
        if (ck_kmeans_new(&fresh[h], &o, q->value, NULL, NULL))
            return golden_refuse(p->r, "head %d (%s)", h, coke_last_error());
    }
    return ck_heads_replace(&p->s.heads, fresh) ? golden_refuse(p->r, "the heads") : 0;
}

static int begin(struct replay *p)
{
    const struct golden_array *bounds = golden_array(p->c, "step_bounds");
    const struct golden_array *probe = golden_array(p->c, "init_probe");
    p->n = (int64_t)golden_number(p->c, "num_ins", 0);
    if (!bounds || !probe || open_session(p) || set_centers(p))
        return p->r->text[0] ? -1 : golden_refuse(p->r, "step_bounds or init_probe is missing");
    int64_t most = p->s.dim;
    for (int h = 0; h < p->s.heads.n; h++)
        most = p->s.o.k.v[h] * p->s.dim > most ? p->s.o.k.v[h] * p->s.dim : most;
    p->epochs = p->s.o.epochs;
    p->steps = bounds->n - 1;
    p->bounds = bounds->i;
    p->raw = malloc((size_t)(2 * p->s.max_local * p->s.dim) * sizeof *p->raw);
    p->length = malloc((size_t)(2 * p->s.max_local) * sizeof *p->length);
    p->t = malloc((size_t)most * sizeof *p->t);
    p->probe =
        (struct ck_param){.name = "probe", .ndim = 1, .shape = {probe->n}, .size = probe->n};
    p->probe.value = malloc((size_t)probe->n * sizeof(float));
    p->probe.grad = malloc((size_t)probe->n * sizeof(float));
    memcpy(p->probe.value, probe->f, (size_t)probe->n * sizeof(float));
    if (ck_optimizer_new(&p->encoder, &p->probe, 1, &p->s.o.optimizer))
        return golden_refuse(p->r, "the optimizer (%s)", coke_last_error());
    return 0;
}

/* ---- comparing ---- */

static int compare_labels(struct replay *p, int64_t at, int64_t from, int64_t n, int h)
{
    const struct golden_array *new = golden_array(p->c, "labels_new");
    const struct golden_array *used = golden_array(p->c, "labels_used");
    int64_t place = (h * p->epochs + at) * p->n + from;
    if (!new || !used)
        return golden_refuse(p->r, "labels_new or labels_used is missing");
    if (golden_same_ints(p->r, "labels_new", p->s.heads.label + h * n, new->i + place, n))
        return -1;
    return golden_same_ints(p->r, "labels_used", p->s.heads.target[h].label, used->i + place,
                            n);
}

/* Sizes in the recording: of the epoch so far, with entropy of all labels. */
static int compare_counts(struct replay *p, int64_t step, int h)
{
    const struct ck_entropy *e = &p->s.heads.entropy[h];
    const struct golden_array *a = golden_array(p->c, "counts_%d", h);
    const int64_t *count = e->weight > 0 ? e->members : ck_kmeans_counts(p->s.heads.head[h]);
    int64_t k = p->s.o.k.v[h];
    for (int64_t i = 0; a && i < k; i++) {
        int32_t got = (int32_t)count[i];
        if (golden_same_ints(p->r, "counts", &got, a->i + step * k + i, 1))
            return -1;
    }
    a = golden_array(p->c, "duals_%d", h);
    return a ? golden_close(p->r, "duals", ck_kmeans_duals(p->s.heads.head[h]), a->f + step * k,
                            k, DUALS)
             : 0;
}

/* Lengths grow to 24: each column has a tolerance of its own. */
static int compare_centers(struct replay *p, int64_t step, int h)
{
    const struct ck_param *q = &((struct ck_secu *)p->s.own)->center[h];
    const struct golden_array *a = golden_array(p->c, "centers_%d", h);
    const struct golden_array *g = golden_array(p->c, "grad_centers_%d", h);
    int dim = p->s.dim;
    if (!a || !g)
        return golden_refuse(p->r, "centers_%d or grad_centers_%d is missing", h, h);
    transpose(a->f + step * q->size, dim, q->shape[0], p->t);
    for (int64_t k = 0; k < q->shape[0]; k++) {
        double square = 0;
        for (int j = 0; j < dim; j++)
            square += (double)p->t[k * dim + j] * (double)p->t[k * dim + j];
        if (golden_close(p->r, "centers", q->value + k * dim, p->t + k * dim, dim,
                         CENTERS * fmax(1, sqrt(square))))
            return -1;
    }
    transpose(g->f + step * q->size, dim, q->shape[0], p->t);
    return golden_close(p->r, "grad_centers", q->grad, p->t, q->size, CENTER_GRAD);
}

/* Gradients before the normalization of the outputs, and what the probe makes of them. */
static int compare_views(struct replay *p, int64_t at, int64_t from, int64_t n)
{
    struct ck_session *s = &p->s;
    memset(p->probe.grad, 0, (size_t)s->dim * sizeof(float));
    ck_unit_backward(s->proj, p->length, s->grad_proj, 2 * n, s->dim, s->grad_proj);
    for (int v = 0; v < 2; v++) {
        const struct golden_array *a = golden_array(p->c, "grad_view%d", v + 1);
        const float *got = s->grad_proj + v * n * s->dim;
        if (!a || golden_close(p->r, a->name, got, a->f + (at * p->n + from) * s->dim,
                               n * s->dim, VIEWS))
            return a ? -1 : golden_refuse(p->r, "grad_view%d is missing", v + 1);
    }
    for (int j = 0; j < s->dim; j++) {
        double sum = 0;
        for (int64_t i = 0; i < 2 * n; i++)
            sum += (double)s->grad_proj[i * s->dim + j];
        p->probe.grad[j] = (float)sum;
    }
    return 0;
}

static int compare_losses(struct replay *p, int64_t step, int64_t n, const double *sums)
{
    const struct golden_array *x = golden_array(p->c, "loss_x"),
                              *y = golden_array(p->c, "loss_c");
    double labels = 0;
    for (int h = 0; h < p->s.heads.n; h++)
        labels += sums[1 + 2 * h] / p->s.heads.n;
    float got[2] = {(float)(labels / (double)n), (float)((sums[0] - labels) / (double)n)};
    if (!x || !y)
        return golden_refuse(p->r, "loss_x or loss_c is missing");
    return golden_close(p->r, "loss_x", &got[0], x->f + step, 1, LOSS) ||
                   golden_close(p->r, "loss_c", &got[1], y->f + step, 1, LOSS)
               ? -1
               : 0;
}

static int compare_probe(struct replay *p, int64_t step)
{
    const struct golden_array *g = golden_array(p->c, "probe_grad");
    const struct golden_array *v = golden_array(p->c, "probe");
    int64_t n = p->probe.size;
    if (!g || !v)
        return golden_refuse(p->r, "probe or probe_grad is missing");
    return golden_close(p->r, "probe_grad", p->probe.grad, g->f + step * n, n, MOMENTUM) ||
                   golden_close(p->r, "probe", p->probe.value, v->f + step * n, n, MOMENTUM)
               ? -1
               : 0;
}

/* Both rates, computed as a training does and then used. */
static int compare_rates(struct replay *p, int64_t step, double *encoder)
{
    const struct golden_array *e = golden_array(p->c, "lr_encoder");
    const struct golden_array *c = golden_array(p->c, "lr_centers");
    struct ck_schedule sched = {golden_number(p->c, "lr", 0), p->epochs,
                                (int64_t)golden_number(p->c, "warmup_epochs", 11) - 1,
                                p->steps};
    double centers = ck_secu_rate(&p->s.o.own, p->epochs, p->steps, step);
    *encoder = ck_schedule_rate(&sched, step / p->steps, step % p->steps);
    if (!e || !c)
        return golden_refuse(p->r, "lr_encoder or lr_centers is missing");
    return golden_close_f64(p->r, "lr_encoder", encoder, e->d + step, 1, RATE) ||
                   golden_close_f64(p->r, "lr_centers", &centers, c->d + step, 1, RATE)
               ? -1
               : 0;
}

/* ---- a step ---- */

static int read_views(struct replay *p, int64_t at, int64_t from, int64_t n)
{
    struct ck_session *s = &p->s;
    for (int v = 0; v < 2; v++) {
        const struct golden_array *a = golden_array(p->c, "view%d", v + 1);
        if (!a || a->n != p->epochs * p->n * s->dim)
            return golden_refuse(p->r, "view%d is missing or of another size", v + 1);
        memcpy(p->raw + v * n * s->dim, a->f + (at * p->n + from) * s->dim,
               (size_t)(n * s->dim) * sizeof(float));
    }
    ck_unit_forward(p->raw, 2 * n, s->dim, s->proj, p->length);
    for (int64_t i = 0; i < n * s->dim; i++)
        s->projections[i] = 0.5f * (s->proj[i] + s->proj[n * s->dim + i]);
    return 0;
}

static int run_row(struct replay *p, struct coke_batch *b, double *sums)
{
    const struct ck_method *m = p->s.method;
    struct ck_part part = {.n = b->n};
    if (ck_ranks_count(&p->s.ranks, b->n) || m->begin_step(&p->s, b) ||
        m->loss(&p->s, b, part, sums) || m->end_step(&p->s, b) || m->after_step(&p->s, b))
        return golden_refuse(p->r, "a step (%s)", coke_last_error());
    return 0;
}

static int run_step(struct replay *p, int64_t step)
{
    const struct golden_array *ids = golden_array(p->c, "ids");
    int64_t at = step / p->steps, i = step % p->steps, from = p->bounds[i];
    int64_t n = p->bounds[i + 1] - from;
    struct coke_batch b = {
        .n = n, .epoch = at, .step = i, .steps = p->steps, .index = p->s.ids};
    double sums[CK_SUMS] = {0}, rate;
    for (int64_t j = 0; j < n; j++)
        p->s.ids[j] = ids->i[at * p->n + from + j];
    if (compare_rates(p, step, &rate) || read_views(p, at, from, n) || run_row(p, &b, sums) ||
        compare_losses(p, step, n, sums) || compare_views(p, at, from, n))
        return -1;
    for (int h = 0; h < p->s.heads.n; h++)
        if (compare_labels(p, at, from, n, h) || compare_counts(p, step, h) ||
            compare_centers(p, step, h))
            return -1;
    if (ck_optimizer_step(p->encoder, rate, 1, step))
        return golden_refuse(p->r, "the encoder (%s)", coke_last_error());
    return compare_probe(p, step);
}

/* ---- epochs ---- */

static int compare_last_centers(struct replay *p, int64_t at)
{
    for (int h = 0; h < p->s.heads.n; h++) {
        const struct golden_array *a = golden_array(p->c, "pre_centers_%d", h);
        int64_t k = p->s.o.k.v[h], size = k * p->s.dim;
        if (!a)
            return golden_refuse(p->r, "pre_centers_%d are missing", h);
        transpose(a->f + at * size, p->s.dim, k, p->t);
        if (golden_close(p->r, a->name, p->s.heads.center[h], p->t, size, LAST))
            return -1;
    }
    return 0;
}

static int compare_buffer(struct replay *p, const struct ck_optimizer *o, const char *name,
                          const struct golden_array *want, int64_t at)
{
    struct ck_state state = {0};
    const struct ck_tensor *t = NULL;
    int rc = ck_optimizer_save(o, &state);
    t = rc ? NULL : ck_state_find(&state, name);
    if (!t || !want)
        rc = golden_refuse(p->r, "%s is missing", name);
    else if (t->ndim == 2)
        transpose(want->f + at * t->shape[0] * t->shape[1], t->shape[1], t->shape[0], p->t);
    else
        memcpy(p->t, want->f + at * t->shape[0], (size_t)t->shape[0] * sizeof(float));
    if (!rc)
        rc = golden_close(p->r, name, t->data, p->t, ck_tensor_elements(t), MOMENTUM);
    ck_state_release(&state);
    return rc;
}

static int compare_epoch(struct replay *p, int64_t at)
{
    const struct golden_array *labels = golden_array(p->c, "assign_labels");
    const struct ck_secu *u = p->s.own;
    char name[40];
    for (int h = 0; h < p->s.heads.n; h++) {
        snprintf(name, sizeof name, "momentum.center.%d", h);
        if (compare_buffer(p, u->optimizer, name, golden_array(p->c, "momentum_end_%d", h), at))
            return -1;
        for (int64_t i = 0; labels && i < p->n; i++) {
            int32_t got = ck_kmeans_label(p->s.heads.head[h], i);
            const int32_t *want = labels->i + (at * p->s.heads.n + h) * p->n + i;
            if (golden_same_ints(p->r, "assign_labels", &got, want, 1))
                return -1;
        }
    }
    return compare_buffer(p, p->encoder, "momentum.probe",
                          golden_array(p->c, "probe_momentum_end"), at);
}

/* Heads and method are saved, freed and loaded. */
static int interrupt_here(struct replay *p)
{
    char path[256];
    struct ck_state state = {0};
    snprintf(path, sizeof path, "%s/head-0.safetensors", p->folder);
    int rc = ck_heads_save(&p->s.heads, &state);
    rc = rc ? rc : ck_method_save(&p->s, &state);
    rc = rc ? rc : ck_safetensors_write(path, &state, CK_FORCE_INSIDE);
    ck_state_release(&state);
    close_session(p);
    rc = rc ? rc : open_session(p);
    rc = rc ? rc : ck_safetensors_read(path, &state);
    rc = rc ? rc : ck_heads_load(&p->s.heads, &state);
    rc = rc ? rc : ck_method_load(&p->s, &state);
    ck_state_release(&state);
    return rc ? golden_refuse(p->r, "interrupting (%s)", coke_last_error()) : 0;
}

int golden_check_secu(const struct golden_case *c, int64_t interrupt, const char *folder,
                      struct golden_report *r)
{
    struct replay p = {.c = c, .r = r, .folder = folder};
    memset(r, 0, sizeof *r);
    int rc = begin(&p);
    for (int64_t step = 0; !rc && step < p.epochs * p.steps; step++) {
        int64_t at = step / p.steps;
        if (step == interrupt)
            rc = interrupt_here(&p);
        if (!rc && step % p.steps == 0) {
            p.s.method->begin_epoch(&p.s, at);
            rc = compare_last_centers(&p, at);
        }
        rc = rc ? rc : run_step(&p, step);
        if (!rc && step % p.steps == p.steps - 1)
            rc = compare_epoch(&p, at) || p.s.method->end_epoch(&p.s) ? -1 : 0;
    }
    close_session(&p);
    ck_optimizer_free(p.encoder);
    free(p.raw);
    free(p.length);
    free(p.t);
    free(p.probe.value);
    free(p.probe.grad);
    return rc;
}
