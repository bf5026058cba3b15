/* vec.h - growable arrays: a pointer and its capacity, both held by the owner. */
#ifndef CK_VEC_H
#define CK_VEC_H

#include <stddef.h>
#include <stdint.h>

/* Called by ck_vec_reserve when there is not enough room. */
int ck_vec_grow(void *items, int64_t *room, int64_t need, size_t size);

/* Makes room for `need` items of `size` bytes in the array that the pointer at `items` points
 * to. It at least doubles, so that appending n items copies O(n). New items are undefined. On
 * COKE_ENOMEM the array and *room are as before. */
static inline int ck_vec_reserve(void *items, int64_t *room, int64_t need, size_t size)
{
    return need <= *room ? 0 : ck_vec_grow(items, room, need, size);
}

/* The same for a pointer `items` and its int64_t `room`, both lvalues:
 *
 *     CK_TRY(CK_VEC_RESERVE(list->v, list->room, list->n + 1));
 *     list->v[list->n++] = item;
 */
#define CK_VEC_RESERVE(items, room, need)                                                      \
    ck_vec_reserve(&(items), &(room), (int64_t)(need), sizeof *(items))

#endif
