/* golden_prototypes.c - recorded losses of methods with prototypes: targets, value, gradients and
 * what they keep after every step. */
#include "golden_method.h"
#include "nn/average.h"
#include "nn/prototype_loss.h"
#include "nn/queue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One step, from unit projections x [views][n][dim] and prototypes [k][dim]. */
struct step {
    int views, large, dim;
    int64_t n, k;
    const double *x, *prototype;
    double *score, *code, *grad_score, *grad_x, *grad_prototype; /* all owned, zeros at first */
    double *loss;
};

static struct step begin(const struct replay *p, int views, int large)
{
    int64_t k = (int64_t)golden_number(p->c, "prototypes", 0), all = views * p->n;
    struct step s = {.views = views, .large = large, .dim = p->dim, .n = p->n, .k = k};
    s.score = replay_room(all * k);
    s.code = replay_room(all * k);
    s.grad_score = replay_room(all * k);
    s.grad_x = replay_room(all * p->dim);
    s.grad_prototype = replay_room(k * p->dim);
    s.loss = replay_room(all);
    return s;
}

static void end(struct step *s)
{
    free(s->score);
    free(s->code);
    free(s->grad_score);
    free(s->grad_x);
    free(s->grad_prototype);
    free(s->loss);
}

static double *read_array(const struct replay *p, const char *format, int64_t n)
{
    char name[96];
    snprintf(name, sizeof name, format, p->name);
    return replay_read(p, n, name);
}

static void make_scores(const struct step *s)
{
    ck_prototype_scores(s->x, s->views * s->n, s->prototype, s->k, s->dim, s->score);
}

/* From the gradient of the scores to the others. */
static void spread(const struct step *s)
{
    memset(s->grad_prototype, 0, (size_t)(s->k * s->dim) * sizeof(double));
    ck_prototype_gradients(s->grad_score, s->views * s->n, s->prototype, s->k, s->dim,
                           s->grad_x);
    ck_prototype_collect(s->grad_score, s->views * s->n, s->x, s->k, s->dim, s->grad_prototype);
}

static double predict(const struct step *s, double temperature)
{
    struct ck_code_input in = {s->score, s->code, s->views, s->large,
                               1,        s->n,    s->k,     temperature};
    double loss = ck_code_loss(&in, s->loss, s->grad_score);
    spread(s);
    return loss;
}

/* ---- SwAV ---- */

/* The codes of large view v over batch and queue (which may be empty). */
static void make_codes(const struct replay *p, const struct step *s, const struct ck_queue *q,
                       int v)
{
    double eps = golden_number(p->c, "sinkhorn_epsilon", NAN);
    double *matrix = replay_room((s->n + q->n) * s->k), *sums = replay_room(s->k);
    ck_code_begin(s->score + v * s->n * s->k, s->n, s->k, eps, matrix);
    ck_prototype_scores(q->row, q->n, s->prototype, s->k, s->dim, matrix + s->n * s->k);
    ck_code_begin(matrix + s->n * s->k, q->n, s->k, eps, matrix + s->n * s->k);
    ck_sinkhorn(matrix, s->n + q->n, s->k, (int)golden_number(p->c, "sinkhorn_iterations", 0),
                NULL, sums);
    memcpy(s->code + v * s->n * s->k, matrix, (size_t)(s->n * s->k) * sizeof *matrix);
    free(matrix);
    free(sums);
}

/* Sub-cases without state. wnorm has the projections of two, and prototypes of any length. */
static int check_plain(struct replay *p, struct step *s)
{
    int weight = strcmp(p->name, "wnorm") == 0;
    struct ck_queue none = {.dim = p->dim};
    int64_t rows = s->views * p->n;
    double *raw = weight ? replay_read(p, rows * p->dim, "two_proj_raw")
                         : read_array(p, "%s_proj_raw", rows * p->dim);
    double *v = replay_read(p, s->k * p->dim, weight ? "wnorm_proto_v" : "proto");
    if (!raw || !v)
        return golden_refuse(p->r, "proj_raw or proto is missing or of another size");
    double *x = replay_unit(raw, rows, p->dim), *unit = replay_unit(v, s->k, p->dim);
    s->x = x;
    s->prototype = weight ? unit : v;
    make_scores(s);
    for (int i = 0; i < s->large; i++)
        make_codes(p, s, &none, i);
    double loss = predict(s, golden_number(p->c, "T", NAN));
    replay_through_length(raw, rows, p->dim, s->grad_x);
    if (weight)
        replay_through_length(v, s->k, p->dim, s->grad_prototype);
    int scores = golden_array(p->c, "%s_scores_f64", p->name) != NULL;
    int rc =
        replay_close(p, "loss", &loss) || replay_close(p, "codes", s->code) ||
                replay_close(p, "grad_proj", s->grad_x) ||
                replay_close(p, weight ? "grad_proto_v" : "grad_proto", s->grad_prototype) ||
                (scores && replay_close(p, "scores", s->score))
            ? -1
            : 0;
    free(raw);
    free(v);
    free(x);
    free(unit);
    return rc;
}

