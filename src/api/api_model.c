/* api_model.c - models: load, and label new vectors. */
#include "cluster/repair.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/state.h"
#include "core/stats.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct coke_model {
    int64_t k;
    int32_t dim;
    int ld;
    double n;                     /* rows it was made from */
    float *center;                /* [k][ld] */
    float *price;                 /* [k] */
    int64_t *min_size, *max_size; /* [k]; most NULL = none */
};

static int check_format(const struct ck_state *s)
{
    const char *format = ck_state_meta(s, "format");
    if (format && strcmp(format, "coke-kmeans") == 0)
        return COKE_OK;
    if (format)
        return ck_fail(COKE_EFORMAT, "this is a '%s' file, not a k-means model", format);
    return ck_fail(COKE_EFORMAT, "no model of coke cluster (metadata 'format' is missing)");
}

static int fill_model(struct coke_model *m, const struct ck_state *s)
{
    int rc;
    CK_TRY(check_format(s));
    const struct ck_tensor *t = ck_state_find(s, "centers");
    if (!t || t->ndim != 2 || t->shape[0] < 1 || t->shape[1] < 1 || t->shape[1] > 65536 ||
        t->dtype != CK_F32)
        CK_FAIL(COKE_EFORMAT, "tensor 'centers' is missing or not F32 [k][dim]");
    m->k = t->shape[0];
    m->dim = (int32_t)t->shape[1];
    m->ld = ck_padded(m->dim);
    size_t k = (size_t)m->k;
    m->center = ck_calloc_array(k, (size_t)m->ld * sizeof *m->center);
    m->price = ck_calloc_array(k, sizeof *m->price);
    m->min_size = ck_calloc_array(k, sizeof *m->min_size);
    if (!m->center || !m->price || !m->min_size)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t i = 0; i < m->k; i++) {
        float *c = m->center + i * m->ld;
        memcpy(c, (const char *)t->data + (size_t)i * (size_t)m->dim * sizeof *c,
               (size_t)m->dim * sizeof *c);
        double square = 0;
        for (int j = 0; j < m->dim; j++)
            square += (double)c[j] * (double)c[j];
        if (!(square < 1.001))
            CK_FAIL(COKE_EFORMAT, "center %lld has length %g; centers are unit vectors",
                    (long long)i, sqrt(square));
    }
    CK_TRY(ck_state_copy(s, "duals", CK_F32, 1, &m->k, m->price));
    CK_TRY(ck_state_copy(s, "min_sizes", CK_I64, 1, &m->k, m->min_size));
    CK_TRY(ck_state_meta_number(s, "n", &m->n));
    if (ck_state_find(s, "max_sizes")) {
        m->max_size = ck_calloc_array(k, sizeof *m->max_size);
        if (!m->max_size)
            CK_LEAVE(COKE_ENOMEM);
        CK_TRY(ck_state_copy(s, "max_sizes", CK_I64, 1, &m->k, m->max_size));
    }
    for (int64_t i = 0; i < m->k; i++)
        if (!isfinite(m->price[i]) || m->min_size[i] < 0 ||
            (m->max_size && m->max_size[i] < m->min_size[i]))
            CK_FAIL(COKE_EFORMAT, "cluster %lld: dual %g, sizes from %lld", (long long)i,
                    (double)m->price[i], (long long)m->min_size[i]);
    if (!(m->n >= 1))
        CK_FAIL(COKE_EFORMAT, "metadata 'n' is %g", m->n);
    double low = 0, high = 0;
    for (int64_t i = 0; i < m->k; i++) {
        low += (double)m->min_size[i];
        high += m->max_size ? (double)m->max_size[i] : m->n;
    }
    if (low > m->n || high < m->n)
        CK_FAIL(COKE_EFORMAT, "sizes of %g to %g cannot be met by %g rows", low, high, m->n);
done:
    return rc;
}

int coke_model_load(struct coke_model **out, const char *path)
{
    struct stat st;
    char inside[4096];
    struct ck_state s = {0};
    int rc;
    if (!out || !path)
        return ck_fail(COKE_EUSAGE, "coke_model_load: an argument is NULL");
    *out = NULL;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        if ((size_t)snprintf(inside, sizeof inside, "%s/model.safetensors", path) >=
            sizeof inside)
            return ck_fail(COKE_EUSAGE, "%s: the name is too long", path);
        if (access(inside, F_OK))
            return ck_fail(COKE_EIO,
                           "%s: no model.safetensors in it; of several clusterings name one "
                           "(model-h0-k10.safetensors)",
                           path);
        path = inside;
    }
    struct coke_model *m = ck_calloc_array(1, sizeof *m);
    if (!m)
        return COKE_ENOMEM;
    CK_TRY(ck_safetensors_read(path, &s));
    rc = fill_model(m, &s);
    if (rc) {
        ck_fail_prefix(rc, "%s: ", path);
        goto done;
    }
    *out = m;
    m = NULL;
done:
    ck_state_release(&s);
    coke_model_free(m);
    return rc;
}

