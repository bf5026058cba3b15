/* mem.h - counted allocation that a test can make fail. */
#ifndef CK_MEM_H
#define CK_MEM_H

#include <stddef.h>
#include <stdint.h>

/* All return memory aligned to 64 bytes, or NULL with the error sentence set.
 * n * size is multiplied here and only here, checked for overflow. */
void *ck_alloc_array(size_t n, size_t size);  /* contents undefined */
void *ck_calloc_array(size_t n, size_t size); /* zeroed */
void *ck_realloc_array(void *p, size_t n, size_t size);
char *ck_strdup(const char *s);
void ck_free(void *p); /* NULL accepted */

/* Asks for large pages under [p, p + bytes), which spares address look-ups in long passes over
 * it; a wish that may go unheard. */
void ck_mem_large_pages(void *p, size_t bytes);

struct ck_mem_stats {
    int64_t calls;      /* allocations asked for so far */
    int64_t live;       /* allocations not yet freed */
    int64_t live_bytes; /* their bytes */
    int64_t peak_bytes;
};

struct ck_mem_stats ck_mem_stats(void);
void ck_mem_reset_peak(void);

/* The nth allocation from now on (1 = the next) fails, once. 0 = none fails. */
void ck_mem_fail_at(int64_t nth);

#endif
