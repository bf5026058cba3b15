/* mem.h - allocation with statistics and fault injection. All functions are thread-safe.
 *
 * Memory from here is freed with ck_free only. */
#ifndef CK_MEM_H
#define CK_MEM_H

#include <stddef.h>
#include <stdint.h>

/* All return memory aligned to 64 bytes, or NULL with the error sentence set. They check n *
 * size for overflow, so callers must not multiply themselves. */
void *ck_alloc_array(size_t n, size_t size);            /* contents undefined */
void *ck_calloc_array(size_t n, size_t size);           /* zeroed */
void *ck_realloc_array(void *p, size_t n, size_t size); /* on failure p stays valid */
char *ck_strdup(const char *s);
void ck_free(void *p); /* NULL accepted */

/* Advises the kernel to use huge pages for [p, p + bytes): fewer TLB misses in long scans. Best
 * effort. */
void ck_mem_large_pages(void *p, size_t bytes);

/* COKE_ENOMEM unless the limit of the address space (ulimit -v), if there is one, leaves this
 * many bytes. To be called before libraries that do not survive a failed allocation. */
int ck_mem_check_room(size_t bytes);

/* Of the whole process. */
struct ck_mem_stats {
    int64_t calls;      /* allocations requested so far */
    int64_t live;       /* allocations not yet freed */
    int64_t live_bytes; /* their bytes */
    int64_t peak_bytes; /* since the last ck_mem_reset_peak */
};

struct ck_mem_stats ck_mem_stats(void);
void ck_mem_reset_peak(void);

/* For tests: the nth allocation from now on (1 = the next) fails, once. 0 = none fails. */
void ck_mem_fail_at(int64_t nth);

#endif
