/* norm.c - batch norm: cuts arrays into tasks for the team, adds their sums in a fixed order,
 * and evaluates the formulas per channel. */
#include "kernels/norm.h"
#include "core/workers.h"
#include "kernels/integers.h"
#include "kernels/kernels_layers.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK = 4096,   /* elements of a strip summed in f32, */
    CHUNK_MIN = 64, /* within these bounds on the rows */
    CHUNK_MAX = 512,
    PART = 16384,     /* minimum elements of a summing task */
    TASKS = 128,      /* desired number of such tasks */
    BAND = 1024,      /* contiguous elements that a task should cover before it strides */
    PARTIALS = 16384, /* doubles on the stack for the tasks' sums */
    REGION = 32768,   /* elements of an elementwise task */
};

/* ---- sums per channel ----
 *
 * Strips of at most CK_STRIP channels are traversed in chunks of rows. Consecutive chunks form
 * a part, neighbouring strips a band; a band's part is a task with its own sums, which are
 * added in the order of the parts. All of it depends on the shape only, so that the sums have
 * the same bytes for any number of threads. */
struct plan {
    int64_t channels, width, strips; /* of `width` channels, except perhaps the last */
    int64_t strip_stride;            /* elements from one strip to the next */
    /* A strip consists of groups of rows ... */
    int64_t groups, group_stride, rows, ld;
    /* ... cut into chunks: of `segs` groups, or, per_group to a group, of seg_rows rows. */
    int64_t segs, per_group, seg_rows, chunks;
    int64_t parts, band, bands; /* of `band` strips */
};

/* With one row per plane, or one block of channels, the array is a matrix. */
static void view_as_strips(struct plan *p, const struct ck_act_shape *a, int by_image)
{
    int matrix = a->s == 1 || a->cb == 1, joined = a->s == 1 || (matrix && !by_image);
    p->channels = ck_act_channels(a);
    p->width = matrix ? smaller(p->channels, CK_STRIP) : a->blk;
    p->strips = divide_up(p->channels, p->width);
    p->strip_stride = matrix ? p->width : a->s * a->blk;
    p->groups = joined ? 1 : a->n;
    p->group_stride = a->cb * a->s * a->blk;
    p->rows = joined ? a->n * a->s : a->s;
    p->ld = matrix ? p->channels : a->blk;
}

/* by_image: no chunk has rows of several images. */
static void cut_into_chunks(struct plan *p, const struct ck_act_shape *a, int by_image)
{
    int64_t rows = smaller(larger(CHUNK / p->width / 4 * 4, CHUNK_MIN), CHUNK_MAX);
    p->per_group = by_image && a->s == 1 ? p->rows : divide_up(p->rows, rows);
    p->segs = by_image || p->per_group > 1 ? 1 : rows / larger(p->rows, 1);
    p->seg_rows = p->per_group > 1 ? divide_up(p->rows, p->per_group) : p->rows;
    if (p->per_group > 1 && p->seg_rows > 1)
        p->seg_rows = divide_up(p->seg_rows, 4) * 4;
    p->chunks = divide_up(p->groups, p->segs) * p->per_group;
}

/* In a network of bf16 a difference in the last bit of a sum changes some roundings of the next
 * layer, those more of the layers after it: a batch divided otherwise among processes would
 * change gradients by a tenth. Sums of single images that are added in double do not depend on
 * it. Heads are matrices, in f32 as well. */
static struct plan make_plan(const struct ck_act_shape *a, enum ck_dtype t)
{
    struct plan p;
    int by_image = t == CK_BF16 || a->s == 1;
    view_as_strips(&p, a, by_image);
    cut_into_chunks(&p, a, by_image);
    p.band = smaller(BAND / smaller(p.strip_stride, BAND), p.strips);
    p.bands = divide_up(p.strips, p.band);
    int64_t parts = smaller(p.chunks, p.groups * p.rows * p.width * p.band / PART);
    parts = smaller(parts, divide_up(TASKS, p.bands));
    p.parts = larger(smaller(parts, PARTIALS / (2 * p.channels)), 1);
    return p;
}

/* A reduction to two sums per channel. add() adds those of one chunk of a strip, which begins
 * at element `at` and channel `c`; workers call it concurrently, for different parts or
 * bands. */
struct sums {
    struct plan plan;
    void (*add)(const struct sums *s, const struct ck_strip *strip, int64_t at, int64_t c,
                double *first, double *second);
    enum ck_dtype t;
    const void *x;
    const struct ck_bn_grad *in;
    const float *mean;
    void *masked;
    double *first, *second; /* [channels], the results */
    double *partial;        /* [parts][2][channels], used if there are several parts */
};

