/* group_share.c - a group as a struct ck_share. arg is the group; the functions only convert
 * it. */
#include "dist/group_share.h"
#include "dist/agree.h"

static int gather(void *arg, const void *mine, void *all, const int64_t *bytes)
{
    return ck_group_gather(arg, mine, all, bytes);
}

static int sum_i64(void *arg, int64_t *v, int64_t n)
{
    return ck_group_sum_i64(arg, v, n);
}

static int agree_text(void *arg, const char *text)
{
    return ck_agree_text(arg, text);
}

static int agree_hash(void *arg, uint64_t hash, const char *when, const char *what)
{
    return ck_agree_hash(arg, hash, when, what);
}

struct ck_share ck_group_share(struct ck_group *c)
{
    return (struct ck_share){ck_group_rank(c), ck_group_size(c), gather, sum_i64,
                             agree_text,       agree_hash,       c};
}
