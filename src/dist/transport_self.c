/* transport_self.c - the transport of a process that is alone. */
#include "dist/transport.h"

#include <stdio.h>
#include <string.h>

static int barrier(void)
{
    return 0;
}

static int broadcast(void *data, int words, int root)
{
    (void)data;
    (void)words;
    (void)root;
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

/* There is no one to swap with. */
static int swap(int to, const void *send, int from, void *receive, int words)
{
    (void)to;
    (void)send;
    (void)from;
    (void)receive;
    (void)words;
    return 0;
}

static int test(void *request, int *done)
{
    (void)request;
    *done = 1;
    return 0;
}

static int wait_for(void **request)
{
    *request = NULL;
    return 0;
}

static void words(int error, char *out, size_t size)
{
    snprintf(out, size, "error %d", error);
}

/* Alone there is no one to end: the caller returns its status. */
static void end_all(int code)
{
    (void)code;
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
                                 .wait = wait_for,
                                 .words = words,
                                 .end_all = end_all,
                                 .leave = barrier};
}
