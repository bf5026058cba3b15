/* api_model.c - public functions of models: load, and label new rows. A model does not change
 * after loading, so several threads may use it. */
#include "api/check_args.h"
#include "cluster/model.h"
#include "core/mem.h"
#include "store/model_file.h"

_Static_assert((int)COKE_BAD_ERROR == (int)CK_BAD_ERROR &&
                   (int)COKE_BAD_SKIP == (int)CK_BAD_SKIP &&
                   (int)COKE_BAD_REPLACE == (int)CK_BAD_REPLACE,
               "enum coke_bad and enum ck_bad have the same values");

int coke_model_load(struct coke_model **out, const char *path)
{
    CK_ARGS_OUT(out);
    CK_ARGS(path);
    return ck_model_load(out, path);
}

/* The bytes are borrowed for the call. */
int coke_model_unpack(struct coke_model **out, const void *bytes, size_t size)
{
    CK_ARGS_OUT(out);
    CK_ARGS(bytes);
    return ck_model_unpack(out, bytes, size);
}

void coke_bytes_free(void *bytes)
{
    ck_free(bytes);
}

void coke_model_free(struct coke_model *m)
{
    ck_model_free(m);
}

int64_t coke_model_k(const struct coke_model *m)
{
    return m ? m->k : 0;
}

int32_t coke_model_dim(const struct coke_model *m)
{
    return m ? m->dim : 0;
}

int coke_model_save(const struct coke_model *m, const char *path, int force)
{
    CK_ARGS(m, path);
    return ck_model_save(m, path, force);
}

int coke_model_centers(const struct coke_model *m, float *out)
{
    CK_ARGS(m, out);
    ck_model_centers(m, out);
    return COKE_OK;
}

/* job and the callbacks in it are versioned structs of the caller: copies both, checks what they
 * must have, and lets all refer to cb. */
static int read_job(const char *function, const struct coke_assign_job *job,
                    struct coke_assign_job *all, struct coke_callbacks *cb)
{
    CK_RETURN_IF(ck_args_read(function, "job", all, sizeof *all, job));
    CK_RETURN_IF(ck_args_read(function, "job->callbacks", cb, sizeof *cb, all->callbacks));
    all->callbacks = cb;
    const void *const arg[] = {all->rows, all->labels};
    return job ? ck_args_check(function, "job->rows, job->labels", arg, 2) : COKE_OK;
}

int coke_model_assign(const struct coke_model *m, const struct coke_assign_job *job,
                      struct coke_head_summary *summary)
{
    struct coke_assign_job all;
    struct coke_callbacks cb;
    struct coke_head_summary full;
    CK_ARGS(m, job);
    CK_RETURN_IF(read_job(__func__, job, &all, &cb));
    CK_RESULT(full, summary);
    CK_RETURN_RESULT(summary, full, ck_model_assign(m, &all, &full));
}

int coke_kmeans_to_model(struct coke_model **out, const struct coke_kmeans *km,
                         const struct coke_assign_job *job, struct coke_head_summary *summary)
{
    struct coke_assign_job all;
    struct coke_callbacks cb;
    struct coke_head_summary full;
    CK_ARGS_OUT(out);
    CK_ARGS(km);
    CK_RETURN_IF(read_job(__func__, job, &all, &cb));
    CK_RESULT(full, summary);
    CK_RETURN_RESULT(summary, full, ck_model_from_kmeans(out, km, job ? &all : NULL, &full));
}
