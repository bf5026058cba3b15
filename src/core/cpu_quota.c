/* cpu_quota.c - how many cores the CPU quota of the process's cgroup amounts to. */
#include "core/cpu_quota.h"
#include "core/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 1024 };

/* The numbers at the start of a file of one line; a word ("max") ends them. Returns how many. */
static int read_numbers(const char *folder, const char *name, double v[2])
{
    char path[2 * PATH], line[128] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    char *p = fgets(line, sizeof line, f), *end;
    fclose(f);
    int n = 0;
    while (p && n < 2) {
        v[n] = ck_parse_double(p, &end);
        if (end == p)
            break;
        n++;
        p = end;
    }
    return n;
}

static void lower(double *cores, double quota, double period)
{
    if (quota > 0 && period > 0)
        *cores = fmin(*cores, quota / period);
}

static void ask_v2(const char *folder, double *cores)
{
    double v[2];
    if (read_numbers(folder, "cpu.max", v) == 2)
        lower(cores, v[0], v[1]);
}

/* Without a limit the quota is -1. */
static void ask_v1(const char *folder, double *cores)
{
    double quota[2], period[2];
    if (read_numbers(folder, "cpu.cfs_quota_us", quota) &&
        read_numbers(folder, "cpu.cfs_period_us", period))
        lower(cores, quota[0], period[0]);
}

/* The group and those above it, up to the mount: each may have a quota. In a container the group's
 * path may not exist, and the mount is its own group. */
static void ask_up(const char *mount, const char *group, void (*ask)(const char *, double *),
                   double *cores)
{
    char path[2 * PATH];
    size_t least = strlen(mount);
    snprintf(path, sizeof path, "%s%s", mount, group);
    while (strlen(path) > least) {
        ask(path, cores);
        *strrchr(path, '/') = 0;
    }
    ask(mount, cores);
}

/* A line of /proc/self/cgroup: "0::/group" (version 2) or "4:cpu,cpuacct:/group". */
static void ask_line(const char *root, char *line, double *cores)
{
    char mount[PATH];
    line[strcspn(line, "\n")] = 0;
    char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
    if (!group || group[1] != '/')
        return;
    *group++ = 0;
    names++;
    if (!*names) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        ask_up(mount, group, ask_v2, cores);
    } else if (strcmp(names, "cpu") == 0 || strncmp(names, "cpu,", 4) == 0 ||
               strstr(names, ",cpu,") || strcmp(names, "cpuacct,cpu") == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, names);
        ask_up(mount, group, ask_v1, cores);
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
        ask_up(mount, group, ask_v1, cores);
    }
}

int ck_cpu_quota(const char *root)
{
    char path[PATH], line[PATH];
    double cores = INFINITY;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        ask_line(root, line, &cores);
    if (f)
        fclose(f);
    return cores < 4096 ? (int)fmax(1, ceil(cores * (1 - 1e-9))) : 0;
}