/* Offset at which a chunk of the first strip begins. */
static int64_t chunk_start(const struct plan *p, int64_t chunk)
{
    return chunk / p->per_group * p->segs * p->group_stride +
           chunk % p->per_group * p->seg_rows * p->ld;
}

static struct ck_strip chunk_strip(const struct plan *p, int64_t strip, int64_t chunk)
{
    int64_t group = chunk / p->per_group * p->segs;
    int64_t row = chunk % p->per_group * p->seg_rows;
    return (struct ck_strip){.segs = smaller(p->segs, p->groups - group),
                             .seg_stride = p->group_stride,
                             .rows = smaller(p->seg_rows, p->rows - row),
                             .ld = p->ld,
                             .width = (int)smaller(p->width, p->channels - strip * p->width)};
}

/* Writes its own rows of `partial`, or with a single part the result itself: tasks of different
 * bands write different channels. */
static void sums_task(void *arg, int64_t task, int worker)
{
    (void)worker;
    const struct sums *s = arg;
    const struct plan *p = &s->plan;
    int64_t from = task % p->bands * p->band, to = smaller(from + p->band, p->strips);
    int64_t part = task / p->bands, end = (part + 1) * p->chunks / p->parts;
    double *first = p->parts == 1 ? s->first : s->partial + 2 * part * p->channels;
    double *second = p->parts == 1 ? s->second : first + p->channels;
    for (int64_t c = from * p->width; c < smaller(to * p->width, p->channels); c++)
        first[c] = second[c] = 0;
    for (int64_t chunk = part * p->chunks / p->parts; chunk < end; chunk++)
        for (int64_t strip = from; strip < to; strip++) {
            struct ck_strip rows = chunk_strip(p, strip, chunk);
            int64_t at = chunk_start(p, chunk) + strip * p->strip_stride;
            rows.next = strip + 1 < to
                            ? p->strip_stride
                            : chunk_start(p, chunk + 1) + from * p->strip_stride - at;
            s->add(s, &rows, at, strip * p->width, first, second);
        }
}

/* `partial` is on this stack frame while the team fills it; 128 KB, so that nothing
 * allocates. */
static void run_sums(struct sums *s)
{
    const struct plan *p = &s->plan;
    double partial[PARTIALS];
    s->partial = partial;
    ck_parallel(p->bands * p->parts, sums_task, s);
    if (p->parts == 1)
        return;
    memcpy(s->first, partial, (size_t)p->channels * sizeof *partial);
    memcpy(s->second, partial + p->channels, (size_t)p->channels * sizeof *partial);
    for (int64_t part = 1; part < p->parts; part++)
        for (int64_t c = 0; c < p->channels; c++) {
            s->first[c] += partial[2 * part * p->channels + c];
            s->second[c] += partial[(2 * part + 1) * p->channels + c];
        }
}

/* Converts sums about the pivot to sums about 0, in double: the terms that cancel are exact. */
static void add_moments(const struct sums *s, const struct ck_strip *strip, int64_t at,
                        int64_t c, double *sum, double *sumsq)
{
    struct ck_moments m;
    ck_layer_kernels()->bn_sums(strip, s->t, ck_at(s->t, s->x, at), &m);
    double count = (double)(strip->segs * strip->rows);
    for (int k = 0; k < strip->width; k++) {
        double pivot = (double)m.pivot[k], dev = (double)m.dev[k];
        double base = count * pivot;
        sum[c + k] += base + dev;
        sumsq[c + k] += base * pivot + (2 * pivot * dev + (double)m.square[k]);
    }
}

void ck_bn_sums(const struct ck_act_shape *a, enum ck_dtype t, const void *x, double *sum,
                double *sumsq)
{
    struct sums s = {.plan = make_plan(a, t),
                     .add = add_moments,
                     .t = t,
                     .x = x,
                     .first = sum,
                     .second = sumsq};
    run_sums(&s);
}

/* `in`, advanced to element i and channel c. */
static struct ck_bn_grad grad_at(enum ck_dtype t, const struct ck_bn_grad *in, int64_t i,
                                 int64_t c)
{
    return (struct ck_bn_grad){.dy = ck_at(t, in->dy, i),
                               .dy2 = in->dy2 ? ck_at(t, in->dy2, i) : NULL,
                               .y = in->y ? ck_at(t, in->y, i) : NULL,
                               .scale = in->scale ? in->scale + c : NULL,
                               .shift = in->scale ? in->shift + c : NULL,
                               .x = in->x ? ck_at(t, in->x, i) : NULL};
}

