/* error.c - status codes, and one error message (sentence) per thread. */
#include "core/error.h"
#include "core/text.h"

#include <stdarg.h>
#include <string.h>

/* Of the last failure of this thread; "" before the first. Never cleared. */
static _Thread_local char sentence[CK_SENTENCE];

const char *ck_last_error(void)
{
    return sentence;
}

int ck_fail(int status, const char *fmt, ...)
{
    char text[CK_SENTENCE];
    va_list ap;
    va_start(ap, fmt);
    ck_format_list(text, sizeof text, fmt, ap);
    va_end(ap);
    ck_text_clean(text, sentence, sizeof sentence);
    return status;
}

int ck_fail_prefix(int status, const char *fmt, ...)
{
    char old[CK_SENTENCE], text[CK_SENTENCE];
    memcpy(old, sentence, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    ck_format_list(text, sizeof text, fmt, ap);
    va_end(ap);
    ck_text_clean(text, sentence, sizeof sentence);
    size_t n = strlen(sentence);
    ck_text_clean(old, sentence + n, sizeof sentence - n);
    return status;
}
