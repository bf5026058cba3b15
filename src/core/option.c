/* option.c - option tables: defaults, parsing with bounds, nearest names. */
#include "core/option.h"
#include "core/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *field(void *options, const struct coke_option *o)
{
    return (char *)options + o->offset;
}

static const void *field_const(const void *options, const struct coke_option *o)
{
    return (const char *)options + o->offset;
}

void coke_options_default(const struct coke_option_table *t, void *options)
{
    memset(options, 0, t->size);
    for (int i = 0; i < t->n; i++) {
        const struct coke_option *o = &t->row[i];
        void *p = field(options, o);
        switch (o->type) {
        case COKE_OPT_INT:
            *(int64_t *)p = (int64_t)o->def;
            break;
        case COKE_OPT_FLOAT:
            *(double *)p = o->def;
            break;
        case COKE_OPT_FLAG:
        case COKE_OPT_CHOICE:
            *(int32_t *)p = (int32_t)o->def;
            break;
        case COKE_OPT_INTS:
            if (o->def > 0)
                *(struct coke_ints *)p = (struct coke_ints){.n = 1, .v = {(int32_t)o->def}};
            break;
        }
    }
}

static int distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    int row[MAX + 1], la = (int)strlen(a), lb = (int)strlen(b);
    if (la > MAX || lb > MAX)
        return MAX;
    for (int j = 0; j <= lb; j++)
        row[j] = j;
    for (int i = 1; i <= la; i++) {
        int diag = row[0];
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            int best = diag + (a[i - 1] != b[j - 1]);
            diag = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

static const struct coke_option *find(const struct coke_option_table *t, const char *name)
{
    const struct coke_option *near = &t->row[0];
    int least = 1000;
    for (int i = 0; i < t->n; i++) {
        int d = distance(name, t->row[i].name);
        if (d == 0)
            return &t->row[i];
        if (d < least) {
            least = d;
            near = &t->row[i];
        }
    }
    if (least <= 1 + (int)strlen(near->name) / 3)
        ck_fail(COKE_EUSAGE, "unknown option '%s'; the nearest is '%s'", name, near->name);
    else
        ck_fail(COKE_EUSAGE, "unknown option '%s'", name);
    return NULL;
}

static int is_auto(const struct coke_option *o, const char *value)
{
    return o->choices && strcmp(o->choices, value) == 0;
}

static int check_bounds(const struct coke_option *o, double x)
{
    if (x >= o->min && x <= o->max)
        return COKE_OK;
    int digits = o->type == COKE_OPT_FLOAT ? 6 : 16; /* counts are written out */
    return ck_fail(COKE_EUSAGE, "%s: %.*g is not within %.*g..%.*g", o->name, digits, x, digits,
                   o->min, digits, o->max);
}

static int parse_int(const struct coke_option *o, const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    long long x = strtoll(value, &end, 10);
    if (end == value || *end || errno)
        return ck_fail(COKE_EUSAGE, "%s: '%s' is not an integer", o->name, value);
    int rc = check_bounds(o, (double)x);
    if (!rc)
        *out = x;
    return rc;
}

static int parse_float(const struct coke_option *o, const char *value, double *out)
{
    char *end;
    double x = strtod(value, &end);
    if (end == value || *end || !isfinite(x))
        return ck_fail(COKE_EUSAGE, "%s: '%s' is not a number", o->name, value);
    int rc = check_bounds(o, x);
    if (!rc)
        *out = x;
    return rc;
}

static int parse_flag(const struct coke_option *o, const char *value, int32_t *out)
{
    static const char *const words[] = {"0", "1", "off", "on", "no", "yes", "false", "true"};
    for (int i = 0; i < 8; i++)
        if (strcmp(value, words[i]) == 0) {
            *out = i % 2;
            return COKE_OK;
        }
    return ck_fail(COKE_EUSAGE, "%s: '%s' is neither on nor off", o->name, value);
}

static int parse_choice(const struct coke_option *o, const char *value, int32_t *out)
{
    size_t len = strlen(value);
    int32_t index = 0;
    for (const char *p = o->choices; p; index++) {
        const char *bar = strchr(p, '|');
        size_t n = bar ? (size_t)(bar - p) : strlen(p);
        if (n == len && strncmp(p, value, n) == 0) {
            *out = index;
            return COKE_OK;
        }
        p = bar ? bar + 1 : NULL;
    }
    return ck_fail(COKE_EUSAGE, "%s: '%s' is none of %s", o->name, value, o->choices);
}

static int parse_ints(const struct coke_option *o, const char *value, struct coke_ints *out)
{
    struct coke_ints list = {0};
    const char *p = value;
    for (;;) {
        char item[24];
        size_t n = strcspn(p, ",");
        if (n >= sizeof item || list.n == COKE_MAX_HEADS)
            return ck_fail(COKE_EUSAGE, "%s: '%s' is not a list of at most %d integers",
                           o->name, value, COKE_MAX_HEADS);
        memcpy(item, p, n);
        item[n] = 0;
        int64_t x = 0;
        int rc = parse_int(o, item, &x);
        if (rc)
            return rc;
        list.v[list.n++] = (int32_t)x;
        if (!p[n])
            break;
        p += n + 1;
    }
    *out = list;
    return COKE_OK;
}

int coke_options_set(const struct coke_option_table *t, void *options, const char *name,
                     const char *value)
{
    const struct coke_option *o = find(t, name);
    if (!o)
        return COKE_EUSAGE;
    void *p = field(options, o);
    switch (o->type) {
    case COKE_OPT_INT:
        if (is_auto(o, value)) {
            *(int64_t *)p = (int64_t)o->def;
            return COKE_OK;
        }
        return parse_int(o, value, p);
    case COKE_OPT_FLOAT:
        if (is_auto(o, value)) {
            *(double *)p = o->def;
            return COKE_OK;
        }
        return parse_float(o, value, p);
    case COKE_OPT_FLAG:
        return parse_flag(o, value, p);
    case COKE_OPT_CHOICE:
        return parse_choice(o, value, p);
    case COKE_OPT_INTS:
        return parse_ints(o, value, p);
    }
    return ck_fail(COKE_EFAIL, "option '%s' has no type", name);
}

static void choice_word(const struct coke_option *o, int32_t index, char *value, size_t size)
{
    const char *p = o->choices;
    for (; index > 0; index--)
        p = strchr(p, '|') + 1;
    snprintf(value, size, "%.*s", (int)strcspn(p, "|"), p);
}

/* The shortest text that gives the number back. */
static void print_double(double x, char *value, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(value, size, "%.*g", digits, x);
        if (strtod(value, NULL) == x)
            return;
    }
}

