/* memory_left.h - how much memory this process may still take. */
#ifndef CK_MEMORY_LEFT_H
#define CK_MEMORY_LEFT_H

#include <stdint.h>

struct ck_memory_left {
    int64_t available; /* bytes that can be taken now without swapping or failing */
    int64_t limit;     /* bytes that this process could have if nothing else ran */
    const char *what;  /* which of the bounds `available` is, for messages */
};

/* The least of the machine's free memory, the limits of the cgroups that the process is in, and
 * its own (ulimit -v, ulimit -d). threads: those that are yet to start, whose stacks and heaps
 * take address space. Without /proc: no bound, INT64_MAX. */
struct ck_memory_left ck_memory_left(int threads);

#endif
