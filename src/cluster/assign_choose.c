/* assign_choose.c - which path an assigner takes: the one that costs less. */
#include "cluster/assign_internal.h"

static double ns_per_row(const struct ck_assigner *a, enum ck_assign_path path)
{
    int64_t rows = a->path_rows[path] - a->mark_rows[path];
    return rows ? (double)(a->path_ns[path] - a->mark_ns[path]) / (double)rows : 0;
}

static void mark(struct ck_assigner *a)
{
    for (int p = 0; p < 3; p++) {
        a->mark_rows[p] = a->path_rows[p];
        a->mark_ns[p] = a->path_ns[p];
    }
    a->mark_candidates = a->candidates;
}

/* Leave screening only when so many candidates survive that the dense path may win; then run a
 * batch through each and keep the faster one for the next PROBE rows. Labels do not depend on
 * the path, so that this choice by time does not affect results. */
void ck_assigner_choose(struct ck_assigner *a)
{
    enum { PROBE = 1 << 20, SUSPICIOUS = 32 };
    if (a->forced || !a->screen)
        return;
    int64_t screened = a->path_rows[CK_PATH_SCREEN] - a->mark_rows[CK_PATH_SCREEN];
    int64_t total = a->path_rows[CK_PATH_SCREEN] + a->path_rows[CK_PATH_DENSE];
    double dense = ns_per_row(a, CK_PATH_DENSE), screen = ns_per_row(a, CK_PATH_SCREEN);
    if (dense > 0 && screen > 0) { /* both were tried */
        a->path = dense < screen ? CK_PATH_DENSE : CK_PATH_SCREEN;
        a->next_probe = total + PROBE;
        mark(a);
    } else if (a->path == CK_PATH_DENSE && total >= a->next_probe) {
        a->path = CK_PATH_SCREEN;
    } else if (a->path == CK_PATH_SCREEN && screened >= 512) {
        if (total >= a->next_probe &&
            SUSPICIOUS * (a->candidates - a->mark_candidates) > screened * (a->k + 64))
            a->path = CK_PATH_DENSE;
        else if (screened > PROBE)
            mark(a);
    }
}
