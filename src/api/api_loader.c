/* api_loader.c - public functions of loaders: batches of augmented views.
 *
 * The loader borrows the data set and runs its own worker threads; one thread at a time may call
 * these functions. */
#include "api/check_args.h"
#include "data/loader.h"

int coke_loader_new(struct coke_loader **out, struct coke_dataset *data,
                    const struct coke_options *options)
{
    CK_ARGS_OUT(out);
    CK_ARGS(data);
    CK_OPTIONS(o, loader, options);
    return ck_loader_new(out, data, o);
}

void coke_loader_free(struct coke_loader *l)
{
    ck_loader_free(l);
}

int64_t coke_loader_steps(const struct coke_loader *l)
{
    return l ? ck_loader_steps(l) : 0;
}

int coke_loader_seek(struct coke_loader *l, int64_t epoch, int64_t step)
{
    CK_ARGS(l);
    return ck_loader_seek(l, epoch, step);
}

/* The batch refers to the loader's memory until the next call. */
int coke_loader_next(struct coke_loader *l, struct coke_batch *out)
{
    struct coke_batch full;
    CK_ARGS(l, out);
    CK_RESULT(full, out);
    CK_RETURN_RESULT(out, full, ck_loader_next(l, &full));
}

double coke_loader_waited(const struct coke_loader *l)
{
    return l ? ck_loader_waited(l) : 0;
}

int64_t coke_loader_bytes(const struct coke_loader *l)
{
    return l ? ck_loader_bytes(l) : 0;
}

int64_t coke_loader_bad_count(const struct coke_loader *l)
{
    return l ? ck_loader_bad_count(l) : 0;
}

int64_t coke_loader_bad(const struct coke_loader *l, int64_t i, const char **sentence)
{
    if (sentence)
        *sentence = NULL;
    return l ? ck_loader_bad(l, i, sentence) : -1;
}
