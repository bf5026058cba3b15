/* talk.c - sentences on stderr, and numbers for people. */
#include "talk.h"
#include "coke.h"

#include <ctype.h>
#include <stdarg.h>

void talk_line(const char *prefix, const char *line)
{
    fputs(prefix, stderr);
    for (; *line; line++)
        fputc(iscntrl((unsigned char)*line) ? '?' : *line, stderr);
    fputc('\n', stderr);
}

int talk_fail(int status, const char *fmt, ...)
{
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    talk_line("coke: ", line);
    return status;
}

int talk_fail_library(int status)
{
    return talk_fail(status, "%s", coke_last_error());
}

const char *talk_count(double count, char *out, size_t size)
{
    if (count < 1e3)
        snprintf(out, size, "%.0f", count);
    else if (count < 1e6)
        snprintf(out, size, "%.1fk", count / 1e3);
    else
        snprintf(out, size, "%.2fM", count / 1e6);
    return out;
}
