/* mem.c - allocation with statistics and fault injection. */
#include "core/mem.h"
#include "core/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { ALIGN = 64 }; /* a cache line, and the widest vector */

/* Precedes each block; as long as the alignment, so that the block stays aligned. */
struct header {
    size_t bytes;
    unsigned char pad[ALIGN - sizeof(size_t)];
};

static _Atomic int64_t calls, live, live_bytes, peak_bytes;
static _Atomic int64_t fail_countdown; /* see ck_mem_fail_at */

/* Counts a request; returns 1 if it is the one that shall fail. */
static int injected_failure(void)
{
    atomic_fetch_add(&calls, 1);
    if (atomic_load(&fail_countdown) <= 0)
        return 0;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

/* Lock-free update of the peak: retries while another thread raises it. */
static void count_in(size_t bytes)
{
    atomic_fetch_add(&live, 1);
    int64_t now = atomic_fetch_add(&live_bytes, (int64_t)bytes) + (int64_t)bytes;
    int64_t peak = atomic_load(&peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now))
        ;
}

static void *out_of_memory(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        ck_fail(COKE_ENOMEM, "out of memory: %zu times %zu bytes", n, size);
    else
        ck_fail(COKE_ENOMEM, "out of memory: %zu bytes", bytes);
    return NULL;
}

int ck_mem_check_room(size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return COKE_OK;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return ck_fail(COKE_ENOMEM,
                       "out of memory: less than %zu MB are left of the %lld MB that the limit "
                       "of the address space (ulimit -v) allows",
                       bytes >> 20, (long long)(limit.rlim_cur >> 20));
    munmap(p, bytes);
    return COKE_OK;
}

void *ck_alloc_array(size_t n, size_t size)
{
    size_t bytes, total;
    if (__builtin_mul_overflow(n, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(struct header) + ALIGN, &total))
        return out_of_memory(n, size);
    total = total / ALIGN * ALIGN;
    struct header *h = injected_failure() ? NULL : aligned_alloc(ALIGN, total);
    if (!h)
        return out_of_memory(n, size);
    h->bytes = bytes;
    count_in(bytes);
    return h + 1;
}

void *ck_calloc_array(size_t n, size_t size)
{
    void *p = ck_alloc_array(n, size);
    if (p)
        memset(p, 0, ((struct header *)p - 1)->bytes);
    return p;
}

void *ck_realloc_array(void *p, size_t n, size_t size)
{
    void *q = ck_alloc_array(n, size);
    if (!q || !p)
        return q;
    size_t old = ((struct header *)p - 1)->bytes;
    size_t new = ((struct header *)q - 1)->bytes;
    memcpy(q, p, old < new ? old : new);
    ck_free(p);
    return q;
}

char *ck_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = ck_alloc_array(n, 1);
    if (p)
        memcpy(p, s, n);
    return p;
}

void ck_free(void *p)
{
    if (!p)
        return;
    struct header *h = (struct header *)p - 1;
    atomic_fetch_sub(&live, 1);
    atomic_fetch_sub(&live_bytes, (int64_t)h->bytes);
    free(h);
}

/* Only whole pages inside the block: its ends may share a page with other blocks. */
void ck_mem_large_pages(void *p, size_t bytes)
{
    const uintptr_t page = 4096;
    uintptr_t first = ((uintptr_t)p + page - 1) & ~(page - 1), end = (uintptr_t)p + bytes;
    if (end > first + page)
        madvise((void *)first, (end - first) & ~(page - 1), MADV_HUGEPAGE);
}

struct ck_mem_stats ck_mem_stats(void)
{
    return (struct ck_mem_stats){.calls = atomic_load(&calls),
                                 .live = atomic_load(&live),
                                 .live_bytes = atomic_load(&live_bytes),
                                 .peak_bytes = atomic_load(&peak_bytes)};
}

void ck_mem_reset_peak(void)
{
    atomic_store(&peak_bytes, atomic_load(&live_bytes));
}

void ck_mem_fail_at(int64_t nth)
{
    atomic_store(&fail_countdown, nth);
}