/* Sums of g * (x - mean); run by the workers. The factor invstd follows once, at the end. */
static void add_grad_moments(const struct sums *s, const struct ck_strip *strip, int64_t at,
                             int64_t c, double *sum_dy, double *sum_dy_x)
{
    struct ck_grad_moments m;
    struct ck_bn_grad in = grad_at(s->t, s->in, at, c);
    ck_layer_kernels()->bn_grad_sums(strip, s->t, &in, s->mean + c,
                                     s->masked ? ck_at(s->t, s->masked, at) : NULL, &m);
    for (int k = 0; k < strip->width; k++) {
        sum_dy[c + k] += (double)m.g[k];
        sum_dy_x[c + k] += (double)m.gx[k];
    }
}

void ck_bn_grad_sums(const struct ck_act_shape *a, enum ck_dtype t, const struct ck_bn_grad *in,
                     const float *mean, const float *invstd, double *sum_dy,
                     double *sum_dy_xhat, void *masked)
{
    struct sums s = {.plan = make_plan(a, t),
                     .add = add_grad_moments,
                     .t = t,
                     .in = in,
                     .mean = mean,
                     .masked = masked,
                     .first = sum_dy,
                     .second = sum_dy_xhat};
    run_sums(&s);
    for (int64_t c = 0; c < s.plan.channels; c++)
        sum_dy_xhat[c] *= (double)invstd[c];
}

/* ---- element by element ----
 *
 * A task is a run of planes, or a piece of one plane if that is large. */
struct regions {
    const struct ck_act_shape *a;
    int64_t planes;    /* planes per task */
    int64_t per_plane; /* tasks per plane, if planes are cut */
    int64_t rows;      /* rows per task */
    enum ck_dtype t;
    const struct ck_bn_forward *forward; /* exactly one of the two is set */
    const struct ck_bn_backward *backward;
};

/* Copies the arguments and moves the pointers to this task's first element. */
static void region_task(void *arg, int64_t task, int worker)
{
    (void)worker;
    const struct regions *g = arg;
    const struct ck_act_shape *a = g->a;
    int64_t plane = task / g->per_plane * g->planes, row = task % g->per_plane * g->rows;
    int64_t at = (plane * a->s + row) * a->blk;
    struct ck_region r = {.plane = plane,
                          .planes = smaller(g->planes, a->n * a->cb - plane),
                          .cb = a->cb,
                          .rows = smaller(g->rows, a->s - row),
                          .blk = a->blk};
    if (g->forward) {
        struct ck_bn_forward f = *g->forward;
        f.x = ck_at(g->t, f.x, at);
        f.res.x = f.res.x ? ck_at(g->t, f.res.x, at) : NULL;
        f.y = ck_at(g->t, f.y, at);
        ck_layer_kernels()->bn_apply(&r, g->t, &f);
    } else {
        struct ck_bn_backward b = *g->backward;
        b.in = grad_at(g->t, &b.in, at, 0);
        b.dx = ck_at(g->t, b.dx, at);
        ck_layer_kernels()->bn_grad_apply(&r, g->t, &b);
    }
}

static void run_regions(struct regions *g)
{
    const struct ck_act_shape *a = g->a;
    g->rows = smaller(larger(REGION / a->blk, 1), a->s);
    g->per_plane = divide_up(a->s, g->rows);
    g->planes = larger(REGION / (a->s * a->blk), 1);
    ck_parallel(divide_up(a->n * a->cb, g->planes) * g->per_plane, region_task, g);
}

int64_t ck_bn_stream_from;

/* Bytes from which results bypass the caches. An ordinary store first reads the cache line and
 * later evicts it; streaming takes 3/4 of the time for large results. sysconf is slow, so its
 * answer is cached; concurrent first calls store the same value. */
static int64_t stream_from(void)
{
    static _Atomic int64_t half;
    if (ck_bn_stream_from)
        return ck_bn_stream_from;
    if (!half) {
        long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
        half = bytes > 0 ? bytes / 2 : 16 << 20;
    }
    return half;
}

/* Whether to stream the result. bf16 rows wider than a block lose: they arrive as halves or
 * quarters of a cache line between many loads. */