/* What is recorded of all steps of sub-case queue. */
struct kept {
    double *loss, *codes, *grad_x, *grad_prototype, *queue;
};

static void run_queue(const struct replay *p, struct step *s, const double *raw,
                      struct ck_queue *queue, int64_t t, struct kept *out)
{
    int64_t one = s->n * p->dim, all = s->views * one, codes = s->large * s->n * s->k;
    double *x = replay_unit(raw + t * all, s->views * s->n, p->dim);
    s->x = x;
    make_scores(s);
    for (int v = 0; v < s->large; v++)
        make_codes(p, s, &queue[v], v);
    out->loss[t] = predict(s, golden_number(p->c, "T", NAN));
    replay_through_length(raw + t * all, s->views * s->n, p->dim, s->grad_x);
    memcpy(out->codes + t * codes, s->code, (size_t)codes * sizeof *x);
    memcpy(out->grad_x + t * all, s->grad_x, (size_t)all * sizeof *x);
    memcpy(out->grad_prototype + t * s->k * p->dim, s->grad_prototype,
           (size_t)(s->k * p->dim) * sizeof *x);
    for (int v = 0; v < s->large; v++) {
        int64_t size = queue[v].n * p->dim;
        ck_queue_push(&queue[v], x + v * one, s->n, 1);
        memcpy(out->queue + (t * s->large + v) * size, queue[v].row, (size_t)size * sizeof *x);
    }
    free(x);
}

static int check_queue(struct replay *p, struct step *s)
{
    int64_t steps = (int64_t)replay_number(p, "steps"),
            size = (int64_t)replay_number(p, "queue");
    int64_t all = s->views * p->n * p->dim, rows = s->large * size * p->dim;
    const struct golden_array *at = golden_array(p->c, "queue_ptr_after");
    double *raw = read_array(p, "%s_proj_raw", steps * all);
    double *first = replay_read(p, rows, "queue_init"),
           *v = replay_read(p, s->k * p->dim, "proto");
    struct ck_queue queue[2] = {{.n = 0}};
    struct kept k = {replay_room(steps), replay_room(steps * s->large * s->n * s->k),
                     replay_room(steps * all), replay_room(steps * s->k * p->dim),
                     replay_room(steps * rows)};
    if (!raw || !first || !v || !at || at->n != steps || s->large != 2)
        return golden_refuse(p->r, "an array of queue is missing or of another size");
    int rc = 0;
    for (int q = 0; q < 2; q++) {
        if (ck_queue_init(&queue[q], size, p->dim))
            return golden_refuse(p->r, "no memory");
        memcpy(queue[q].row, first + q * size * p->dim,
               (size_t)(size * p->dim) * sizeof *first);
    }
    s->prototype = v;
    for (int64_t t = 0; t < steps && !rc; t++) {
        run_queue(p, s, raw, queue, t, &k);
        int32_t now = (int32_t)queue[0].at;
        rc = golden_same_ints(p->r, at->name, &now, &at->i[t], 1);
    }
    rc = rc || replay_close(p, "loss", k.loss) || replay_close(p, "codes", k.codes) ||
                 replay_close(p, "grad_proj", k.grad_x) ||
                 replay_close(p, "grad_proto", k.grad_prototype) ||
                 replay_close(p, "after", k.queue)
             ? -1
             : 0;
    double *const arrays[] = {raw,    first, v, k.loss, k.codes, k.grad_x, k.grad_prototype,
                              k.queue};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    ck_queue_release(&queue[0]);
    ck_queue_release(&queue[1]);
    return rc;
}

