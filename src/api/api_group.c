/* api_group.c - public functions on the processes of a job. */
#include "core/error.h"
#include "core/workers.h"
#include "dist/group.h"
#include "dist/cores.h"

int coke_group_join(void)
{
    int sharers = 1;
    CK_RETURN_IF(ck_group_join());
    CK_RETURN_IF(ck_cores_sharers(ck_group(), &sharers));
    ck_share_cores(sharers);
    return COKE_OK;
}

int coke_group_rank(void)
{
    return ck_group_rank(ck_group());
}

int coke_group_size(void)
{
    return ck_group_size(ck_group());
}

int coke_group_leave(int status)
{
    return ck_group_leave(status == COKE_ESTOPPED ? 0 : -status);
}
