/* loss.c - computes the discrimination loss of a batch and its gradient, 48 images at a
 * time.
 *
 * A block of images is a task: it runs all heads and views and writes the gradients of its
 * own images only. Losses are stored per block and added in order, so that the result does
 * not depend on the number of threads. */
#include "nn/loss.h"
#include "nn/loss_check.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "kernels/softmax.h"

#include <math.h>
#include <string.h>

enum {
    ROWS = CK_SOFT_ROWS,
    CHUNK = 128, /* centers at a time: their scores with a block fit the L1 cache */
};

enum output { PROJ, PRED };

/* The softmax of one view's block, unnormalised. */
struct soft {
    float *e;         /* [dim][48] sum of exp((score - top) / T) times the center */
    double sum[ROWS]; /* sum of exp((score - top) / T) */
    float top[ROWS];  /* maximum score */
    float own[ROWS];  /* score of the label */
};

/* One worker's memory for a block of images. */
struct scratch {
    float *xt;          /* [dim][48] */
    float *s;           /* [CHUNK][48] scores, then their exponentials */
    double *target;     /* [dim] mean center of a row's target */
    struct soft *large; /* [large] proj of the large views, for the targets */
    struct soft now;
};

struct ck_loss {
    struct ck_loss_shape shape;
    struct ck_loss_options o;
    /* copy of shape.k */
    int64_t *k;
    const struct ck_softmax *kn;
    int workers;
    struct scratch *scratch; /* [workers] */
    struct soft *softs;      /* their softmaxes, [workers][large] ... */
    float *floats;           /* ... floats ... */
    double *doubles;         /* ... and doubles, [workers][dim] */
    double *loss;            /* [blocks][heads] sums over the images */
    int64_t *hits;           /* [blocks][heads] */
    int64_t bytes;
};

/* One step; read-only for the workers. */
struct step {
    struct ck_loss *l;
    const struct ck_loss_input *in;
    const struct ck_loss_output *out;
    double beta;
    int uses_q; /* the targets include another view's softmax */
};

/* One head of one block; on the worker's stack. */
struct block {
    const struct step *st;
    struct scratch *w;
    int h;
    int64_t first, n;    /* images first .. first + n - 1 */
    int32_t label[ROWS]; /* the label of largest weight */
    double loss;         /* sums over the images */
    int64_t hits;
};

/* ---- memory ---- */

static int64_t blocks_of(int64_t n)
{
    return (n + ROWS - 1) / ROWS;
}

static float *cut(float **from, int64_t n)
{
    float *p = *from;
    *from += n;
    return p;
}

static int64_t scratch_floats(const struct ck_loss_shape *s)
{
    return (int64_t)ROWS * s->dim * (1 + s->large + 1) + ROWS * CHUNK;
}

/* Gives worker i its part of the memory. */
static void set_scratch(struct ck_loss *l, int i)
{
    struct scratch *w = &l->scratch[i];
    int64_t block = (int64_t)ROWS * l->shape.dim;
    float *at = l->floats + i * scratch_floats(&l->shape);
    w->target = l->doubles + (int64_t)i * l->shape.dim;
    w->large = l->softs + (int64_t)i * l->shape.large;
    w->xt = cut(&at, block);
    w->s = cut(&at, ROWS * CHUNK);
    for (int v = 0; v < l->shape.large; v++)
        w->large[v].e = cut(&at, block);
    w->now.e = cut(&at, block);
}

static void *take(struct ck_loss *l, int64_t n, size_t size)
{
    l->bytes += n * (int64_t)size;
    return ck_calloc_array((size_t)n, size);
}

