/* json.c - options from and to JSON, and texts read from it. */
#include "io/json.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONFIG_MAX = 1 << 20, /* bytes of an options file */
    VALUE_MAX = 1024      /* of one option as text */
};

/* ---- options ---- */

static int array_text(const char *key, const json_t *list, char out[VALUE_MAX])
{
    size_t used = 0, i;
    const json_t *item;
    out[0] = 0;
    json_array_foreach(list, i, item)
    {
        if (!json_is_number(item))
            return ck_fail(COKE_EUSAGE, "%s: item %zu of the list is not a number", key, i);
        if (json_is_integer(item))
            used += (size_t)snprintf(out + used, VALUE_MAX - used, "%s%lld", i ? "," : "",
                                     (long long)json_integer_value(item));
        else
            used += (size_t)ck_format(out + used, VALUE_MAX - used, "%s%.17g", i ? "," : "",
                                      json_real_value(item));
        if (used >= VALUE_MAX)
            return ck_fail(COKE_EUSAGE, "%s: the list is too long", key);
    }
    return COKE_OK;
}

/* The value as the text that coke_options_set parses. */
static int value_text(const char *key, const json_t *value, char out[VALUE_MAX])
{
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        snprintf(out, VALUE_MAX, "%lld", (long long)json_integer_value(value));
        return COKE_OK;
    case JSON_REAL:
        ck_format(out, VALUE_MAX, "%.17g", json_real_value(value));
        return COKE_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        snprintf(out, VALUE_MAX, "%s", json_is_true(value) ? "true" : "false");
        return COKE_OK;
    case JSON_STRING:
        if (json_string_length(value) >= VALUE_MAX)
            return ck_fail(COKE_EUSAGE, "%s: the text is too long", key);
        snprintf(out, VALUE_MAX, "%s", json_string_value(value));
        return COKE_OK;
    case JSON_ARRAY:
        return array_text(key, value, out);
    default:
        return ck_fail(COKE_EUSAGE,
                       "%s: neither a number, a string, true or false, nor a list of numbers",
                       key);
    }
}

/* *out is the caller's to json_decref, also on failure. */
static int parse(const char *path, const struct ck_map *map, json_t **out)
{
    json_error_t error;
    if (map->size > CONFIG_MAX)
        return ck_fail(COKE_EFORMAT, "%s: %zu bytes; the limit for an options file is %d", path,
                       map->size, CONFIG_MAX);
    *out = json_loadb(map->size ? (const char *)map->data : "", map->size,
                      JSON_REJECT_DUPLICATES, &error);
    if (!*out && (json_error_code(&error) == json_error_out_of_memory || !error.text[0]))
        return ck_fail(COKE_ENOMEM, "%s: out of memory for JSON", path);
    if (!*out)
        return ck_fail(COKE_EFORMAT, "%s: line %d: %s", path, error.line, error.text);
    if (!json_is_object(*out))
        return ck_fail(COKE_EFORMAT, "%s: not a JSON object of options", path);
    return COKE_OK;
}

/* An empty list, as k of methods without clusters: nothing to set where that is the default. */
static int is_unset_list(const struct ck_option_table *t, const char *key, const json_t *value)
{
    const struct ck_option *o = ck_option_find(t, key);
    return json_is_array(value) && json_array_size(value) == 0 && o && o->type == CK_OPT_INTS &&
           o->def <= 0;
}

static int set_all(const struct ck_option_table *t, void *options, const json_t *doc)
{
    char text[VALUE_MAX];
    for (void *i = json_object_iter((json_t *)(uintptr_t)doc); i;
         i = json_object_iter_next((json_t *)(uintptr_t)doc, i)) {
        const char *key = json_object_iter_key(i);
        const json_t *value = json_object_iter_value(i);
        if (is_unset_list(t, key, value))
            continue;
        int rc = value_text(key, value, text);
        if (!rc)
            rc = ck_options_set(t, options, key, text);
        if (rc)
            return rc;
    }
    return COKE_OK;
}

int ck_options_load_json(const struct ck_option_table *t, void *options, const char *path)
{
    struct ck_map map = {0};
    json_t *doc = NULL;
    int rc = COKE_OK, owned = 0;
    void *copy = ck_alloc_array(t->size, 1);
    if (!copy)
        return COKE_ENOMEM;
    CK_TRY(ck_options_copy(t, copy, options));
    owned = 1;
    CK_TRY(ck_map_load(&map, path));
    CK_TRY(parse(path, &map, &doc));
    rc = set_all(t, copy, doc);
    if (rc) {
        ck_fail_prefix(rc, "%s: ", path);
        goto done;
    }
    ck_options_release(t, options);
    memcpy(options, copy, t->size);
    owned = 0;
done:
    if (owned)
        ck_options_release(t, copy);
    json_decref(doc);
    ck_map_release(&map);
    ck_free(copy);
    return rc;
}

int ck_json_read_text(const char *path, const char *key, char *out, size_t size)
{
    struct ck_map map = {0};
    json_t *doc = NULL;
    int rc = COKE_OK;
    CK_TRY(ck_map_load(&map, path));
    CK_TRY(parse(path, &map, &doc));
    const char *text = json_string_value(json_object_get(doc, key));
    if (!text || strlen(text) >= size)
        CK_FAIL(COKE_EFORMAT, "%s: no text '%s' of less than %zu bytes", path, key, size);
    snprintf(out, size, "%s", text);
done:
    json_decref(doc);
    ck_map_release(&map);
    return rc;
}

static void put_ints(struct ck_json *j, const char *key, const struct ck_ints *list)
{
    ck_json_begin_array(j, key);
    for (int i = 0; i < list->n; i++)
        ck_json_put_int(j, NULL, list->v[i]);
    ck_json_end(j);
}

static int put_option(struct ck_json *j, const struct ck_option_table *t,
                      const struct ck_option *o, const void *options)
{
    char text[VALUE_MAX];
    const void *p = (const char *)options + o->offset;
    int rc = ck_options_get(t, options, o->name, text, sizeof text);
    if (rc)
        return rc;
    int is_word = o->choices && strcmp(text, o->choices) == 0; /* "auto" */
    if (o->type == CK_OPT_INTS)
        put_ints(j, o->name, p);
    else if (o->type == CK_OPT_FLAG)
        ck_json_put_flag(j, o->name, *(const int32_t *)p);
    else if (o->type == CK_OPT_INT && !is_word)
        ck_json_put_int(j, o->name, *(const int64_t *)p);
    else if (o->type == CK_OPT_FLOAT && !is_word)
        ck_json_put_real(j, o->name, *(const double *)p);
    else
        ck_json_put_text(j, o->name, text);
    return j->status;
}

int ck_json_put_options(struct ck_json *j, const struct ck_option_table *t, const void *options)
{
    for (int i = 0; i < t->n; i++)
        if (!t->row[i].local)
            CK_RETURN_IF(put_option(j, t, &t->row[i], options));
    return COKE_OK;
}

int ck_options_print_json(const struct ck_option_table *t, const void *options, FILE *to)
{
    struct ck_json j;
    int rc = COKE_OK;
    ck_json_init(&j);
    CK_TRY(ck_json_put_options(&j, t, options));
    CK_TRY(ck_json_print(&j, to));
done:
    ck_json_release(&j);
    return rc;
}
