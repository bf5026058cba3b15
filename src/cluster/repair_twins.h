/* repair_twins.h - centers that coincide count as one in the repair. */
#ifndef CK_REPAIR_TWINS_H
#define CK_REPAIR_TWINS_H

#include "cluster/repair.h"

/* Groups of centers that are within `radius` of their first one. */
struct ck_twins {
    int64_t k, groups;
    int32_t *group;  /* [k] */
    int32_t *member; /* [k] by group, ascending */
    int64_t *start;  /* [groups + 1] in `member` */
    double radius;   /* largest distance found */
};

/* limit: largest distance to the first center of a group. */
int ck_twins_find(struct ck_twins *t, const struct ck_repair *r, double limit);
void ck_twins_release(struct ck_twins *t);

/* Runs `run` on the problem with one center per group, then divides the rows of each group among
 * its members, in the order of the rows. The dual is raised by what the distances may hide.
 * Collective. */
int ck_twins_run(const struct ck_twins *t, struct ck_repair *r,
                 int (*run)(struct ck_repair *r));

#endif
