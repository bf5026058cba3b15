/* api_group.c - public functions on the processes of a job. */
#include "core/error.h"
#include "core/workers.h"
#include "dist/comm.h"
#include "dist/cores.h"

int coke_group_join(void)
{
    int sharers = 1;
    CK_RETURN_IF(ck_comm_join());
    CK_RETURN_IF(ck_cores_sharers(ck_comm(), &sharers));
    ck_share_cores(sharers);
    return COKE_OK;
}

int coke_group_rank(void)
{
    return ck_comm_rank(ck_comm());
}

int coke_group_size(void)
{
    return ck_comm_size(ck_comm());
}

int coke_group_leave(int status)
{
    return ck_comm_leave(status == COKE_ESTOPPED ? 0 : -status);
}
