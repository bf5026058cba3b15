/* kmeans_state.c - a clustering as a list of tensors, and back. */
#include "cluster/kmeans_internal.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/state.h"

#include <math.h>
#include <string.h>

/* By metric: programs that know only the cosine refuse the second. */
static const char *const FORMAT[] = {"coke-kmeans-state", "coke-kmeans-state-2"};

/* The tensors of a state, for writing and for reading. Vectors keep their padding of zeros
 * ([k][ld]), so that the tensors can refer to the memory of the head. */
struct part {
    const char *name;
    enum ck_dtype dtype;
    int ndim;
    int64_t shape[2];
    void *data; /* NULL = this clustering has none */
};

enum { PARTS = 15 };

/* Fills p [PARTS] and returns their number. New tensors go to the end: ck_kmeans_hash depends
 * on the order. */
static int list_parts(const struct coke_kmeans *km, struct part p[PARTS])
{
    int64_t k = km->k, ld = km->ld, n = km->o.n, ids = km->ids, slots = km->o.slots;
    int euclidean = km->o.metric == COKE_METRIC_EUCLIDEAN;
    const struct part all[] = {
        {"current", CK_F32, 2, {k, ld}, km->cur},
        {"previous", CK_F32, 2, {k, ld}, km->prev},
        {"sum", CK_I64, 2, {k, ld}, km->sum},
        {"count", CK_I64, 1, {k}, km->count},
        {"min_sizes", CK_I64, 1, {k}, km->min_size},
        {"max_sizes", CK_I64, 1, {k}, km->max_size},
        {"rho", CK_F32, 1, {k}, km->duals.rho},
        {"sigma", CK_F32, 1, {k}, km->duals.sigma},
        {"dual_total", CK_F64, 1, {k}, km->duals.total},
        {"dual_average", CK_F32, 1, {k}, km->average},
        {"labels16", CK_U16, 1, {ids}, km->labels.narrow},
        {"labels", CK_I32, 1, {ids}, km->labels.wide},
        {"slot_labels", CK_I32, 2, {n, slots}, km->slots.label},
        {"slot_weights", CK_F32, 2, {n, slots}, km->slots.weight},
        {"reference", CK_F32, 1, {ld}, euclidean ? km->frame.reference : NULL},
    };
    memcpy(p, all, sizeof all);
    return (int)(sizeof all / sizeof all[0]);
}

uint64_t ck_kmeans_hash(const struct coke_kmeans *km, uint64_t seed)
{
    struct part p[PARTS];
    int n = list_parts(km, p);
    for (int i = 0; i < n; i++) {
        int64_t elements = p[i].shape[0] * (p[i].ndim > 1 ? p[i].shape[1] : 1);
        if (p[i].data)
            seed = ck_hash(p[i].data, (size_t)elements * ck_dtype_size(p[i].dtype), seed);
    }
    return seed;
}

/* Floating-point options are written with all digits, not as ck_options_get prints them, so
 * that the restored head continues with the same bits. */
int ck_kmeans_state(const struct coke_kmeans *km, struct ck_state *s)
{
    struct part p[PARTS];
    char value[64];
    int rc, n = list_parts(km, p);
    const struct ck_option_table *t = ck_kmeans_option_table();
    for (int i = 0; i < n; i++)
        if (p[i].data)
            CK_TRY(ck_state_add(s, p[i].name, p[i].dtype, p[i].ndim, p[i].shape, p[i].data));
    CK_TRY(ck_state_add_meta(s, "format", FORMAT[km->o.metric]));
    for (int i = 0; i < t->n; i++) {
        if (t->row[i].type == CK_OPT_FLOAT) {
            double x;
            memcpy(&x, (const char *)&km->o + t->row[i].offset, sizeof x);
            CK_TRY(ck_state_add_meta_number(s, t->row[i].name, x));
            continue;
        }
        CK_TRY(ck_options_get(t, &km->o, t->row[i].name, value, sizeof value));
        CK_TRY(ck_state_add_meta(s, t->row[i].name, value));
    }
    CK_TRY(ck_state_add_meta_int(s, "epoch", km->epoch));
    CK_TRY(ck_state_add_meta_int(s, "steps", km->duals.steps));
    CK_TRY(ck_state_add_meta(s, "given-bounds", km->given_bounds ? "1" : "0"));
    if (km->o.metric == COKE_METRIC_EUCLIDEAN) {
        CK_TRY(ck_state_add_meta_number(s, "unit", (double)km->frame.unit));
        CK_TRY(ck_state_add_meta_number(s, "reach", (double)km->frame.reach));
    }
done:
    return rc;
}

