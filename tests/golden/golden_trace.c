/* golden_trace.c - replays a recorded clustering, batch by batch, and compares every step. */
#include "as_options.h"
#include "coke.h"
#include "golden_data.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tests/golden's README: "Suggested tolerances". */
static const double DUALS = 2e-5, CENTERS = 5e-6, WEIGHTS = 2e-6;

struct replay {
    const struct golden_case *c;
    struct golden_report *r;
    const char *folder;
    int heads;
    int64_t n, dim, epochs, steps, stage, slots;
    struct coke_multihead *mh;
    float *x;        /* [epochs][n][dim] what is clustered */
    int64_t *ids;    /* [n] of one epoch */
    int32_t *labels; /* [heads][batch] */
    float *f;        /* scratch, large enough for anything that is compared */
    float *g;
    int32_t *i;
    int64_t *counts;
};

/* ---- setting up ---- */

static int refuse(struct golden_report *r, const char *words)
{
    snprintf(r->text, sizeof r->text, "%s (%s)", words, coke_last_error());
    return -1;
}

/* The vectors of assignment: the features, or the plain mean of two views. */
static int find_vectors(struct replay *p)
{
    const struct golden_array *a = golden_array(p->c, "features");
    const struct golden_array *one = golden_array(p->c, "view1"), *two;
    if (!a)
        a = golden_array(p->c, "mean");
    two = golden_array(p->c, "view2");
    int64_t total = p->epochs * p->n * p->dim;
    if (a ? a->n != total : !one || !two || one->n != total || two->n != total)
        return refuse(p->r, "no features, mean or pair of views of the right size");
    p->x = malloc((size_t)total * sizeof *p->x);
    for (int64_t i = 0; i < total; i++)
        p->x[i] = a ? a->f[i] : (one->f[i] + two->f[i]) / 2;
    return 0;
}

static int read_sizes(struct replay *p)
{
    const struct golden_array *ids = golden_array(p->c, "ids");
    const struct golden_array *bounds = golden_array(p->c, "step_bounds");
    if (!ids || ids->ndim != 2 || !bounds)
        return refuse(p->r, "ids or step_bounds are missing");
    p->heads = (int)golden_number(p->c, "num_head", 1);
    if (p->heads < 1 || p->heads > COKE_MAX_HEADS || golden_item(p->c, "K", p->heads - 1) < 1)
        return refuse(p->r, "num_head and K do not agree");
    p->n = (int64_t)golden_number(p->c, "num_ins", 0);
    p->dim = (int64_t)golden_number(p->c, "dim", 0);
    p->epochs = ids->shape[0];
    p->steps = bounds->n - 1;
    p->stage = (int64_t)golden_number(p->c, "stage", -1);
    p->slots = (int64_t)golden_number(p->c, "ls", 5);
    if (ids->shape[1] != p->n || bounds->i[p->steps] != p->n)
        return refuse(p->r, "an epoch is not num_ins long");
    return 0;
}

/* Centers are recorded [d][k], ours are [k][d]. */
static void transpose(const float *from, int64_t rows, int64_t cols, float *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[j * rows + i] = from[i * cols + j];
}

static int new_head(struct replay *p, int h, struct coke_kmeans **out)
{
    const struct golden_array *init = golden_array(p->c, "init_centers_%d", h);
    struct ck_kmeans_options o = ck_kmeans_options_default();
    o.n = p->n;
    o.k = golden_item(p->c, "K", h);
    o.dim = p->dim;
    o.ratio = golden_number(p->c, "ratio", 0);
    o.eta = golden_number(p->c, "dual_lr", 0);
    o.update = CK_UPDATE_RUNNING;
    o.stage = p->stage;
    o.slots = p->slots;
    o.slot_temperature = golden_number(p->c, "t", 0.5);
    if (!init || init->n != o.k * o.dim)
        return refuse(p->r, "init_centers are missing");
    transpose(init->f, o.dim, o.k, p->f);
    if (coke_kmeans_new(out, AS(kmeans, &o), p->f, NULL, NULL))
        return refuse(p->r, "coke_kmeans_new");
    return 0;
}

