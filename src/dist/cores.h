/* cores.h - which processes of a group share their cores. */
#ifndef CK_CORES_H
#define CK_CORES_H

#include "dist/group.h"

/* *out = the number of processes, including this one, with the same host and the same core set.
 * Collective. Used to divide the cores among them (ck_share_cores). */
int ck_cores_sharers(struct ck_group *c, int *out);

#endif
