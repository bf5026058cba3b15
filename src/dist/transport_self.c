/* transport_self.c - the transport of a single process: copies, or nothing. Requests are
 * NULL. */
#include "dist/transport.h"

#include <stdio.h>
#include <string.h>

static int barrier(void **request)
{
    *request = NULL;
    return 0;
}

static int broadcast(void *data, int words, int root, void **request)
{
    (void)data;
    (void)words;
    (void)root;
    *request = NULL;
    return 0;
}

static void copy(void *to, int place, const void *from, int words)
{
    char *at = (char *)to + (size_t)place * CK_WORD;
    if (at != from)
        memmove(at, from, (size_t)words * CK_WORD);
}

static int gather(enum ck_channel ch, const void *mine, void *all, const int *count,
                  const int *place, void **request)
{
    (void)ch;
    copy(all, place[0], mine, count[0]);
    *request = NULL;
    return 0;
}

static int exchange(enum ck_channel ch, const void *send, const int *send_count,
                    const int *send_place, void *receive, const int *receive_count,
                    const int *receive_place, void **request)
{
    (void)ch;
    (void)receive_count;
    copy(receive, receive_place[0], (const char *)send + (size_t)send_place[0] * CK_WORD,
         send_count[0]);
    *request = NULL;
    return 0;
}

/* A single process has no partner. */
static int swap(int to, const void *send, int from, void *receive, int words, void **request)
{
    (void)to;
    (void)send;
    (void)from;
    (void)receive;
    (void)words;
    *request = NULL;
    return 0;
}

static int test(void **request, int *done)
{
    *request = NULL;
    *done = 1;
    return 0;
}

static void words(int error, char *out, size_t size)
{
    snprintf(out, size, "error %d", error);
}

/* No other process to end: the caller returns its status. */
static void end_all(int code)
{
    (void)code;
}

static int leave(void)
{
    return 0;
}

void ck_transport_self(struct ck_transport *out)
{
    *out = (struct ck_transport){.size = 1,
                                 .barrier = barrier,
                                 .broadcast = broadcast,
                                 .gather = gather,
                                 .exchange = exchange,
                                 .swap = swap,
                                 .test = test,
                                 .words = words,
                                 .end_all = end_all,
                                 .leave = leave};
}
