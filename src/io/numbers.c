/* numbers.c - a list of numbers: one per line, or a one-dimensional .npy. */
#include "io/numbers.h"
#include "io/convert.h"
#include "io/file.h"
#include "io/npy.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/vec.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 64 }; /* longest number as text */

/* The numbers so far; ck_numbers_load hands v to its caller. */
struct list {
    double *v;
    int64_t n, room;
};

static int append(struct list *l, double x)
{
    CK_RETURN_IF(CK_VEC_RESERVE(l->v, l->room, l->n + 1));
    l->v[l->n++] = x;
    return COKE_OK;
}

/* Quotes at most 23 characters of the line, with unprintable bytes as '?'. */
static int fail_line(const char *path, int64_t line, const char *text, size_t n)
{
    char shown[24];
    size_t m = n < sizeof shown - 1 ? n : sizeof shown - 1;
    for (size_t i = 0; i < m; i++)
        shown[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
    shown[m] = 0;
    return ck_fail(COKE_EFORMAT, "%s: line %lld: '%s%s' is not a finite number", path,
                   (long long)line, shown, m < n ? "..." : "");
}

/* Parses one line without its newline; a comment or an empty line adds no number. strtod needs
 * a terminated string, which a mapped file is not, hence the copy. */
static int read_line(struct list *l, const char *path, int64_t line, const char *p, size_t n)
{
    char word[WORD], *end;
    const char *hash = memchr(p, '#', n);
    if (hash)
        n = (size_t)(hash - p);
    while (n && isspace((unsigned char)*p)) {
        p++;
        n--;
    }
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    if (n == 0)
        return COKE_OK;
    if (n >= sizeof word)
        return fail_line(path, line, p, n);
    memcpy(word, p, n);
    word[n] = 0;
    double x = ck_parse_double(word, &end);
    if (end != word + n || !isfinite(x))
        return fail_line(path, line, p, n);
    return append(l, x);
}

static int read_text(struct list *l, const char *path, const struct ck_map *map)
{
    const char *p = (const char *)map->data;
    size_t left = map->size;
    for (int64_t line = 1; left; line++) {
        const char *newline = memchr(p, '\n', left);
        size_t n = newline ? (size_t)(newline - p) : left;
        int rc = read_line(l, path, line, p, n);
        if (rc)
            return rc;
        n += newline != NULL;
        p += n;
        left -= n;
    }
    return COKE_OK;
}

/* Any numeric dtype; allocated at once, because the header gives the length. */
static int read_npy(struct list *l, const char *path, const struct ck_map *map)
{
    struct ck_npy a;
    int rc = ck_npy_parse(&a, path, map->data, map->size);
    if (rc)
        return rc;
    if (a.ndim != 1)
        return ck_fail(COKE_EFORMAT,
                       "%s: the array has %d dimensions; a list of numbers has one", path,
                       a.ndim);
    l->v = ck_alloc_array((size_t)a.elements, sizeof *l->v);
    if (!l->v)
        return COKE_ENOMEM;
    l->n = a.elements;
    ck_convert_f64(a.dtype, map->data + a.offset, l->n, l->v);
    for (int64_t i = 0; i < l->n; i++)
        if (!isfinite(l->v[i]))
            return ck_fail(COKE_EFORMAT, "%s: number %lld is %s", path, (long long)i,
                           isnan(l->v[i]) ? "NaN" : "infinite");
    return COKE_OK;
}

int ck_numbers_load(const char *path, double **out, int64_t *n)
{
    struct ck_map map = {0};
    struct list l = {0};
    int rc = COKE_OK;
    *out = NULL;
    *n = 0;
    CK_TRY(ck_map_load_any(&map, path));
    if (ck_npy_is_magic(map.data, map.size))
        CK_TRY(read_npy(&l, path, &map));
    else
        CK_TRY(read_text(&l, path, &map));
    if (l.n == 0)
        CK_FAIL(COKE_EFORMAT, "%s: no numbers", path);
    *out = l.v;
    *n = l.n;
    l.v = NULL;
done:
    ck_free(l.v);
    ck_map_release(&map);
    return rc;
}

int ck_counts_load(const char *path, int64_t **out, int64_t *n)
{
    double *x = NULL;
    int rc = COKE_OK;
    *out = NULL;
    CK_TRY(ck_numbers_load(path, &x, n));
    *out = ck_alloc_array((size_t)*n, sizeof **out);
    if (!*out)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t i = 0; i < *n; i++) {
        if (x[i] < 0 || x[i] != floor(x[i]) || x[i] > 1e15)
            CK_FAIL(COKE_EFORMAT, "%s: number %lld is %g; whole numbers from 0 on are needed",
                    path, (long long)i + 1, x[i]);
        (*out)[i] = (int64_t)x[i];
    }
done:
    ck_free(x);
    if (rc) {
        ck_free(*out);
        *out = NULL;
    }
    return rc;
}
