/* group_share.h - a group as a struct ck_share (core/share.h), for layers that do not know
 * dist. */
#ifndef CK_GROUP_SHARE_H
#define CK_GROUP_SHARE_H

#include "core/share.h"
#include "dist/group.h"

/* Borrows the group: valid until the process leaves it. */
struct ck_share ck_group_share(struct ck_group *c);

#endif
