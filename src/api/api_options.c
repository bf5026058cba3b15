/* api_options.c - public functions of options: values of a kind, by name. */
#include "api/api_options.h"
#include "api/check_args.h"
#include "cluster/job_options.h"
#include "core/mem.h"
#include "core/options.h"
#include "data/data_options.h"
#include "io/json.h"
#include "io/rows_options.h"
#include "train/use_options.h"
#if COKE_NN
#include "eval/eval_options.h"
#include "nn/nn_options.h"
#include "report/report_options.h"
#include "train/train_options.h"
#endif

/* Every kind of options that programs can make. The CLI commands name kinds from this list; a
 * new layer adds its table here. */
static const struct kind {
    const char *name;
    const struct ck_option_table *(*table)(void);
} kinds[] = {
    {"kmeans", ck_kmeans_option_table},       {"cluster", ck_cluster_option_table},
    {"rows", ck_rows_option_table},           {"dataset", ck_dataset_option_table},
    {"pack", ck_pack_option_table},           {"view", ck_view_option_table},
    {"loader", ck_loader_option_table},       {"use", ck_use_option_table},
    {"export", ck_export_option_table},       {"import", ck_import_option_table},
#if COKE_NN
    {"encoder", ck_encoder_option_table},     {"plan", ck_plan_option_table},
    {"optimizer", ck_optimizer_option_table}, {"loss", ck_loss_setup_table},
    {"train", ck_train_option_table},         {"knn", ck_knn_option_table},
    {"linear", ck_linear_option_table},       {"finetune", ck_finetune_option_table},
    {"report", ck_report_option_table},
#endif
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const struct kind *find_kind(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* Suggests the nearest name, as for commands and options. */
static int fail_kind(const char *name)
{
    const char *names[KINDS];
    for (int i = 0; i < KINDS; i++)
        names[i] = kinds[i].name;
    const char *near = ck_nearest(name, names, KINDS);
    return ck_fail(COKE_EUSAGE, "unknown kind of options '%s'%s%s%s", name,
                   near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
}

/* ---- construction ---- */

int coke_options_new(struct coke_options **out, const char *kind)
{
    CK_ARGS_OUT(out);
    CK_ARGS(kind);
    const struct kind *k = find_kind(kind);
    return k ? ck_options_object_new(out, k->name, k->table()) : fail_kind(kind);
}

/* rows [n] in the layout of this library: the stride of the caller's array is its own
 * sizeof. */
static int read_rows(const struct coke_option_info *rows, int n, struct coke_option_info *full)
{
    const char *row = (const char *)rows;
    for (int i = 0; i < n; i++, row += rows->size)
        CK_RETURN_IF(
            ck_args_read("coke_options_define", "rows", &full[i], sizeof full[i], row));
    return COKE_OK;
}

int coke_options_define(struct coke_options **out, const struct coke_option_info *rows, int n)
{
    CK_ARGS_OUT(out);
    if (n > 0)
        CK_ARGS(rows);
    struct coke_option_info *full = ck_calloc_array((size_t)(n > 0 ? n : 1), sizeof *full);
    if (!full)
        return COKE_ENOMEM;
    int rc = read_rows(rows, n, full);
    if (!rc)
        rc = ck_options_object_define(out, full, n);
    ck_free(full);
    return rc;
}

void coke_options_free(struct coke_options *o)
{
    ck_options_object_free(o);
}

int coke_options_copy(struct coke_options **out, const struct coke_options *o)
{
    CK_ARGS_OUT(out);
    CK_ARGS(o);
    return ck_options_object_copy(out, o);
}

const char *coke_options_kind(const struct coke_options *o)
{
    return o ? o->kind : "";
}

/* ---- values ---- */

int coke_options_set(struct coke_options *o, const char *name, const char *text)
{
    CK_ARGS(o, name, text);
    return ck_options_set(o->table, o->values, name, text);
}

int coke_options_set_int(struct coke_options *o, const char *name, int64_t value)
{
    CK_ARGS(o, name);
    const struct ck_option *row = ck_option_require(o->table, name);
    return row ? ck_option_set_int(row, o->values, value) : COKE_EUSAGE;
}

int coke_options_set_float(struct coke_options *o, const char *name, double value)
{
    CK_ARGS(o, name);
    const struct ck_option *row = ck_option_require(o->table, name);
    return row ? ck_option_set_float(row, o->values, value) : COKE_EUSAGE;
}

int coke_options_get(const struct coke_options *o, const char *name, char *text, size_t size)
{
    CK_ARGS(o, name, text);
    return ck_options_get(o->table, o->values, name, text, size);
}

int coke_options_get_int(const struct coke_options *o, const char *name, int64_t *value)
{
    CK_ARGS(o, name, value);
    const struct ck_option *row = ck_option_require(o->table, name);
    return row ? ck_option_get_int(row, o->values, value) : COKE_EUSAGE;
}

int coke_options_get_float(const struct coke_options *o, const char *name, double *value)
{
    CK_ARGS(o, name, value);
    const struct ck_option *row = ck_option_require(o->table, name);
    return row ? ck_option_get_float(row, o->values, value) : COKE_EUSAGE;
}

int coke_options_load_json(struct coke_options *o, const char *path)
{
    CK_ARGS(o, path);
    return ck_options_load_json(o->table, o->values, path);
}

int coke_options_print_json(const struct coke_options *o, FILE *to)
{
    CK_ARGS(o, to);
    return ck_options_print_json(o->table, o->values, to);
}

/* ---- descriptions ---- */

int coke_options_count(const struct coke_options *o)
{
    return o ? o->table->n : 0;
}

/* The strings belong to o; only the numbers are copied. */
int coke_options_describe(const struct coke_options *o, int i, struct coke_option_info *out)
{
    struct coke_option_info full;
    CK_ARGS(o, out);
    CK_RESULT(full, out);
    if (i < 0 || i >= o->table->n)
        return ck_fail(COKE_EUSAGE, "option %d is not within 0..%d", i, o->table->n - 1);
    ck_options_object_describe(o, i, &full);
    CK_RETURN_RESULT(out, full, COKE_OK);
}

const char *coke_nearest(const char *word, const char *const *words, int n)
{
    return word && words ? ck_nearest(word, words, n) : NULL;
}

/* ---- as structs ---- */

/* For messages: the kind that a table belongs to. */
static const char *kind_of(const struct ck_option_table *t)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].table() == t)
            return kinds[i].name;
    return "another";
}

void *ck_options_edit(struct coke_options *o, const struct ck_option_table *t)
{
    void *values = ck_options_object_part(o, t);
    if (!values)
        ck_fail(COKE_EUSAGE, "options of kind '%s' are needed, these are of kind '%s'",
                kind_of(t), o->kind);
    return values;
}

/* The cast drops const only for the lookup; the result is const again. */
const void *ck_options_as(const struct coke_options *o, const struct ck_option_table *t,
                          void *storage)
{
    if (o)
        return ck_options_edit((struct coke_options *)(uintptr_t)o, t);
    ck_options_default(t, storage);
    return storage;
}

/* For functions that return the options of an object, as coke_encoder_options. */
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