/* The sizes must be there; options that the file lacks, as a newer version added them, keep
 * their defaults. */
static int read_options(const struct ck_state *s, struct ck_kmeans_options *o)
{
    static const char *const required[] = {"n", "k", "dim"};
    const char *format = ck_state_meta(s, "format");
    if (!format || (strcmp(format, FORMAT[0]) != 0 && strcmp(format, FORMAT[1]) != 0))
        return ck_fail(COKE_EFORMAT,
                       "not the state of a clustering (metadata 'format' is '%s')",
                       format ? format : "");
    for (int i = 0; i < 3; i++)
        if (!ck_state_meta(s, required[i]))
            return ck_fail(COKE_EFORMAT, "metadata '%s' is missing", required[i]);
    return ck_options_from_meta(ck_kmeans_option_table(), o, s, "") < 0 ? COKE_EFORMAT
                                                                        : COKE_OK;
}

static const char *labels_name(const struct ck_kmeans_options *o)
{
    return o->k < CK_NO_LABEL ? "labels16" : "labels";
}

/* Ids that labels are stored for; -1 = the labels are missing. */
static int64_t stored_ids(const struct ck_state *s, const struct ck_kmeans_options *o)
{
    const struct ck_tensor *t = ck_state_find(s, labels_name(o));
    return !o->keep_labels ? o->n : t && t->ndim == 1 ? t->shape[0] : -1;
}

/* Trust a size in the metadata only if a tensor of the file has it: allocation follows. */
static int check_sizes(const struct ck_state *s, const struct ck_kmeans_options *o)
{
    const struct ck_tensor *t = ck_state_find(s, "current");
    int ld = ck_padded((int)o->dim + (o->metric == COKE_METRIC_EUCLIDEAN));
    if (!t || t->ndim != 2 || t->dtype != CK_F32 || t->shape[0] != o->k || t->shape[1] != ld)
        return ck_fail(COKE_EFORMAT, "tensor 'current' is not F32 [%lld][%d]", (long long)o->k,
                       ld);
    int64_t ids = stored_ids(s, o);
    if (ids < o->n || (o->stage >= 0 && ids != o->n))
        return ck_fail(COKE_EFORMAT, "tensor '%s' is not [%lld]", labels_name(o),
                       (long long)o->n);
    t = ck_state_find(s, "slot_labels");
    if (o->stage >= 0 && (!t || t->ndim != 2 || t->shape[0] != o->n || t->shape[1] != o->slots))
        return ck_fail(COKE_EFORMAT, "tensor 'slot_labels' is not [%lld][%lld]",
                       (long long)o->n, (long long)o->slots);
    return COKE_OK;
}

/* Labels index arrays, so check each: a file with valid checksums may still be crafted. */
static int check_labels(const struct coke_kmeans *km)
{
    for (int64_t i = 0; km->o.keep_labels && i < km->ids; i++)
        if (ck_labels_get(&km->labels, i) < -1 || ck_labels_get(&km->labels, i) >= km->k)
            return ck_fail(COKE_EFORMAT, "label %lld is %d, not within -1..%lld", (long long)i,
                           ck_labels_get(&km->labels, i), (long long)km->k - 1);
    for (int64_t i = 0; km->o.stage >= 0 && i < km->o.n * km->o.slots; i++)
        if (km->slots.label[i] < -1 || km->slots.label[i] >= km->k ||
            (km->slots.label[i] < 0 && km->slots.weight[i] > 0))
            return ck_fail(COKE_EFORMAT, "slot %lld has label %d", (long long)i,
                           km->slots.label[i]);
    return COKE_OK;
}

/* Rejects NaN, infinity and values that no valid state has: beyond 1e9 in inner coordinates. The
 * reference is in those of the data. */
static int check_floats(const struct part *p)
{
    int64_t n = p->shape[0] * (p->ndim > 1 ? p->shape[1] : 1);
    float limit = strcmp(p->name, "reference") == 0 ? CK_FRAME_LARGEST : 1e9f;
    for (int64_t i = 0; i < n; i++)
        if (p->dtype == CK_F32 && !(fabsf(((const float *)p->data)[i]) <= limit))
            return ck_fail(COKE_EFORMAT, "tensor '%s': number %lld is %g", p->name,
                           (long long)i, (double)((const float *)p->data)[i]);
    return COKE_OK;
}

