/* group.c - all-gather and all-reduce over the processes of a job, with a fixed order of
 * additions. */
#include "dist/group.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/share.h"
#include "core/thread.h"
#include "dist/launcher.h"
#include "dist/watch.h"

#include <limits.h>
#include <string.h>

enum {
    SMALL = 1 << 13, /* numbers; up to here latency matters more than bandwidth */
    PIECE = 1 << 22, /* numbers of a longer sum or words of a broadcast sent at a time */
};

struct ck_group {
    struct ck_transport t;
    struct ck_watch *watch; /* NULL: alone, or the processes cannot be watched */
    double deadline;        /* until the watch begins; 0 = none */
    struct ck_group_stats stats;
    int *count, *place, *their_count, *their_place; /* [size] arguments of the transport */
    void *scratch;                                  /* of the sums; grows, freed on leaving */
    size_t room;                                    /* bytes of scratch */
};

/* MPI is process-global, so there is exactly one group. */
static struct ck_group world;

static void make_alone(void)
{
    ck_transport_self(&world.t);
}

struct ck_group *ck_group(void)
{
    static struct ck_once once = CK_ONCE;
    ck_once(&once, make_alone);
    return &world;
}

int ck_group_rank(const struct ck_group *c)
{
    return c->t.rank;
}

int ck_group_size(const struct ck_group *c)
{
    return c->t.size;
}

struct ck_group_stats ck_group_stats(const struct ck_group *c)
{
    return c->stats;
}

struct ck_group_stats ck_group_stats_since(const struct ck_group *c, struct ck_group_stats then)
{
    struct ck_group_stats now = c->stats;
    now.seconds -= then.seconds;
    now.hidden -= then.hidden;
    now.waited -= then.waited;
    now.gathered -= then.gathered;
    now.summed -= then.summed;
    now.reduced -= then.reduced;
    return now;
}

void ck_group_note_overlap(struct ck_group *c, double hidden, double waited)
{
    if (c->t.size == 1)
        return;
    c->stats.hidden += hidden;
    c->stats.waited += waited;
}

/* Once the size is known; a single process does not need them. */
static int make_lists(struct ck_group *c)
{
    int **list[] = {&c->count, &c->place, &c->their_count, &c->their_place};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        ck_free(*list[i]);
        *list[i] = ck_calloc_array((size_t)c->t.size, sizeof **list[i]);
        if (!*list[i])
            return COKE_ENOMEM;
    }
    return COKE_OK;
}

static void release(struct ck_group *c)
{
    ck_free(c->count);
    ck_free(c->place);
    ck_free(c->their_count);
    ck_free(c->their_place);
    ck_free(c->scratch);
    memset(c, 0, sizeof *c);
    ck_transport_self(&c->t);
}

/* ---- moving bytes ---- */

/* Turns an error of the transport into COKE_ELOST. */
static int check(const struct ck_group *c, int error)
{
    char words[512];
    if (!error)
        return COKE_OK;
    c->t.words(error, words, sizeof words);
    return ck_fail(COKE_ELOST, "process %d of %d lost the connection: %s", c->t.rank, c->t.size,
                   words);
}

/* COKE_ELOST if waiting on makes no sense. */
static int check_others(const struct ck_group *c)
{
    int lost = ck_watch_lost(c->watch);
    if (lost >= 0)
        return ck_fail(COKE_ELOST, "process %d is gone", lost);
    if (c->deadline > 0 && ck_clock_seconds() > c->deadline)
        return ck_fail(COKE_ELOST, "the other processes do not answer");
    return COKE_OK;
}

/* Begins with what the call that began the request returned. A request that is given up leaks:
 * MPI may still use it. */
static int await(struct ck_group *c, int error, void **request)
{
    double begun = ck_clock_seconds();
    int done = 0, rc = COKE_OK;
    while (!error && !done && !rc) {
        error = c->t.test(request, &done);
        if (!done)
            rc = check_others(c);
    }
    c->stats.seconds += ck_clock_seconds() - begun;
    return rc ? rc : check(c, error);
}

/* Alone, nothing is written to the group: threads may train at the same time. */
int ck_group_barrier(struct ck_group *c)
{
    void *request = NULL;
    if (c->t.size == 1)
        return COKE_OK;
    int error = c->t.barrier(&request);
    return await(c, error, &request);
}

int ck_group_broadcast(struct ck_group *c, void *data, int64_t bytes, int root)
{
    int64_t step = (int64_t)PIECE * CK_WORD;
    int rc = COKE_OK;
    if (c->t.size == 1)
        return COKE_OK;
    for (int64_t at = 0; at < bytes && !rc; at += step) {
        int64_t n = bytes - at < step ? bytes - at : step;
        void *request = NULL;
        int error = c->t.broadcast((char *)data + at, (int)(n / CK_WORD), root, &request);
        rc = await(c, error, &request);
    }
    return rc;
}

