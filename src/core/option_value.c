/* option_value.c - one option's value: text and numbers to and from a struct's field. */
#include "core/option_value.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *field(void *options, const struct ck_option *o)
{
    return (char *)options + o->offset;
}

static const void *field_const(const void *options, const struct ck_option *o)
{
    return (const char *)options + o->offset;
}

void ck_option_set_default(const struct ck_option *o, void *options)
{
    void *p = field(options, o);
    switch (o->type) {
    case CK_OPT_INT:
        *(int64_t *)p = (int64_t)o->def;
        break;
    case CK_OPT_FLOAT:
        *(double *)p = o->def;
        break;
    case CK_OPT_FLAG:
    case CK_OPT_CHOICE:
        *(int32_t *)p = (int32_t)o->def;
        break;
    case CK_OPT_INTS:
        *(struct ck_ints *)p = (struct ck_ints){.n = o->def > 0, .v = {(int32_t)o->def}};
        break;
    case CK_OPT_NUMBERS:
        *(struct ck_numbers *)p = (struct ck_numbers){.word = (int32_t)o->def};
        break;
    case CK_OPT_LAYERS:
        *(struct ck_layers *)p = (struct ck_layers){.word = (int32_t)o->def};
        break;
    default:
        *(const char **)p = NULL;
    }
}

/* ---- bounds ---- */

/* Has a number a word for its default ("auto")? The default may be outside of the bounds: then
 * the word is the only text for it. */
static int has_default_word(const struct ck_option *o)
{
    return o->choices && (o->type == CK_OPT_INT || o->type == CK_OPT_FLOAT);
}

static int check_bounds(const struct ck_option *o, double x)
{
    if (x >= o->min && x <= o->max)
        return COKE_OK;
    if (has_default_word(o))
        return ck_fail(COKE_EUSAGE, "%s: %.6g is neither '%s' nor within %.16g..%.16g", o->name,
                       x, o->choices, o->min, o->max);
    int digits = o->type == CK_OPT_FLOAT ? 6 : 16; /* counts are written out */
    return ck_fail(COKE_EUSAGE, "%s: %.*g is not within %.*g..%.*g", o->name, digits, x, digits,
                   o->min, digits, o->max);
}

/* Compares integers as such: doubles beyond 2^53 round to the bound. */
static int check_integer(const struct ck_option *o, int64_t x)
{
    int above = o->max < 0x1p63 && x > (int64_t)o->max;
    int below = o->min > -0x1p63 && x < (int64_t)o->min;
    if (!above && !below)
        return check_bounds(o, (double)x);
    if (has_default_word(o))
        return ck_fail(COKE_EUSAGE, "%s: %lld is neither '%s' nor within %.16g..%.16g", o->name,
                       (long long)x, o->choices, o->min, o->max);
    return ck_fail(COKE_EUSAGE, "%s: %lld is not within %.16g..%.16g", o->name, (long long)x,
                   o->min, o->max);
}

static int check_list(const struct ck_option *o, const struct ck_ints *list)
{
    if (list->n < 0 || list->n > CK_MAX_HEADS)
        return ck_fail(COKE_EUSAGE, "%s: a list of %d, at most %d are possible", o->name,
                       list->n, CK_MAX_HEADS);
    for (int i = 0; i < list->n; i++)
        CK_RETURN_IF(check_bounds(o, list->v[i]));
    return COKE_OK;
}

static int count_choices(const struct ck_option *o)
{
    int n = 1;
    for (const char *p = o->choices; *p; p++)
        n += *p == '|';
    return n;
}

static int check_word(const struct ck_option *o, int32_t word)
{
    if (word >= 0 && word < count_choices(o))
        return COKE_OK;
    return ck_fail(COKE_EUSAGE, "%s: %d is not one of its %d words", o->name, word,
                   count_choices(o));
}

static int check_layers(const struct ck_option *o, const struct ck_layers *x)
{
    return x->n ? ck_layers_check(o->name, x) : check_word(o, x->word);
}

static int check_numbers(const struct ck_option *o, const struct ck_numbers *x)
{
    if (x->n < 0 || x->n > CK_MAX_NUMBERS || (x->n > 0 && !(o->lengths >> x->n & 1)))
        return ck_fail(COKE_EUSAGE, "%s: %d numbers are given; %s", o->name, x->n, o->help);
    if (x->n == 0)
        return check_word(o, x->word);
    for (int i = 0; i < x->n; i++)
        CK_RETURN_IF(check_bounds(o, x->v[i]));
    return COKE_OK;
}

/* Programs may pass the number that stands for the word, as the getters return it. */
static int is_default(const struct ck_option *o, double x)
{
    return has_default_word(o) && !(x < o->def) && !(x > o->def);
}

