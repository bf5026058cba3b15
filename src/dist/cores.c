/* cores.c - which processes of a group share their cores. */
#include "dist/cores.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

/* A hash of host and core set. Launchers either bind each process to cores of its own or leave
 * all cores to all of them, so equal sets are shared and different ones do not overlap. */
static uint64_t name_cores(void)
{
    char host[256] = "";
    cpu_set_t cores;
    CPU_ZERO(&cores);
    gethostname(host, sizeof host - 1);
    sched_getaffinity(0, sizeof cores, &cores);
    return ck_hash(&cores, sizeof cores, ck_hash_text(host));
}

int ck_cores_sharers(struct ck_group *c, int *out)
{
    int rc = COKE_OK, size = ck_group_size(c);
    uint64_t mine = name_cores();
    uint64_t *all = ck_alloc_array((size_t)size, sizeof *all);
    if (!all)
        return COKE_ENOMEM;
    CK_TRY(ck_group_gather_equal(c, &mine, all, sizeof mine));
    *out = 0;
    for (int r = 0; r < size; r++)
        *out += all[r] == mine;
done:
    ck_free(all);
    return rc;
}
