/* record.c - reads JSON: whole documents, and files with one document per line. */
#include "io/record.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/text.h"
#include "io/load.h"
#include "io/sums.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DOCUMENT_MAX = 64 << 20, /* bytes; jansson takes about 20 times as much memory */
    LINES_MAX = 1 << 30,     /* bytes of a file of lines */
    LINE_MAX_BYTES = 1 << 20,
    VALUE_MAX = 512 /* bytes of a value as text */
};

/* NULL if the record is empty or has no such key: accessors chain without checks. */
static const json_t *find(struct ck_record r, const char *key)
{
    return r.object ? json_object_get(r.object, key) : NULL;
}

double ck_record_number(struct ck_record r, const char *key)
{
    const json_t *v = find(r, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

const char *ck_record_text(struct ck_record r, const char *key)
{
    const char *text = json_string_value(find(r, key));
    return text ? text : "";
}

int ck_record_has(struct ck_record r, const char *key)
{
    return find(r, key) != NULL;
}

/* Anything but an object becomes the empty record. */
static struct ck_record of(const json_t *v)
{
    return (struct ck_record){json_is_object(v) ? v : NULL};
}

struct ck_record ck_record_object(struct ck_record r, const char *key)
{
    return of(find(r, key));
}

int64_t ck_record_count(struct ck_record r, const char *key)
{
    return (int64_t)json_array_size(find(r, key));
}

struct ck_record ck_record_item(struct ck_record r, const char *key, int64_t i)
{
    return of(json_array_get(find(r, key), (size_t)i));
}

/* ---- values as text ---- */

/* Numbers only; a list that does not fit is cut off. */
static void list_text(const json_t *list, char out[VALUE_MAX])
{
    size_t used = 0, i;
    const json_t *item;
    out[0] = 0;
    json_array_foreach(list, i, item)
    {
        if (used + 32 < VALUE_MAX)
            used += (size_t)ck_format(out + used, VALUE_MAX - used, "%s%.12g", i ? ", " : "",
                                      json_number_value(item));
    }
}

/* Valid as long as v and out. */
static const char *value_text(const json_t *v, char out[VALUE_MAX])
{
    if (json_is_string(v))
        return json_string_value(v);
    if (json_is_array(v))
        list_text(v, out);
    else if (json_is_number(v))
        ck_format(out, VALUE_MAX, "%.12g", json_number_value(v));
    else
        snprintf(out, VALUE_MAX, "%s", json_is_true(v) ? "yes" : json_is_false(v) ? "no" : "");
    return out;
}

void ck_record_each(struct ck_record r,
                    void (*take)(void *arg, const char *key, const char *value), void *arg)
{
    char text[VALUE_MAX];
    json_t *object = (json_t *)(uintptr_t)r.object;
    for (void *i = object ? json_object_iter(object) : NULL; i;
         i = json_object_iter_next(object, i)) {
        const json_t *v = json_object_iter_value(i);
        if (!json_is_object(v))
            take(arg, json_object_iter_key(i), value_text(v, text));
    }
}

/* ---- files ---- */

/* Parses one object; *out is the caller's to json_decref. line 0: the document is the whole
 * file. */
static int parse(const char *path, int64_t line, const char *text, size_t n, json_t **out)
{
    json_error_t error;
    *out = json_loadb(text, n, 0, &error);
    if (!*out && (json_error_code(&error) == json_error_out_of_memory || !error.text[0]))
        return ck_fail(COKE_ENOMEM, "%s: out of memory for JSON", path);
    if (!*out)
        return ck_fail(COKE_EFORMAT, "%s: line %lld: %s", path,
                       (long long)(line ? line : error.line), error.text);
    if (!json_is_object(*out))
        return ck_fail(COKE_EFORMAT, "%s: line %lld: not a JSON object", path,
                       (long long)(line ? line : 1));
    return COKE_OK;
}

int ck_record_read(const char *path, int (*take)(void *arg, struct ck_record r), void *arg)
{
    unsigned char *text = NULL;
    size_t room = 0, size = 0;
    json_t *doc = NULL;
    int rc = COKE_OK;
    CK_TRY(ck_load_file(path, DOCUMENT_MAX, &text, &room, &size));
    CK_TRY(ck_sums_check(path, text, size));
    CK_TRY(parse(path, 0, (const char *)text, size, &doc));
    CK_TRY(take(arg, of(doc)));
done:
    json_decref(doc);
    ck_free(text);
    return rc;
}

/* Compares the last member of a line [n], as ck_json_finish_line wrote it, with what is before it.
 * Lines of earlier versions have none; a frame with a few wrong bytes is a damaged one. */
static int check_line(const char *path, int64_t number, const char *line, size_t n)
{
    static const char before[] = ", \"xxh3\": \"", after[] = "\"}";
    enum { BEFORE = sizeof before - 1, AFTER = sizeof after - 1 };
    const size_t member = BEFORE + CK_HASH_DIGITS + AFTER;
    if (n < member)
        return COKE_OK;
    const char *at = line + n - member, *end = line + n - AFTER;
    uint64_t expected;
    int same = 0;
    for (int i = 0; i < BEFORE; i++)
        same += at[i] == before[i];
    if (same <= BEFORE / 2)
        return COKE_OK;
    if (same == BEFORE && memcmp(end, after, AFTER) == 0 &&
        ck_hash_parse(at + BEFORE, &expected) && ck_hash(line, n - member, 0) == expected)
        return COKE_OK;
    return ck_fail(
        COKE_EFORMAT,
        "%s: line %lld is damaged, or changed: its checksum \"xxh3\" differs; if the "
        "change is meant, delete that member",
        path, (long long)number);
}

/* The document lives only during the call of take. */
static int read_line(const char *path, int64_t number, const char *line, size_t n,
                     int (*take)(void *arg, struct ck_record r), void *arg)
{
    json_t *doc = NULL;
    int rc = COKE_OK;
    if (n > LINE_MAX_BYTES)
        CK_FAIL(COKE_EFORMAT, "%s: line %lld has %zu bytes", path, (long long)number, n);
    CK_TRY(check_line(path, number, line, n));
    CK_TRY(parse(path, number, line, n, &doc));
    CK_TRY(take(arg, of(doc)));
done:
    json_decref(doc);
    return rc;
}

/* A last line without a newline is ignored: a running job may still be writing it. */
int ck_record_read_lines(const char *path, int (*take)(void *arg, struct ck_record r),
                         void *arg)
{
    unsigned char *text = NULL;
    size_t room = 0, size = 0;
    int64_t number = 0;
    int rc = COKE_OK;
    CK_TRY(ck_load_file(path, LINES_MAX, &text, &room, &size));
    CK_TRY(ck_sums_check(path, text, size));
    const char *at = (const char *)text, *end = at + size, *stop;
    for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1)
        CK_TRY(read_line(path, ++number, at, (size_t)(stop - at), take, arg));
done:
    ck_free(text);
    return rc;
}