int ck_option_check(const struct ck_option *o, const void *options)
{
    const void *p = field_const(options, o);
    switch (o->type) {
    case CK_OPT_INT:
        return is_default(o, (double)*(const int64_t *)p)
                   ? COKE_OK
                   : check_integer(o, *(const int64_t *)p);
    case CK_OPT_FLOAT:
        return is_default(o, *(const double *)p) ? COKE_OK
                                                 : check_bounds(o, *(const double *)p);
    case CK_OPT_INTS:
        return check_list(o, p);
    case CK_OPT_NUMBERS:
        return check_numbers(o, p);
    case CK_OPT_LAYERS:
        return check_layers(o, p);
    case CK_OPT_TEXT:
        return COKE_OK;
    default:
        return check_bounds(o, *(const int32_t *)p);
    }
}

/* ---- from text ---- */

static int is_default_word(const struct ck_option *o, const char *value)
{
    return o->choices && strcmp(o->choices, value) == 0;
}

static int parse_int(const struct ck_option *o, const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    long long x = strtoll(value, &end, 10);
    if (end == value || *end)
        return ck_fail(COKE_EUSAGE, "%s: '%s' is not an integer", o->name, value);
    if (errno)
        return ck_fail(COKE_EUSAGE, "%s: '%s' is beyond 64 bits", o->name, value);
    CK_RETURN_IF(check_integer(o, x));
    *out = x;
    return COKE_OK;
}

static int parse_float(const struct ck_option *o, const char *value, double *out)
{
    char *end;
    if (o->zero && strcmp(o->zero, value) == 0) {
        *out = 0;
        return COKE_OK;
    }
    double x = ck_parse_double(value, &end);
    if (end == value || *end || !isfinite(x))
        return ck_fail(COKE_EUSAGE, "%s: '%s' is not a number", o->name, value);
    CK_RETURN_IF(check_bounds(o, x));
    *out = x;
    return COKE_OK;
}

static int parse_flag(const struct ck_option *o, const char *value, int32_t *out)
{
    static const char *const words[] = {"0", "1", "off", "on", "no", "yes", "false", "true"};
    for (int i = 0; i < 8; i++)
        if (strcmp(value, words[i]) == 0) {
            *out = i % 2;
            return COKE_OK;
        }
    return ck_fail(COKE_EUSAGE, "%s: '%s' is neither on nor off", o->name, value);
}

static int parse_choice(const struct ck_option *o, const char *value, int32_t *out)
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
    /* "off|..." was a flag before it had degrees, or might have been: on is its default. */
    if (strncmp(o->choices, "off|", 4) == 0 && !parse_flag(o, value, &index)) {
        *out = index ? (int32_t)o->def : 0;
        return COKE_OK;
    }
    return ck_fail(COKE_EUSAGE, "%s: '%s' is none of %s", o->name, value, o->choices);
}

/* A word, or numbers: what begins like a number is not a word. */
static int parse_numbers(const struct ck_option *o, const char *value, struct ck_numbers *out)
{
    struct ck_numbers x = {0};
    if (!strchr("+-.0123456789", value[0]) || !value[0]) {
        CK_RETURN_IF(parse_choice(o, value, &x.word));
        *out = x;
        return COKE_OK;
    }
    for (const char *p = value;; p++) {
        char item[32];
        size_t n = strcspn(p, ",");
        if (n >= sizeof item || x.n == CK_MAX_NUMBERS)
            return ck_fail(COKE_EUSAGE, "%s: '%s' is not a list of at most %d numbers", o->name,
                           value, CK_MAX_NUMBERS);
        memcpy(item, p, n);
        item[n] = 0;
        CK_RETURN_IF(parse_float(o, item, &x.v[x.n++]));
        p += n;
        if (!*p)
            break;
    }
    CK_RETURN_IF(check_numbers(o, &x));
    *out = x;
    return COKE_OK;
}

/* A word, or layers: these begin with a width, which no word does. */
static int parse_layers(const struct ck_option *o, const char *value, struct ck_layers *out)
{
    struct ck_layers x = {0};
    int is_word = value[0] < '0' || value[0] > '9' || strcmp(value, "0") == 0 ||
                  (strcmp(value, "1") == 0 && strncmp(o->choices, "off|", 4) == 0);
    if (is_word && parse_choice(o, value, &x.word))
        return ck_fail(COKE_EUSAGE, "%s: '%s' is none of %s, and no layers (2048-bn-relu-256)",
                       o->name, value, o->choices);
    if (!is_word)
        return ck_layers_parse(o->name, value, out);
    *out = x;
    return COKE_OK;
}

