/* text.c - numbers as text, the same in every locale, and text of unknown origin. */
#include "core/text.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Never freed: other threads may be using it until the process ends. */
static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Returns the calling thread's locale, for uselocale. If the C locale is missing (it is a
 * constant of the C libraries we know), uselocale(0) changes nothing. */
static locale_t enter(void)
{
    pthread_once(&once, make_locale);
    return uselocale(c_locale);
}

int ck_format_list(char *out, size_t size, const char *fmt, va_list ap)
{
    locale_t before = enter();
    int n = vsnprintf(out, size, fmt, ap);
    uselocale(before);
    return n;
}

int ck_format(char *out, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = ck_format_list(out, size, fmt, ap);
    va_end(ap);
    return n;
}

int ck_print(FILE *to, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    locale_t before = enter();
    int n = vfprintf(to, fmt, ap);
    uselocale(before);
    va_end(ap);
    return n;
}

double ck_parse_double(const char *text, char **end)
{
    locale_t before = enter();
    double x = strtod(text, end);
    uselocale(before);
    return x;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

int ck_text_same(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

uint32_t ck_text_next(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    int more = p[0] < 0x80 ? 0 : p[0] < 0xc2 ? -1 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    *s += 1;
    if (more < 0 || p[0] > 0xf4)
        return CK_TEXT_INVALID;
    uint32_t c = more ? p[0] & (0x3fu >> more) : p[0];
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return CK_TEXT_INVALID;
        c = c << 6 | (p[i] & 0x3fu);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return CK_TEXT_INVALID;
    *s += more;
    return c;
}

int ck_text_acts(uint32_t c)
{
    int turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
                c == 0x200f || c == 0x61c;
    int breaks = c == 0x2028 || c == 0x2029;
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || turns || breaks ||
           (c >= CK_TEXT_INVALID && c <= 0xffff);
}

void ck_text_clean(const char *text, char *out, size_t size)
{
    size_t used = 0;
    while (size && *text) {
        const char *from = text;
        int shown = !ck_text_acts(ck_text_next(&text));
        size_t n = shown ? (size_t)(text - from) : 1;
        if (used + n >= size)
            break;
        memcpy(out + used, shown ? from : "?", n);
        used += n;
    }
    if (size)
        out[used] = 0;
}
