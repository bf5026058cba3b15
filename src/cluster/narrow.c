/* narrow.c - the exact solution in a narrow box of prices, where few points have a choice. */
#include "cluster/narrow.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

/* The points of `wide` that have a choice inside the narrow box, as a smaller problem of its
 * own. Owns its arrays; e borrows them. */
struct narrow {
    struct ck_exact e;
    int32_t *point; /* [n] the point in the wide problem */
    int32_t *label; /* [n] */
    float *score;   /* [n] */
    int64_t *base, *start, *first;
    struct ck_arc *arc;
    struct ck_choice *choice;
};

static void release(struct narrow *s)
{
    ck_exact_release(&s->e);
    ck_free(s->point);
    ck_free(s->label);
    ck_free(s->score);
    ck_free(s->base);
    ck_free(s->start);
    ck_free(s->first);
    ck_free(s->arc);
    ck_free(s->choice);
}

/* Can choice c win point i somewhere in the narrow box? Inside it the value of another center
 * is at most score + high, that of the label at least score + low. */
static int can_win(const struct ck_exact *e, const struct ck_exact *wide, int64_t i,
                   const struct ck_choice *c)
{
    int32_t k = wide->label[i];
    return c->k == k || (double)c->score + e->high[c->k] >= (double)wide->score[i] + e->low[k];
}

/* Choices of point i that can win inside the box; the label is always one. */
static int64_t count_choices(const struct ck_exact *e, const struct ck_exact *wide, int64_t i)
{
    int64_t n = 0;
    for (int64_t c = wide->first[i]; c < wide->first[i + 1]; c++)
        n += can_win(e, wide, i, &wide->choice[c]);
    return n;
}

static int reserve(struct narrow *s, int64_t n, int64_t arcs)
{
    size_t k = (size_t)s->e.k;
    s->point = ck_alloc_array((size_t)n, sizeof *s->point);
    s->label = ck_alloc_array((size_t)n, sizeof *s->label);
    s->score = ck_alloc_array((size_t)n, sizeof *s->score);
    s->base = ck_calloc_array(k, sizeof *s->base);
    s->start = ck_calloc_array(k + 2, sizeof *s->start);
    s->first = ck_calloc_array((size_t)n + 1, sizeof *s->first);
    s->arc = ck_alloc_array((size_t)arcs, sizeof *s->arc);
    s->choice = ck_alloc_array((size_t)arcs, sizeof *s->choice);
    return s->point && s->label && s->score && s->base && s->start && s->first && s->arc &&
                   s->choice
               ? COKE_OK
               : COKE_ENOMEM;
}

/* The intersection of the wide box with +-width around the present prices. */
static void set_box(struct ck_exact *e, const struct ck_exact *wide, double width)
{
    for (int64_t k = 0; k < e->k; k++) {
        e->price[k] = wide->price[k];
        e->low[k] = fmax(wide->low[k], wide->price[k] - width);
        e->high[k] = fmin(wide->high[k], wide->price[k] + width);
    }
}

/* Appends point i. start[k + 2] counts the arcs of k, for sort_arcs(). */
static void take_point(struct narrow *s, const struct ck_exact *wide, int64_t i)
{
    struct ck_exact *e = &s->e;
    int64_t at = e->n++, arcs = s->first[at];
    s->point[at] = (int32_t)i;
    s->label[at] = wide->label[i];
    s->score[at] = wide->score[i];
    for (int64_t c = wide->first[i]; c < wide->first[i + 1]; c++)
        if (can_win(e, wide, i, &wide->choice[c])) {
            s->choice[arcs++] = wide->choice[c];
            s->start[wide->choice[c].k + 2]++;
        }
    s->first[at + 1] = arcs;
}

/* The choices again, grouped by cluster: counting sort, after which start[k] is where the arcs
 * of k begin. */
static void sort_arcs(struct narrow *s)
{
    for (int64_t k = 0; k < s->e.k; k++)
        s->start[k + 2] += s->start[k + 1];
    for (int64_t i = 0; i < s->e.n; i++)
        for (int64_t c = s->first[i]; c < s->first[i + 1]; c++)
            s->arc[s->start[s->choice[c].k + 1]++] =
                (struct ck_arc){(int32_t)i, s->choice[c].score};
}

/* Two runs over the points: the first counts, so that the arrays are allocated once. Points
 * without a choice only add to base. */
static int build(struct narrow *s, const struct ck_exact *wide, double width)
{
    struct ck_exact *e = &s->e;
    int64_t n = 0, arcs = 0;
    int rc = ck_exact_init(e, wide->k, wide->min_size, wide->max_size);
    if (rc)
        return rc;
    e->tie = wide->tie;
    e->poll = wide->poll;
    e->poll_arg = wide->poll_arg;
    set_box(e, wide, width);
    for (int64_t i = 0; i < wide->n; i++) {
        int64_t choices = count_choices(e, wide, i);
        n += choices > 1;
        arcs += choices > 1 ? choices : 0;
    }
    rc = reserve(s, n, arcs);
    if (rc)
        return rc;
    memcpy(s->base, wide->base, (size_t)e->k * sizeof *s->base);
    for (int64_t i = 0; i < wide->n; i++)
        if (count_choices(e, wide, i) > 1)
            take_point(s, wide, i);
        else
            s->base[wide->label[i]]++;
    sort_arcs(s);
    e->base = s->base;
    e->label = s->label;
    e->score = s->score;
    e->start = s->start;
    e->arc = s->arc;
    e->first = s->first;
    e->choice = s->choice;
    e->crowds = wide->crowds;
    e->crowd_score = wide->crowd_score;
    e->given = wide->given;
    return COKE_OK;
}

static void take_solution(struct ck_exact *wide, const struct narrow *s)
{
    memcpy(wide->price, s->e.price, (size_t)wide->k * sizeof *wide->price);
    memcpy(wide->size, s->e.size, (size_t)wide->k * sizeof *wide->size);
    for (int64_t i = 0; i < s->e.n; i++) {
        wide->label[s->point[i]] = s->label[i];
        wide->score[s->point[i]] = s->score[i];
    }
}

int ck_exact_solve_narrow(struct ck_exact *wide, double width, int *inside)
{
    struct narrow s = {0};
    int rc;
    *inside = 0;
    CK_TRY(build(&s, wide, width));
    CK_TRY(ck_exact_solve(&s.e, inside));
    if (*inside)
        take_solution(wide, &s);
done:
    release(&s);
    return rc;
}