int ck_loss_new(struct ck_loss **out, const struct ck_loss_shape *shape,
                const struct ck_loss_options *options)
{
    int rc = COKE_OK;
    struct ck_loss *l = NULL;
    *out = NULL;
    CK_TRY(ck_loss_check_setup(shape, options));
    l = ck_calloc_array(1, sizeof *l);
    if (!l)
        return COKE_ENOMEM;
    l->shape = *shape;
    l->o = *options;
    l->kn = ck_softmax();
    l->workers = ck_threads();
    l->bytes = sizeof *l;
    int64_t cells = blocks_of(shape->max_n) * shape->heads;
    l->k = take(l, shape->heads, sizeof *l->k);
    l->scratch = take(l, l->workers, sizeof *l->scratch);
    l->softs = take(l, (int64_t)l->workers * shape->large, sizeof *l->softs);
    l->floats = take(l, l->workers * scratch_floats(shape), sizeof *l->floats);
    l->doubles = take(l, l->workers * shape->dim, sizeof *l->doubles);
    l->loss = take(l, cells, sizeof *l->loss);
    l->hits = take(l, cells, sizeof *l->hits);
    if (!l->k || !l->scratch || !l->softs || !l->floats || !l->doubles || !l->loss || !l->hits)
        CK_LEAVE(COKE_ENOMEM);
    memcpy(l->k, shape->k, (size_t)shape->heads * sizeof *l->k);
    l->shape.k = l->k;
    for (int i = 0; i < l->workers; i++)
        set_scratch(l, i);
    *out = l;
    l = NULL;
done:
    ck_loss_free(l);
    return rc;
}

void ck_loss_set_alpha(struct ck_loss *l, double alpha)
{
    l->o.alpha = alpha;
}

void ck_loss_free(struct ck_loss *l)
{
    if (!l)
        return;
    ck_free(l->k);
    ck_free(l->scratch);
    ck_free(l->softs);
    ck_free(l->floats);
    ck_free(l->doubles);
    ck_free(l->loss);
    ck_free(l->hits);
    ck_free(l);
}

int64_t ck_loss_bytes(const struct ck_loss *l)
{
    return l->bytes;
}

/* ---- softmax of a block ---- */

/* Records the scores of the labels that fall into this chunk. */
static void note_own(const struct block *b, int64_t from, int64_t count, float *own)
{
    for (int64_t r = 0; r < b->n; r++)
        if (b->label[r] >= from && b->label[r] < from + count)
            own[r] = b->w->s[(b->label[r] - from) * ROWS + r];
}

/* Sweeps over all centers, a chunk at a time, under a running maximum: when it rises, the sums
 * so far are scaled down. Without wants_mean z->e stays 0. */
static void soften(const struct block *b, const float *x, int wants_mean, struct soft *z)
{
    const struct ck_loss *l = b->st->l;
    const float *centers = b->st->in->centers[b->h];
    float *s = b->w->s, scale = (float)(1 / l->o.temperature);
    int dim = l->shape.dim;
    ck_soft_block(x, b->n, dim, b->w->xt);
    memset(z->e, 0, (size_t)dim * ROWS * sizeof *z->e);
    for (int r = 0; r < ROWS; r++) {
        z->top[r] = -INFINITY;
        z->sum[r] = 0;
    }
    for (int64_t from = 0; from < l->k[b->h]; from += CHUNK) {
        int64_t count = l->k[b->h] - from < CHUNK ? l->k[b->h] - from : CHUNK;
        const float *c = centers + from * dim;
        float keep[ROWS], sum[ROWS] = {0}, unused[ROWS] = {0};
        memcpy(keep, z->top, sizeof keep);
        l->kn->scores(c, count, dim, b->w->xt, s, z->top);
        note_own(b, from, count, z->own);
        l->kn->exps(keep, 1, z->top, scale, unused);
        l->kn->exps(s, count, z->top, scale, sum);
        for (int r = 0; r < ROWS; r++)
            z->sum[r] = z->sum[r] * (double)keep[r] + (double)sum[r];
        if (wants_mean)
            l->kn->mix(c, count, dim, s, keep, z->e);
    }
}

/* ---- loss and gradient of a row ---- */

