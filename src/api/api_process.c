/* api_process.c - public functions on the process: errors, version, threads, the group. */
#include "api/check_args.h"
#include "core/workers.h"
#include "dist/cores.h"
#include "dist/group.h"
#include "kernels/kernels.h"
#include "nn/conv_table.h"

const char *coke_last_error(void)
{
    return ck_last_error();
}

const char *coke_version(void)
{
    return COKE_VERSION;
}

_Static_assert(COKE_VERSION_NUMBER == COKE_BUILD_NUMBER,
               "coke/types.h and CMakeLists.txt name the same version");

int coke_version_number(void)
{
    return COKE_VERSION_NUMBER;
}

const char *coke_isa(void)
{
    return ck_isa();
}

int coke_set_threads(int n)
{
    return ck_set_threads(n);
}

int coke_threads(void)
{
    return ck_threads();
}

int coke_tune(const char *path)
{
    CK_RETURN_IF(ck_tuning_open(path)); /* NULL: the built-in table again */
    if (ck_group_size(ck_group()) > 1)
        ck_tuning_freeze(); /* each process would measure, and choose, for itself */
    return COKE_OK;
}

/* ---- several processes ---- */

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
