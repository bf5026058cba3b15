/* fake_share.c - processes of a group as threads of a test. */
#include "fake_share.h"
#include "core/error.h"

#include <pthread.h>
#include <string.h>

struct group {
    int size, here, round, lost;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    const void *part[FAKE_MOST]; /* what each rank brings to a collective call */
};

struct member {
    struct group *group;
    int rank, rc;
    int (*work)(const struct ck_share *share, void *arg);
    void *arg;
};

/* All ranks come here; fails for all of them when one has gone. */
static int meet(struct group *g)
{
    pthread_mutex_lock(&g->lock);
    int round = g->round;
    if (++g->here == g->size) {
        g->here = 0;
        g->round++;
        pthread_cond_broadcast(&g->moved);
    }
    while (round == g->round && !g->lost)
        pthread_cond_wait(&g->moved, &g->lock);
    int lost = round == g->round;
    pthread_mutex_unlock(&g->lock);
    return lost ? ck_fail(COKE_ELOST, "a rank has gone") : COKE_OK;
}

static int show(struct member *m, const void *part)
{
    m->group->part[m->rank] = part;
    return meet(m->group);
}

static int gather(void *arg, const void *mine, void *all, const int64_t *bytes)
{
    struct member *m = arg;
    char *to = all;
    CK_RETURN_IF(show(m, mine));
    for (int r = 0; r < m->group->size; to += bytes[r], r++)
        if (to != m->group->part[r])
            memcpy(to, m->group->part[r], (size_t)bytes[r]);
    return meet(m->group);
}

static int sum_i64(void *arg, int64_t *v, int64_t n)
{
    struct member *m = arg;
    CK_RETURN_IF(show(m, v));
    for (int64_t i = m->rank; i < n; i += m->group->size) { /* a piece of the sums each */
        int64_t sum = 0;
        for (int r = 0; r < m->group->size; r++)
            sum += ((const int64_t *)m->group->part[r])[i];
        for (int r = 0; r < m->group->size; r++)
            ((int64_t *)(uintptr_t)m->group->part[r])[i] = sum;
    }
    return meet(m->group);
}

static int agree_text(void *arg, const char *text)
{
    struct member *m = arg;
    CK_RETURN_IF(show(m, text));
    if (strcmp(text, m->group->part[0]) != 0)
        return ck_fail(COKE_EUSAGE, "rank %d does not agree", m->rank);
    return meet(m->group);
}

static int agree_hash(void *arg, uint64_t hash, const char *when, const char *what)
{
    struct member *m = arg;
    CK_RETURN_IF(show(m, &hash));
    uint64_t first = *(const uint64_t *)m->group->part[0];
    CK_RETURN_IF(meet(m->group));
    return first == hash
               ? COKE_OK
               : ck_fail(COKE_EFAIL, "%s: rank %d holds other %s", when, m->rank, what);
}

static void *run(void *arg)
{
    struct member *m = arg;
    struct ck_share share = {m->rank,    m->group->size, gather, sum_i64,
                             agree_text, agree_hash,     m};
    m->rc = m->work(&share, m->arg);
    if (m->rc) {
        pthread_mutex_lock(&m->group->lock);
        m->group->lost = 1;
        pthread_cond_broadcast(&m->group->moved);
        pthread_mutex_unlock(&m->group->lock);
    }
    return NULL;
}

int fake_ranks(int size, int (*work)(const struct ck_share *share, void *arg), void *const *arg)
{
    struct group g = {
        .size = size, .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    struct member m[FAKE_MOST] = {0};
    pthread_t thread[FAKE_MOST];
    int rc = COKE_OK;
    for (int r = 0; r < size; r++) {
        m[r] = (struct member){.group = &g, .rank = r, .work = work, .arg = arg[r]};
        if (pthread_create(&thread[r], NULL, run, &m[r]))
            return ck_fail(COKE_EFAIL, "no thread for rank %d", r);
    }
    for (int r = 0; r < size; r++)
        pthread_join(thread[r], NULL);
    for (int r = 0; r < size && !rc; r++)
        rc = m[r].rc;
    return rc;
}