int coke_options_get(const struct coke_option_table *t, const void *options, const char *name,
                     char *value, size_t size)
{
    const struct coke_option *o = find(t, name);
    if (!o)
        return COKE_EUSAGE;
    const void *p = field_const(options, o);
    size_t used = 0;
    value[0] = 0;
    switch (o->type) {
    case COKE_OPT_INT:
        if (o->choices && *(const int64_t *)p == (int64_t)o->def)
            snprintf(value, size, "%s", o->choices);
        else
            snprintf(value, size, "%lld", (long long)*(const int64_t *)p);
        break;
    case COKE_OPT_FLOAT:
        if (o->choices && *(const double *)p == o->def)
            snprintf(value, size, "%s", o->choices);
        else
            print_double(*(const double *)p, value, size);
        break;
    case COKE_OPT_FLAG:
        snprintf(value, size, "%s", *(const int32_t *)p ? "on" : "off");
        break;
    case COKE_OPT_CHOICE:
        choice_word(o, *(const int32_t *)p, value, size);
        break;
    case COKE_OPT_INTS:
        for (int i = 0; i < ((const struct coke_ints *)p)->n && used < size; i++)
            used += (size_t)snprintf(value + used, size - used, "%s%d", i ? "," : "",
                                     ((const struct coke_ints *)p)->v[i]);
        break;
    }
    return COKE_OK;
}

int ck_options_check(const struct coke_option_table *t, const void *options)
{
    for (int i = 0; i < t->n; i++) {
        const struct coke_option *o = &t->row[i];
        const void *p = field_const(options, o);
        int rc = COKE_OK;
        if (o->type == COKE_OPT_INT)
            rc = check_bounds(o, (double)*(const int64_t *)p);
        else if (o->type == COKE_OPT_FLOAT)
            rc = check_bounds(o, *(const double *)p);
        else if (o->type == COKE_OPT_INTS &&
                 (((const struct coke_ints *)p)->n < 0 ||
                  ((const struct coke_ints *)p)->n > COKE_MAX_HEADS))
            rc = ck_fail(COKE_EUSAGE, "%s: a list of %d, at most %d are possible", o->name,
                         ((const struct coke_ints *)p)->n, COKE_MAX_HEADS);
        else if (o->type == COKE_OPT_INTS)
            for (int j = 0; j < ((const struct coke_ints *)p)->n && !rc; j++)
                rc = check_bounds(o, ((const struct coke_ints *)p)->v[j]);
        else
            rc = check_bounds(o, *(const int32_t *)p);
        if (rc)
            return rc;
    }
    return COKE_OK;
}