/* A list that has a word for none may be empty, as in JSON. */
static int parse_ints(const struct ck_option *o, const char *value, struct ck_ints *out)
{
    struct ck_ints list = {0};
    const char *p = value;
    if (is_default_word(o, value) || (!*value && o->choices)) {
        *out = list;
        return COKE_OK;
    }
    for (;;) {
        char item[24];
        size_t n = strcspn(p, ",");
        if (n >= sizeof item || list.n == CK_MAX_HEADS)
            return ck_fail(COKE_EUSAGE, "%s: '%s' is not a list of at most %d integers",
                           o->name, value, CK_MAX_HEADS);
        memcpy(item, p, n);
        item[n] = 0;
        int64_t x = 0;
        CK_RETURN_IF(parse_int(o, item, &x));
        list.v[list.n++] = (int32_t)x;
        if (!p[n])
            break;
        p += n + 1;
    }
    *out = list;
    return COKE_OK;
}

/* An empty text is none. */
static int set_text(const char **text, const char *value)
{
    char *copy = *value ? ck_strdup(value) : NULL;
    if (*value && !copy)
        return COKE_ENOMEM;
    ck_free((void *)(uintptr_t)*text);
    *text = copy;
    return COKE_OK;
}

int ck_options_set(const struct ck_option_table *t, void *options, const char *name,
                   const char *value)
{
    const struct ck_option *o = ck_option_require(t, name);
    if (!o)
        return COKE_EUSAGE;
    void *p = field(options, o);
    int is_number = o->type == CK_OPT_INT || o->type == CK_OPT_FLOAT;
    if (is_number && is_default_word(o, value)) {
        ck_option_set_default(o, options);
        return COKE_OK;
    }
    switch (o->type) {
    case CK_OPT_INT:
        return parse_int(o, value, p);
    case CK_OPT_FLOAT:
        return parse_float(o, value, p);
    case CK_OPT_FLAG:
        return parse_flag(o, value, p);
    case CK_OPT_CHOICE:
        return parse_choice(o, value, p);
    case CK_OPT_INTS:
        return parse_ints(o, value, p);
    case CK_OPT_NUMBERS:
        return parse_numbers(o, value, p);
    case CK_OPT_LAYERS:
        return parse_layers(o, value, p);
    default:
        return set_text(p, value);
    }
}

/* ---- from numbers ---- */

static int fail_type(const struct ck_option *o, const char *what)
{
    static const char *const type[] = {"an integer",
                                       "a number",
                                       "a flag",
                                       "a choice",
                                       "a list",
                                       "a text",
                                       "a word or several numbers",
                                       "a word or layers"};
    return ck_fail(COKE_EUSAGE, "%s: this option is %s, not %s", o->name, type[o->type], what);
}

int ck_option_set_int(const struct ck_option *o, void *options, int64_t value)
{
    void *p = field(options, o);
    if (o->type == CK_OPT_FLOAT)
        return ck_option_set_float(o, options, (double)value);
    if (o->type == CK_OPT_TEXT)
        return fail_type(o, "an integer");
    if (o->type == CK_OPT_NUMBERS) {
        struct ck_numbers word = {.word = value < 0 || value > 1000 ? -1 : (int32_t)value};
        CK_RETURN_IF(check_numbers(o, &word));
        *(struct ck_numbers *)p = word;
        return COKE_OK;
    }
    if (o->type == CK_OPT_LAYERS) {
        struct ck_layers word = {.word = value < 0 || value > 1000 ? -1 : (int32_t)value};
        CK_RETURN_IF(check_layers(o, &word));
        *(struct ck_layers *)p = word;
        return COKE_OK;
    }
    if (!is_default(o, (double)value))
        CK_RETURN_IF(check_integer(o, value));
    if (o->type == CK_OPT_INT)
        *(int64_t *)p = value;
    else if (o->type == CK_OPT_INTS)
        *(struct ck_ints *)p = (struct ck_ints){.n = 1, .v = {(int32_t)value}};
    else
        *(int32_t *)p = (int32_t)value;
    return COKE_OK;
}

int ck_option_set_float(const struct ck_option *o, void *options, double value)
{
    if (o->type != CK_OPT_FLOAT)
        return fail_type(o, "a number with a fraction");
    if (!is_default(o, value))
        CK_RETURN_IF(check_bounds(o, value));
    *(double *)field(options, o) = value;
    return COKE_OK;
}

/* ---- to text and numbers ---- */

/* All of these return the length of the text, also of one that was truncated. */

