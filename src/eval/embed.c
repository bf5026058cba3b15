/* embed.c - features of a whole data set, written to a file or to memory. */
#include "eval/embed.h"
#include "core/callbacks.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/npy.h"
#include "io/sums.h"

#include <string.h>

enum { PIECE = 512 }; /* images per call of the progress callback */

/* The images of one call of ck_features_try. */
struct piece {
    int64_t index[PIECE];
    uint8_t bad[PIECE];
    int64_t nbad;
};

/* Computes images from..from+count-1 into x. */
static int get(const struct ck_embed_job *job, struct piece *p, int64_t from, int64_t count,
               float *x)
{
    int proj = job->output == COKE_OUTPUT_PROJ;
    for (int64_t i = 0; i < count; i++)
        p->index[i] = from + i;
    memset(p->bad, 0, sizeof p->bad);
    int rc = ck_features_try(job->features, p->index, count, proj ? NULL : x, proj ? x : NULL,
                             job->skip ? p->bad : NULL);
    for (int64_t i = 0; i < count; i++)
        p->nbad += p->bad[i];
    if (rc)
        return rc;
    return ck_progress_count(job->callbacks, job->phase, from + count, job->n, "images");
}

int ck_embed_memory(const struct ck_embed_job *job, float *x, uint8_t *bad, int64_t *nbad)
{
    int rc = COKE_OK;
    struct piece *p = ck_calloc_array(1, sizeof *p);
    if (!p)
        return COKE_ENOMEM;
    for (int64_t from = 0; from < job->n; from += PIECE) {
        int64_t count = job->n - from < PIECE ? job->n - from : PIECE;
        CK_TRY(get(job, p, from, count, x + from * job->dim));
        if (bad)
            memcpy(bad + from, p->bad, (size_t)count);
    }
    *nbad = p->nbad;
done:
    ck_free(p);
    return rc;
}

/* The file appears only when it is complete (ck_writer). */
int ck_embed_file(const struct ck_embed_job *job, const char *path, int force, int64_t *nbad)
{
    int rc = COKE_OK;
    int64_t shape[2] = {job->n, job->dim};
    struct ck_writer w = {0};
    struct piece *p = ck_calloc_array(1, sizeof *p);
    float *x = ck_alloc_array(PIECE, (size_t)job->dim * sizeof *x);
    if (!p || !x)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_npy_write_to(&w, CK_F32, 2, shape, NULL));
    for (int64_t from = 0; from < job->n; from += PIECE) {
        int64_t count = job->n - from < PIECE ? job->n - from : PIECE;
        CK_TRY(get(job, p, from, count, x));
        CK_TRY(ck_writer_write(&w, x, (size_t)(count * job->dim) * sizeof *x));
    }
    CK_TRY(ck_sums_commit(&w));
    *nbad = p->nbad;
done:
    ck_writer_abort(&w);
    ck_free(p);
    ck_free(x);
    return rc;
}
