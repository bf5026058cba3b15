/* names.c - a list of strings in one block of memory. */
#include "data/names.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/load.h"
#include "io/sums.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 16 << 20 }; /* bytes of a file of names */

int ck_names_add(struct ck_names *s, const char *text, size_t length)
{
    CK_RETURN_IF(CK_VEC_RESERVE(s->at, s->places, s->n + 1));
    CK_RETURN_IF(CK_VEC_RESERVE(s->text, s->room, s->used + length + 1));
    memcpy(s->text + s->used, text, length);
    s->text[s->used + length] = 0;
    s->at[s->n++] = s->used;
    s->used += length + 1;
    return COKE_OK;
}

const char *ck_names_get(const struct ck_names *s, int64_t i)
{
    return s->text + s->at[i];
}

int ck_names_load(struct ck_names *s, const char *path)
{
    unsigned char *text = NULL;
    size_t room = 0, size = 0;
    int rc = ck_load_file(path, TEXT_MAX, &text, &room, &size);
    if (rc == COKE_EIO || rc == COKE_EFORMAT)
        rc = COKE_OK; /* no names: size is 0 */
    else if (!rc)
        rc = ck_sums_check(path, text, size);
    for (size_t at = 0, n; !rc && at < size; at += n + 1) {
        const char *line = (const char *)text + at, *end = memchr(line, '\n', size - at);
        n = end ? (size_t)(end - line) : size - at;
        size_t length = n && line[n - 1] == '\r' ? n - 1 : n;
        if (length)
            rc = ck_names_add(s, line, length);
    }
    ck_free(text);
    return rc;
}

void ck_names_release(struct ck_names *s)
{
    ck_free(s->text);
    ck_free(s->at);
    *s = (struct ck_names){0};
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the offsets; the texts stay in place. */
int ck_names_sort(struct ck_names *s)
{
    const char **order = ck_alloc_array((size_t)s->n, sizeof *order);
    if (!order)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < s->n; i++)
        order[i] = s->text + s->at[i];
    qsort(order, (size_t)s->n, sizeof *order, compare_texts);
    for (int64_t i = 0; i < s->n; i++)
        s->at[i] = (size_t)(order[i] - s->text);
    ck_free(order);
    return COKE_OK;
}