static void find_labels(struct block *b)
{
    const struct ck_targets *t = &b->st->in->targets[b->h];
    for (int64_t r = 0; r < b->n; r++) {
        int64_t from = (b->first + r) * t->slots, most = from;
        for (int64_t j = from + 1; j < from + t->slots; j++)
            if (t->weight[j] > t->weight[most])
                most = j;
        b->label[r] = t->label[most];
    }
}

/* target [dim] = the weighted centers of the image's own labels; returns their total weight,
 * 1 up to rounding. */
static double own_target(const struct block *b, int64_t r, double *target)
{
    const struct ck_targets *t = &b->st->in->targets[b->h];
    const float *centers = b->st->in->centers[b->h];
    int dim = b->st->l->shape.dim;
    double total = 0;
    memset(target, 0, (size_t)dim * sizeof *target);
    for (int64_t j = (b->first + r) * t->slots; j < (b->first + r + 1) * t->slots; j++) {
        double weight = t->weight ? (double)t->weight[j] : 1;
        if (weight == 0)
            continue;
        const float *c = centers + (int64_t)t->label[j] * dim;
        for (int i = 0; i < dim; i++)
            target[i] += weight * (double)c[i];
        total += weight;
    }
    return total;
}

/* Adds q to the target of view v: alpha for the label, the rest in equal parts from the large
 * views other than v. */
static double blend_target(const struct block *b, int v, int64_t r, double *target)
{
    double total = own_target(b, r, target), alpha = b->st->l->o.alpha;
    if (!b->st->uses_q)
        return total;
    int large = b->st->l->shape.large, dim = b->st->l->shape.dim;
    for (int j = 0; j < dim; j++)
        target[j] *= alpha;
    for (int u = 0; u < large; u++) {
        if (u == v)
            continue;
        const struct soft *q = &b->w->large[u];
        double weight = (1 - alpha) / (v < large ? large - 1 : large) / q->sum[r];
        for (int64_t j = 0; j < dim; j++)
            target[j] += weight * (double)q->e[j * ROWS + r];
    }
    return alpha * total + (1 - alpha);
}

static double dot(const float *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i] * y[i];
    return sum;
}

/* Adds scale * (mass * mean center - target) to grad [dim]; the first head overwrites it. */
static void add_gradient(const struct block *b, const struct soft *z, int64_t r, double mass,
                         double scale, float *grad)
{
    const double *target = b->w->target;
    double inverse = mass / z->sum[r];
    for (int64_t j = 0; j < b->st->l->shape.dim; j++) {
        double g = scale * (inverse * (double)z->e[j * ROWS + r] - target[j]);
        grad[j] = b->h ? grad[j] + (float)g : (float)g;
    }
}

/* ---- views, heads, blocks ---- */

/* Weight of an output in the loss of a head: equal for all large views, and for all small
 * ones. */
static double weight_of(const struct step *st, int v, enum output o)
{
    const struct ck_loss_shape *shape = &st->l->shape;
    int small = shape->views - shape->large;
    double large = small == 0 ? 1 : st->l->o.large_weight;
    double view = v < shape->large ? large / shape->large : (1 - large) / small;
    return view * (o == PRED ? st->beta : 1 - st->beta);
}

/* Offset of the block's first vector of view v. */
static int64_t place(const struct block *b, int v)
{
    return (v * b->st->in->n + b->first) * b->st->l->shape.dim;
}

/* Loss, gradient and hits of one output of one view. An output of weight 0 gets a zero
 * gradient. */