/* Fills counts and displacements in 4-byte words; returns 0 if they overflow MPI's int. */
static int set_parts(struct ck_group *c, const int64_t *bytes)
{
    int64_t at = 0;
    for (int r = 0; r < c->t.size; r++) {
        int64_t n = bytes[r] / CK_WORD;
        if (at + n > INT_MAX)
            return 0;
        c->count[r] = (int)n;
        c->place[r] = (int)at;
        at += n;
    }
    return 1;
}

int ck_group_gather_in_turns(struct ck_group *c, const void *mine, void *all,
                             const int64_t *bytes)
{
    char *part = all;
    for (int r = 0; r < c->t.size; part += bytes[r], r++) {
        if (r == c->t.rank && mine != part)
            memcpy(part, mine, (size_t)bytes[r]);
        CK_RETURN_IF(ck_group_broadcast(c, part, bytes[r], r));
    }
    c->stats.gathered += bytes[c->t.rank] * (c->t.size - 1);
    return COKE_OK;
}

int ck_group_gather(struct ck_group *c, const void *mine, void *all, const int64_t *bytes)
{
    void *request = NULL;
    if (c->t.size == 1) {
        if (mine != all)
            memcpy(all, mine, (size_t)bytes[0]);
        return COKE_OK;
    }
    if (!set_parts(c, bytes))
        return ck_group_gather_in_turns(c, mine, all, bytes);
    int error = c->t.gather(CK_CHANNEL_MAIN, mine, all, c->count, c->place, &request);
    CK_RETURN_IF(await(c, error, &request));
    c->stats.gathered += bytes[c->t.rank] * (c->t.size - 1);
    return COKE_OK;
}

/* Parts of equal size; at most INT_MAX words in total. */
static int gather_words(struct ck_group *c, const void *mine, void *all, int64_t words)
{
    void *request = NULL;
    for (int r = 0; r < c->t.size; r++) {
        c->count[r] = (int)words;
        c->place[r] = (int)words * r;
    }
    int error = c->t.gather(CK_CHANNEL_MAIN, mine, all, c->count, c->place, &request);
    return await(c, error, &request);
}

int ck_group_gather_equal(struct ck_group *c, const void *mine, void *all, int64_t bytes)
{
    if (c->t.size == 1) {
        memcpy(all, mine, (size_t)bytes);
        return COKE_OK;
    }
    c->stats.gathered += bytes * (c->t.size - 1);
    return gather_words(c, mine, all, bytes / CK_WORD);
}

/* ---- sums of 8-byte numbers ---- */

/* sum [n] += more [n]. */
typedef void add_numbers(void *sum, const void *more, int64_t n);

static void add_f64(void *sum, const void *more, int64_t n)
{
    double *s = sum;
    const double *m = more;
    for (int64_t i = 0; i < n; i++)
        s[i] += m[i];
}

static void add_i64(void *sum, const void *more, int64_t n)
{
    int64_t *s = sum;
    const int64_t *m = more;
    for (int64_t i = 0; i < n; i++)
        s[i] += m[i];
}

enum { NUMBER = 8, NUMBER_WORDS = NUMBER / CK_WORD };

/* At least `bytes`; valid until the next call. Contents are not kept. */
static void *scratch(struct ck_group *c, size_t bytes)
{
    if (bytes <= c->room)
        return c->scratch;
    void *more = ck_alloc_array(bytes, 1);
    if (!more)
        return NULL;
    ck_free(c->scratch);
    c->scratch = more;
    c->room = bytes;
    return more;
}

/* v [n] = parts [size][n] added in rank order. */
static void add_up(const struct ck_group *c, const char *parts, void *v, int64_t n,
                   add_numbers *add)
{
    memcpy(v, parts, (size_t)n * NUMBER);
    for (int r = 1; r < c->t.size; r++)
        add(v, parts + (size_t)(r * n) * NUMBER, n);
}

static int swap(struct ck_group *c, int to, const void *send, int from, void *receive,
                int64_t n)
{
    void *request = NULL;
    int error = c->t.swap(to, send, from, receive, (int)n * NUMBER_WORDS, &request);
    c->stats.summed += to < 0 ? 0 : n * NUMBER;
    return await(c, error, &request);
}

/* Recursive doubling: partners at distance 1, 2, 4, ... exchange and add their sums. After
 * log2(size) rounds all have evaluated the same tree of additions (a + b equals b + a bitwise).
 * Processes beyond the largest power of two first give their values to a partner, and receive
 * the result from it at the end. */
