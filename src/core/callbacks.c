/* callbacks.c - calls the caller's callbacks: progress, choices made, warnings. */
#include "core/callbacks.h"
#include "coke/types.h"
#include "core/error.h"
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE = 2048 }; /* bytes of a message with its 0 */

int ck_progress_ask(const struct coke_callbacks *cb, const struct coke_progress *p)
{
    return cb && cb->progress ? cb->progress(cb->user, p) : 0;
}

int ck_progress(const struct coke_callbacks *cb, const struct coke_progress *p)
{
    if (!ck_progress_ask(cb, p))
        return COKE_OK;
    if (p->epochs > 0)
        return ck_fail(COKE_ESTOPPED, "stopped in epoch %lld", (long long)p->epoch);
    return ck_fail(COKE_ESTOPPED, "stopped after %lld %s", (long long)p->done,
                   p->unit ? p->unit : "rows");
}

int ck_progress_count(const struct coke_callbacks *cb, const char *phase, int64_t done,
                      int64_t total, const char *unit)
{
    return ck_progress(cb, &(struct coke_progress){
                               .phase = phase, .done = done, .total = total, .unit = unit});
}

/* The line is valid only during the callback. */
static void send(void (*to)(void *user, const char *line), void *user, const char *fmt,
                 va_list ap)
{
    char text[LINE], line[LINE];
    ck_format_list(text, sizeof text, fmt, ap);
    ck_text_clean(text, line, sizeof line);
    to(user, line);
}

void ck_say(const struct coke_callbacks *cb, const char *fmt, ...)
{
    if (!cb || !cb->say)
        return;
    va_list ap;
    va_start(ap, fmt);
    send(cb->say, cb->user, fmt, ap);
    va_end(ap);
}

void ck_warn(const struct coke_callbacks *cb, const char *fmt, ...)
{
    if (!cb || !cb->warn)
        return;
    va_list ap;
    va_start(ap, fmt);
    send(cb->warn, cb->user, fmt, ap);
    va_end(ap);
}

void ck_bad_image(const struct coke_callbacks *cb, int64_t index, const char *sentence)
{
    if (cb && cb->bad_image)
        cb->bad_image(cb->user, index, sentence);
}