/* Unit and reach of a Euclidean state; its reference is copied with the other tensors. */
static int read_frame(const struct ck_state *s, const struct ck_kmeans_options *o,
                      struct ck_frame *f)
{
    double unit, reach;
    int exponent;
    CK_RETURN_IF(ck_frame_init(f, o->metric, (int)o->dim));
    if (o->metric != COKE_METRIC_EUCLIDEAN)
        return COKE_OK;
    CK_RETURN_IF(ck_state_meta_number(s, "unit", &unit));
    CK_RETURN_IF(ck_state_meta_number(s, "reach", &reach));
    if (!(unit >= 0x1p-120 && unit <= 0x1p120) || frexp(unit, &exponent) != 0.5)
        return ck_fail(COKE_EFORMAT, "metadata 'unit' is %g, not a power of two", unit);
    if (!(reach >= 0 && reach <= (double)CK_FRAME_REACH))
        return ck_fail(COKE_EFORMAT, "metadata 'reach' is %g, not within 0..%g", reach,
                       (double)CK_FRAME_REACH);
    f->unit = (float)unit;
    f->reach = (float)reach;
    return COKE_OK;
}

/* Makes a head of these options with placeholder centers, then overwrites its tensors. */
int ck_kmeans_restore(struct coke_kmeans **out, const struct ck_state *s)
{
    struct ck_kmeans_options o;
    struct part p[PARTS];
    struct coke_kmeans *km = NULL;
    int64_t *min_size = NULL, *max_size = NULL;
    struct ck_frame frame = {0};
    float *center = NULL;
    int64_t epoch, steps;
    int rc;
    CK_TRY(read_options(s, &o));
    CK_TRY(check_sizes(s, &o));
    CK_TRY(read_frame(s, &o, &frame));
    const char *given = ck_state_meta(s, "given-bounds");
    if (!given || (strcmp(given, "0") != 0 && strcmp(given, "1") != 0))
        CK_FAIL(COKE_EFORMAT, "metadata 'given-bounds' is '%s', neither 0 nor 1",
                given ? given : "");
    min_size = ck_alloc_array((size_t)o.k, sizeof *min_size);
    max_size = ck_alloc_array((size_t)o.k, sizeof *max_size);
    center = ck_calloc_array((size_t)o.k, (size_t)o.dim * sizeof *center);
    if (!min_size || !max_size || !center)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_state_copy(s, "min_sizes", CK_I64, 1, &o.k, min_size));
    int upper = ck_state_find(s, "max_sizes") != NULL;
    if (upper)
        CK_TRY(ck_state_copy(s, "max_sizes", CK_I64, 1, &o.k, max_size));
    CK_TRY(ck_kmeans_new_in(&km, &frame, &o, center, given[0] == '1' ? min_size : NULL,
                            upper ? max_size : NULL));
    CK_TRY(ck_kmeans_set_ids(km, stored_ids(s, &o)));
    int n = list_parts(km, p);
    for (int i = 0; i < n; i++)
        if (p[i].data) {
            CK_TRY(ck_state_copy(s, p[i].name, p[i].dtype, p[i].ndim, p[i].shape, p[i].data));
            CK_TRY(check_floats(&p[i]));
        }
    CK_TRY(check_labels(km));
    for (int64_t k = 0; k < km->k; k++)
        if (km->count[k] < 0)
            CK_FAIL(COKE_EFORMAT, "count %lld is %lld", (long long)k, (long long)km->count[k]);
    CK_TRY(ck_state_meta_int(s, "epoch", &epoch));
    CK_TRY(ck_state_meta_int(s, "steps", &steps));
    if (epoch < 0 || steps < 0)
        CK_FAIL(COKE_EFORMAT, "epoch %lld, step %lld: neither may be negative",
                (long long)epoch, (long long)steps);
    km->epoch = epoch;
    km->duals.steps = steps;
    ck_kmeans_point_assigner(km);
    *out = km;
    km = NULL;
done:
    ck_kmeans_free(km);
    ck_frame_release(&frame);
    ck_free(min_size);
    ck_free(max_size);
    ck_free(center);
    return rc;
}