static int sum_small(struct ck_group *c, void *v, int64_t n, add_numbers *add)
{
    int me = c->t.rank, whole = 1;
    char *other = scratch(c, (size_t)n * NUMBER);
    if (!other)
        return COKE_ENOMEM;
    while (2 * whole <= c->t.size)
        whole *= 2;
    int beyond = me >= whole, partner = beyond ? me - whole : me + whole;
    if (!beyond && partner >= c->t.size)
        partner = -1;
    if (partner >= 0)
        CK_RETURN_IF(swap(c, beyond ? partner : -1, v, beyond ? -1 : partner, other, n));
    if (partner >= 0 && !beyond)
        add(v, other, n);
    for (int step = 1; step < whole && !beyond; step *= 2) {
        CK_RETURN_IF(swap(c, me ^ step, v, me ^ step, other, n));
        add(v, other, n);
    }
    if (partner >= 0)
        CK_RETURN_IF(swap(c, beyond ? -1 : partner, v, beyond ? partner : -1, v, n));
    return COKE_OK;
}

/* Sets counts and displacements for a reduce-scatter of n numbers of `words` words: the piece
 * of each process, and where the copies of the own piece arrive. Returns the own piece's
 * length. */
static int64_t set_pieces(struct ck_group *c, int64_t n, int words)
{
    int size = c->t.size, me = c->t.rank;
    int64_t mine = ck_share_first(n, me + 1, size) - ck_share_first(n, me, size);
    for (int r = 0; r < size; r++) {
        int64_t from = ck_share_first(n, r, size), to = ck_share_first(n, r + 1, size);
        c->count[r] = (int)(to - from) * words;
        c->place[r] = (int)from * words;
        c->their_count[r] = (int)mine * words;
        c->their_place[r] = (int)mine * words * r;
    }
    return mine;
}

/* Reduce-scatter and all-gather: every process adds one piece for all. n <= PIECE. */
static int sum_large(struct ck_group *c, char *v, int64_t n, add_numbers *add)
{
    void *request = NULL;
    int64_t mine = set_pieces(c, n, NUMBER_WORDS);
    char *parts = scratch(c, (size_t)(mine * c->t.size + 1) * NUMBER);
    char *own = v + (size_t)c->place[c->t.rank] * CK_WORD;
    if (!parts)
        return COKE_ENOMEM;
    int error = c->t.exchange(CK_CHANNEL_MAIN, v, c->count, c->place, parts, c->their_count,
                              c->their_place, &request);
    CK_RETURN_IF(await(c, error, &request));
    add_up(c, parts, own, mine, add);
    error = c->t.gather(CK_CHANNEL_MAIN, own, v, c->count, c->place, &request);
    CK_RETURN_IF(await(c, error, &request));
    c->stats.summed += (n - mine + mine * (c->t.size - 1)) * NUMBER;
    return COKE_OK;
}

static int sum(struct ck_group *c, void *v, int64_t n, add_numbers *add)
{
    int rc = COKE_OK;
    if (c->t.size == 1)
        return COKE_OK;
    if (n <= SMALL)
        return sum_small(c, v, n, add);
    for (int64_t at = 0; at < n && !rc; at += PIECE)
        rc = sum_large(c, (char *)v + at * NUMBER, n - at < PIECE ? n - at : PIECE, add);
    return rc;
}

int ck_group_sum_f64(struct ck_group *c, double *v, int64_t n)
{
    return sum(c, v, n, add_f64);
}

int ck_group_sum_i64(struct ck_group *c, int64_t *v, int64_t n)
{
    return sum(c, v, n, add_i64);
}

/* ---- asynchronous sums ---- */

int ck_sum_init(struct ck_sum *s, const struct ck_group *c, int64_t n)
{
    int size = c->t.size;
    memset(s, 0, sizeof *s);
    s->n = n;
    s->data = ck_alloc_array((size_t)n, sizeof *s->data);
    s->parts = ck_alloc_array((size_t)((n + size - 1) / size), (size_t)size * sizeof *s->parts);
    return s->data && s->parts ? COKE_OK : COKE_ENOMEM;
}

void ck_sum_release(struct ck_sum *s)
{
    ck_free(s->data);
    ck_free(s->parts);
    memset(s, 0, sizeof *s);
}

int ck_sum_begin(struct ck_sum *s, struct ck_group *c)
{
    s->stage = CK_SUM_DONE;
    if (c->t.size == 1)
        return COKE_OK;
    int64_t mine = set_pieces(c, s->n, 1);
    c->stats.reduced += (s->n - mine + mine * (c->t.size - 1)) * (int64_t)sizeof(float);
    s->stage = CK_SUM_SCATTER;
    return check(c, c->t.exchange(CK_CHANNEL_SCATTER, s->data, c->count, c->place, s->parts,
                                  c->their_count, c->their_place, &s->request));
}