int golden_replay_swav(struct replay *p)
{
    int large = (int)replay_number(p, "large"), small = (int)replay_number(p, "small");
    struct step s = begin(p, large + small, large);
    int rc = strcmp(p->name, "queue") == 0 ? check_queue(p, &s) : check_plain(p, &s);
    end(&s);
    return rc;
}

/* ---- DINO ---- */

/* The arrays of all steps. */
struct dino {
    double *raw, *teacher_raw, *v, *teacher_v;           /* recorded inputs */
    double *loss, *logits, *teacher_logits, *center;     /* to compare */
    double *grad_logits, *grad_x, *grad_prototype, *now; /* now: the center */
};

static void run_dino(const struct replay *p, struct step *s, struct dino *d, int64_t t)
{
    int64_t all = s->views * s->n, rows = s->large * s->n, k = s->k;
    double *x = replay_unit(d->raw + t * all * p->dim, all, p->dim);
    double *y = replay_unit(d->teacher_raw + t * rows * p->dim, rows, p->dim);
    double *unit = replay_unit(d->v, k, p->dim),
           *teacher = replay_unit(d->teacher_v, k, p->dim);
    double *logits = d->teacher_logits + t * rows * k, *mean = replay_room(k);
    struct ck_soft soft = {d->now, replay_number(p, "teacher_temp"), 1};
    s->x = x;
    s->prototype = unit;
    make_scores(s);
    ck_prototype_scores(y, rows, teacher, k, p->dim, logits);
    ck_soft_targets(logits, rows, k, &soft, s->code);
    d->loss[t] = predict(s, golden_number(p->c, "student_temp", NAN));
    for (int64_t i = 0; i < rows * k; i++)
        mean[i % k] += logits[i] / (double)rows;
    for (int64_t j = 0; j < k; j++)
        d->now[j] =
            ck_average_of(d->now[j], mean[j], golden_number(p->c, "center_momentum", NAN));
    replay_through_length(d->raw + t * all * p->dim, all, p->dim, s->grad_x);
    replay_through_length(d->v, k, p->dim, s->grad_prototype);
    memcpy(d->logits + t * all * k, s->score, (size_t)(all * k) * sizeof *x);
    memcpy(d->grad_logits + t * all * k, s->grad_score, (size_t)(all * k) * sizeof *x);
    memcpy(d->grad_x + t * all * p->dim, s->grad_x, (size_t)(all * p->dim) * sizeof *x);
    memcpy(d->grad_prototype + t * k * p->dim, s->grad_prototype,
           (size_t)(k * p->dim) * sizeof *x);
    memcpy(d->center + t * k, d->now, (size_t)k * sizeof *x);
    free(x);
    free(y);
    free(unit);
    free(teacher);
    free(mean);
}

static int compare_temperatures(struct replay *all)
{
    const struct golden_array *a = golden_array(all->c, "teacher_temp_schedule_f64");
    double *got = a ? replay_room(a->n) : NULL;
    if (!got)
        return golden_refuse(all->r, "teacher_temp_schedule_f64 is missing");
    for (int64_t e = 0; e < a->n; e++)
        got[e] =
            ck_teacher_temperature(golden_number(all->c, "teacher_temp_start", NAN),
                                   golden_number(all->c, "teacher_temp_end", NAN),
                                   (int64_t)golden_number(all->c, "teacher_temp_epochs", 0), e);
    int rc = replay_close(all, "teacher_temp_schedule", got);
    free(got);
    return rc;
}

static int compare_dino(struct replay *p, const struct dino *d)
{
    struct replay all = *p;
    all.name = "";
    return replay_close(p, "loss", d->loss) || replay_close(p, "grad_logits", d->grad_logits) ||
                   replay_close(p, "grad_student", d->grad_x) ||
                   replay_close(p, "grad_proto_v", d->grad_prototype) ||
                   replay_close(&all, "student_logits", d->logits) ||
                   replay_close(&all, "teacher_logits", d->teacher_logits) ||
                   replay_close(&all, "center_after", d->center) || compare_temperatures(&all)
               ? -1
               : 0;
}

