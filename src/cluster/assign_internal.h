/* assign_internal.h - the struct behind ck_assigner, shared by the assign*.c. */
#ifndef CK_ASSIGN_INTERNAL_H
#define CK_ASSIGN_INTERNAL_H

#include "cluster/assign.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum {
    WIDEST = 8192, /* columns that screening can round */
    STEP = 64,     /* rounded rows are padded to a multiple of this */
};

struct ck_assigner {
    const struct ck_kernels *kn;
    const float *center; /* [k][ld], borrowed */
    int64_t k, panels, screen_panels;
    int ld;
    int lift;  /* column that is not rounded; -1 = none */
    int width; /* columns that are rounded, padded; <= ld */
    int group; /* screening panels per group */
    enum ck_assign_path path, forced;

    float *bias, *raised; /* [panels * width] padded with -inf; raised = bias + rise */
    const float *more, *rise, *look; /* [k] or NULL: see ck_assigner_widen */

    int valid[3]; /* by path: do its panels match the centers? */

    float *dense; /* [panels][ld * width] */

    char *screen; /* [screen_panels] of panel_bytes */
    size_t panel_bytes;
    float *reference;                         /* m, [ld] */
    float *reference_dot;                     /* m.r_k, [k] */
    float *length;                            /* |c_k| without the lift, [k] */
    float reference_square, reference_length; /* |m|^2, |m| */
    float center_length, center_lift;         /* largest length and |lift| of a center */
    float bias_size;                          /* largest |bias| or |raised bias|, + |m.r| */
    float lowest;                             /* lowest bias */
    float most_more;                          /* largest of more */

    /* Cost of the paths, to choose between them. Atomic: all threads add to them. */
    _Atomic int64_t candidates, path_rows[3], path_ns[3];
    int64_t next_probe;                                /* in rows */
    int64_t mark_rows[3], mark_ns[3], mark_candidates; /* as they were at the last choice */
};

/* Compiles to one instruction, unlike fmaxf, because NaN need not be handled. */
static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

static inline int row_bytes(int width)
{
    return (width + STEP - 1) / STEP * STEP;
}

static inline struct ck_screen_panel *panel_at(const struct ck_assigner *a, int64_t p)
{
    return (struct ck_screen_panel *)(void *)(a->screen + (size_t)p * a->panel_bytes);
}

/* v [ld] without the lift: v itself or, if the lift is among the rounded columns, a copy. */
static inline const float *without_lift(const struct ck_assigner *a, const float *v,
                                        float copy[WIDEST])
{
    if (a->lift < 0 || a->lift >= a->width)
        return v;
    memcpy(copy, v, (size_t)a->width * sizeof *copy);
    copy[a->lift] = 0;
    return copy;
}

#endif
