/* read_cluster.c - reads the output folder of a clustering: summary.json, labels and models.
 *
 * The files are untrusted: every number is validated before it sizes an allocation. */
#include "report/report.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/npy.h"
#include "io/record.h"
#include "io/rows_file.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 256 }; /* rows read at a time */

/* ---- summary.json ---- */

/* State of add_option: a list and the first failure. */
struct names {
    struct ck_names *list;
    int status;
};

/* Called by ck_record_each per option. */
static void add_option(void *arg, const char *key, const char *value)
{
    struct names *n = arg;
    if (!n->status)
        n->status = ck_names_add(n->list, key, strlen(key));
    if (!n->status)
        n->status = ck_names_add(n->list, value, strlen(value));
}

/* Called by ck_record_read; doc is valid only during the call. */
static int take_summary(void *arg, struct ck_record doc)
{
    struct ck_report *r = arg;
    struct names names = {&r->options, COKE_OK};
    double n = ck_record_number(doc, "n") + ck_record_number(doc, "skipped");
    double dim = ck_record_number(doc, "dim");
    int64_t heads = ck_record_count(doc, "heads");
    if (!(n >= 1 && n < 1e15) || !(dim >= 1 && dim <= 65536) || heads < 1 ||
        heads > COKE_MAX_HEADS)
        return ck_fail(COKE_EFORMAT,
                       "%s/summary.json: no 'n', 'dim' and 'heads' of a clustering", r->source);
    r->n = (int64_t)n;
    r->dim = (int)dim;
    r->heads = (int)heads;
    for (int h = 0; h < r->heads; h++) {
        struct ck_record head = ck_record_item(doc, "heads", h);
        double k = ck_record_number(head, "k");
        if (!(k >= 1 && k <= 1 << 24))
            return ck_fail(COKE_EFORMAT, "%s/summary.json: head %d has no 'k'", r->source, h);
        r->head[h].k = (int64_t)k;
        r->head[h].objective = ck_record_number(head, "labels_objective");
        r->head[h].gap = ck_record_number(ck_record_object(head, "certificate"), "gap");
    }
    r->epoch = r->epochs =
        (int64_t)fmax(ck_record_number(ck_record_item(doc, "heads", 0), "epochs"), -1);
    r->seconds = ck_record_number(ck_record_object(doc, "timing"), "total");
    r->speed = ck_record_number(ck_record_object(doc, "timing"), "vectors_per_second");
    ck_record_each(ck_record_object(doc, "options"), add_option, &names);
    return names.status;
}

/* ---- labels and models ---- */

/* labels.npy, or labels-h0-k10.npy if there are several heads. */
static void name_file(const struct ck_report *r, int h, const char *stem, const char *end,
                      char *path, size_t size)
{
    if (r->heads == 1)
        snprintf(path, size, "%s/%s.%s", r->source, stem, end);
    else
        snprintf(path, size, "%s/%s-h%d-k%lld.%s", r->source, stem, h, (long long)r->head[h].k,
                 end);
}

/* Reads labels [n] of head h. count_sizes checks their range later. */
static int read_labels(struct ck_report *r, int h)
{
    char path[CK_REPORT_PATH + 64];
    struct ck_map map = {0};
    struct ck_npy npy;
    int rc = COKE_OK;
    name_file(r, h, "labels", "npy", path, sizeof path);
    CK_TRY(ck_map_load(&map, path));
    CK_TRY(ck_npy_parse(&npy, path, map.data, map.size));
    if (npy.dtype != CK_I32 || npy.ndim != 1 || npy.shape[0] != r->n)
        CK_FAIL(COKE_EFORMAT, "%s: not int32 labels of the %lld rows of summary.json", path,
                (long long)r->n);
    r->head[h].label = ck_alloc_array((size_t)r->n, sizeof(int32_t));
    if (!r->head[h].label)
        CK_LEAVE(COKE_ENOMEM);
    memcpy(r->head[h].label, map.data + npy.offset, (size_t)npy.bytes);
done:
    ck_map_release(&map);
    return rc;
}