int golden_replay_dino(struct replay *p)
{
    int large = (int)golden_number(p->c, "large", 0);
    int views = large + (int)golden_number(p->c, "small", 0);
    int64_t steps = (int64_t)golden_number(p->c, "steps", 0), rows = steps * views * p->n;
    struct step s = begin(p, views, large);
    struct dino d = {replay_read(p, rows * p->dim, "student_raw"),
                     replay_read(p, steps * large * p->n * p->dim, "teacher_raw"),
                     replay_read(p, s.k * p->dim, "student_proto_v"),
                     replay_read(p, s.k * p->dim, "teacher_proto_v"),
                     replay_room(steps),
                     replay_room(rows * s.k),
                     replay_room(steps * large * p->n * s.k),
                     replay_room(steps * s.k),
                     replay_room(rows * s.k),
                     replay_room(rows * p->dim),
                     replay_room(steps * s.k * p->dim),
                     replay_room(s.k)};
    if (!d.raw || !d.teacher_raw || !d.v || !d.teacher_v)
        return golden_refuse(p->r, "student_* or teacher_* is missing or of another size");
    for (int64_t t = 0; t < steps; t++)
        run_dino(p, &s, &d, t);
    int rc = compare_dino(p, &d);
    double *const arrays[] = {
        d.raw,    d.teacher_raw, d.v,      d.teacher_v,      d.loss, d.logits, d.teacher_logits,
        d.center, d.grad_logits, d.grad_x, d.grad_prototype, d.now};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    end(&s);
    return rc;
}

/* ---- MSN ---- */

/* The loss, and gradients with respect to the unit vectors. */
static double run_msn(const struct replay *p, struct step *s, const double *target)
{
    double t = golden_number(p->c, "T", NAN), *sums = replay_room(s->k);
    struct ck_soft sharp = {NULL, t, golden_number(p->c, "sharpen", NAN)}, plain = {NULL, t, 1};
    int64_t rows = s->views * s->n;
    double *soft = replay_room(rows * s->k);
    make_scores(s);
    ck_prototype_scores(target, s->n, s->prototype, s->k, p->dim, s->code);
    ck_soft_targets(s->code, s->n, s->k, &sharp, s->code);
    ck_sinkhorn(s->code, s->n, s->k, (int)golden_number(p->c, "sinkhorn_iterations", 0), NULL,
                sums);
    struct ck_code_input in = {s->score, s->code, s->views, 1, 0, s->n, s->k, t};
    double loss = ck_code_loss(&in, s->loss, s->grad_score);
    ck_soft_targets(s->score, rows, s->k, &plain, soft);
    memset(sums, 0, (size_t)s->k * sizeof *sums);
    for (int64_t i = 0; i < rows * s->k; i++)
        sums[i % s->k] += soft[i] / (double)rows;
    loss += ck_mean_entropy(soft, rows, s->k, sums, rows, t,
                            golden_number(p->c, "regularization", NAN), s->grad_score);
    spread(s);
    free(soft);
    free(sums);
    return loss;
}

int golden_replay_msn(struct replay *p)
{
    int views = (int)golden_number(p->c, "anchor_views", 0);
    struct step s = begin(p, views, 1);
    int64_t rows = views * p->n;
    double *raw = replay_read(p, rows * p->dim, "anchor_raw");
    double *target = replay_read(p, p->n * p->dim, "target_raw");
    double *v = replay_read(p, s.k * p->dim, "proto_raw");
    if (!raw || !target || !v)
        return golden_refuse(p->r, "an input is missing or of another size");
    double *x = replay_unit(raw, rows, p->dim), *y = replay_unit(target, p->n, p->dim);
    double *unit = replay_unit(v, s.k, p->dim);
    s.x = x;
    s.prototype = unit;
    double loss = run_msn(p, &s, y);
    replay_through_length(raw, rows, p->dim, s.grad_x);
    replay_through_length(v, s.k, p->dim, s.grad_prototype);
    int rc = replay_close(p, "loss", &loss) || replay_close(p, "target", s.code) ||
                     replay_close(p, "grad_anchor", s.grad_x) ||
                     replay_close(p, "grad_proto", s.grad_prototype)
                 ? -1
                 : 0;
    free(raw);
    free(target);
    free(v);
    free(x);
    free(y);
    free(unit);
    end(&s);
    return rc;
}
