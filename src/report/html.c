/* html.c - writes an HTML file; text from data is escaped. */
#include "report/html.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ck_html_open(struct ck_html *h, const char *path, int force)
{
    *h = (struct ck_html){0};
    return ck_writer_open(&h->w, path, force);
}

int ck_html_commit(struct ck_html *h)
{
    return h->status ? h->status : ck_writer_commit(&h->w);
}

void ck_html_abort(struct ck_html *h)
{
    ck_writer_abort(&h->w);
}

void ck_html_bytes(struct ck_html *h, const void *data, size_t n)
{
    if (!h->status)
        h->status = ck_writer_write(&h->w, data, n);
    h->bytes += (int64_t)n;
}

void ck_html_put(struct ck_html *h, const char *text)
{
    ck_html_bytes(h, text, strlen(text));
}

void ck_html_format(struct ck_html *h, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int n = ck_format_list(text, sizeof text, fmt, args);
    va_end(args);
    if (n > 0)
        ck_html_bytes(h, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* Writes in pieces of 4096, a multiple of 4, so that no group is split. */
void ck_html_base64(struct ck_html *h, const unsigned char *data, size_t n)
{
    static const char digit[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char out[4096];
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned v = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                     (left > 2 ? data[i + 2] : 0);
        out[used++] = digit[v >> 18];
        out[used++] = digit[v >> 12 & 63];
        out[used++] = left > 1 ? digit[v >> 6 & 63] : '=';
        out[used++] = left > 2 ? digit[v & 63] : '=';
        if (used == sizeof out || left <= 3) {
            ck_html_bytes(h, out, used);
            used = 0;
        }
    }
}

/* ---- text ---- */

/* Replaces characters that act instead of being shown. */
static uint32_t defuse(uint32_t c)
{
    if (c < 0x20)
        return 0x2400 + c;
    if (c == 0x7f)
        return 0x2421;
    return ck_text_acts(c) ? CK_TEXT_INVALID : c;
}

/* Encodes c as UTF-8; returns its bytes. */
static size_t encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(uint8_t)((0xf00u >> n & 0xffu) | c);
    return n;
}

/* The entity for characters that are special in HTML, else NULL. */
static const char *entity(uint32_t c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void put_character(struct ck_html *h, uint32_t c)
{
    char out[4];
    const char *e = entity(c);
    if (e)
        ck_html_put(h, e);
    else
        ck_html_bytes(h, out, encode(c, out));
}

void ck_html_text(struct ck_html *h, const char *text)
{
    while (*text)
        put_character(h, defuse(ck_text_next(&text)));
}

/* Columns: from Hangul on most letters are about twice as wide. */
static int width_of(uint32_t c)
{
    return c >= 0x1100 && !(c >= 0x1e00 && c < 0x2e80) && c != CK_TEXT_INVALID ? 2 : 1;
}

void ck_html_short_text(struct ck_html *h, const char *text, int max)
{
    int width = 0;
    for (const char *s = text; *s;)
        width += width_of(defuse(ck_text_next(&s)));
    int cut = width > max, room = cut ? max - 1 : max;
    for (const char *s = text; *s;) {
        uint32_t c = defuse(ck_text_next(&s));
        room -= width_of(c);
        if (room < 0)
            break;
        put_character(h, c);
    }
    if (cut)
        ck_html_put(h, "\xe2\x80\xa6"); /* an ellipsis */
}

void ck_html_url(struct ck_html *h, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        unsigned char c = *s;
        int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        ck_html_format(h, plain ? "%c" : "%%%02X", c);
    }
}

/* ---- JSON ---- */

/* Sink of ck_json: called whenever it has text. */
static int write_json(void *arg, const char *bytes, size_t n)
{
    struct ck_html *h = arg;
    ck_html_bytes(h, bytes, n);
    return h->status;
}

void ck_html_json_begin(struct ck_html *h, struct ck_json *j)
{
    ck_json_init_to(j, CK_JSON_SCRIPT, write_json, h);
}

void ck_html_json_end(struct ck_html *h, struct ck_json *j)
{
    int rc = ck_json_finish(j);
    h->status = h->status ? h->status : rc;
}

/* Replaces first, because ck_json escapes but does not replace. */
void ck_html_json_text(struct ck_json *j, const char *key, const char *text)
{
    char *shown = ck_alloc_array(strlen(text) + 1, 3); /* a byte becomes at most three */
    size_t n = 0;
    if (!shown) {
        j->status = j->status ? j->status : COKE_ENOMEM;
        return;
    }
    while (*text)
        n += encode(defuse(ck_text_next(&text)), shown + n);
    shown[n] = 0;
    ck_json_put_text(j, key, shown);
    ck_free(shown);
}
