/* memory_left.c - how much memory this process may still take: Linux's /proc, cgroups, limits.
 */
#include "core/memory_left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 1024 };
/* Address space of a thread: glibc's stack and the heap that it reserves. */
static const int64_t thread_space = (8 + 64) << 20;

/* The number behind `key` at the start of a line; "" = the first number of the file. -1 = the
 * file or key is missing, or not a number ("max"). */
static int64_t read_number(const char *path, const char *key)
{
    char line[256];
    size_t n = strlen(key);
    int64_t value = -1;
    FILE *f = fopen(path, "r");
    while (f && value < 0 && fgets(line, sizeof line, f)) {
        char *end;
        if (strncmp(line, key, n) != 0)
            continue;
        long long x = strtoll(line + n, &end, 10);
        value = end > line + n ? x : -1;
    }
    if (f)
        fclose(f);
    return value;
}

static void lower(struct ck_memory_left *m, int64_t available, int64_t limit, const char *what)
{
    available = available > 0 ? available : 0;
    if (available < m->available) {
        m->available = available;
        m->what = what;
    }
    m->limit = limit < m->limit ? limit : m->limit;
}

static void lower_both(struct ck_memory_left *m, int64_t left, const char *what)
{
    lower(m, left, left > 0 ? left : 0, what);
}

static void ask_machine(struct ck_memory_left *m)
{
    int64_t available = read_number("/proc/meminfo", "MemAvailable:");
    int64_t total = read_number("/proc/meminfo", "MemTotal:");
    int64_t swap = read_number("/proc/meminfo", "SwapTotal:");
    if (available >= 0 && total >= 0)
        lower(m, available * 1024, (total + (swap > 0 ? swap : 0)) * 1024, "free memory");
}

/* One cgroup folder. Cached files count as used there but make room when needed. */
static void ask_cgroup(struct ck_memory_left *m, const char *folder, const char *max,
                       const char *current, const char *cached)
{
    char path[PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, max);
    int64_t limit = read_number(path, "");
    snprintf(path, sizeof path, "%s/%s", folder, current);
    int64_t used = read_number(path, "");
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    int64_t cache = read_number(path, cached);
    if (limit < 0 || used < 0)
        return;
    lower(m, limit - used + (cache > 0 ? cache : 0), limit, "limit of the cgroup");
}

/* Version 2: the process's group and those above it. In a container its own group may appear as
 * the root. */
static void ask_cgroups(struct ck_memory_left *m)
{
    static const char root[] = "/sys/fs/cgroup";
    char line[PATH] = "", path[PATH + 32];
    FILE *f = fopen("/proc/self/cgroup", "r");
    while (f && fgets(line, sizeof line, f) && strncmp(line, "0::", 3) != 0)
        line[0] = 0;
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
    snprintf(path, sizeof path, "%s%s", root, line[0] ? line + 3 : "");
    while (strlen(path) >= sizeof root - 1) {
        ask_cgroup(m, path, "memory.max", "memory.current", "inactive_file ");
        *strrchr(path, '/') = 0;
    }
    ask_cgroup(m, "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
               "total_inactive_file ");
}

/* statm: pages of address space, and as the sixth number those of data. */
static void ask_limits(struct ck_memory_left *m, int threads)
{
    struct rlimit r;
    long long space = 0, data = 0, page = sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/self/statm", "r");
    int got = f ? fscanf(f, "%lld %*d %*d %*d %*d %lld", &space, &data) : 0;
    if (f)
        fclose(f);
    if (got != 2)
        return;
    if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        lower_both(m, (int64_t)r.rlim_cur - space * page - threads * thread_space, "ulimit -v");
    if (getrlimit(RLIMIT_DATA, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        lower_both(m, (int64_t)r.rlim_cur - data * page, "ulimit -d");
}

struct ck_memory_left ck_memory_left(int threads)
{
    struct ck_memory_left m = {INT64_MAX, INT64_MAX, "memory"};
    ask_machine(&m);
    ask_cgroups(&m);
    ask_limits(&m, threads);
    return m;
}
