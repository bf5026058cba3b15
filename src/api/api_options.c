/* api_options.c - public functions of options: values of a kind, by name. */
#include "api/api_options.h"
#include "cluster/job_options.h"
#include "core/error.h"
#include "core/mem.h"
#include "data/data_options.h"
#include "eval/eval_options.h"
#include "io/json.h"
#include "io/rows_options.h"
#include "nn/nn_options.h"
#include "report/report_options.h"
#include "train/train_options.h"
#include "train/use_options.h"

#include <string.h>

static const struct kind {
    const char *name;
    const struct ck_option_table *(*table)(void);
} kinds[] = {
    {"kmeans", ck_kmeans_option_table}, {"cluster", ck_cluster_option_table},
    {"rows", ck_rows_option_table},     {"encoder", ck_encoder_option_table},
    {"plan", ck_plan_option_table},     {"optimizer", ck_optimizer_option_table},
    {"loss", ck_loss_setup_table},      {"dataset", ck_dataset_option_table},
    {"pack", ck_pack_option_table},     {"view", ck_view_option_table},
    {"loader", ck_loader_option_table}, {"train", ck_train_option_table},
    {"use", ck_use_option_table},       {"knn", ck_knn_option_table},
    {"linear", ck_linear_option_table}, {"finetune", ck_finetune_option_table},
    {"report", ck_report_option_table}, {"export", ck_export_option_table},
    {"import", ck_import_option_table},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct coke_options {
    const char *kind; /* "" = defined by the caller */
    const struct ck_option_table *table;
    void *values;               /* [table->size]; owns the texts in it */
    struct ck_option *row;      /* of a caller's own table, with copied strings; else NULL */
    struct ck_option_table own; /* that table */
};

_Static_assert((int)COKE_OPT_INT == (int)CK_OPT_INT && (int)COKE_OPT_TEXT == (int)CK_OPT_TEXT &&
                   (int)COKE_OPT_CHOICE == (int)CK_OPT_CHOICE,
               "public and internal option types have the same numbers");
_Static_assert((int)COKE_MAX_HEADS == (int)CK_MAX_HEADS, "lists have the same length");

/* ---- life ---- */

static const struct kind *find_kind(const char *name)
{
    const char *names[KINDS];
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
        names[i] = kinds[i].name;
    }
    const char *near = ck_nearest(name, names, KINDS);
    ck_fail(COKE_EUSAGE, "unknown kind of options '%s'%s%s%s", name,
            near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
    return NULL;
}

static int fill(struct coke_options *o, const struct ck_option_table *t)
{
    o->table = t;
    o->values = ck_calloc_array(1, t->size ? t->size : 1);
    if (!o->values)
        return COKE_ENOMEM;
    ck_options_default(t, o->values);
    return COKE_OK;
}

int coke_options_new(struct coke_options **out, const char *kind)
{
    *out = NULL;
    const struct kind *k = find_kind(kind);
    if (!k)
        return COKE_EUSAGE;
    struct coke_options *o = ck_calloc_array(1, sizeof *o);
    if (!o)
        return COKE_ENOMEM;
    o->kind = k->name;
    int rc = fill(o, k->table());
    if (rc)
        coke_options_free(o);
    else
        *out = o;
    return rc;
}

void coke_options_free(struct coke_options *o)
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

static int check_row(const struct ck_option *r)
{
    if (!r->name || !r->name[0] || r->type < CK_OPT_INT || r->type > CK_OPT_TEXT)
        return ck_fail(COKE_EUSAGE, "option '%s' has no name or an unknown type",
                       r->name ? r->name : "");
    if (r->type == CK_OPT_CHOICE && !r->choices)
        return ck_fail(COKE_EUSAGE, "option '%s' is a choice without choices", r->name);
    return COKE_OK;
}

/* Every field begins at a multiple of 8 bytes. */
static size_t field_size(int type)
{
    return type == CK_OPT_INTS ? (sizeof(struct ck_ints) + 7) / 8 * 8 : 8;
}

static int add_row(struct coke_options *o, const struct coke_option_info *from)
{
    int lost = 0;
    struct ck_option r = {.name = from->name,
                          .type = (int)from->type,
                          .offset = o->own.size,
                          .def = from->def,
                          .min = from->type == COKE_OPT_FLAG ? 0 : from->min,
                          .max = from->type == COKE_OPT_FLAG ? 1 : from->max,
                          .choices = from->choices,
                          .help = from->help};
    CK_RETURN_IF(check_row(&r));
    r.name = copy_text(r.name, &lost);
    r.choices = copy_text(r.choices, &lost);
    r.help = copy_text(r.help, &lost);
    o->row[o->own.n++] = r;
    o->own.size += field_size(r.type);
    return lost ? COKE_ENOMEM : COKE_OK;
}

int coke_options_define(struct coke_options **out, const struct coke_option_info *rows, int n)
{
    int rc = COKE_OK;
    struct coke_options *o = ck_calloc_array(1, sizeof *o);
    const char *row = (const char *)rows;
    *out = NULL;
    if (!o)
        return COKE_ENOMEM;
    o->kind = "";
    o->row = ck_calloc_array((size_t)(n > 0 ? n : 1), sizeof *o->row);
    o->own.row = o->row;
    if (!o->row)
        rc = COKE_ENOMEM;
    for (int i = 0; i < n && !rc; i++, row += rows->size) {
        struct coke_option_info info = {0};
        size_t size = rows->size < sizeof info ? rows->size : sizeof info;
        memcpy(&info, row, size);
        rc = add_row(o, &info);
    }
    if (!rc)
        rc = fill(o, &o->own);
    if (rc)
        coke_options_free(o);
    else
        *out = o;
    return rc;
}

/* The rows of o, as coke_options_define takes them. */
static int copy_defined(struct coke_options **out, const struct coke_options *o)
{
    int n = o->table->n;
    struct coke_option_info *info = ck_calloc_array((size_t)(n > 0 ? n : 1), sizeof *info);
    if (!info)
        return COKE_ENOMEM;
    for (int i = 0; i < n; i++) {
        info[i].size = sizeof *info;
        coke_options_describe(o, i, &info[i]);
    }
    int rc = coke_options_define(out, info, n);
    ck_free(info);
    return rc;
}

int coke_options_copy(struct coke_options **out, const struct coke_options *o)
{
    int rc = o->row ? copy_defined(out, o) : coke_options_new(out, o->kind);
    if (rc)
        return rc;
    rc = ck_options_copy((*out)->table, (*out)->values, o->values);
    if (!rc)
        return COKE_OK;
    coke_options_free(*out);
    *out = NULL;
    return rc;
}

const char *coke_options_kind(const struct coke_options *o)
{
    return o->kind;
}

/* ---- values ---- */

int coke_options_set(struct coke_options *o, const char *name, const char *text)
{
    return ck_options_set(o->table, o->values, name, text);
}

int coke_options_set_int(struct coke_options *o, const char *name, int64_t value)
{
    const struct ck_option *row = ck_option_require(o->table, name);
    return row ? ck_option_set_int(row, o->values, value) : COKE_EUSAGE;
}

int coke_options_set_float(struct coke_options *o, const char *name, double value)
{
    const struct ck_option *row = ck_option_require(o->table, name);
    return row ? ck_option_set_float(row, o->values, value) : COKE_EUSAGE;
}

int coke_options_get(const struct coke_options *o, const char *name, char *text, size_t size)
{
    return ck_options_get(o->table, o->values, name, text, size);
}

int coke_options_get_int(const struct coke_options *o, const char *name, int64_t *value)
{
    const struct ck_option *row = ck_option_require(o->table, name);
    return row ? ck_option_get_int(row, o->values, value) : COKE_EUSAGE;
}

int coke_options_get_float(const struct coke_options *o, const char *name, double *value)
{
    const struct ck_option *row = ck_option_require(o->table, name);
    return row ? ck_option_get_float(row, o->values, value) : COKE_EUSAGE;
}

int coke_options_load_json(struct coke_options *o, const char *path)
{
    return ck_options_load_json(o->table, o->values, path);
}

int coke_options_print_json(const struct coke_options *o, FILE *to)
{
    return ck_options_print_json(o->table, o->values, to);
}

/* ---- descriptions ---- */

int coke_options_count(const struct coke_options *o)
{
    return o->table->n;
}

int coke_options_describe(const struct coke_options *o, int i, struct coke_option_info *out)
{
    if (i < 0 || i >= o->table->n)
        return ck_fail(COKE_EUSAGE, "option %d is not within 0..%d", i, o->table->n - 1);
    const struct ck_option *r = &o->table->row[i];
    size_t size = out->size < sizeof *out ? out->size : sizeof *out;
    struct coke_option_info info = {.size = out->size,
                                    .name = r->name,
                                    .type = (enum coke_option_type)r->type,
                                    .def = r->def,
                                    .min = r->min,
                                    .max = r->max,
                                    .choices = r->choices,
                                    .help = r->help};
    memcpy(out, &info, size);
    return COKE_OK;
}

const char *coke_nearest(const char *word, const char *const *words, int n)
{
    return ck_nearest(word, words, n);
}

/* ---- as structs ---- */

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

static const char *kind_of(const struct ck_option_table *t)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].table() == t)
            return kinds[i].name;
    return "another";
}

void *ck_options_edit(struct coke_options *o, const struct ck_option_table *t)
{
    int64_t at = find_part(o->table, t);
    if (at >= 0)
        return (char *)o->values + at;
    ck_fail(COKE_EUSAGE, "options of kind '%s' are needed, these are of kind '%s'", kind_of(t),
            o->kind);
    return NULL;
}

const void *ck_options_as(const struct coke_options *o, const struct ck_option_table *t,
                          void *storage)
{
    if (o)
        return ck_options_edit((struct coke_options *)(uintptr_t)o, t);
    ck_options_default(t, storage);
    return storage;
}

int ck_options_wrap(struct coke_options **out, const char *kind, const void *values)
{
    int rc = coke_options_new(out, kind);
    if (!rc)
        rc = ck_options_copy((*out)->table, (*out)->values, values);
    if (rc) {
        coke_options_free(*out);
        *out = NULL;
    }
    return rc;
}

void *coke_options_struct(const struct coke_options *o)
{
    return o->values;
}
