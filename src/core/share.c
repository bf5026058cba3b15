/* share.c - dividing work among the processes of a group. */
#include "core/share.h"

struct ck_share ck_share_alone(void)
{
    return (struct ck_share){.rank = 0, .size = 1};
}

int64_t ck_share_first(int64_t n, int rank, int size)
{
    return n * rank / size;
}

int ck_share_gather_items(const struct ck_share *s, void *all, int64_t n, int64_t item,
                          int64_t *bytes)
{
    for (int r = 0; r < s->size; r++)
        bytes[r] = (ck_share_first(n, r + 1, s->size) - ck_share_first(n, r, s->size)) * item;
    const char *mine = (const char *)all + ck_share_first(n, s->rank, s->size) * item;
    return s->gather(s->arg, mine, all, bytes);
}

void ck_share_put_options(FILE *to, const struct ck_option_table *t, const void *options,
                          int (*may_differ)(const char *name))
{
    char value[1024];
    for (int i = 0; i < t->n; i++) {
        const char *name = t->row[i].name;
        if (t->row[i].local || (may_differ && may_differ(name)))
            continue;
        if (ck_options_get(t, options, name, value, sizeof value) == COKE_OK)
            fprintf(to, "option '%s'\t%s\n", name, value);
    }
}
