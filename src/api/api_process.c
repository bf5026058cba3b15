/* api_process.c - public functions on the process: errors, version, threads, the group. This is
 * all global state of the library; call the setters before other threads use it. */
#include "api/check_args.h"
#include "core/guard.h"
#include "core/text.h"
#include "core/workers.h"
#include "dist/cores.h"
#include "dist/group.h"
#include "kernels/amx.h"
#include "kernels/kernels.h"

/* Per thread: the message of the last call that failed on this thread. */
const char *coke_last_error(void)
{
    return ck_last_error();
}

void coke_text_clean(const char *text, char *out, size_t size)
{
    if (out && size)
        ck_text_clean(text ? text : "", out, size);
}

int coke_catch_sigbus(void)
{
    return ck_guard_install();
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

const char *coke_amx_missing(void)
{
    return ck_amx_missing();
}

int coke_set_threads(int n)
{
    return ck_set_threads(n);
}

int coke_threads(void)
{
    return ck_threads();
}

/* ---- several processes ---- */

/* Processes on the same machine divide its cores, unless OMP_NUM_THREADS is set. */
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

/* A stop that was requested is not a failure: the other ranks need not be aborted. */
int coke_group_leave(int status)
{
    return ck_group_leave(status == COKE_ESTOPPED ? 0 : -status);
}
