/* list.c - a text file with one image per line: its path, relative to the list or absolute, and
 * optionally a label after a tab or, in .csv, a comma.
 *
 * Blank lines and lines that begin with # are skipped. Labels are integers (-1 = unknown) or
 * any text. Opening does not access the image files; missing ones fail when they are read. */
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"
#include "io/load.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
    struct ck_dataset base;
    char *folder;          /* of the list, including '/'; "" = working directory */
    struct ck_names names; /* [n], as written in the list */
    int32_t *line;         /* [n] line numbers, for messages */
    int64_t lines;         /* capacity of line */
};

/* The label of one image; text points into the file's buffer. */
struct mark {
    const char *text;
    int64_t number;
    int32_t item;
};

/* State of parsing; lives during ck_dataset_open_list only. */
struct parse {
    struct list *l;
    const char *path; /* of the list */
    char separator;
    int32_t line;
    struct mark *mark;
    int64_t marks, room;
    int all_numbers;
};

/* ---- lines ---- */

/* Unquotes a field in place: "a ""b"".jpg",3. Returns what follows it; NULL = the quote is not
 * closed. */
static char *unquote(char *field)
{
    char *to = field, *from = field + 1;
    for (; *from; from++) {
        if (*from == '"' && from[1] != '"')
            break;
        from += *from == '"';
        *to++ = *from;
    }
    if (!*from)
        return NULL;
    from++;
    *to = 0;
    return from;
}

/* Terminates the first field; *rest is the next one, or NULL if it was the last. */
static int cut_field(const struct parse *p, char *field, char **rest)
{
    char *end = p->separator == ',' && *field == '"' ? unquote(field) : field;
    if (!end)
        return ck_fail(COKE_EFORMAT, "%s: line %d: a quote is not closed", p->path, p->line);
    if (end != field && *end && *end != p->separator)
        return ck_fail(COKE_EFORMAT, "%s: line %d: unexpected text after the quoted field",
                       p->path, p->line);
    *rest = strchr(end, p->separator);
    if (*rest)
        *(*rest)++ = 0;
    return COKE_OK;
}

/* Parses a decimal number of 64 bits; 0 = text is anything else. */
static int parse_number(const char *text, int64_t *out)
{
    char *end;
    if (!(*text >= '0' && *text <= '9') && *text != '-')
        return 0;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *out = value;
    return !*end && end[-1] != '-' && errno == 0;
}

static int add_label(struct parse *p, char *text)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == ' ')
        text[--length] = 0;
    text += strspn(text, " ");
    if (!*text)
        return COKE_OK;
    int rc = CK_VEC_RESERVE(p->mark, p->room, p->marks + 1);
    if (rc)
        return rc;
    struct mark *m = &p->mark[p->marks++];
    *m = (struct mark){.text = text, .item = (int32_t)p->l->base.n};
    p->all_numbers = parse_number(text, &m->number) && p->all_numbers;
    return COKE_OK;
}

/* True if the first line of a table names its columns: two words, neither a file nor a
 * number. */
static int is_title(const struct parse *p, const char *path, const char *label)
{
    int table = p->separator == ',' || ck_ends_with(p->path, ".tsv");
    int64_t number;
    return table && p->line == 1 && !strpbrk(path, "./") && label &&
           !parse_number(label, &number);
}

static int parse_line(struct parse *p, char *line)
{
    struct list *l = p->l;
    char *label = NULL, *more = NULL;
    if (!*line || *line == '#')
        return COKE_OK;
    CK_RETURN_IF(cut_field(p, line, &label));
    if (label)
        CK_RETURN_IF(cut_field(p, label, &more));
    if (more)
        return ck_fail(COKE_EFORMAT, "%s: line %d: more than a path and a label%s", p->path,
                       p->line,
                       p->separator == ',' ? "; a path with a comma goes in \"quotes\"" : "");
    if (!*line)
        return ck_fail(COKE_EFORMAT, "%s: line %d: no path", p->path, p->line);
    if (is_title(p, line, label))
        return ck_dataset_add_note(&l->base, "Line 1 of %s (%s) is treated as a title.",
                                   p->path, line);
    if (label)
        CK_RETURN_IF(add_label(p, label));
    CK_RETURN_IF(ck_names_add(&l->names, line, strlen(line)));
    CK_RETURN_IF(CK_VEC_RESERVE(l->line, l->lines, l->base.n + 1));
    l->line[l->base.n++] = p->line;
    return COKE_OK;
}

/* Parses text [size + 1] in place; the byte after the text is writable. */
static int parse_text(struct parse *p, char *text, size_t size)
{
    char *end = text + size;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    for (char *next; text < end; text = next) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        next = stop + 1;
        if (p->line++ == INT32_MAX - 1)
            return ck_fail(COKE_EFORMAT, "%s: more than %d lines", p->path, p->line);
        if (memchr(text, 0, (size_t)(stop - text)))
            return ck_fail(COKE_EFORMAT, "%s: line %d: zero byte; not a text file", p->path,
                           p->line);
        if (stop > text && stop[-1] == '\r')
            stop--;
        *stop = 0;
        CK_RETURN_IF(parse_line(p, text));
    }
    if (!p->l->base.n)
        return ck_fail(COKE_EUSAGE, "%s: no images in the list", p->path);
    return COKE_OK;
}

