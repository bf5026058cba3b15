/* talk.c - sentences on stderr, and numbers for people. */
#include "talk.h"
#include "coke.h"

#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

enum { PATIENCE = 2 }; /* seconds */

static int process;

void talk_as(int number)
{
    process = number;
}

int talk_is_heard(void)
{
    return process == 0;
}

/* In one piece, so that what others write at the same time does not come between. */
static void print(const char *prefix, const char *line)
{
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text / 2, "%s", prefix);
    for (; *line && n < sizeof text - 1; line++)
        text[n++] = iscntrl((unsigned char)*line) ? '?' : *line;
    text[n++] = '\n';
    fwrite(text, 1, n, stderr);
}

void talk_line(const char *prefix, const char *line)
{
    if (talk_is_heard())
        print(prefix, line);
}

/* What stops all of them is said once: the first process, if it has failed too, ends the others
 * meanwhile. A stop is agreed upon. */
static void complain(int status, const char *line)
{
    char prefix[32];
    if (status == COKE_ESTOPPED)
        return;
    signal(SIGTERM, SIG_DFL); /* the launcher's way to end a process */
    sleep(PATIENCE);
    snprintf(prefix, sizeof prefix, "coke: process %d: ", process);
    print(prefix, line);
}

int talk_fail(int status, const char *fmt, ...)
{
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (talk_is_heard())
        print("coke: ", line);
    else
        complain(status, line);
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
