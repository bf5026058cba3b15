/* row_lists.c - what users know about the rows of a clustering: a name and a class per row. */
#include "data/row_lists.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/numbers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

/* Unlike ck_names_load, which skips empty lines: here the number of a line is that of a row. The
 * last line may end without a newline, and lines may end as on Windows. */
static int split_lines(struct ck_names *out, const struct ck_map *map, int64_t most)
{
    const char *p = (const char *)map->data;
    for (size_t left = map->size; left && out->n <= most;) {
        const char *newline = memchr(p, '\n', left);
        size_t n = newline ? (size_t)(newline - p) : left, length = n;
        if (length && p[length - 1] == '\r')
            length--;
        CK_RETURN_IF(ck_names_add(out, p, length));
        n += newline != NULL;
        p += n;
        left -= n;
    }
    return COKE_OK;
}

int ck_row_names_load(struct ck_names *out, const char *path, int64_t n)
{
    struct ck_map map = {0};
    int rc = COKE_OK;
    CK_TRY(ck_map_load(&map, path));
    if (memchr(map.data ? (const char *)map.data : "", 0, map.size))
        CK_FAIL(COKE_EFORMAT, "%s: not a text file; one line per row is needed", path);
    CK_TRY(split_lines(out, &map, n));
    if (out->n != n)
        CK_FAIL(COKE_EFORMAT, "%s: %s%lld line%s for %lld rows; one per row is needed", path,
                out->n > n ? "more than " : "", (long long)(out->n > n ? n : out->n),
                out->n == 1 ? "" : "s", (long long)n);
done:
    ck_map_release(&map);
    return rc;
}

/* ---- classes ---- */

/* A row and the text of its class, for sorting. */
struct entry {
    const char *text;
    int64_t row, number;
    int is_number;
};

static struct entry make_entry(const char *text, int64_t row)
{
    char *end;
    errno = 0;
    struct entry e = {.text = text, .row = row, .number = strtoll(text, &end, 10)};
    e.is_number = end != text && !*end && errno == 0;
    return e;
}

/* Numbers by value, then words. Texts of equal value ("1" and "01") are different classes. */
static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->is_number != y->is_number)
        return x->is_number ? -1 : 1;
    if (x->is_number && x->number != y->number)
        return x->number < y->number ? -1 : 1;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Numbers the distinct texts of list [n]; empty ones are unknown. */
static int number_classes(struct ck_row_classes *out, const struct ck_names *list,
                          const char *path)
{
    int rc = COKE_OK;
    int64_t known = 0, n = list->n;
    struct entry *e = ck_alloc_array((size_t)n, sizeof *e);
    out->class = ck_alloc_array((size_t)n, sizeof *out->class);
    if (!e || !out->class)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t i = 0; i < n; i++) {
        out->class[i] = -1;
        if (ck_names_get(list, i)[0])
            e[known++] = make_entry(ck_names_get(list, i), i);
    }
    if (known == 0)
        CK_FAIL(COKE_EFORMAT, "%s: no row has a class", path);
    qsort(e, (size_t)known, sizeof *e, compare);
    for (int64_t i = 0; i < known; i++) {
        if (i == 0 || strcmp(e[i].text, e[i - 1].text) != 0) {
            CK_TRY(ck_names_add(&out->name, e[i].text, strlen(e[i].text)));
            out->classes++;
        }
        out->class[e[i].row] = out->classes - 1;
    }
done:
    ck_free(e);
    return rc;
}

/* The numbers of a .npy as texts; negative ones are empty. */
static int list_numbers(struct ck_names *out, const char *path, int64_t n)
{
    double *v = NULL;
    int64_t count = 0;
    char text[32];
    int rc = COKE_OK;
    CK_TRY(ck_numbers_load(path, &v, &count));
    if (count != n)
        CK_FAIL(COKE_EFORMAT, "%s: %lld numbers for %lld rows; one per row is needed", path,
                (long long)count, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (v[i] != floor(v[i]) || fabs(v[i]) > 1e15)
            CK_FAIL(COKE_EFORMAT, "%s: number %lld is %g; classes are whole numbers", path,
                    (long long)i, v[i]);
        int length = v[i] < 0 ? 0 : snprintf(text, sizeof text, "%lld", (long long)v[i]);
        CK_TRY(ck_names_add(out, text, (size_t)length));
    }
done:
    ck_free(v);
    return rc;
}

int ck_row_classes_load(struct ck_row_classes *out, const char *path, int64_t n)
{
    struct ck_map map = {0};
    struct ck_names list = {0};
    int rc = COKE_OK;
    *out = (struct ck_row_classes){0};
    CK_TRY(ck_map_load(&map, path));
    if (ck_npy_is_magic(map.data, map.size))
        CK_TRY(list_numbers(&list, path, n));
    else
        CK_TRY(ck_row_names_load(&list, path, n));
    CK_TRY(number_classes(out, &list, path));
done:
    ck_map_release(&map);
    ck_names_release(&list);
    if (rc)
        ck_row_classes_release(out);
    return rc;
}

void ck_row_classes_release(struct ck_row_classes *c)
{
    ck_free(c->class);
    ck_names_release(&c->name);
    *c = (struct ck_row_classes){0};
}
