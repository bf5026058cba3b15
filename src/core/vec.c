/* vec.c - growable arrays: a pointer and its capacity, both held by the owner. */
#include "core/vec.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

enum { FIRST_BYTES = 4096 }; /* of the first allocation */

int ck_vec_grow(void *items, int64_t *room, int64_t need, size_t size)
{
    int64_t more = *room ? 2 * *room : (int64_t)(FIRST_BYTES / size);
    more = more > need ? more : need;
    void *old, *grown;
    memcpy(&old, items, sizeof old); /* items is a T **, which a void ** may not alias */
    grown = ck_realloc_array(old, (size_t)more, size);
    if (!grown)
        return COKE_ENOMEM;
    memcpy(items, &grown, sizeof grown);
    *room = more;
    return COKE_OK;
}