void coke_model_free(struct coke_model *m)
{
    if (!m)
        return;
    ck_free(m->center);
    ck_free(m->price);
    ck_free(m->min_size);
    ck_free(m->max_size);
    ck_free(m);
}

int64_t coke_model_k(const struct coke_model *m)
{
    return m->k;
}

int32_t coke_model_dim(const struct coke_model *m)
{
    return m->dim;
}

/* ---- labelling ---- */

static void summarise(const struct coke_model *m, const struct ck_repair *r, int64_t skipped,
                      struct coke_head_summary *s)
{
    *s = (struct coke_head_summary){.n = r->points,
                                    .k = m->k,
                                    .dim = m->dim,
                                    .skipped = skipped,
                                    .objective = r->nearest / r->weight,
                                    .labels_objective = r->primal / r->weight,
                                    .below_before_repair = r->below,
                                    .above_before_repair = r->above,
                                    .short_before_repair = r->missing,
                                    .repaired = r->exact,
                                    .moved = r->moved,
                                    .primal = r->primal,
                                    .dual = r->dual,
                                    .gap = r->dual - r->primal,
                                    .repair_bytes = r->bytes,
                                    .passes = r->passes};
    s->bound_min = s->bound_max = r->min_size[0];
    for (int64_t i = 1; i < m->k; i++) {
        s->bound_min = r->min_size[i] < s->bound_min ? r->min_size[i] : s->bound_min;
        s->bound_max = r->min_size[i] > s->bound_max ? r->min_size[i] : s->bound_max;
    }
    struct ck_spread sizes = ck_spread_sort(r->size, m->k);
    s->size_min = sizes.min;
    s->size_median = sizes.median;
    s->size_max = sizes.max;
}

/* The model's bounds for n rows: the same shares, rounded towards what can be met. */
static void scale_bounds(const struct coke_model *m, int64_t n, int64_t *min_size,
                         int64_t *max_size)
{
    for (int64_t i = 0; i < m->k; i++) {
        min_size[i] = (int64_t)floor((double)m->min_size[i] * (double)n / m->n * (1 + 1e-12));
        if (max_size)
            max_size[i] =
                (int64_t)ceil((double)m->max_size[i] * (double)n / m->n * (1 - 1e-12));
    }
}

int coke_model_assign(const struct coke_model *m, struct coke_rows *rows, int constrained,
                      int bad, const struct coke_callbacks *callbacks, int32_t *labels,
                      float *scores, struct coke_head_summary *summary)
{
    struct ck_scan scan = {0};
    struct ck_labels store = {0};
    int64_t *min_size = NULL, *max_size = NULL, *size = NULL;
    float *price = NULL;
    struct ck_assigner *a = NULL;
    int rc;
    if (!m || !rows || !labels)
        return ck_fail(COKE_EUSAGE, "coke_model_assign: an argument is NULL");
    if (rows->dim != m->dim)
        CK_FAIL(COKE_EUSAGE, "%s has %d columns, the model %d", rows->name, rows->dim, m->dim);
    if (rows->one_pass)
        CK_FAIL(COKE_EUSAGE, "%s: labelling reads rows in any order; open it without one_pass",
                rows->name);
    CK_TRY(ck_scan_init(&scan, rows, ck_kernels(), NULL, bad));
    size_t k = (size_t)m->k;
    price = ck_calloc_array(k, sizeof *price);
    size = ck_calloc_array(k, sizeof *size);
    min_size = ck_calloc_array(k, sizeof *min_size);
    if (!price || !size || !min_size)
        CK_LEAVE(COKE_ENOMEM);
    if (constrained) {
        if (m->max_size) {
            max_size = ck_calloc_array(k, sizeof *max_size);
            if (!max_size)
                CK_LEAVE(COKE_ENOMEM);
        }
        scale_bounds(m, rows->n - scan.nbad, min_size, max_size);
        memcpy(price, m->price, k * sizeof *price);
    }
    CK_TRY(ck_labels_init(&store, rows->n, m->k));
    CK_TRY(ck_assigner_new(&a, ck_kernels(), m->center, m->k, m->ld));
    struct ck_repair r = {.scan = &scan,
                          .assigner = a,
                          .k = m->k,
                          .min_size = min_size,
                          .max_size = max_size,
                          .exact = constrained,
                          .sample = 1,
                          .callbacks = callbacks,
                          .price = price,
                          .labels = &store,
                          .scores = scores,
                          .size = size};
    for (int64_t i = 0; scores && i < rows->n; i++)
        scores[i] = NAN; /* what rows that are left out keep */
    CK_TRY(ck_repair_run(&r));
    for (int64_t i = 0; i < rows->n; i++)
        labels[i] = ck_labels_get(&store, i);
    if (summary)
        summarise(m, &r, scan.nbad, summary);
done:
    ck_assigner_free(a);
    ck_labels_release(&store);
    ck_scan_release(&scan);
    ck_free(price);
    ck_free(size);
    ck_free(min_size);
    ck_free(max_size);
    return rc;
}
