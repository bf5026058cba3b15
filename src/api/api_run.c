/* api_run.c - public functions of trained encoders: open, embed, assign. The files of a run are
 * only read, so that it may still be training. */
#include "api/check_args.h"
#include "train/run_images.h"

int coke_run_is(const char *path)
{
    return path ? ck_use_is_run(path) : 0;
}

int coke_run_open(struct coke_run **out, const char *path, const struct coke_options *options)
{
    CK_ARGS_OUT(out);
    CK_ARGS(path);
    CK_OPTIONS(o, use, options);
    return ck_use_new(out, path, o);
}

void coke_run_free(struct coke_run *r)
{
    ck_use_free(r);
}

const char *coke_run_weights(const struct coke_run *r)
{
    return r ? r->r.weights : "";
}

int64_t coke_run_epoch(const struct coke_run *r)
{
    return r ? r->r.epoch : -1;
}

int32_t coke_run_channels(const struct coke_run *r)
{
    return r ? (int32_t)r->r.encoder.o.channels : 0;
}

int32_t coke_run_image_size(const struct coke_run *r, struct coke_dataset *d)
{
    return r && d ? ck_use_image_size(r, d) : 0;
}

int coke_run_heads(const struct coke_run *r)
{
    return r ? r->r.heads : 0;
}

int64_t coke_run_k(const struct coke_run *r, int head)
{
    return r ? ck_use_clusters(r, head) : 0;
}

int64_t coke_run_images(const struct coke_run *r)
{
    return r ? ck_use_images(r) : 0;
}

int coke_run_labels(const struct coke_run *r, int head, int32_t *labels)
{
    CK_ARGS(r, labels);
    return ck_run_labels(r, head, labels);
}

int coke_run_match(const struct coke_run *r, int32_t classes)
{
    return r ? ck_use_match(r, classes) : -1;
}

/* Rows are written as they are computed: memory does not grow with the data set. */
int coke_run_embed(struct coke_run *r, struct coke_dataset *d, enum coke_output output,
                   const char *path, int force, const struct coke_callbacks *callbacks,
                   struct coke_embed_summary *out)
{
    struct coke_callbacks cb;
    struct coke_embed_summary full;
    CK_ARGS(r, d, path, out);
    CK_READ(cb, callbacks);
    CK_RESULT(full, out);
    CK_RETURN_RESULT(out, full, ck_run_embed(r, d, output, path, force, &cb, &full));
}

/* cluster [count of d]; similarity and margin [count of d] may be NULL. */
int coke_run_assign(struct coke_run *r, struct coke_dataset *d, int head,
                    const struct coke_callbacks *callbacks, int32_t *cluster, float *similarity,
                    float *margin)
{
    struct coke_callbacks cb;
    CK_ARGS(r, d, cluster);
    CK_READ(cb, callbacks);
    return ck_run_assign(r, d, head, &cb, cluster, similarity, margin);
}
