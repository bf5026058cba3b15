/* options.c - the object behind struct coke_options: a kind's table and its values. */
#include "core/options.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <string.h>

_Static_assert((int)COKE_OPTION_TYPE_INT == (int)CK_OPT_INT &&
                   (int)COKE_OPTION_TYPE_TEXT == (int)CK_OPT_TEXT &&
                   (int)COKE_OPTION_TYPE_NUMBERS == (int)CK_OPT_NUMBERS &&
                   (int)COKE_OPTION_TYPE_LAYERS == (int)CK_OPT_LAYERS &&
                   (int)COKE_OPTION_TYPE_CHOICE == (int)CK_OPT_CHOICE,
               "public and internal option types have the same numbers");
_Static_assert((int)COKE_MAX_HEADS == (int)CK_MAX_HEADS, "lists have the same length");

/* ---- life ---- */

static int fill(struct coke_options *o, const struct ck_option_table *t)
{
    o->table = t;
    o->values = ck_calloc_array(1, t->size ? t->size : 1);
    if (!o->values)
        return COKE_ENOMEM;
    ck_options_default(t, o->values);
    return COKE_OK;
}

int ck_options_object_new(struct coke_options **out, const char *kind,
                          const struct ck_option_table *t)
{
    struct coke_options *o = ck_calloc_array(1, sizeof *o);
    *out = NULL;
    if (!o)
        return COKE_ENOMEM;
    o->kind = kind;
    int rc = fill(o, t);
    if (rc)
        ck_options_object_free(o);
    else
        *out = o;
    return rc;
}

void ck_options_object_free(struct coke_options *o)
{
    if (!o)
        return;
    if (o->values)
        ck_options_release(o->table, o->values);
    ck_free(o->values);
    for (int i = 0; o->row && i < o->own.n; i++) {
        ck_free((void *)(uintptr_t)o->row[i].name);
        ck_free((void *)(uintptr_t)o->row[i].choices);
        ck_free((void *)(uintptr_t)o->row[i].help);
    }
    ck_free(o->row);
    ck_free(o);
}

/* ---- options of the caller's own ---- */

static const char *copy_text(const char *text, int *lost)
{
    char *copy = text ? ck_strdup(text) : NULL;
    *lost |= text && !copy;
    return copy;
}

static int is_known(const struct coke_options *o, const char *name)
{
    for (int i = 0; i < o->own.n; i++)
        if (strcmp(o->row[i].name, name) == 0)
            return 1;
    return 0;
}

/* The default of a list may be none; "auto" may stand for a number beyond the bounds. */
static int has_valid_default(const struct ck_option *r)
{
    if (r->type == CK_OPT_TEXT)
        return 1;
    if (!(r->min <= r->max && isfinite(r->def)))
        return 0;
    int is_number = r->type == CK_OPT_INT || r->type == CK_OPT_FLOAT;
    if ((is_number && r->choices) || (r->type == CK_OPT_INTS && r->def <= 0))
        return 1;
    return r->def >= r->min && r->def <= r->max;
}

static int check_row(const struct coke_options *o, const struct ck_option *r)
{
    if (!r->name || !r->name[0] || r->type < CK_OPT_INT || r->type > CK_OPT_TEXT)
        return ck_fail(COKE_EUSAGE, "option '%s' has no name or an unknown type",
                       r->name ? r->name : "");
    if (is_known(o, r->name))
        return ck_fail(COKE_EUSAGE, "option '%s' is defined twice", r->name);
    if (r->type == CK_OPT_CHOICE && (!r->choices || !r->choices[0]))
        return ck_fail(COKE_EUSAGE, "option '%s' is a choice without choices", r->name);
    if (!has_valid_default(r))
        return ck_fail(COKE_EUSAGE, "option '%s': its default %g is not within %g..%g", r->name,
                       r->def, r->min, r->max);
    return COKE_OK;
}

/* The highest position among the words of a choice. */
static double last_choice(const char *choices)
{
    int bars = 0;
    for (; choices && *choices; choices++)
        bars += *choices == '|';
    return bars;
}