static int begin(struct replay *p)
{
    struct coke_kmeans *head[COKE_MAX_HEADS] = {NULL};
    int64_t k = 1;
    if (read_sizes(p) || find_vectors(p))
        return -1;
    for (int h = 0; h < p->heads; h++)
        k = golden_item(p->c, "K", h) > k ? golden_item(p->c, "K", h) : k;
    int64_t most = p->n * (k > p->slots ? k : p->slots) + k * p->dim;
    p->ids = malloc((size_t)p->n * sizeof *p->ids);
    p->labels = malloc((size_t)(p->n * p->heads) * sizeof *p->labels);
    p->f = malloc((size_t)most * sizeof *p->f);
    p->g = malloc((size_t)most * sizeof *p->g);
    p->i = malloc((size_t)most * sizeof *p->i);
    p->counts = malloc((size_t)k * sizeof *p->counts);
    for (int h = 0; h < p->heads; h++)
        if (new_head(p, h, &head[h])) {
            for (int done = 0; done < h; done++)
                coke_kmeans_free(head[done]);
            return -1;
        }
    return coke_multihead_new(&p->mh, head, p->heads) ? refuse(p->r, "multihead") : 0;
}

static void end(struct replay *p)
{
    coke_multihead_free(p->mh);
    free(p->x);
    free(p->ids);
    free(p->labels);
    free(p->f);
    free(p->g);
    free(p->i);
    free(p->counts);
}

/* ---- comparing one step, one epoch ---- */

__attribute__((format(printf, 2, 3))) static const char *at(char text[96], const char *format,
                                                            ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, 96, format, ap);
    va_end(ap);
    return text;
}

static int check_centers(struct replay *p, int h, enum coke_array which, const float *recorded,
                         const char *what)
{
    int64_t k = golden_item(p->c, "K", h), n = k * p->dim;
    if (coke_kmeans_copy(coke_multihead_head(p->mh, h), which, p->f, n))
        return refuse(p->r, what);
    transpose(recorded, p->dim, k, p->g);
    return golden_close(p->r, what, p->f, p->g, n, CENTERS);
}

static int check_step(struct replay *p, int h, int64_t e, int64_t s, int64_t first, int64_t b)
{
    char text[96];
    int64_t k = golden_item(p->c, "K", h), step = e * p->steps + s;
    const struct coke_kmeans *km = coke_multihead_head(p->mh, h);
    const struct golden_array *labels = golden_array(p->c, "labels_new");
    const struct golden_array *duals = golden_array(p->c, "duals_%d", h);
    const struct golden_array *counters = golden_array(p->c, "counters_%d", h);
    const struct golden_array *centers = golden_array(p->c, "cur_centers_%d", h);
    if (!labels || !duals || !counters || !centers)
        return refuse(p->r, "labels_new, duals, counters or cur_centers are missing");
    at(text, "labels_new of head %d, epoch %d, step %d", h, (int)e, (int)s);
    if (golden_same_ints(p->r, text, p->labels + h * b,
                         labels->i + (h * p->epochs + e) * p->n + first, b))
        return -1;
    if (coke_kmeans_copy(km, COKE_ARRAY_DUALS, p->f, k) ||
        golden_close(p->r, at(text, "duals_%d, epoch %d, step %d", h, (int)e, (int)s), p->f,
                     duals->f + step * k, k, DUALS))
        return -1;
    if (coke_kmeans_copy(km, COKE_ARRAY_COUNTS, p->counts, k))
        return -1;
    for (int64_t j = 0; j < k; j++)
        p->f[j] = (float)p->counts[j];
    if (golden_close(p->r, at(text, "counters_%d, epoch %d, step %d", h, (int)e, (int)s), p->f,
                     counters->f + step * k, k, 0))
        return -1;
    return check_centers(p, h, COKE_ARRAY_CURRENT, centers->f + step * k * p->dim,
                         at(text, "cur_centers_%d, epoch %d, step %d", h, (int)e, (int)s));
}

