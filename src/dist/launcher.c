/* launcher.c - was this process started together with others, and how to reach them. */
#include "dist/launcher.h"
#include "core/error.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PLUGIN[] = "libcoke-mpi.so";

/* Variables that launchers set; 1 = nothing but the number of processes. */
static const struct {
    const char *name, *launcher;
    int is_count;
} signs[] = {
    {"OMPI_COMM_WORLD_SIZE", "mpirun", 1}, {"PMI_SIZE", "mpiexec", 1},
    {"MV2_COMM_WORLD_SIZE", "mpirun", 1},  {"SLURM_STEP_NUM_TASKS", "srun", 1},
    {"PMIX_RANK", "the launcher", 0},
};

/* The launcher's name, or NULL: alone. *count: processes, 0 = not known. */
static const char *find_launcher(int *count)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const char *value = getenv(signs[i].name);
        if (!value || !*value)
            continue;
        *count = signs[i].is_count ? atoi(value) : 0;
        return *count == 1 ? NULL : signs[i].launcher;
    }
    return NULL;
}

/* The plug-in lies beside the library; COKE_MPI names another. */
static void *load(void)
{
    char path[4096];
    Dl_info here;
    const char *named = getenv("COKE_MPI");
    if (named && *named)
        return dlopen(named, RTLD_NOW | RTLD_GLOBAL);
    if (dladdr((void *)(uintptr_t)find_launcher, &here) && here.dli_fname) {
        const char *slash = strrchr(here.dli_fname, '/');
        int n =
            snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - here.dli_fname) : 1,
                     slash ? here.dli_fname : ".", PLUGIN);
        void *plugin = n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
        if (plugin)
            return plugin;
    }
    return dlopen(PLUGIN, RTLD_NOW | RTLD_GLOBAL);
}

int ck_launcher_connect(struct ck_transport *t)
{
    struct ck_transport joined;
    char words[512] = "";
    int count = 0;
    const char *launcher = find_launcher(&count);
    if (!launcher)
        return COKE_OK;
    void *plugin = load();
    if (!plugin)
        return ck_fail(COKE_EFAIL,
                       "%s started several processes, but they cannot reach each other: %s; "
                       "install MPI and build coke with it, or start one process",
                       launcher, dlerror());
    ck_transport_open *open_plugin;
    *(void **)&open_plugin = dlsym(plugin, CK_TRANSPORT_OPEN);
    if (!open_plugin)
        return ck_fail(COKE_EFAIL, "%s is no part of coke: %s", PLUGIN, dlerror());
    if (open_plugin(CK_TRANSPORT_VERSION, &joined, words, sizeof words))
        return ck_fail(COKE_EFAIL, "%s: MPI cannot be used: %s", PLUGIN, words);
    *t = joined; /* also of one: MPI wants to be left */
    if (count > 1 && joined.size != count)
        return ck_fail(COKE_EFAIL,
                       "%s started %d processes, MPI knows of %d: the MPI of %s is not that of "
                       "the launcher (with srun: --mpi=pmix)",
                       launcher, count, joined.size, PLUGIN);
    return COKE_OK;
}