/* Every field begins at a multiple of 8 bytes. */
static size_t field_size(int type)
{
    return type == CK_OPT_INTS ? (sizeof(struct ck_ints) + 7) / 8 * 8 : 8;
}

static int add_row(struct coke_options *o, const struct coke_option_info *from)
{
    int lost = 0, is_flag = from->type == COKE_OPTION_TYPE_FLAG;
    int is_choice = from->type == COKE_OPTION_TYPE_CHOICE;
    struct ck_option r = {.name = from->name,
                          .type = (int)from->type,
                          .offset = o->own.size,
                          .def = from->def,
                          .min = is_flag || is_choice ? 0 : from->min,
                          .max = is_flag     ? 1
                                 : is_choice ? last_choice(from->choices)
                                             : from->max,
                          .choices = from->choices,
                          .help = from->help};
    CK_RETURN_IF(check_row(o, &r));
    r.name = copy_text(r.name, &lost);
    r.choices = copy_text(r.choices, &lost);
    r.help = copy_text(r.help, &lost);
    o->row[o->own.n++] = r;
    o->own.size += field_size(r.type);
    return lost ? COKE_ENOMEM : COKE_OK;
}

int ck_options_object_define(struct coke_options **out, const struct coke_option_info *row,
                             int n)
{
    int rc = COKE_OK;
    *out = NULL;
    if (n < 0)
        return ck_fail(COKE_EUSAGE, "%d options cannot be defined", n);
    struct coke_options *o = ck_calloc_array(1, sizeof *o);
    if (!o)
        return COKE_ENOMEM;
    o->kind = "";
    o->row = ck_calloc_array((size_t)(n > 0 ? n : 1), sizeof *o->row);
    o->own.row = o->row;
    if (!o->row)
        rc = COKE_ENOMEM;
    for (int i = 0; i < n && !rc; i++)
        rc = add_row(o, &row[i]);
    if (!rc)
        rc = fill(o, &o->own);
    if (rc)
        ck_options_object_free(o);
    else
        *out = o;
    return rc;
}

/* ---- copies ---- */

/* The rows of o, as ck_options_object_define takes them. */
static int copy_defined(struct coke_options **out, const struct coke_options *o)
{
    int n = o->table->n;
    struct coke_option_info *info = ck_calloc_array((size_t)(n > 0 ? n : 1), sizeof *info);
    if (!info)
        return COKE_ENOMEM;
    for (int i = 0; i < n; i++)
        ck_options_object_describe(o, i, &info[i]);
    int rc = ck_options_object_define(out, info, n);
    ck_free(info);
    return rc;
}

int ck_options_object_copy(struct coke_options **out, const struct coke_options *o)
{
    int rc = o->row ? copy_defined(out, o) : ck_options_object_new(out, o->kind, o->table);
    if (rc)
        return rc;
    rc = ck_options_copy((*out)->table, (*out)->values, o->values);
    if (!rc)
        return COKE_OK;
    ck_options_object_free(*out);
    *out = NULL;
    return rc;
}

/* ---- descriptions and parts ---- */

void ck_options_object_describe(const struct coke_options *o, int i,
                                struct coke_option_info *out)
{
    const struct ck_option *r = &o->table->row[i];
    *out = (struct coke_option_info){.size = out->size,
                                     .name = r->name,
                                     .type = (enum coke_option_type)r->type,
                                     .def = r->def,
                                     .min = r->min,
                                     .max = r->max,
                                     .choices = r->choices,
                                     .help = r->help};
}

/* Where the struct of table t lies in that of `in`, or -1. */
static int64_t find_part(const struct ck_option_table *in, const struct ck_option_table *t)
{
    if (in == t)
        return 0;
    for (int i = 0; i < in->nparts; i++) {
        int64_t at = find_part(in->part[i].table, t);
        if (at >= 0)
            return (int64_t)in->part[i].offset + at;
    }
    return -1;
}

void *ck_options_object_part(const struct coke_options *o, const struct ck_option_table *t)
{
    int64_t at = find_part(o->table, t);
    return at < 0 ? NULL : (char *)o->values + at;
}
