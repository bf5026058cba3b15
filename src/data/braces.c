/* braces.c - expands x-{000..146}.tar to file names. */
#include "data/braces.h"
#include "core/error.h"
#include "core/mem.h"

#include <stdio.h>
#include <string.h>

/* The first pair of braces and the text around it; borrows from the pattern. */
struct pattern {
    const char *text;
    int before;       /* length */
    const char *body; /* between the braces */
    int length;
    const char *after;
};

/* Replaces the braces by one piece and expands the rest recursively. */
static int expand_piece(const struct pattern *p, const char *piece, int n, struct ck_names *out)
{
    size_t size = strlen(p->text) + (size_t)n + 1;
    char *text = ck_alloc_array(size, 1);
    if (!text)
        return COKE_ENOMEM;
    snprintf(text, size, "%.*s%.*s%s", p->before, p->text, n, piece, p->after);
    int rc = ck_braces_expand(text, out);
    ck_free(text);
    return rc;
}

static int expand_range(const struct pattern *p, struct ck_names *out)
{
    long long first = 0, last = 0;
    int middle = 0, end = 0, rc = COKE_OK;
    char number[32];
    if (p->length > 40 || p->body[0] == '-' ||
        sscanf(p->body, "%18lld%n..%18lld%n", &first, &middle, &last, &end) != 2 ||
        end != p->length || last < first)
        return ck_fail(COKE_EUSAGE, "%s: {%.*s} is not a range such as {000..146}", p->text,
                       p->length, p->body);
    if (last - first >= CK_BRACES_MAX)
        return ck_fail(COKE_EUSAGE, "%s: expands to more than %d files", p->text,
                       CK_BRACES_MAX);
    for (long long i = first; i <= last && !rc; i++) {
        int n = snprintf(number, sizeof number, "%0*lld", p->body[0] == '0' ? middle : 1, i);
        rc = expand_piece(p, number, n, out);
    }
    return rc;
}

static int expand_list(const struct pattern *p, struct ck_names *out)
{
    const char *piece = p->body, *end = p->body + p->length;
    for (int rc; piece <= end;) {
        const char *comma = memchr(piece, ',', (size_t)(end - piece));
        comma = comma ? comma : end;
        rc = expand_piece(p, piece, (int)(comma - piece), out);
        if (rc)
            return rc;
        piece = comma + 1;
    }
    return COKE_OK;
}

int ck_braces_expand(const char *pattern, struct ck_names *out)
{
    const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;
    if (!open) {
        if (out->n == CK_BRACES_MAX)
            return ck_fail(COKE_EUSAGE, "%s: the pattern expands to more than %d files",
                           pattern, CK_BRACES_MAX);
        return ck_names_add(out, pattern, strlen(pattern));
    }
    if (!close)
        return ck_fail(COKE_EUSAGE, "%s: the { has no }", pattern);
    struct pattern p = {.text = pattern,
                        .before = (int)(open - pattern),
                        .body = open + 1,
                        .length = (int)(close - open - 1),
                        .after = close + 1};
    return memmem(p.body, (size_t)p.length, "..", 2) ? expand_range(&p, out)
                                                     : expand_list(&p, out);
}
