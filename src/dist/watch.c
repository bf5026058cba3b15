/* watch.c - notices when another process of the job is gone. */
#include "dist/watch.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SECONDS_MIN = 5,
    SECONDS_MAX = 86400,
    SECONDS_DEFAULT = 60,
    PROBES = 3,        /* keep-alive messages without an answer within half of the time */
    CONNECT_MS = 1000, /* for one address of the next process */
    ACCEPT_MS = 5000,  /* for the process before, which has connected */
};

enum { BEFORE, NEXT, LINKS };

/* What goes over a connection: at most one of each kind. */
enum { GOODBYE = 1, LOST, ENDING };
struct message {
    int32_t kind, value; /* LOST: the process; ENDING: the exit code */
};

struct ck_watch {
    int rank, size, seconds;
    uint64_t token;
    int listener, wake;  /* -1 = closed */
    int link[LINKS];     /* -1 = closed */
    atomic_int lost;     /* process + 1, 0 = none */
    atomic_int stopping; /* this process leaves as it should */
    struct ck_thread thread;
};

int ck_watch_seconds(int *out)
{
    const char *text = getenv("COKE_LOST_SECONDS");
    char *end;
    *out = SECONDS_DEFAULT;
    if (!text || !*text)
        return COKE_OK;
    long value = strtol(text, &end, 10);
    if (*end || value < SECONDS_MIN || value > SECONDS_MAX)
        return ck_fail(COKE_EUSAGE, "COKE_LOST_SECONDS=%s: not a number within %d..%d", text,
                       SECONDS_MIN, SECONDS_MAX);
    *out = (int)value;
    return COKE_OK;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- time limits ---- */

/* Waits until the descriptor has one of the events or the clock shows `until` (ms). */
static int is_ready(int fd, short events, int64_t until)
{
    struct pollfd p = {.fd = fd, .events = events};
    int rc;
    do {
        int64_t left = until - ck_clock_ns() / 1000000;
        rc = poll(&p, 1, left > 0 ? (int)(left < INT_MAX ? left : INT_MAX) : 0);
    } while (rc < 0 && errno == EINTR);
    return rc > 0;
}

/* Leaves the process some time to end by itself, or be ended by the launcher. */
static void give_time(int wake, int64_t ms, int code)
{
    int64_t until = ck_clock_ns() / 1000000 + ms;
    while (!is_ready(wake, POLLIN, until))
        if (ck_clock_ns() / 1000000 >= until)
            _exit(code);
}

/* Ends what waits at the descriptor. */
static void wake_up(int wake)
{
    uint64_t one = 1;
    while (write(wake, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

static int make_wake(int *out)
{
    *out = eventfd(0, EFD_CLOEXEC);
    return *out < 0 ? ck_fail(COKE_EFAIL, "eventfd: %s", strerror(errno)) : COKE_OK;
}

static void guard(void *arg)
{
    const struct ck_guard *g = arg;
    give_time(g->wake, (int64_t)g->seconds * 1000, g->code);
}

int ck_guard_init(struct ck_guard *g, int seconds, int code)
{
    g->seconds = seconds;
    g->code = code;
    CK_RETURN_IF(make_wake(&g->wake));
    int rc = ck_thread_start(&g->thread, guard, g);
    if (rc)
        close_fd(&g->wake);
    return rc;
}

void ck_guard_release(struct ck_guard *g)
{
    if (!g->thread.started)
        return;
    wake_up(g->wake);
    ck_thread_join(&g->thread);
    close_fd(&g->wake);
}

/* ---- listening ---- */

static void list_addresses(uint32_t *out)
{
    struct ifaddrs *all = NULL;
    int n = 0;
    if (getifaddrs(&all))
        return;
    for (const struct ifaddrs *a = all; a && n < CK_WATCH_ADDRESSES; a = a->ifa_next) {
        struct sockaddr_in in;
        if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP) ||
            a->ifa_flags & IFF_LOOPBACK)
            continue;
        memcpy(&in, a->ifa_addr, sizeof in);
        out[n++] = in.sin_addr.s_addr;
    }
    freeifaddrs(all);
}

/* Port 0 in *place: not possible. */
static void listen_at(struct ck_watch *w, struct ck_watch_place *place)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t length = sizeof in;
    w->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (w->listener < 0 || bind(w->listener, (struct sockaddr *)&in, sizeof in) ||
        listen(w->listener, 8) || getsockname(w->listener, (struct sockaddr *)&in, &length))
        return;
    place->port = in.sin_port;
}

int ck_watch_new(struct ck_watch **out, int rank, int size, int seconds,
                 struct ck_watch_place *place)
{
    struct ck_watch *w = ck_calloc_array(1, sizeof *w);
    *out = w;
    if (!w)
        return COKE_ENOMEM;
    memset(place, 0, sizeof *place);
    w->rank = rank;
    w->size = size;
    w->seconds = seconds;
    w->listener = w->wake = w->link[BEFORE] = w->link[NEXT] = -1;
    gethostname(place->host, sizeof place->host - 1);
    list_addresses(place->address);
    if (getrandom(&w->token, sizeof w->token, GRND_NONBLOCK) == (ssize_t)sizeof w->token)
        listen_at(w, place);
    place->token = w->token;
    return COKE_OK;
}

/* ---- connecting ---- */

/* Kernels exchange keep-alive messages, so that a machine without power or network is noticed
 * within half of the time; those of stopped processes answer too. */
static void keep_alive(int fd, int seconds)
{
    int on = 1, each = seconds / 2 / (PROBES + 1), probes = PROBES;
    unsigned wait = (unsigned)seconds / 2 * 1000;
    each = each > 0 ? each : 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &each, sizeof each);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof each);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &wait, sizeof wait);
}

