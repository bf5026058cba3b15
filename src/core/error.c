/* error.c - one status and one sentence per thread. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char sentence[CK_SENTENCE];

const char *ck_last_error(void)
{
    return sentence;
}

int ck_fail(int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    return status;
}

int ck_fail_prefix(int status, const char *fmt, ...)
{
    char old[sizeof sentence];
    memcpy(old, sentence, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof sentence)
        snprintf(sentence + n, sizeof sentence - (size_t)n, "%s", old);
    return status;
}
