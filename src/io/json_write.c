/* json_write.c - the one writer of JSON: commas, indents, escapes and numbers. */
#include "core/error.h"
#include "core/hash.h"
#include "core/vec.h"
#include "core/mem.h"
#include "core/text.h"
#include "io/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NUMBER = 400
}; /* bytes of a number: %f of the largest double has 309 before the point */

void ck_json_init_style(struct ck_json *j, enum ck_json_style style)
{
    *j = (struct ck_json){.style = style};
}

void ck_json_init(struct ck_json *j)
{
    ck_json_init_style(j, CK_JSON_FILE);
    ck_json_begin_object(j, NULL);
}

void ck_json_init_to(struct ck_json *j, enum ck_json_style style,
                     int (*write)(void *arg, const char *bytes, size_t n), void *arg)
{
    *j = (struct ck_json){.style = style, .write = write, .arg = arg};
}

void ck_json_release(struct ck_json *j)
{
    ck_free(j->text);
    *j = (struct ck_json){0};
}

/* ---- bytes ---- */

static void add(struct ck_json *j, const char *bytes, size_t n)
{
    if (j->status)
        return;
    if (j->write) {
        j->status = j->write(j->arg, bytes, n);
        return;
    }
    j->status = CK_VEC_RESERVE(j->text, j->room, j->n + (int64_t)n);
    if (j->status)
        return;
    memcpy(j->text + j->n, bytes, n);
    j->n += (int64_t)n;
}

static void add_word(struct ck_json *j, const char *word)
{
    add(j, word, strlen(word));
}

static int is_indented(const struct ck_json *j)
{
    return j->style == CK_JSON_FILE || j->style == CK_JSON_PRETTY;
}

/* A new line that is indented by the depth, in the styles that have them. */
static void break_line(struct ck_json *j)
{
    static const char spaces[] = "\n                ";
    _Static_assert(sizeof spaces == 2 + 2 * CK_JSON_DEPTH, "two spaces per level");
    if (is_indented(j))
        add(j, spaces, 1 + 2 * (size_t)j->depth);
}

/* ---- text ---- */

/* Bytes of the character at s, or 0 if it is none: overlong, a surrogate, or past U+10FFFF. */
static int character(const unsigned char *s)
{
    int n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] > 0xf4)
        return 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

int ck_json_is_utf8(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    while (*p) {
        int n = character(p);
        if (n == 0)
            return 0;
        p += n;
    }
    return 1;
}

/* The letter that follows a backslash for c, or 0. */
static char short_escape(unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = strchr(from, c);
    return at ? to[at - from] : 0;
}

static int is_markup(const struct ck_json *j, unsigned char c)
{
    return j->style == CK_JSON_SCRIPT && strchr("<>&'\"\\", c) != NULL;
}

static void add_character(struct ck_json *j, const unsigned char *s, int n)
{
    char text[8];
    char letter = short_escape(*s);
    if (n == 0)
        add(j, "?", 1);
    else if (is_markup(j, *s))
        add(j, text, (size_t)snprintf(text, sizeof text, "\\u%04x", *s));
    else if (letter)
        add(j, text, (size_t)snprintf(text, sizeof text, "\\%c", letter));
    else if (*s < ' ' || *s == 127)
        add(j, text, (size_t)snprintf(text, sizeof text, "\\u%04X", *s));
    else
        add(j, (const char *)s, (size_t)n);
}

static void add_text(struct ck_json *j, const char *value)
{
    add(j, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)value; *s;) {
        int n = character(s);
        add_character(j, s, n);
        s += n ? n : 1;
    }
    add(j, "\"", 1);
}

/* ---- values ---- */

/* What comes before each value: a comma, its line, its key. */
static void add_key(struct ck_json *j, const char *key)
{
    int packed = j->style == CK_JSON_SCRIPT, second = j->filled >> j->depth & 1;
    j->filled |= 1 << j->depth;
    if (j->depth && second)
        add_word(j, packed || is_indented(j) ? "," : ", ");
    if (j->depth)
        break_line(j);
    if (!key)
        return;
    add_text(j, key);
    add_word(j, packed ? ":" : ": ");
}

/* A document ends with its line. */
static void end_value(struct ck_json *j)
{
    if (!j->depth && j->style != CK_JSON_SCRIPT)
        add(j, "\n", 1);
}

