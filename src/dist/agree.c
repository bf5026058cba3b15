/* agree.c - do all processes of a job mean the same thing? */
#include "dist/agree.h"
#include "core/error.h"
#include "core/mem.h"

#include <stdio.h>
#include <string.h>

/* Text of the first process on all of them. */
static int broadcast_text(struct ck_group *c, const char *text, char **out)
{
    int64_t n = (int64_t)strlen(text) / CK_WORD * CK_WORD + CK_WORD;
    CK_RETURN_IF(ck_group_broadcast(c, &n, sizeof n, 0));
    *out = ck_calloc_array((size_t)n, 1);
    if (!*out)
        return COKE_ENOMEM;
    if (ck_group_rank(c) == 0)
        memcpy(*out, text, strlen(text));
    CK_RETURN_IF(ck_group_broadcast(c, *out, n, 0));
    (*out)[n - 1] = 0;
    return COKE_OK;
}

/* A line's value, after the tab. */
static const char *value_of(const char *line, size_t n)
{
    const char *tab = memchr(line, '\t', n);
    return tab ? tab + 1 : line + n;
}

/* The first line that differs, in words. */
static int compare_lines(int rank, const char *mine, const char *theirs)
{
    while (*mine && *theirs) {
        size_t n = strcspn(mine, "\n"), m = strcspn(theirs, "\n");
        const char *a = value_of(mine, n), *b = value_of(theirs, m);
        if (n != m || memcmp(mine, theirs, n) != 0)
            return ck_fail(COKE_EUSAGE, "%.*s is %.*s in process %d, but %.*s in process 0",
                           (int)strcspn(mine, "\t\n"), mine, (int)(mine + n - a), a, rank,
                           (int)(theirs + m - b), b);
        mine += n + (mine[n] != 0);
        theirs += m + (theirs[m] != 0);
    }
    return *mine == *theirs ? COKE_OK
                            : ck_fail(COKE_EUSAGE,
                                      "process %d knows other options than process 0: they are "
                                      "different programs",
                                      rank);
}

/* The lines that hold for every job, before those of this one; NULL: out of memory. */
static char *add_program(const char *text)
{
    const char *version = coke_version(), *isa = coke_isa();
    size_t room = strlen(version) + strlen(isa) + strlen(text) + 64;
    char *all = ck_alloc_array(room, 1);
    if (all)
        snprintf(all, room, "coke\t%s\nthe instruction set\t%s\n%s", version, isa, text);
    return all;
}

int ck_agree_text(struct ck_group *c, const char *text)
{
    char *mine = NULL, *theirs = NULL;
    int rc = COKE_OK;
    if (ck_group_size(c) == 1)
        return COKE_OK;
    mine = add_program(text);
    if (!mine)
        return COKE_ENOMEM;
    CK_TRY(broadcast_text(c, mine, &theirs));
    CK_TRY(compare_lines(ck_group_rank(c), mine, theirs));
    CK_TRY(ck_group_barrier(c));
done:
    ck_free(mine);
    ck_free(theirs);
    return rc;
}

int ck_agree_hash(struct ck_group *c, uint64_t hash, const char *when, const char *what)
{
    uint64_t first = hash;
    CK_RETURN_IF(ck_group_broadcast(c, &first, sizeof first, 0));
    if (first != hash)
        return ck_fail(COKE_EFAIL, "%s: process %d holds other %s than process 0", when,
                       ck_group_rank(c), what);
    return ck_group_barrier(c);
}