static int print_choice(const struct ck_option *o, int32_t index, char *value, size_t size)
{
    const char *p = o->choices;
    for (; index > 0; index--)
        p = strchr(p, '|') + 1;
    return snprintf(value, size, "%.*s", (int)strcspn(p, "|"), p);
}

/* The shortest text that gives the number back. */
static int print_double(double x, char *value, size_t size)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        ck_format(text, sizeof text, "%.*g", digits, x);
        if (ck_parse_double(text, NULL) == x)
            break;
    }
    return snprintf(value, size, "%s", text);
}

static int print_list(const struct ck_ints *list, char *value, size_t size)
{
    int used = snprintf(value, size, "%s", "");
    for (int i = 0; i < list->n; i++) {
        size_t at = (size_t)used < size ? (size_t)used : size;
        used += snprintf(value + at, size - at, "%s%d", i ? "," : "", list->v[i]);
    }
    return used;
}

static int print_numbers(const struct ck_option *o, const struct ck_numbers *x, char *value,
                         size_t size)
{
    if (x->n == 0)
        return print_choice(o, x->word, value, size);
    int used = snprintf(value, size, "%s", "");
    for (int i = 0; i < x->n; i++) {
        char text[32];
        size_t at = (size_t)used < size ? (size_t)used : size;
        print_double(x->v[i], text, sizeof text);
        used += snprintf(value + at, size - at, "%s%s", i ? "," : "", text);
    }
    return used;
}

static int print(const struct ck_option *o, const void *p, char *value, size_t size)
{
    const char *text;
    switch (o->type) {
    case CK_OPT_INT:
        if (o->choices && *(const int64_t *)p == (int64_t)o->def)
            return snprintf(value, size, "%s", o->choices);
        return snprintf(value, size, "%lld", (long long)*(const int64_t *)p);
    case CK_OPT_FLOAT:
        if (o->choices && *(const double *)p == o->def)
            return snprintf(value, size, "%s", o->choices);
        if (o->zero && *(const double *)p == 0)
            return snprintf(value, size, "%s", o->zero);
        return print_double(*(const double *)p, value, size);
    case CK_OPT_FLAG:
        return snprintf(value, size, "%s", *(const int32_t *)p ? "on" : "off");
    case CK_OPT_CHOICE:
        return print_choice(o, *(const int32_t *)p, value, size);
    case CK_OPT_INTS:
        if (o->choices && ((const struct ck_ints *)p)->n == 0)
            return snprintf(value, size, "%s", o->choices);
        return print_list(p, value, size);
    case CK_OPT_NUMBERS:
        return print_numbers(o, p, value, size);
    case CK_OPT_LAYERS:
        if (((const struct ck_layers *)p)->n == 0)
            return print_choice(o, ((const struct ck_layers *)p)->word, value, size);
        return ck_layers_print(p, value, size);
    default:
        text = *(const char *const *)p;
        return snprintf(value, size, "%s", text ? text : "");
    }
}

int ck_options_get(const struct ck_option_table *t, const void *options, const char *name,
                   char *value, size_t size)
{
    const struct ck_option *o = ck_option_require(t, name);
    if (!o)
        return COKE_EUSAGE;
    if (o->type == CK_OPT_CHOICE)
        CK_RETURN_IF(ck_option_check(o, options));
    int n = print(o, field_const(options, o), value, size);
    if (n < 0 || (size_t)n >= size)
        return ck_fail(COKE_EUSAGE, "%s: its text needs %d bytes, there are %zu", name, n + 1,
                       size);
    return COKE_OK;
}

int ck_option_get_int(const struct ck_option *o, const void *options, int64_t *value)
{
    const void *p = field_const(options, o);
    if (o->type == CK_OPT_CHOICE)
        CK_RETURN_IF(ck_option_check(o, options));
    if (o->type == CK_OPT_INT)
        *value = *(const int64_t *)p;
    else if (o->type == CK_OPT_FLAG || o->type == CK_OPT_CHOICE)
        *value = *(const int32_t *)p;
    else if (o->type == CK_OPT_NUMBERS && ((const struct ck_numbers *)p)->n == 0)
        *value = ((const struct ck_numbers *)p)->word;
    else if (o->type == CK_OPT_LAYERS && ((const struct ck_layers *)p)->n == 0)
        *value = ((const struct ck_layers *)p)->word;
    else
        return fail_type(o, "an integer");
    return COKE_OK;
}

int ck_option_get_float(const struct ck_option *o, const void *options, double *value)
{
    const void *p = field_const(options, o);
    if (o->type == CK_OPT_FLOAT)
        *value = *(const double *)p;
    else if (o->type == CK_OPT_INT)
        *value = (double)*(const int64_t *)p;
    else
        return fail_type(o, "a number");
    return COKE_OK;
}
