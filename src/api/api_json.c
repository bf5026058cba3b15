/* api_json.c - public JSON writer on a FILE.
 *
 * All functions accept NULL, so that callers check for errors once, at coke_json_close: the
 * writer keeps the first error. A writer belongs to one thread. */
#include "coke.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/json.h"

#include <errno.h>
#include <string.h>

struct coke_json {
    struct ck_json json;
};

static int write_file(void *to, const char *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, to) == n)
        return COKE_OK;
    return ck_fail(COKE_EIO, "writing JSON: %s", strerror(errno));
}

struct coke_json *coke_json_open(FILE *to, enum coke_json_style style)
{
    struct coke_json *j = to ? ck_alloc_array(1, sizeof *j) : NULL;
    if (!j)
        return NULL;
    ck_json_init_to(&j->json, style == COKE_JSON_STYLE_LINE ? CK_JSON_LINE : CK_JSON_PRETTY,
                    write_file, to);
    return j;
}

/* Frees j in every case. The FILE stays open; it is the caller's. */
int coke_json_close(struct coke_json *j)
{
    if (!j)
        return ck_fail(COKE_ENOMEM, "coke_json_open: no file, or out of memory");
    int rc = ck_json_finish(&j->json);
    ck_free(j);
    return rc;
}

void coke_json_begin_object(struct coke_json *j, const char *key)
{
    if (j)
        ck_json_begin_object(&j->json, key);
}

void coke_json_begin_array(struct coke_json *j, const char *key)
{
    if (j)
        ck_json_begin_array(&j->json, key);
}

void coke_json_end(struct coke_json *j)
{
    if (j)
        ck_json_end(&j->json);
}

void coke_json_put_int(struct coke_json *j, const char *key, int64_t value)
{
    if (j)
        ck_json_put_int(&j->json, key, value);
}

void coke_json_put_real(struct coke_json *j, const char *key, double value)
{
    if (j)
        ck_json_put_real(&j->json, key, value);
}

void coke_json_put_fixed(struct coke_json *j, const char *key, double value, int decimals)
{
    if (j)
        ck_json_put_fixed(&j->json, key, value, decimals);
}

void coke_json_put_flag(struct coke_json *j, const char *key, int value)
{
    if (j)
        ck_json_put_flag(&j->json, key, value);
}

void coke_json_put_text(struct coke_json *j, const char *key, const char *value)
{
    if (j)
        ck_json_put_text(&j->json, key, value ? value : "");
}