/* What the loss would see, before the visit changes it: only from the stage's second epoch. */
static int check_targets(struct replay *p, int h, int64_t e, int64_t first, int64_t b)
{
    char text[96];
    const struct golden_array *soft = golden_array(p->c, "soft_labels_%d", h);
    int64_t k = golden_item(p->c, "K", h), at_epoch = e - p->stage - 1;
    if (!soft || p->stage < 0 || at_epoch < 0 || at_epoch >= soft->shape[0])
        return 0;
    if (coke_kmeans_soft_targets(coke_multihead_head(p->mh, h), p->ids + first, b, p->f))
        return refuse(p->r, "soft targets");
    return golden_close(p->r, at(text, "soft_labels_%d, epoch %d", h, (int)e), p->f,
                        soft->f + (at_epoch * p->n + first) * k, b * k, WEIGHTS);
}

/* Slots of the rows whose place in the recording does not depend on its free slots' label. */
static int check_slots(struct replay *p, int h, int64_t e)
{
    char text[96];
    const struct coke_kmeans *km = coke_multihead_head(p->mh, h);
    const struct golden_array *label = golden_array(p->c, "assign_labels");
    const struct golden_array *weight = golden_array(p->c, "label_val");
    const struct golden_array *marked = golden_array(p->c, "multi_match");
    int64_t n = p->n * p->slots, from = (e * p->heads + h) * p->n;
    if (!weight || !marked || label->ndim != 4)
        return refuse(p->r, "label_val or multi_match are missing");
    if (coke_kmeans_copy(km, COKE_ARRAY_SLOT_LABELS, p->i, n) ||
        coke_kmeans_copy(km, COKE_ARRAY_SLOT_WEIGHTS, p->f, n))
        return refuse(p->r, "slots");
    for (int64_t i = 0; i < p->n; i++) {
        const int32_t *want = label->i + (from + i) * p->slots;
        const float *w = weight->f + (from + i) * p->slots;
        if (marked->i[from + i])
            continue;
        at(text, "label_val of head %d, epoch %d, instance %d", h, (int)e, (int)i);
        if (golden_close(p->r, text, p->f + i * p->slots, w, p->slots, WEIGHTS))
            return -1;
        at(text, "assign_labels of head %d, epoch %d, instance %d", h, (int)e, (int)i);
        for (int64_t j = 0; j < p->slots; j++)
            if (w[j] > 0
                    ? golden_same_ints(p->r, text, p->i + i * p->slots + j, want + j, 1)
                    : golden_same_ints(p->r, text, p->i + i * p->slots + j, &(int32_t){-1}, 1))
                return -1;
    }
    return 0;
}

static int check_stored(struct replay *p, int h, int64_t e)
{
    char text[96];
    const struct golden_array *stored = golden_array(p->c, "assign_labels");
    const struct golden_array *fresh = golden_array(p->c, "labels_new");
    if (!stored)
        return refuse(p->r, "assign_labels are missing");
    if (coke_kmeans_copy(coke_multihead_head(p->mh, h), COKE_ARRAY_LABELS, p->i, p->n))
        return refuse(p->r, "labels");
    at(text, "stored labels of head %d, epoch %d", h, (int)e);
    for (int64_t i = 0; i < p->n; i++)
        if (golden_same_ints(p->r, text, p->i + p->ids[i],
                             fresh->i + (h * p->epochs + e) * p->n + i, 1))
            return -1;
    int second = p->stage >= 0 && e >= p->stage;
    if (second && stored->ndim == 4)
        return check_slots(p, h, e);
    int64_t stride = stored->ndim == 4 ? stored->shape[3] : 1;
    at(text, "assign_labels of head %d, epoch %d", h, (int)e);
    for (int64_t i = 0; i < p->n; i++)
        if (golden_same_ints(p->r, text, p->i + i,
                             stored->i + ((e * p->heads + h) * p->n + i) * stride, 1))
            return -1;
    return 0;
}

