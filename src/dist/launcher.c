/* launcher.c - was this process started together with others, and how to reach them. */
#include "dist/launcher.h"
#include "core/error.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PLUGIN[] = "libcoke-mpi.so";

/* Variables that launchers set; is_count: to the number of processes. */
static const struct sign {
    const char *name, *launcher;
    int is_count;
} signs[] = {
    {"OMPI_COMM_WORLD_SIZE", "mpirun", 1}, {"PMI_SIZE", "mpiexec", 1},
    {"MV2_COMM_WORLD_SIZE", "mpirun", 1},  {"SLURM_STEP_NUM_TASKS", "srun", 1},
    {"PMIX_RANK", "the launcher", 0},
};

/* What the launcher left, or NULL: alone. *count: processes, 0 = not known. */
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

/* COKE_MPI names the plug-in; else it lies beside the library, or where the system looks for
 * libraries. */
static void find_plugin(char *path, size_t room)
{
    Dl_info here;
    const char *named = getenv("COKE_MPI"), *slash = NULL;
    if (named && *named) {
        snprintf(path, room, "%s", named);
        return;
    }
    if (dladdr((void *)(uintptr_t)find_sign, &here) && here.dli_fname)
        slash = strrchr(here.dli_fname, '/');
    if (slash)
        snprintf(path, room, "%.*s/%s", (int)(slash - here.dli_fname), here.dli_fname, PLUGIN);
    if (!slash || access(path, F_OK) != 0)
        snprintf(path, room, "%s", PLUGIN);
}

int ck_launcher_connect(struct ck_transport *t)
{
    struct ck_transport joined;
    char words[512] = "", path[4096];
    int count = 0;
    const struct sign *sign = find_sign(&count);
    if (!sign)
        return COKE_OK;
    find_plugin(path, sizeof path);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!plugin)
        return ck_fail(COKE_EFAIL,
                       "%s started several processes, but they cannot reach each other: %s; "
                       "install MPI and build coke with it, or start one process",
                       sign->launcher, dlerror());
    ck_transport_open *open_plugin;
    *(void **)&open_plugin = dlsym(plugin, CK_TRANSPORT_OPEN);
    if (!open_plugin)
        return ck_fail(COKE_EFAIL, "%s is no part of coke: %s", path, dlerror());
    if (open_plugin(CK_TRANSPORT_VERSION, &joined, words, sizeof words))
        return ck_fail(COKE_EFAIL, "%s: MPI cannot be used: %s", path, words);
    *t = joined; /* also of one: MPI wants to be left */
    if (count > 1 && joined.size != count)
        return ck_fail(COKE_EFAIL,
                       "%s started %d processes (%s), MPI knows of %d: the MPI of %s is not "
                       "that of the launcher (with srun: --mpi=pmix)",
                       sign->launcher, count, sign->name, joined.size, path);
    return COKE_OK;
}
