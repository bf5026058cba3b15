/* talk.c - sentences on stderr, and numbers for people. */
#include "talk.h"
#include "coke.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE = 2 }; /* seconds before a rank other than 0 reports a failure */

static int process; /* rank in the group; set once, before any thread starts */

void talk_as(int number)
{
    process = number;
}

int talk_is_heard(void)
{
    return process == 0;
}

/* One fwrite per line, so that lines of several processes do not mix. */
static void print(const char *prefix, const char *line)
{
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text / 2, "%s", prefix);
    coke_text_clean(line, text + n, sizeof text - n - 1);
    n += strlen(text + n);
    text[n++] = '\n';
    fwrite(text, 1, n, stderr);
}

void talk_line(const char *prefix, const char *line)
{
    if (talk_is_heard())
        print(prefix, line);
}

/* A failure of all ranks should be printed once: rank 0, if it failed too, ends the others
 * during the wait. A stop is agreed upon by all and needs no message. */
static void complain(int status, const char *line)
{
    char prefix[32];
    if (status == COKE_ESTOPPED)
        return;
    signal(SIGTERM, SIG_DFL); /* lets the launcher end this process while it waits */
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

void talk_program(FILE *to)
{
    const char *missing = coke_amx_missing();
    fprintf(to, "coke %s\ninstruction set %s%s%s\n", coke_version(), coke_isa(),
            missing ? "; not AMX: " : "", missing ? missing : "");
}
