/* exemplars.c - describes the clusters of a clustering. */
#include "eval/exemplars.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"
#include "core/workers.h"
#include "kernels/gemm.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 64 }; /* rows scored at a time */

/* One parallel scan over the rows or the centers; each worker has its own score block. */
struct scan {
    const struct ck_exemplar_job *job;
    struct ck_exemplars *out;
    const float *x; /* [n][dim]: the rows, or the centers */
    int64_t n;
    float *score;   /* [team][BLOCK][k] */
    double *square; /* [k] squared lengths of the centers */
    /* results per row, each written by the worker of its block */
    float *similarity, *margin; /* [n] */
    int status;
};

static float tame(float v)
{
    return isfinite(v) ? v : -FLT_MAX;
}

static double square_of(const float *x, int dim)
{
    double sum = 0;
    for (int i = 0; i < dim; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* Products [rows][k] to distances with a minus sign. */
static void measure(const struct scan *p, const float *x, int64_t rows, float *score)
{
    const struct ck_exemplar_job *j = p->job;
    for (int64_t r = 0; r < rows; r++, score += j->k) {
        double own = square_of(x + r * j->dim, j->dim);
        for (int64_t c = 0; c < j->k; c++)
            score[c] = -(float)sqrt(fmax(0, own + p->square[c] - 2 * (double)score[c]));
    }
}

static int score_block(struct scan *p, int64_t block, int worker, float **score, int64_t *rows)
{
    const struct ck_exemplar_job *j = p->job;
    int64_t at = block * BLOCK;
    *rows = p->n - at < BLOCK ? p->n - at : BLOCK;
    *score = p->score + (int64_t)worker * BLOCK * j->k;
    struct ck_matrix x = {p->x + at * j->dim, j->dim, 0}, c = {j->center, j->dim, 1};
    CK_RETURN_IF(ck_gemm(*rows, j->k, j->dim, 1, x, c, 0, *score, j->k));
    if (j->euclidean)
        measure(p, x.data, *rows, *score);
    return COKE_OK;
}

/* ---- rows ---- */

/* Similarity and margin of a block of rows. Runs on any thread of the team. */
static void judge_block(void *arg, int64_t block, int worker)
{
    struct scan *p = arg;
    int64_t rows, k = p->job->k;
    float *score;
    int rc = score_block(p, block, worker, &score, &rows);
    if (rc) {
        p->status = rc;
        return;
    }
    for (int64_t r = 0; r < rows; r++, score += k) {
        int64_t i = block * BLOCK + r, own = p->job->label[i];
        float other = -INFINITY;
        if (own < 0)
            continue;
        for (int64_t c = 0; c < k; c++)
            if (c != own && tame(score[c]) > other)
                other = tame(score[c]);
        p->similarity[i] = tame(score[own]);
        p->margin[i] = p->similarity[i] - other;
    }
}

static int is_known(const struct ck_exemplar_job *j, int64_t i)
{
    return j->x && j->label[i] >= 0;
}

/* Inserts e into a sorted list of n; the last element is dropped. Ties keep the earlier row. */
static void insert(struct ck_exemplar *list, int n, struct ck_exemplar e, int by_margin)
{
    int at = n;
    while (at > 0) {
        const struct ck_exemplar *b = &list[at - 1];
        int before =
            b->row < 0 || (by_margin ? e.margin < b->margin : e.similarity > b->similarity);
        if (!before)
            break;
        if (at < n)
            list[at] = *b;
        at--;
    }
    if (at < n)
        list[at] = e;
}

static void place_rows(struct scan *p)
{
    const struct ck_exemplar_job *j = p->job;
    struct ck_exemplars *o = p->out;
    for (int64_t i = 0; i < j->n; i++) {
        if (!is_known(j, i))
            continue;
        int64_t c = j->label[i];
        struct ck_exemplar e = {i, p->similarity[i], p->margin[i]};
        insert(o->nearest + c * o->members, o->members, e, 0);
        insert(o->borderline + c * o->members, o->members, e, 1);
    }
}

/* Sums in row order, so that the result is the same for any number of threads. */
static void measure_tightness(struct scan *p)
{
    const struct ck_exemplar_job *j = p->job;
    for (int64_t i = 0; i < j->n; i++)
        if (is_known(j, i)) {
            double v = (double)p->similarity[i], *low = &p->out->loosest[j->label[i]];
            p->out->tightness[j->label[i]] += v;
            *low = *low < v ? *low : v; /* NaN before the first member */
        }
    for (int64_t c = 0; c < j->k; c++)
        p->out->tightness[c] = j->x && p->out->size[c]
                                   ? p->out->tightness[c] / (double)p->out->size[c]
                                   : (double)NAN;
}

/* Visits the rows in random order: the first ones of each cluster are its random members. */
static void draw_random(struct scan *p)
{
    const struct ck_exemplar_job *j = p->job;
    struct ck_exemplars *o = p->out;
    struct ck_perm perm;
    ck_perm_init(&perm, j->seed, CK_RNG_SAMPLE, 2, (uint64_t)j->n);
    for (int64_t at = 0; at < j->n; at++) {
        int64_t i = (int64_t)ck_perm_at(&perm, (uint64_t)at);
        if (j->label[i] < 0)
            continue;
        struct ck_exemplar *list = o->random + j->label[i] * o->members;
        for (int m = 0; m < o->members; m++)
            if (list[m].row < 0) {
                list[m] = (struct ck_exemplar){i, j->x ? p->similarity[i] : NAN,
                                               j->x ? p->margin[i] : NAN};
                break;
            }
    }
}

/* ---- clusters ---- */

/* The nearest other centers of a block of centers. Runs on any thread of the team. */
static void rank_block(void *arg, int64_t block, int worker)
{
    struct scan *p = arg;
    struct ck_exemplars *o = p->out;
    int64_t rows, k = p->job->k;
    float *score;
    int rc = score_block(p, block, worker, &score, &rows);
    if (rc) {
        p->status = rc;
        return;
    }
    for (int64_t r = 0; r < rows; r++, score += k) {
        int64_t own = block * BLOCK + r;
        int32_t *near = o->near + own * o->neighbours;
        float *value = o->near_similarity + own * o->neighbours;
        for (int64_t c = 0; c < k; c++) {
            int at = o->neighbours;
            float s = tame(score[c]);
            if (c == own)
                continue;
            for (; at > 0 && (near[at - 1] < 0 || s > value[at - 1]); at--)
                if (at < o->neighbours) {
                    near[at] = near[at - 1];
                    value[at] = value[at - 1];
                }
            if (at < o->neighbours) {
                near[at] = (int32_t)c;
                value[at] = s;
            }
        }
    }
}

/* ---- all of it ---- */

static int reserve(struct ck_exemplars *o)
{
    size_t k = (size_t)o->k, members = k * (size_t)o->members, near = k * (size_t)o->neighbours;
    o->size = ck_calloc_array(k, sizeof *o->size);
    o->tightness = ck_calloc_array(k, sizeof *o->tightness);
    o->loosest = ck_alloc_array(k, sizeof *o->loosest);
    o->nearest = ck_alloc_array(members, sizeof *o->nearest);
    o->borderline = ck_alloc_array(members, sizeof *o->borderline);
    o->random = ck_alloc_array(members, sizeof *o->random);
    o->near = ck_alloc_array(near, sizeof *o->near);
    o->near_similarity = ck_calloc_array(near, sizeof *o->near_similarity);
    if (!o->size || !o->tightness || !o->loosest || !o->nearest || !o->borderline ||
        !o->random || !o->near || !o->near_similarity)
        return COKE_ENOMEM;
    for (size_t i = 0; i < members; i++)
        o->nearest[i] = o->borderline[i] = o->random[i] = (struct ck_exemplar){-1, NAN, NAN};
    for (size_t i = 0; i < near; i++)
        o->near[i] = -1;
    for (size_t i = 0; i < k; i++)
        o->loosest[i] = (double)NAN;
    return COKE_OK;
}

static int run(struct scan *p, const float *x, int64_t n,
               void (*fn)(void *arg, int64_t chunk, int worker))
{
    p->x = x;
    p->n = n;
    ck_parallel((n + BLOCK - 1) / BLOCK, fn, p);
    return p->status ? ck_fail(p->status, "out of memory for the scores of %lld clusters",
                               (long long)p->job->k)
                     : COKE_OK;
}

int ck_exemplars(struct ck_exemplars *out, const struct ck_exemplar_job *job)
{
    int rc = COKE_OK;
    struct scan p = {.job = job, .out = out};
    *out = (struct ck_exemplars){
        .k = job->k, .members = job->members, .neighbours = job->neighbours};
    size_t rows = job->x ? (size_t)job->n : 0;
    CK_TRY(reserve(out));
    p.score = ck_alloc_array((size_t)ck_threads() * BLOCK, (size_t)job->k * sizeof *p.score);
    p.similarity = ck_calloc_array(rows, sizeof *p.similarity);
    p.margin = ck_calloc_array(rows, sizeof *p.margin);
    p.square = ck_calloc_array((size_t)job->k, sizeof *p.square);
    if (!p.score || !p.similarity || !p.margin || !p.square)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t c = 0; c < job->k && job->euclidean; c++)
        p.square[c] = square_of(job->center + c * job->dim, job->dim);
    for (int64_t i = 0; i < job->n; i++)
        if (job->label[i] >= 0)
            out->size[job->label[i]]++;
    if (job->x) {
        CK_TRY(run(&p, job->x, job->n, judge_block));
        place_rows(&p);
    }
    measure_tightness(&p);
    draw_random(&p);
    CK_TRY(run(&p, job->center, job->k, rank_block));
done:
    ck_free(p.score);
    ck_free(p.similarity);
    ck_free(p.margin);
    ck_free(p.square);
    if (rc)
        ck_exemplars_release(out);
    return rc;
}

void ck_exemplars_release(struct ck_exemplars *e)
{
    ck_free(e->size);
    ck_free(e->tightness);
    ck_free(e->loosest);
    ck_free(e->nearest);
    ck_free(e->borderline);
    ck_free(e->random);
    ck_free(e->near);
    ck_free(e->near_similarity);
    memset(e, 0, sizeof *e);
}
