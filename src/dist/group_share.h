/* group_share.h - the group as the interface for sharing work (core/share.h). */
#ifndef CK_GROUP_SHARE_H
#define CK_GROUP_SHARE_H

#include "core/share.h"
#include "dist/group.h"

/* Borrows the group: valid until the process leaves it. */
struct ck_share ck_group_share(struct ck_group *c);

#endif