static void put_word(struct ck_json *j, const char *key, const char *word)
{
    add_key(j, key);
    add_word(j, word);
    end_value(j);
}

void ck_json_put_int(struct ck_json *j, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put_word(j, key, text);
}

void ck_json_put_digits(struct ck_json *j, const char *key, double value, int digits)
{
    char text[NUMBER];
    ck_format(text, sizeof text, "%.*g", digits, value);
    put_word(j, key, isfinite(value) ? text : "null");
}

void ck_json_put_fixed(struct ck_json *j, const char *key, double value, int decimals)
{
    char text[NUMBER];
    ck_format(text, sizeof text, "%.*f", decimals, value);
    put_word(j, key, isfinite(value) ? text : "null");
}

/* As jansson prints it: a real stays a real when it is read ("3.0"), short exponents ("1e-5").
 */
static void put_pointed(struct ck_json *j, const char *key, double value)
{
    char text[NUMBER];
    ck_format(text, sizeof text, "%.15g", value);
    char *e = strchr(text, 'e');
    if (!e && !strchr(text, '.'))
        strcat(text, ".0");
    if (e) {
        char *digits = e + 1 + (e[1] == '-'), *rest = e + 2;
        rest += strspn(rest, "0");
        memmove(digits, rest, strlen(rest) + 1);
    }
    put_word(j, key, isfinite(value) ? text : "null");
}

void ck_json_put_real(struct ck_json *j, const char *key, double value)
{
    if (j->style == CK_JSON_FILE)
        put_pointed(j, key, value);
    else
        ck_json_put_digits(j, key, value, is_indented(j) ? 15 : 9);
}

void ck_json_put_flag(struct ck_json *j, const char *key, int value)
{
    put_word(j, key, value ? "true" : "false");
}

void ck_json_put_text(struct ck_json *j, const char *key, const char *value)
{
    add_key(j, key);
    add_text(j, value);
    end_value(j);
}

/* ---- objects and arrays ---- */

static void begin(struct ck_json *j, const char *key, const char brackets[2])
{
    if (j->depth == CK_JSON_DEPTH && !j->status)
        j->status = ck_fail(COKE_EFAIL, "JSON deeper than %d levels", CK_JSON_DEPTH);
    if (j->status)
        return;
    add_key(j, key);
    add(j, brackets, 1);
    j->close[j->depth++] = brackets[1];
    j->filled &= ~(1 << j->depth);
}

void ck_json_begin_object(struct ck_json *j, const char *key)
{
    begin(j, key, "{}");
}

void ck_json_begin_array(struct ck_json *j, const char *key)
{
    begin(j, key, "[]");
}

void ck_json_end(struct ck_json *j)
{
    if (j->depth == 0)
        return;
    int empty = !(j->filled >> j->depth & 1);
    j->depth--;
    if (!empty)
        break_line(j);
    add(j, &j->close[j->depth], 1);
    end_value(j);
}

/* ---- documents ---- */

int ck_json_finish(struct ck_json *j)
{
    while (j->depth)
        ck_json_end(j);
    return j->status;
}

int ck_json_finish_line(struct ck_json *j)
{
    char digits[CK_HASH_DIGITS + 1];
    while (j->depth > 1)
        ck_json_end(j);
    ck_hash_print(ck_hash(j->text, (size_t)j->n, 0), digits);
    ck_json_put_text(j, "xxh3", digits);
    return ck_json_finish(j);
}

int ck_json_print(struct ck_json *j, FILE *to)
{
    int rc = ck_json_finish(j);
    if (!rc && (fwrite(j->text, 1, (size_t)j->n, to) != (size_t)j->n || fflush(to)))
        rc = ck_fail(COKE_EIO, "writing JSON: %s", strerror(errno));
    return rc;
}

int ck_json_write_to(struct ck_json *j, struct ck_writer *w)
{
    int rc = ck_json_finish(j);
    return rc ? rc : ck_writer_write(w, j->text, (size_t)j->n);
}

int ck_json_write(struct ck_json *j, const char *path, int force)
{
    struct ck_writer w = {0};
    int rc = COKE_OK;
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_json_write_to(j, &w));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}
