/* cpu_quota.h - how many cores the CPU quota of the process's cgroup amounts to. */
#ifndef CK_CPU_QUOTA_H
#define CK_CPU_QUOTA_H

/* The smallest quota of the process's cgroup and of those above it, versions 2 (cpu.max) and 1
 * (cpu.cfs_quota_us), rounded up to whole cores; 0 = none. root: "", or in tests a folder that
 * stands for the root of the file system. */
int ck_cpu_quota(const char *root);

#endif