/* Adds in f64 in rank order, and rounds once at the end. */
static void add_pieces(struct ck_sum *s, int64_t mine, float *own, int size)
{
    for (int64_t i = 0; i < mine; i++) {
        double total = (double)s->parts[i];
        for (int r = 1; r < size; r++)
            total += (double)s->parts[r * mine + i];
        own[i] = (float)total;
    }
}

/* Adds the received pieces and starts the all-gather. */
static int begin_collecting(struct ck_sum *s, struct ck_group *c)
{
    int64_t mine = set_pieces(c, s->n, 1);
    float *own = s->data + c->place[c->t.rank];
    add_pieces(s, mine, own, c->t.size);
    s->stage = CK_SUM_COLLECT;
    return check(
        c, c->t.gather(CK_CHANNEL_COLLECT, own, s->data, c->count, c->place, &s->request));
}

int ck_sum_advance(struct ck_sum *s, struct ck_group *c, int wait)
{
    int done = wait;
    if (s->stage != CK_SUM_SCATTER && s->stage != CK_SUM_COLLECT)
        return COKE_OK;
    CK_RETURN_IF(wait ? await(c, 0, &s->request) : check(c, c->t.test(&s->request, &done)));
    if (!done)
        return COKE_OK;
    if (s->stage == CK_SUM_SCATTER)
        CK_RETURN_IF(begin_collecting(s, c));
    else
        s->stage = CK_SUM_DONE;
    return COKE_OK;
}

/* ---- joining and leaving ---- */

/* Did all processes succeed? Waits for slow ones. */
static int ask_all(struct ck_group *c, int64_t mine, int *all)
{
    CK_RETURN_IF(ck_group_sum_i64(c, &mine, 1));
    *all = mine == c->t.size;
    return COKE_OK;
}

/* Every process connects to the next one. 0 in *watched: not all could. */
static int connect_ring(struct ck_group *c, struct ck_watch *w,
                        const struct ck_watch_place *mine, int *watched)
{
    int rc = COKE_OK;
    struct ck_watch_place *places = ck_calloc_array((size_t)c->t.size, sizeof *places);
    if (!places)
        return COKE_ENOMEM;
    CK_TRY(ck_group_gather_equal(c, mine, places, sizeof *places));
    CK_TRY(ask_all(c, ck_watch_connect(w, places), watched));
    if (*watched)
        CK_TRY(ask_all(c, ck_watch_accept(w), watched));
done:
    ck_free(places);
    return rc;
}

/* `begun`: when this process began to join, on the clock. */
static int start_watch(struct ck_group *c, double begun)
{
    struct ck_watch *w = NULL;
    struct ck_watch_place mine;
    int rc = COKE_OK, seconds, watched = 0;
    CK_RETURN_IF(ck_watch_seconds(&seconds));
    c->deadline = begun + (double)seconds * CK_WATCH_START;
    CK_TRY(ck_watch_new(&w, c->t.rank, c->t.size, seconds, &mine));
    CK_TRY(connect_ring(c, w, &mine, &watched));
    if (!watched)
        goto done;
    CK_TRY(ck_watch_begin(w));
    c->watch = w;
    w = NULL;
done:
    ck_watch_free(w);
    c->deadline = 0;
    return rc;
}

int ck_group_join(void)
{
    struct ck_group *c = ck_group();
    double begun = ck_clock_seconds();
    if (c->t.size > 1)
        return COKE_OK;
    CK_RETURN_IF(ck_launcher_connect(&c->t));
    if (c->t.size == 1)
        return COKE_OK;
    CK_RETURN_IF(make_lists(c));
    return start_watch(c, begun);
}

int ck_group_is_watched(const struct ck_group *c)
{
    return c->watch != NULL;
}

/* Lost: the others notice by themselves, and MPI would end them with the code of a signal. MPI
 * asks the launcher, which may not answer. */
static void end_all(struct ck_group *c, int code)
{
    struct ck_guard guard = {0};
    if (c->watch && code == -COKE_ELOST)
        ck_watch_quit(c->watch, code);
    if (c->watch)
        ck_watch_announce(c->watch, code);
    if (c->t.size > 1)
        (void)ck_guard_init(&guard, CK_WATCH_END, code);
    c->t.end_all(code);
    ck_guard_release(&guard); /* alone it returns */
}

int ck_group_leave(int code)
{
    struct ck_group *c = ck_group();
    if (code)
        end_all(c, code);
    int error = c->t.leave(); /* watched: another one may be lost before it leaves */
    ck_watch_free(c->watch);
    release(c);
    return error ? COKE_EFAIL : COKE_OK;
}
