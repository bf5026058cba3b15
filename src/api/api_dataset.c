/* api_dataset.c - public functions of data sets. Strings that are returned belong to the data
 * set. Functions that take const may run on several threads. */
#include "api/check_args.h"
#include "data/describe.h"
#include "data/images.h"
#include "data/pack.h"
#include "data/preview.h"
#include "data/rows_images.h"
#include "data/sort.h"
#include "data/verify.h"
#include "report/sheets.h"

int coke_dataset_open(struct coke_dataset **out, const char *source,
                      const struct coke_options *options)
{
    CK_ARGS_OUT(out);
    CK_ARGS(source);
    CK_OPTIONS(o, dataset, options);
    return ck_images_new(out, source, o);
}

int coke_dataset_open_embedded(struct coke_dataset **out, const char *rows)
{
    CK_ARGS_OUT(out);
    CK_ARGS(rows);
    return ck_rows_images_open(out, rows);
}

void coke_dataset_free(struct coke_dataset *d)
{
    ck_images_free(d);
}

/* ---- contents: NULL or an index out of range gives 0, -1, "" or NULL, never a crash ---- */

int64_t coke_dataset_count(const struct coke_dataset *d)
{
    return d ? d->set->n : 0;
}

int32_t coke_dataset_channels(const struct coke_dataset *d)
{
    return d ? d->channels : 0;
}

int32_t coke_dataset_classes(const struct coke_dataset *d)
{
    return d ? d->set->classes : 0;
}

const char *coke_dataset_class_name(const struct coke_dataset *d, int32_t c)
{
    return d ? ck_images_class_name(d, c) : NULL;
}

int32_t coke_dataset_label(const struct coke_dataset *d, int64_t i)
{
    return d && i >= 0 && i < d->set->n ? ck_dataset_label(d->set, i) : -1;
}

void coke_dataset_name(const struct coke_dataset *d, int64_t i, char *text, size_t size)
{
    if (text && size)
        text[0] = 0;
    if (d && text && size && i >= 0 && i < d->set->n)
        ck_dataset_name(d->set, i, text, size);
}

const char *coke_dataset_note(const struct coke_dataset *d)
{
    return d ? d->set->note : "";
}

int coke_dataset_has_split(const struct coke_dataset *d)
{
    return d ? d->set->type->splits : 0;
}

int coke_dataset_print(struct coke_dataset *d, int json, FILE *to)
{
    CK_ARGS(d, to);
    return ck_describe(d, json, to);
}

/* ---- processing: versioned structs are copied, results are written also on failure ---- */

int coke_dataset_verify(struct coke_dataset *d, const struct coke_callbacks *callbacks,
                        struct coke_verify_summary *out)
{
    struct coke_callbacks cb;
    struct coke_verify_summary full;
    CK_ARGS(d, out);
    CK_READ(cb, callbacks);
    CK_RESULT(full, out);
    CK_RETURN_RESULT(out, full, ck_verify(d, &cb, &full));
}

int coke_dataset_pack(struct coke_dataset *d, const char *prefix,
                      const struct coke_options *options, int force,
                      const struct coke_callbacks *callbacks, struct coke_pack_summary *out)
{
    struct coke_callbacks cb;
    struct coke_pack_summary full;
    CK_ARGS(d, prefix, out);
    CK_READ(cb, callbacks);
    CK_RESULT(full, out);
    CK_OPTIONS(o, pack, options);
    CK_RETURN_RESULT(out, full, ck_pack(d, prefix, o, force, &cb, &full));
}

int coke_dataset_preview(struct coke_dataset *d, const struct coke_options *options, int rows,
                         int columns, const char *path, int force)
{
    CK_ARGS(d, path);
    CK_OPTIONS(o, view, options);
    return ck_preview_write(d, o, rows, columns, path, force);
}

int coke_dataset_sheet(struct coke_dataset *d, const int64_t *image, int n, int columns,
                       int side, void **bytes, size_t *size)
{
    struct ck_sheet sheet;
    CK_ARGS_OUT(bytes);
    CK_ARGS(d, image, size);
    CK_RETURN_IF(ck_sheet_of(d, image, n, columns, side, &sheet));
    *bytes = sheet.bytes;
    *size = sheet.size;
    return COKE_OK;
}

/* cluster NULL: only checks whether dir can be used, for callers that want to know before a
 * long computation. */
int coke_dataset_sort(struct coke_dataset *d, const int32_t *cluster, int32_t clusters,
                      const char *dir, enum coke_sort how,
                      const struct coke_callbacks *callbacks, struct coke_sort_summary *out)
{
    struct coke_callbacks cb;
    struct coke_sort_summary full;
    struct ck_sort_job job = {d, cluster, clusters, dir, how, &cb};
    CK_ARGS(d, dir);
    if (cluster)
        CK_ARGS(out);
    CK_READ(cb, callbacks);
    CK_RESULT(full, out);
    CK_RETURN_RESULT(out, full,
                     cluster ? ck_sort_run(&job, &full) : ck_sort_check(d, dir, how));
}