/* A connection to the process that has the token, or -1. */
static int connect_to(uint32_t address, uint32_t port, uint64_t token)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = (in_port_t)port};
    int64_t until = ck_clock_ns() / 1000000 + CONNECT_MS;
    int error = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = sizeof error;
    uint64_t answer = 0;
    if (fd < 0)
        return -1;
    in.sin_addr.s_addr = address;
    if ((connect(fd, (struct sockaddr *)&in, sizeof in) == 0 || errno == EINPROGRESS) &&
        is_ready(fd, POLLOUT, until) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && !error &&
        send(fd, &token, sizeof token, MSG_NOSIGNAL) == (ssize_t)sizeof token)
        answer = token;
    if (!answer)
        close_fd(&fd);
    return fd;
}

static int connect_next(struct ck_watch *w, const struct ck_watch_place *mine,
                        const struct ck_watch_place *next)
{
    if (!next->port)
        return 0;
    if (strncmp(mine->host, next->host, sizeof mine->host) == 0)
        w->link[NEXT] = connect_to(htonl(INADDR_LOOPBACK), next->port, next->token);
    for (int i = 0; i < CK_WATCH_ADDRESSES && next->address[i] && w->link[NEXT] < 0; i++)
        w->link[NEXT] = connect_to(next->address[i], next->port, next->token);
    return w->link[NEXT] >= 0;
}

/* Connections of strangers, who do not know the token, are closed. */
static int accept_before(struct ck_watch *w)
{
    int64_t until = ck_clock_ns() / 1000000 + ACCEPT_MS;
    while (w->link[BEFORE] < 0 && w->listener >= 0 && is_ready(w->listener, POLLIN, until)) {
        uint64_t token = 0;
        int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0 && is_ready(fd, POLLIN, until) &&
            recv(fd, &token, sizeof token, 0) == (ssize_t)sizeof token && token == w->token)
            w->link[BEFORE] = fd;
        else
            close_fd(&fd);
    }
    return w->link[BEFORE] >= 0;
}

int ck_watch_connect(struct ck_watch *w, const struct ck_watch_place *places)
{
    return connect_next(w, &places[w->rank], &places[(w->rank + 1) % w->size]);
}

int ck_watch_accept(struct ck_watch *w)
{
    int ok = accept_before(w);
    close_fd(&w->listener);
    return ok;
}

/* ---- watching ---- */

/* A few bytes on a connection that carries nothing else always fit. */
static void tell(struct ck_watch *w, int kind, int value)
{
    struct message m = {kind, value};
    for (int i = 0; i < LINKS; i++)
        if (w->link[i] >= 0 && send(w->link[i], &m, sizeof m, MSG_NOSIGNAL) < 0)
            continue; /* it is gone, as we are about to find out */
}

static int neighbour(const struct ck_watch *w, int link)
{
    return (w->rank + (link == NEXT ? 1 : w->size - 1)) % w->size;
}

/* What a connection has to say; 1: that nothing more is to be watched. */
static int hear(struct ck_watch *w, int link)
{
    struct message m = {LOST, neighbour(w, link)};
    ssize_t n = recv(w->link[link], &m, sizeof m, MSG_WAITALL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n != (ssize_t)sizeof m)
        m = (struct message){LOST, neighbour(w, link)};
    close_fd(&w->link[link]);
    if (m.kind == GOODBYE)
        return 0;
    if (m.kind == LOST)
        atomic_store(&w->lost, m.value + 1);
    tell(w, m.kind, m.value);
    if (m.kind == LOST)
        give_time(w->wake, w->seconds * 500, -COKE_ELOST);
    else
        give_time(w->wake, CK_WATCH_END * 1000, m.value);
    return 1;
}

static void watch(void *arg)
{
    struct ck_watch *w = arg;
    for (int over = 0; !over && !atomic_load(&w->stopping);) {
        struct pollfd p[LINKS + 1] = {{.fd = w->link[BEFORE], .events = POLLIN},
                                      {.fd = w->link[NEXT], .events = POLLIN},
                                      {.fd = w->wake, .events = POLLIN}};
        if (poll(p, LINKS + 1, -1) < 0)
            continue;
        for (int i = 0; i < LINKS && !over; i++)
            over = p[i].revents && hear(w, i);
    }
}

int ck_watch_begin(struct ck_watch *w)
{
    for (int i = 0; i < LINKS; i++)
        keep_alive(w->link[i], w->seconds);
    CK_RETURN_IF(make_wake(&w->wake));
    return ck_thread_start(&w->thread, watch, w);
}

int ck_watch_lost(const struct ck_watch *w)
{
    return w ? atomic_load_explicit(&w->lost, memory_order_relaxed) - 1 : -1;
}

/* ---- leaving ---- */

static void stop_thread(struct ck_watch *w)
{
    if (!w->thread.started)
        return;
    atomic_store(&w->stopping, 1);
    wake_up(w->wake);
    ck_thread_join(&w->thread);
}

void ck_watch_announce(struct ck_watch *w, int code)
{
    stop_thread(w);
    tell(w, ENDING, code);
}

void ck_watch_quit(struct ck_watch *w, int code)
{
    stop_thread(w);
    _exit(code);
}

void ck_watch_free(struct ck_watch *w)
{
    if (!w)
        return;
    stop_thread(w);
    tell(w, GOODBYE, 0);
    close_fd(&w->listener);
    close_fd(&w->wake);
    for (int i = 0; i < LINKS; i++)
        close_fd(&w->link[i]);
    ck_free(w);
}