/* ---- labels ---- */

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = ((const struct mark *)a)->number, y = ((const struct mark *)b)->number;
    return (x > y) - (x < y);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct mark *)a)->text, ((const struct mark *)b)->text);
}

static int add_class(const struct parse *p, const struct mark *m, struct ck_names *classes)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)m->number);
    const char *name = p->all_numbers ? number : m->text;
    return ck_names_add(classes, name, strlen(name));
}

/* Numbers the classes in the order of their numbers or texts; labels 0..c-1 keep their
 * values. */
static int number_labels(struct parse *p, int32_t *label, struct ck_names *classes)
{
    int (*compare)(const void *, const void *) =
        p->all_numbers ? compare_numbers : compare_texts;
    qsort(p->mark, (size_t)p->marks, sizeof *p->mark, compare);
    const struct mark *last = NULL;
    for (int64_t i = 0; i < p->marks; i++) {
        const struct mark *m = &p->mark[i];
        if (p->all_numbers && m->number == -1)
            continue;
        if (!last || compare(last, m) != 0) {
            int rc = add_class(p, m, classes);
            if (rc)
                return rc;
        }
        last = m;
        label[m->item] = (int32_t)classes->n - 1;
    }
    return COKE_OK;
}

static int make_labels(struct parse *p)
{
    struct ck_dataset *d = &p->l->base;
    struct ck_names classes = {0};
    int64_t unknown = 0;
    int rc = COKE_OK;
    if (!p->marks)
        return COKE_OK;
    d->label = ck_alloc_array((size_t)d->n, sizeof *d->label);
    if (!d->label)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < d->n; i++)
        d->label[i] = -1;
    CK_TRY(number_labels(p, d->label, &classes));
    for (int64_t i = 0; i < d->n; i++)
        unknown += d->label[i] < 0;
    if (unknown)
        CK_TRY(ck_dataset_add_note(d, "%lld of %lld images have no label.", (long long)unknown,
                                   (long long)d->n));
    if (classes.n)
        CK_TRY(ck_dataset_name_classes(d, &classes));
done:
    ck_names_release(&classes);
    if (!rc && !d->classes) {
        ck_free(d->label);
        d->label = NULL;
    }
    return rc;
}

/* ---- the data set ---- */

static int path_image(const struct ck_dataset *d, int64_t i, char *path, size_t size)
{
    const struct list *l = (const struct list *)d;
    const char *name = ck_names_get(&l->names, i);
    const char *folder = *name == '/' ? "" : l->folder;
    if ((size_t)snprintf(path, size, "%s%s", folder, name) >= size)
        return ck_fail(COKE_EIO, "%s: %s", name, strerror(ENAMETOOLONG));
    return COKE_OK;
}

static int read_image(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    const struct list *l = (const struct list *)d;
    char path[PATH_MAX];
    int rc = path_image(d, i, path, sizeof path);
    if (!rc)
        rc = ck_item_load(item, path);
    return rc ? ck_fail_prefix(rc, "%s: line %d: ", d->source, l->line[i]) : COKE_OK;
}

static void name_image(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    snprintf(text, size, "%s", ck_names_get(&((const struct list *)d)->names, i));
}

static void free_list(struct ck_dataset *d)
{
    struct list *l = (struct list *)d;
    ck_names_release(&l->names);
    ck_free(l->folder);
    ck_free(l->line);
}

static const struct ck_dataset_type list_type = {.kind = "list",
                                                 .read = read_image,
                                                 .name = name_image,
                                                 .path = path_image,
                                                 .free = free_list};

int ck_dataset_open_list(struct ck_dataset **out, const char *path,
                         const struct ck_dataset_options *o)
{
    struct parse p = {.path = path, .all_numbers = 1};
    unsigned char *text = NULL;
    size_t room = 0, size = 0;
    int rc = COKE_OK;
    (void)o;
    p.separator = ck_ends_with(path, ".csv") ? ',' : '\t';
    p.l = ck_dataset_new(&list_type, sizeof *p.l, path);
    if (!p.l)
        return COKE_ENOMEM;
    p.l->folder = ck_strdup(path);
    if (!p.l->folder)
        CK_LEAVE(COKE_ENOMEM);
    p.l->folder[ck_base_name(path) - path] = 0;
    CK_TRY(ck_load_file(path, INT64_MAX / 2, &text, &room, &size));
    text[size] = 0; /* ck_load_reserve left room for it */
    CK_TRY(parse_text(&p, (char *)text, size));
    CK_TRY(make_labels(&p));
    CK_TRY(ck_dataset_make_ids(&p.l->base, &p.l->names));
    *out = &p.l->base;
    p.l = NULL;
done:
    ck_free(text);
    ck_free(p.mark);
    ck_dataset_free((struct ck_dataset *)p.l);
    return rc;
}
