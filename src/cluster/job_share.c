/* job_share.c - several processes share the batches of a clustering: each labels a part of the
 * rows, and all move the centers by the same exact sums. */
#include "cluster/job_run.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "dist/agree.h"
#include "io/hash.h"

#include <stdio.h>
#include <stdlib.h>

/* Rows of the batch that other processes label are only named. */
static void name_rows(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    struct ck_job *j = arg;
    int64_t at = chunk * CK_ASSIGN_BLOCK;
    int n = (int)(j->n - at < CK_ASSIGN_BLOCK ? j->n - at : CK_ASSIGN_BLOCK);
    if (at < j->from || at + n > j->to)
        ck_order_rows(&j->order, (uint64_t)(j->first + at), n, j->id + at);
}

int64_t ck_job_share_start(int64_t n, int rank, int size)
{
    return n * rank / size;
}

/* Parts of `size` bytes a row, each in its place in all [n], come together. */
static int gather_rows(struct ck_job *j, void *all, size_t size)
{
    for (int r = 0; r < j->size; r++)
        j->bytes[r] =
            (ck_job_share_start(j->n, r + 1, j->size) - ck_job_share_start(j->n, r, j->size)) *
            (int64_t)size;
    return ck_group_gather(j->group, (char *)all + (size_t)j->from * size, all, j->bytes);
}

int ck_job_prefers_sums(const struct ck_job *j)
{
    int64_t clusters = 0;
    for (int h = 0; h < j->c->heads; h++)
        clusters += j->c->head[h]->k;
    return 2 * clusters * (int64_t)sizeof(int64_t) < j->n * (int64_t)sizeof(float);
}

int ck_job_apply_sums(struct ck_job *j, int h)
{
    struct coke_kmeans *km = j->c->head[h];
    const int32_t *label = j->label + h * j->batch;
    int64_t touched =
        ck_kmeans_sum_rows(km, j->x, j->n, label, j->from, j->to - j->from, j->sum);
    CK_RETURN_IF(ck_group_sum_i64(j->group, j->sum, touched * km->ld));
    ck_kmeans_apply_sums(km, j->n, label, j->sum);
    return COKE_OK;
}

int ck_job_exchange(struct ck_job *j)
{
    struct coke_cluster *c = j->c;
    if (!c->scan.bad)
        ck_parallel((j->n + CK_ASSIGN_BLOCK - 1) / CK_ASSIGN_BLOCK, name_rows, j);
    for (int h = 0; h < c->heads; h++) {
        CK_RETURN_IF(gather_rows(j, j->label + h * j->batch, sizeof *j->label));
        CK_RETURN_IF(gather_rows(j, j->score + h * j->batch, sizeof *j->score));
    }
    if (!ck_job_prefers_sums(j))
        CK_RETURN_IF(gather_rows(j, j->x, (size_t)c->scan.ld * sizeof *j->x));
    return COKE_OK;
}

/* Rows from all parts of the file, weights included: another file of the same shape is noticed
 * without reading it all. */
static int hash_sample(const struct ck_job *j, uint64_t *hash)
{
    const struct coke_cluster *c = j->c;
    enum { SAMPLE = 64 };
    int64_t id[SAMPLE];
    int n = 0, rc = COKE_OK;
    float *x = ck_calloc_array(SAMPLE + CK_TILE, (size_t)c->scan.ld * sizeof *x);
    if (!x)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < SAMPLE; i++) {
        int64_t row = ck_job_share_start(c->n, (int)i, SAMPLE);
        if (!ck_scan_is_bad(&c->scan, row))
            id[n++] = row;
    }
    CK_TRY(ck_scan_get(&c->scan, id, n, x));
    *hash = ck_hash(x, (size_t)(n * c->scan.ld) * sizeof *x, 0);
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

/* "name\tvalue" of everything that the processes must have in common. */
static char *describe(const struct ck_job *j, uint64_t sample)
{
    const struct coke_cluster *c = j->c;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    ck_agree_put_options(f, ck_cluster_option_table(), &c->o, NULL);
    fprintf(f, "the number of rows\t%lld\nthe number of columns\t%d\n", (long long)c->n,
            c->dim);
    fprintf(f, "the number of rows left out\t%lld\n", (long long)c->scan.nbad);
    fprintf(f, "the list of sizes\t%016llx\n", (unsigned long long)hash_sizes(j));
    fprintf(f, "a sample of the rows\t%016llx\n", (unsigned long long)sample);
    fclose(f);
    return text;
}

int ck_job_prepare_sharing(struct ck_job *j, int64_t most_k)
{
    struct coke_cluster *c = j->c;
    int rc = COKE_OK;
    j->group = ck_group();
    j->rank = ck_group_rank(j->group);
    j->size = ck_group_size(j->group);
    if (j->size == 1)
        return COKE_OK;
    if (c->scan.rows->one_pass)
        return ck_fail(COKE_EUSAGE, "%s is read once, in order: %d processes cannot share it",
                       c->scan.rows->name, j->size);
    uint64_t sample;
    char *text = NULL;
    CK_TRY(hash_sample(j, &sample));
    text = describe(j, sample);
    if (!text)
        CK_FAIL(COKE_ENOMEM, "out of memory");
    CK_TRY(ck_agree_text(j->group, text));
    if (c->n < j->size)
        CK_FAIL(COKE_EUSAGE, "%lld rows cannot be shared by %d processes", (long long)c->n,
                j->size);
    j->bytes = ck_calloc_array((size_t)j->size, sizeof *j->bytes);
    j->sum = ck_alloc_array((size_t)most_k, (size_t)c->scan.ld * sizeof *j->sum);
    if (!j->bytes || !j->sum)
        rc = COKE_ENOMEM;
done:
    free(text);
    return rc;
}

int ck_job_compare(struct ck_job *j, int64_t epoch)
{
    char when[32];
    uint64_t hash = 0;
    if (j->size == 1)
        return COKE_OK;
    for (int h = 0; h < j->c->heads; h++)
        hash = ck_kmeans_hash(j->c->head[h], hash);
    snprintf(when, sizeof when, "epoch %lld", (long long)epoch);
    return ck_agree_hash(j->group, hash, when, "centers, duals or labels");
}
