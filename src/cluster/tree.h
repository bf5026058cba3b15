/* tree.h - rows to leaves by a search of two levels: the nearest groups by their centers, then
 * the exact argmax_k x.c_k + bias_k over all leaves of these groups, lowest index on ties. Rows
 * and centers are inner ones (frame.h), so that the nearest groups are those by either metric.
 *
 * The candidates of a row are the leaves of its `probes` nearest groups. They depend on the row
 * and the group centers alone, not on biases, threads or instruction sets. Leaves are numbered by
 * group. One thread at a time may use a tree; the functions run on all threads inside, except
 * ck_tree_route and ck_tree_update, which several threads may call for separate rows or leaves. */
#ifndef CK_TREE_H
#define CK_TREE_H

#include "cluster/frame.h"

#include <stdint.h>

/* Groups whose leaves a row is compared with, at most (docs/results/clustering.md). */
enum { CK_TREE_PROBES = 8 };

/* An entry of a near list with what orders it. */
struct ck_tree_ranked {
    float value;
    uint32_t hash;
    struct ck_near near;
};

struct ck_tree_worker {
    float *x; /* [CK_ASSIGN_BLOCK + CK_TILE][ld] rows of one group */
    struct ck_near_list near;
    struct ck_tree_ranked *row; /* entries of one row */
    int64_t row_room;
    struct ck_near *joined; /* lists of rows */
    int64_t njoined, joined_room;
};

/* What a row got from one of its groups. */
struct ck_tree_pair {
    int32_t label; /* leaf, numbered within the group */
    float score;
    int32_t worker, near; /* its near list: entries near .. near + nnear - 1 of the worker */
    int32_t nnear;
};

struct ck_tree {
    const struct ck_kernels *kn;
    const struct ck_frame *frame; /* borrowed */
    int ld, probes;
    int64_t k, groups;
    int64_t *first;            /* [groups + 1] leaves of g: first[g] .. first[g + 1] - 1 */
    float *center;             /* [groups][ld] */
    float *panel, *panel_bias; /* the same as dense panels */
    struct ck_assigner **leaf; /* [groups] assigners of the leaves */
    float *bias;               /* [k] as of the last settle */
    const float *rise;         /* [k] or NULL: see ck_tree_widen */
    /* scratch of a call, reused */
    int64_t room;              /* rows */
    int32_t *route;            /* [room][probes] nearest groups, nearest first */
    int32_t *order;            /* [room * probes] pairs ordered by group */
    struct ck_tree_pair *pair; /* [room * probes] */
    int64_t *start;            /* [groups + 1] where the pairs of a group begin in order */
    int64_t *unit;             /* [groups + 1] where the work units of a group begin */
    struct ck_tree_worker *worker;
    int workers;
};

/* center [groups][ld] and first [groups + 1] are copied; frame is borrowed, and so are leaves
 * [k][ld], which are read until ck_tree_reset. Every group has at least one leaf. probes: at most
 * CK_TREE_PROBES. */
int ck_tree_new(struct ck_tree **out, const struct ck_frame *frame, const float *center,
                int64_t groups, const int64_t *first, const float *leaves, int probes);
void ck_tree_free(struct ck_tree *t);
int64_t ck_tree_group_of(const struct ck_tree *t, int64_t leaf);

/* As the functions of ck_assigner, for all leaves. */
void ck_tree_reset(struct ck_tree *t, const float *leaves);
void ck_tree_update(struct ck_tree *t, int64_t leaf);
void ck_tree_settle(struct ck_tree *t, const float *bias);
void ck_tree_choose(struct ck_tree *t);
/* rise [k]: near lists include leaf k up to rise[k] beyond the margin; NULL = none. Borrowed;
 * applied by ck_tree_settle. */
void ck_tree_widen(struct ck_tree *t, const float *rise);
/* The center of each group becomes the mean, or mean direction, of its leaves weighted by count [k];
 * groups without any keep theirs. */
void ck_tree_recenter(struct ck_tree *t, const float *leaves, const int64_t *count);

/* Scratch for n rows, so that the functions below need no more (except near lists). */
int ck_tree_reserve(struct ck_tree *t, int64_t n);
/* The nearest groups of rows first .. first + n - 1, whose values are x [n][ld]; x is readable up
 * to a multiple of CK_TILE rows. */
void ck_tree_route(struct ck_tree *t, int64_t first, const float *x, int64_t n);
/* Labels n routed rows x [n][ld]; score [n] (without the bias) may be NULL. */
void ck_tree_assign(struct ck_tree *t, const float *x, int64_t n, int32_t *label, float *score);

/* Near lists of rows: entries first[i] .. first[i + 1] - 1 of row i by ascending k. Zeroed
 * but for the inputs = empty; the caller releases it. */
struct ck_tree_lists {
    float margin;   /* in: how far behind the best candidates are listed */
    int most;       /* in: entries of a row at most */
    int64_t *first; /* [n + 1] */
    int64_t first_room;
    struct ck_near *item; /* row is that of the call */
    int64_t room;
    struct ck_tree_chunk {
        int worker;
        int64_t first;
    } * chunk; /* scratch: where the threads put the lists of each chunk of rows */
    int64_t chunk_room;
};
void ck_tree_lists_release(struct ck_tree_lists *l);

/* As ck_tree_assign, and lists for each row the candidates k with x.c_k + bias_k + rise_k >= best -
 * margin: the label always, and if they are more than `most`, those with the highest sums;
 * entries of equal sums are chosen by a hash of (id of the row, k), so that equal rows list
 * different leaves. id [n]. */
int ck_tree_near(struct ck_tree *t, const float *x, const int64_t *id, int64_t n,
                 int32_t *label, float *score, struct ck_tree_lists *out);

#endif
