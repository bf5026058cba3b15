/* clustering_folder.c - reads the folder of 'coke cluster': summary.json, labels and models. */
#include "store/clustering_folder.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/npy.h"
#include "io/record.h"
#include "io/safetensors.h"

#include <stdio.h>
#include <string.h>

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

static int take_head(struct ck_clustering *c, int h, struct ck_record head)
{
    double k = ck_record_number(head, "k");
    if (!(k >= 1 && k <= 1 << 24))
        return ck_fail(COKE_EFORMAT, "%s/summary.json: head %d has no 'k'", c->source, h);
    c->head[h].k = (int64_t)k;
    c->head[h].objective = ck_record_number(head, "objective");
    c->head[h].labels_objective = ck_record_number(head, "labels_objective");
    c->head[h].gap = ck_record_number(ck_record_object(head, "certificate"), "gap");
    return COKE_OK;
}

/* Called by ck_record_read; doc is valid only during the call. */
static int take_summary(void *arg, struct ck_record doc)
{
    struct ck_clustering *c = arg;
    struct names names = {&c->options, COKE_OK};
    double n = ck_record_number(doc, "n"), dim = ck_record_number(doc, "dim");
    int64_t heads = ck_record_count(doc, "heads");
    if (!(n >= 1 && n < 1e15) || !(dim >= 1 && dim <= 65536) || heads < 1 ||
        heads > COKE_MAX_HEADS)
        return ck_fail(COKE_EFORMAT,
                       "%s/summary.json: no 'n', 'dim' and 'heads' of a clustering", c->source);
    c->n = (int64_t)n;
    c->dim = (int32_t)dim;
    c->heads = (int)heads;
    for (int h = 0; h < c->heads; h++)
        CK_RETURN_IF(take_head(c, h, ck_record_item(doc, "heads", h)));
    struct ck_record timing = ck_record_object(doc, "timing");
    double epochs = ck_record_number(ck_record_item(doc, "heads", 0), "epochs");
    c->epochs = epochs >= 0 && epochs < 1e15 ? (int64_t)epochs : -1;
    c->seconds = ck_record_number(timing, "total_seconds");
    c->speed = ck_record_number(timing, "vectors_per_second");
    struct ck_record options = ck_record_object(doc, "options");
    c->euclidean = strcmp(ck_record_text(options, "metric"), "euclidean") == 0;
    ck_record_each(options, add_option, &names);
    return names.status;
}

/* ---- labels and models ---- */

enum { NAME = CK_CLUSTERING_PATH + 64 };

/* labels.npy, or labels-h0-k10.npy if there are several heads. */
static void name_file(const struct ck_clustering *c, int h, const char *stem, const char *end,
                      char path[NAME])
{
    if (c->heads == 1)
        snprintf(path, NAME, "%s/%s.%s", c->source, stem, end);
    else
        snprintf(path, NAME, "%s/%s-h%d-k%lld.%s", c->source, stem, h, (long long)c->head[h].k,
                 end);
}

static int check_labels(const struct ck_clustering *c, int h, const char *path)
{
    for (int64_t i = 0; i < c->n; i++)
        if (c->head[h].label[i] < -1 || c->head[h].label[i] >= c->head[h].k)
            return ck_fail(COKE_EFORMAT, "%s: label %d of row %lld, of %lld clusters", path,
                           c->head[h].label[i], (long long)i, (long long)c->head[h].k);
    return COKE_OK;
}

static int read_labels(struct ck_clustering *c, int h)
{
    char path[NAME];
    struct ck_map map = {0};
    struct ck_npy npy;
    int rc = COKE_OK;
    name_file(c, h, "labels", "npy", path);
    CK_TRY(ck_map_load(&map, path));
    CK_TRY(ck_npy_parse(&npy, path, map.data, map.size));
    if (npy.dtype != CK_I32 || npy.ndim != 1 || npy.shape[0] != c->n)
        CK_FAIL(COKE_EFORMAT, "%s: not int32 labels of the %lld rows of summary.json", path,
                (long long)c->n);
    c->head[h].label = ck_alloc_array((size_t)c->n, sizeof(int32_t));
    if (!c->head[h].label)
        CK_LEAVE(COKE_ENOMEM);
    memcpy(c->head[h].label, map.data + npy.offset, (size_t)npy.bytes);
    CK_TRY(check_labels(c, h, path));
done:
    ck_map_release(&map);
    return rc;
}

static int read_model(struct ck_clustering *c, int h)
{
    char path[NAME];
    struct ck_state s = {0};
    struct ck_clustering_head *head = &c->head[h];
    int64_t shape[2] = {head->k, c->dim};
    void *part[4] = {NULL};
    name_file(c, h, "model", "safetensors", path);
    CK_RETURN_IF(ck_safetensors_read(path, &s));
    int rc = ck_state_copy_new(&s, "centers", CK_F32, 2, shape, &part[0]);
    if (!rc)
        rc = ck_state_copy_new(&s, "duals", CK_F32, 1, shape, &part[1]);
    if (!rc)
        rc = ck_state_copy_new(&s, "min_sizes", CK_I64, 1, shape, &part[2]);
    if (!rc && ck_state_find(&s, "max_sizes"))
        rc = ck_state_copy_new(&s, "max_sizes", CK_I64, 1, shape, &part[3]);
    head->center = part[0];
    head->price = part[1];
    head->min_size = part[2];
    head->max_size = part[3];
    ck_state_release(&s);
    return rc == COKE_EFORMAT ? ck_fail_prefix(rc, "%s: ", path) : rc;
}

int ck_clustering_read(struct ck_clustering *c, const char *folder, int models)
{
    char path[NAME];
    int rc = COKE_OK;
    *c = (struct ck_clustering){.epochs = -1};
    if (strlen(folder) >= sizeof c->source)
        return ck_fail(COKE_EUSAGE, "a path of %zu bytes is too long", strlen(folder));
    snprintf(c->source, sizeof c->source, "%s", folder);
    snprintf(path, sizeof path, "%s/summary.json", folder);
    CK_TRY(ck_record_read(path, take_summary, c));
    for (int h = 0; h < c->heads; h++) {
        CK_TRY(read_labels(c, h));
        if (models)
            CK_TRY(read_model(c, h));
    }
done:
    if (rc)
        ck_clustering_release(c);
    return rc;
}

void ck_clustering_release(struct ck_clustering *c)
{
    for (int h = 0; h < COKE_MAX_HEADS; h++) {
        ck_free(c->head[h].label);
        ck_free(c->head[h].center);
        ck_free(c->head[h].price);
        ck_free(c->head[h].min_size);
        ck_free(c->head[h].max_size);
    }
    ck_names_release(&c->options);
    memset(c, 0, sizeof *c);
}
