/* html.c - a page being written: what comes from data goes in escaped. */
#include "report/html.h"
#include "core/error.h"
#include "core/mem.h"

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
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n > 0)
        ck_html_bytes(h, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

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

enum { REPLACEMENT = 0xfffd };

/* The character at *s, which moves on. */
static uint32_t next_character(const unsigned char **s)
{
    const unsigned char *p = *s;
    int more = p[0] < 0x80 ? 0 : p[0] < 0xc2 ? -1 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    *s = p + 1;
    if (more < 0 || p[0] > 0xf4)
        return REPLACEMENT;
    uint32_t c = more ? p[0] & (0x3fu >> more) : p[0];
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return REPLACEMENT;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return REPLACEMENT;
    *s = p + 1 + more;
    return c;
}

/* What stands for a character that should not act. */
static uint32_t tame(uint32_t c)
{
    if (c < 0x20)
        return 0x2400 + c;
    if (c == 0x7f)
        return 0x2421;
    int turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
                c == 0x200f || c == 0x61c;
    int breaks = c == 0x2028 || c == 0x2029 || c == 0x85;
    return turns || breaks || (c >= 0x80 && c < 0xa0) || c == 0xfffe || c == 0xffff
               ? REPLACEMENT
               : c;
}

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
    const unsigned char *s = (const unsigned char *)text;
    while (*s)
        put_character(h, tame(next_character(&s)));
}

/* From Hangul on most letters are about twice as wide. */
static int width_of(uint32_t c)
{
    return c >= 0x1100 && !(c >= 0x1e00 && c < 0x2e80) && c != 0xfffd ? 2 : 1;
}

void ck_html_short_text(struct ck_html *h, const char *text, int most)
{
    const unsigned char *s = (const unsigned char *)text;
    int width = 0;
    while (*s)
        width += width_of(tame(next_character(&s)));
    int cut = width > most, room = cut ? most - 1 : most;
    for (s = (const unsigned char *)text; *s;) {
        uint32_t c = tame(next_character(&s));
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

void ck_html_json_text(struct ck_json *j, const char *key, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    char *tamed = ck_alloc_array(strlen(text) + 1, 3); /* a byte becomes three at most */
    size_t n = 0;
    if (!tamed) {
        j->status = j->status ? j->status : COKE_ENOMEM;
        return;
    }
    while (*s)
        n += encode(tame(next_character(&s)), tamed + n);
    tamed[n] = 0;
    ck_json_put_text(j, key, tamed);
    ck_free(tamed);
}