static void run_view(struct block *b, int v, enum output o)
{
    const struct step *st = b->st;
    const struct ck_loss *l = st->l;
    int dim = l->shape.dim;
    const float *x = (o == PRED ? st->in->pred : st->in->proj) + place(b, v);
    float *grad = o == PRED ? st->out->grad_pred : st->out->grad_proj;
    double weight = weight_of(st, v, o), t = l->o.temperature;
    if (grad)
        grad += place(b, v);
    if (weight == 0) {
        if (grad && b->h == 0)
            memset(grad, 0, (size_t)(b->n * dim) * sizeof *grad);
        return;
    }
    struct soft *z =
        st->uses_q && o == PROJ && v < l->shape.large ? &b->w->large[v] : &b->w->now;
    if (z == &b->w->now)
        soften(b, x, grad != NULL, z);
    for (int64_t r = 0; r < b->n; r++) {
        double mass = blend_target(b, v, r, b->w->target);
        double logs = (double)z->top[r] / t + log(z->sum[r]);
        b->loss += weight * (mass * logs - dot(x + r * dim, b->w->target, dim) / t);
        if (grad)
            add_gradient(b, z, r, mass, weight / ((double)st->in->n * l->shape.heads * t),
                         grad + r * dim);
        if (o == (st->beta > 0 ? PRED : PROJ))
            b->hits += z->own[r] >= z->top[r];
    }
}

/* The large views' proj come first: every view's target needs them. */
static void run_head(struct block *b)
{
    const struct step *st = b->st;
    find_labels(b);
    for (int v = 0; st->uses_q && v < st->l->shape.large; v++)
        soften(b, st->in->proj + place(b, v), 1, &b->w->large[v]);
    for (int v = 0; v < st->l->shape.views; v++) {
        run_view(b, v, PROJ);
        if (st->in->pred)
            run_view(b, v, PRED);
    }
}

/* A task: all heads of a block, in order, because each adds to the same gradients. */
static void run_block(void *arg, int64_t index, int worker)
{
    const struct step *st = arg;
    struct ck_loss *l = st->l;
    for (int h = 0; h < l->shape.heads; h++) {
        struct block b = {.st = st, .w = &l->scratch[worker], .h = h, .first = index * ROWS};
        b.n = st->in->n - b.first < ROWS ? st->in->n - b.first : ROWS;
        run_head(&b);
        l->loss[index * l->shape.heads + h] = b.loss;
        l->hits[index * l->shape.heads + h] = b.hits;
    }
}

/* ---- the step ---- */

/* Adds the blocks in order. */
static int sum_up(const struct step *st, struct ck_loss_output *out)
{
    const struct ck_loss *l = st->l;
    int64_t blocks = blocks_of(st->in->n), heads = l->shape.heads, trained = 0;
    for (int v = 0; v < l->shape.views; v++)
        trained += weight_of(st, v, st->beta > 0 ? PRED : PROJ) > 0;
    out->loss = 0;
    for (int64_t h = 0; h < heads; h++) {
        double loss = 0;
        int64_t hits = 0;
        for (int64_t b = 0; b < blocks; b++) {
            loss += l->loss[b * heads + h];
            hits += l->hits[b * heads + h];
        }
        out->head_loss[h] = loss / (double)st->in->n;
        if (out->accuracy)
            out->accuracy[h] = (double)hits / (double)(st->in->n * trained);
        if (!isfinite(out->head_loss[h]))
            return ck_fail(COKE_ENUMERIC, "head %lld: the loss is not finite", (long long)h);
        out->loss += out->head_loss[h] / (double)heads;
    }
    return COKE_OK;
}

int ck_loss_step(struct ck_loss *l, const struct ck_loss_input *in, struct ck_loss_output *out)
{
    struct step st = {.l = l, .in = in, .out = out, .beta = in->pred ? l->o.beta : 0};
    st.uses_q = l->shape.views > 1 && l->o.alpha < 1;
    if (ck_threads() > l->workers)
        return ck_fail(COKE_EUSAGE, "the loss was made for %d threads and cannot run on %d",
                       l->workers, ck_threads());
    CK_RETURN_IF(ck_loss_check_input(&l->shape, in));
    ck_parallel(blocks_of(in->n), run_block, &st);
    return sum_up(&st, out);
}
