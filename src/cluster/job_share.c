/* job_share.c - several processes divide a clustering: check that they have the same options
 * and rows and, after each epoch, the same clusters. */
#include "cluster/job_internal.h"
#include "cluster/model.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/share.h"

#include <stdio.h>
#include <stdlib.h>

/* Hashes the rows, weights included: all of a small file, else 256 from all parts, which detect
 * a different file of the same shape without reading it all. */
static int hash_sample(const struct ck_job *j, uint64_t *hash)
{
    const struct coke_cluster *c = j->c;
    enum { PIECE = 256, SMALL = 1 << 20 }; /* rows, numbers */
    int64_t id[PIECE], count = c->n * c->scan.ld <= SMALL || c->n < PIECE ? c->n : PIECE;
    int rc = COKE_OK;
    float *x = ck_calloc_array(PIECE + CK_TILE, (size_t)c->scan.ld * sizeof *x);
    if (!x)
        return COKE_ENOMEM;
    *hash = 0;
    for (int64_t i = 0; i < count;) {
        int n = 0;
        for (int64_t end = i + PIECE < count ? i + PIECE : count; i < end; i++) {
            int64_t row = ck_sample_at(c->n, count, i);
            if (!ck_scan_is_bad(&c->scan, row))
                id[n++] = row;
        }
        CK_TRY(ck_scan_get(&c->scan, id, n, x));
        *hash = ck_hash(x, (size_t)(n * c->scan.ld) * sizeof *x, *hash);
    }
done:
    ck_free(x);
    return rc;
}

static uint64_t hash_sizes(const struct ck_job *j)
{
    const int64_t *list[] = {j->input->min_sizes, j->input->max_sizes};
    size_t bytes = (size_t)j->c->o.k.v[0] * sizeof(int64_t);
    uint64_t hash = 0;
    for (uint64_t i = 0; i < 2; i++)
        if (list[i])
            hash = ck_hash(list[i], bytes, hash + i + 1);
    return hash;
}

/* Of the initial centers that the caller gives, and of what a model brings. */
static uint64_t hash_start(const struct ck_job *j)
{
    const struct coke_cluster_input *in = j->input;
    const struct coke_model *m = in->model;
    size_t k = (size_t)j->c->o.k.v[0];
    uint64_t hash = (uint64_t)in->keep_bounds;
    if (in->centers)
        hash = ck_hash(in->centers, k * (size_t)j->c->dim * sizeof *in->centers, hash);
    if (m)
        hash = ck_hash(m->center, k * (size_t)m->frame.ld * sizeof *m->center, hash + 1);
    return m ? ck_hash(m->price, k * sizeof *m->price, hash) : hash;
}

/* Lines "name\tvalue" of everything that must agree; NULL = out of memory. The caller frees it
 * with free(): it comes from open_memstream. */
static char *describe(const struct ck_job *j, uint64_t sample)
{
    const struct coke_cluster *c = j->c;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    ck_share_put_options(f, ck_cluster_option_table(), &c->o, NULL);
    fprintf(f, "the number of rows\t%lld\nthe number of columns\t%d\n", (long long)c->n,
            c->dim);
    fprintf(f, "the number of skipped rows\t%lld\n", (long long)c->scan.nbad);
    fprintf(f, "the list of sizes\t%016llx\n", (unsigned long long)hash_sizes(j));
    fprintf(f, "the initial centers\t%016llx\n", (unsigned long long)hash_start(j));
    fprintf(f, "a sample of the rows\t%016llx\n", (unsigned long long)sample);
    fclose(f);
    return text;
}

int ck_job_agree(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    int rc = COKE_OK;
    if (j->share.size == 1)
        return COKE_OK;
    if (c->scan.rows->one_pass)
        return ck_fail(COKE_EUSAGE, "%s is read once, in order: %d processes cannot share it",
                       c->scan.rows->name, j->share.size);
    uint64_t sample;
    char *text = NULL;
    CK_TRY(hash_sample(j, &sample));
    text = describe(j, sample);
    if (!text)
        CK_FAIL(COKE_ENOMEM, "out of memory");
    CK_TRY(j->share.agree_text(j->share.arg, text));
    if (c->n < j->share.size)
        CK_FAIL(COKE_EUSAGE, "%lld rows cannot be shared by %d processes", (long long)c->n,
                j->share.size);
done:
    free(text);
    return rc;
}

/* A hash of the whole state costs O(k ld + n) per epoch and detects a process that diverged,
 * for example by different arithmetic, at the end of the epoch in which it did. */
int ck_job_compare(struct ck_job *j, int64_t epoch)
{
    char when[32];
    uint64_t hash = 0;
    if (j->share.size == 1)
        return COKE_OK;
    for (int h = 0; h < j->c->heads; h++)
        hash = ck_kmeans_hash(j->c->head[h], hash);
    snprintf(when, sizeof when, "epoch %lld", (long long)epoch);
    return j->share.agree_hash(j->share.arg, hash, when, "centers, duals or labels");
}