static int streams(const struct ck_act_shape *a, enum ck_dtype t, const void *out)
{
    int64_t bytes = ck_act_size(a) * (t == CK_F32 ? 4 : 2);
    return bytes > stream_from() && (uintptr_t)out % 64 == 0 &&
           (t == CK_F32 ? a->blk % 16 == 0 : a->blk == 16);
}

/* An output that is also an input is already in the caches: streaming it would gain nothing. */
void ck_bn_apply(const struct ck_act_shape *a, enum ck_dtype t, const void *x,
                 const float *scale, const float *shift, const struct ck_bn_residual *res,
                 int relu, void *y)
{
    const struct ck_bn_residual none = {0};
    struct ck_bn_forward f = {
        .x = x, .scale = scale, .shift = shift, .res = res ? *res : none, .relu = relu, .y = y};
    f.stream = y != x && y != f.res.x && streams(a, t, y);
    struct regions g = {.a = a, .t = t, .forward = &f};
    run_regions(&g);
}

void ck_bn_grad_apply(const struct ck_act_shape *a, enum ck_dtype t,
                      const struct ck_bn_grad *in, const float *kg, const float *kx,
                      const float *k0, void *dx)
{
    struct ck_bn_backward b = {.in = *in, .kg = kg, .kx = kx, .k0 = k0, .dx = dx};
    b.stream = dx != in->dy && dx != in->dy2 && dx != in->y && dx != in->x && streams(a, t, dx);
    struct regions g = {.a = a, .t = t, .backward = &b};
    run_regions(&g);
}

/* ---- formulas per channel ---- */

static void clear_padding(int64_t channels, int64_t padded, float *x)
{
    for (int64_t c = channels; c < padded; c++)
        x[c] = 0;
}

void ck_bn_finish(int64_t channels, int64_t padded, double count, const double *sum,
                  const double *sumsq, double eps, float *mean, float *var, float *invstd)
{
    double n = count > 0 ? count : 1;
    for (int64_t c = 0; c < channels; c++) {
        double m = sum[c] / n, v = sumsq[c] / n - m * m;
        v = v < 0 ? 0 : v; /* rounding error of a constant channel; keeps NaN */
        mean[c] = (float)m;
        var[c] = (float)v;
        invstd[c] = (float)(1 / sqrt(v + eps));
    }
    clear_padding(channels, padded, mean);
    clear_padding(channels, padded, var);
    clear_padding(channels, padded, invstd);
}

void ck_bn_invstd(int64_t channels, int64_t padded, const float *var, double eps, float *invstd)
{
    for (int64_t c = 0; c < channels; c++)
        invstd[c] = (float)(1 / sqrt((double)var[c] + eps));
    clear_padding(channels, padded, invstd);
}

void ck_bn_affine(int64_t channels, int64_t padded, const float *gamma, const float *beta,
                  const float *mean, const float *invstd, float *scale, float *shift)
{
    for (int64_t c = 0; c < channels; c++) {
        scale[c] = gamma ? gamma[c] * invstd[c] : invstd[c];
        shift[c] = (float)((beta ? (double)beta[c] : 0) - (double)mean[c] * (double)scale[c]);
    }
    clear_padding(channels, padded, scale);
    clear_padding(channels, padded, shift);
}

void ck_bn_running(int64_t channels, double count, double momentum, const float *mean,
                   const float *var, float *running_mean, float *running_var)
{
    double unbias = count > 1 ? count / (count - 1) : 1;
    for (int64_t c = 0; c < channels; c++) {
        running_mean[c] =
            (float)((1 - momentum) * (double)running_mean[c] + momentum * (double)mean[c]);
        running_var[c] = (float)((1 - momentum) * (double)running_var[c] +
                                 momentum * unbias * (double)var[c]);
    }
}

void ck_bn_grad_coef(int64_t channels, int64_t padded, double count, const float *gamma,
                     const float *mean, const float *invstd, const double *sum_dy,
                     const double *sum_dy_xhat, float *kg, float *kx, float *k0)
{
    double n = count > 0 ? count : 1;
    for (int64_t c = 0; c < channels; c++) {
        double k = (gamma ? (double)gamma[c] : 1) * (double)invstd[c];
        double slope = -k * (double)invstd[c] * sum_dy_xhat[c] / n;
        kg[c] = (float)k;
        kx[c] = (float)slope;
        /* Uses the rounded slope: otherwise its error times the mean would exceed dx's own. */
        k0[c] = (float)(-k * sum_dy[c] / n - (double)kx[c] * (double)mean[c]);
    }
    clear_padding(channels, padded, kg);
    clear_padding(channels, padded, kx);
    clear_padding(channels, padded, k0);
}
