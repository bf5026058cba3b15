/* bank.c - features and classes of all images of a data set, in memory. */
#include "eval/bank.h"
#include "core/error.h"
#include "core/mem.h"
#include "eval/truth.h"

#include <string.h>

int ck_bank_init(struct ck_bank *b, const struct ck_embed_job *job, struct coke_dataset *d,
                 const struct coke_dataset *classes_of)
{
    struct ck_embed_job all = *job;
    uint8_t *bad = NULL;
    int rc = COKE_OK;
    size_t n = (size_t)d->set->n;
    *b = (struct ck_bank){.n = d->set->n,
                          .dim = ck_features_output_dim(job->features, job->output)};
    b->label = ck_alloc_array(n + 1, sizeof *b->label);
    bad = ck_alloc_array(n + 1, sizeof *bad);
    if (!b->label || !bad)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_truth_get(d, classes_of, b->label));
    if (ck_truth_known(b->label, b->n) == 0)
        CK_FAIL(COKE_EUSAGE, "%s: none of its %zu images has a known class", d->set->source, n);
    b->x = ck_alloc_array(n, (size_t)b->dim * sizeof *b->x);
    if (!b->x)
        CK_LEAVE(COKE_ENOMEM);
    all.n = b->n;
    all.dim = b->dim;
    CK_TRY(ck_embed_memory(&all, b->x, bad, &b->bad));
    for (int64_t i = 0; i < b->n; i++)
        b->label[i] = bad[i] ? -1 : b->label[i];
    b->known = ck_truth_known(b->label, b->n);
done:
    ck_free(bad);
    if (rc)
        ck_bank_release(b);
    return rc;
}

void ck_bank_release(struct ck_bank *b)
{
    ck_free(b->x);
    ck_free(b->label);
    memset(b, 0, sizeof *b);
}
