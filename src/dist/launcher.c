/* launcher.c - detects a launcher (mpirun, srun) and connects to the other processes.
 *
 * MPI is loaded with dlopen only under a launcher, so that the library runs without MPI. */
#include "dist/launcher.h"
#include "core/error.h"
#include "core/plugin.h"
#include "dist/watch.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Environment variables that launchers set. is_count: the value is the number of processes. */
static const struct sign {
    const char *name, *launcher;
    int is_count;
} signs[] = {
    {"OMPI_COMM_WORLD_SIZE", "mpirun", 1}, {"PMI_SIZE", "mpiexec", 1},
    {"MV2_COMM_WORLD_SIZE", "mpirun", 1},  {"SLURM_STEP_NUM_TASKS", "srun", 1},
    {"PMIX_RANK", "the launcher", 0},
};

/* The first variable that is set, or NULL if the process is alone. *count: processes, 0 =
 * unknown. */
static const struct sign *find_sign(int *count)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const char *value = getenv(signs[i].name);
        if (!value || !*value)
            continue;
        *count = signs[i].is_count ? atoi(value) : 0;
        return *count == 1 ? NULL : &signs[i];
    }
    return NULL;
}

int ck_launcher_connect(struct ck_transport *t)
{
    struct ck_transport joined;
    char words[512] = "", path[4096];
    struct ck_guard guard = {0};
    int count = 0, seconds;
    const struct sign *sign = find_sign(&count);
    if (!sign)
        return COKE_OK;
    ck_plugin_find("COKE_MPI", "libcoke-mpi.so", path, sizeof path);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!plugin)
        return ck_fail(COKE_EFAIL,
                       "%s started several processes, but they cannot reach each other: %s; "
                       "install MPI and build coke with it, or start one process",
                       sign->launcher, dlerror());
    ck_transport_open *open_plugin;
    *(void **)&open_plugin = dlsym(plugin, CK_TRANSPORT_OPEN);
    if (!open_plugin)
        return ck_fail(COKE_EFAIL, "%s is not a coke plug-in: %s", path, dlerror());
    CK_RETURN_IF(ck_watch_seconds(&seconds));
    CK_RETURN_IF(ck_guard_init(&guard, seconds * CK_WATCH_START, -COKE_ELOST));
    int failed = open_plugin(CK_TRANSPORT_VERSION, &joined, words, sizeof words);
    ck_guard_release(&guard);
    if (failed)
        return ck_fail(COKE_EFAIL, "%s: cannot use MPI: %s", path, words);
    *t = joined; /* also with one process, because MPI must be finalized */
    if (count > 1 && joined.size != count)
        return ck_fail(COKE_EFAIL,
                       "%s started %d processes (%s), MPI reports %d: %s uses another MPI "
                       "than the launcher (with srun: --mpi=pmix)",
                       sign->launcher, count, sign->name, joined.size, path);
    return COKE_OK;
}