/* Reads centers, duals and min sizes of head h. */
static int read_model(struct ck_report *r, int h)
{
    char path[CK_REPORT_PATH + 64];
    struct ck_state s = {0};
    struct ck_report_head *head = &r->head[h];
    int64_t shape[2] = {head->k, r->dim};
    size_t k = (size_t)head->k;
    int rc = COKE_OK;
    name_file(r, h, "model", "safetensors", path, sizeof path);
    CK_TRY(ck_safetensors_read(path, &s));
    head->center = ck_alloc_array(k, (size_t)r->dim * sizeof *head->center);
    head->dual = ck_alloc_array(k, sizeof *head->dual);
    head->min_size = ck_alloc_array(k, sizeof *head->min_size);
    if (!head->center || !head->dual || !head->min_size)
        CK_LEAVE(COKE_ENOMEM);
    rc = ck_state_copy(&s, "centers", CK_F32, 2, shape, head->center);
    if (!rc)
        rc = ck_state_copy(&s, "duals", CK_F32, 1, shape, head->dual);
    if (!rc)
        rc = ck_state_copy(&s, "min_sizes", CK_I64, 1, shape, head->min_size);
    if (rc)
        ck_fail_prefix(rc, "%s: ", path);
done:
    ck_state_release(&s);
    return rc;
}

/* ---- vectors ---- */

/* Scales x to unit length; a row that is zero or not finite becomes zero. */
static void normalize(float *x, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += (double)x[j] * (double)x[j];
    double scale = isfinite(sum) && sum > 0 ? 1 / sqrt(sum) : 0;
    for (int j = 0; j < dim; j++)
        x[j] = scale > 0 ? (float)((double)x[j] * scale) : 0;
}

/* Reads the sampled rows from the user's vector files into r->x. */
static int read_vectors(struct ck_report *r, const struct ck_report_request *q)
{
    struct coke_rows *rows = NULL;
    int rc = COKE_OK;
    CK_TRY(ck_rows_open(&rows, q->vectors, q->nvectors, NULL));
    if (rows->n != r->n || rows->dim != r->dim)
        CK_FAIL(COKE_EUSAGE, "%s%s %lld rows of %d, %s was made of %lld rows of %d",
                q->vectors[0], q->nvectors > 1 ? " and the others have" : " has",
                (long long)rows->n, rows->dim, r->source, (long long)r->n, r->dim);
    r->x = ck_alloc_array((size_t)r->rows, (size_t)r->dim * sizeof *r->x);
    if (!r->x)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t at = 0; at < r->rows; at += BLOCK) {
        int n = (int)(r->rows - at < BLOCK ? r->rows - at : BLOCK);
        CK_TRY(rows->get(rows, r->row + at, n, r->x + at * r->dim, r->dim));
        for (int i = 0; i < n; i++)
            normalize(r->x + (at + i) * r->dim, r->dim);
    }
done:
    ck_rows_free(rows);
    return rc;
}

/* Members and map need the vectors, which the folder does not contain: the user may name
 * them. */
int ck_report_read_cluster(struct ck_report *r, const struct ck_report_request *q)
{
    char path[CK_REPORT_PATH + 64];
    snprintf(path, sizeof path, "%s/summary.json", r->source);
    CK_RETURN_IF(ck_record_read(path, take_summary, r));
    for (int h = 0; h < r->heads; h++) {
        CK_RETURN_IF(read_labels(r, h));
        CK_RETURN_IF(read_model(r, h));
    }
    r->complete = 1;
    snprintf(r->about, sizeof r->about, "vectors of %d dimensions", r->dim);
    if (q->images)
        CK_RETURN_IF(ck_report_open_images(r, q, q->images, &q->data));
    CK_RETURN_IF(ck_report_choose_rows(r, q->o.sample));
    if (q->nvectors)
        CK_RETURN_IF(read_vectors(r, q));
    return COKE_OK;
}
