/* agree.c - checks that all processes of a group have the same options, data and results. */
#include "dist/agree.h"
#include "core/error.h"
#include "core/mem.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

/* *out becomes a copy of process 0's text, padded to words; the caller frees it, also on
 * failure. */
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

/* The value of a line: the part after the tab. */
static const char *value_of(const char *line, size_t n)
{
    const char *tab = memchr(line, '\t', n);
    return tab ? tab + 1 : line + n;
}

/* Fails with a message about the first line that differs. */
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
                                      "process %d has other options than process 0: they run "
                                      "different programs",
                                      rank);
}

/* Prepends the lines that every job compares. The caller frees the result; NULL = out of
 * memory. */
static char *add_program(const char *text)
{
    const char *version = COKE_VERSION, *isa = ck_isa();
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
        return ck_fail(COKE_EFAIL, "%s: %s of process %d differ from process 0", when, what,
                       ck_group_rank(c));
    return ck_group_barrier(c);
}