static int check_epoch_end(struct replay *p, int h, int64_t e)
{
    char text[96];
    int64_t kd = golden_item(p->c, "K", h) * p->dim;
    const struct golden_array *prev = golden_array(p->c, "pre_centers_end_%d", h);
    const struct golden_array *cur = golden_array(p->c, "cur_centers_end_%d", h);
    if (!prev)
        return refuse(p->r, "pre_centers_end are missing");
    if (check_centers(p, h, COKE_ARRAY_PREVIOUS, prev->f + e * kd,
                      at(text, "pre_centers_end_%d, epoch %d", h, (int)e)))
        return -1;
    if (cur && check_centers(p, h, COKE_ARRAY_CURRENT, cur->f + e * kd,
                             at(text, "cur_centers_end_%d, epoch %d", h, (int)e)))
        return -1;
    return check_stored(p, h, e);
}

/* ---- running ---- */

static int save_all(struct replay *p)
{
    char path[512];
    for (int h = 0; h < p->heads; h++) {
        snprintf(path, sizeof path, "%s/head-%d.safetensors", p->folder, h);
        if (coke_kmeans_save(coke_multihead_head(p->mh, h), path, 1))
            return refuse(p->r, "save");
    }
    return 0;
}

static int save_and_load(struct replay *p)
{
    char path[512];
    struct coke_kmeans *head[COKE_MAX_HEADS];
    if (save_all(p))
        return -1;
    coke_multihead_free(p->mh);
    p->mh = NULL;
    for (int h = 0; h < p->heads; h++) {
        snprintf(path, sizeof path, "%s/head-%d.safetensors", p->folder, h);
        if (coke_kmeans_load(&head[h], path)) {
            for (int done = 0; done < h; done++)
                coke_kmeans_free(head[done]);
            return refuse(p->r, "load");
        }
    }
    return coke_multihead_new(&p->mh, head, p->heads) ? refuse(p->r, "multihead") : 0;
}

static int run_step(struct replay *p, int64_t e, int64_t s)
{
    const int32_t *bounds = golden_array(p->c, "step_bounds")->i;
    int64_t first = bounds[s], b = bounds[s + 1] - first;
    for (int h = 0; h < p->heads; h++)
        if (check_targets(p, h, e, first, b))
            return -1;
    if (coke_multihead_step(p->mh, p->x + (e * p->n + first) * p->dim, p->ids + first, b,
                            p->labels))
        return refuse(p->r, "step");
    for (int h = 0; h < p->heads; h++)
        if (check_step(p, h, e, s, first, b))
            return -1;
    return 0;
}

static int run_all(struct replay *p, int64_t interrupt)
{
    const int32_t *ids = golden_array(p->c, "ids")->i;
    int64_t done = 0;
    for (int64_t e = 0; e < p->epochs; e++) {
        for (int64_t i = 0; i < p->n; i++)
            p->ids[i] = ids[e * p->n + i];
        for (int64_t s = 0; s < p->steps; s++) {
            if (run_step(p, e, s))
                return -1;
            if (++done == interrupt && save_and_load(p))
                return -1;
        }
        if (coke_multihead_epoch_end(p->mh))
            return refuse(p->r, "epoch end");
        for (int h = 0; h < p->heads; h++)
            if (check_epoch_end(p, h, e))
                return -1;
    }
    return save_all(p);
}

int golden_check_trace(const struct golden_case *c, int64_t interrupt, const char *folder,
                       struct golden_report *r)
{
    struct replay p = {.c = c, .r = r, .folder = folder};
    memset(r, 0, sizeof *r);
    int rc = begin(&p);
    if (!rc)
        rc = run_all(&p, interrupt);
    end(&p);
    return rc;
}

int64_t golden_trace_steps(const struct golden_case *c)
{
    return golden_array(c, "ids")->shape[0] * (golden_array(c, "step_bounds")->n - 1);
}
