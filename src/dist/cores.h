/* cores.h - which processes of a job run on the same cores. */
#ifndef CK_CORES_H
#define CK_CORES_H

#include "dist/group.h"

/* How many processes of this machine, with this one, may run on its cores. */
int ck_cores_sharers(struct ck_group *c, int *out);

#endif
