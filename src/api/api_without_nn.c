/* api_without_nn.c - a build without networks (COKE_NN=OFF): the functions on images and trainings
 * that the commands of clustering name. They find nothing, or fail with the reason; all others of
 * levels 3 and 4 are absent from such a library. */
#include "api/check_args.h"

static int fail_absent(void)
{
    return ck_fail(COKE_EUSAGE,
                   "this build of coke clusters vectors only; images and trainings "
                   "need one with COKE_NN=ON");
}

/* ---- data sets ---- */

int coke_dataset_open(struct coke_dataset **out, const char *source,
                      const struct coke_options *options)
{
    CK_ARGS_OUT(out);
    (void)source;
    (void)options;
    return fail_absent();
}

int coke_dataset_open_embedded(struct coke_dataset **out, const char *rows)
{
    return coke_dataset_open(out, rows, NULL);
}

void coke_dataset_free(struct coke_dataset *d)
{
    (void)d;
}

int64_t coke_dataset_count(const struct coke_dataset *d)
{
    (void)d;
    return 0;
}

int32_t coke_dataset_classes(const struct coke_dataset *d)
{
    (void)d;
    return 0;
}

void coke_dataset_name(const struct coke_dataset *d, int64_t i, char *text, size_t size)
{
    (void)d;
    (void)i;
    if (text && size)
        *text = 0;
}

const char *coke_dataset_note(const struct coke_dataset *d)
{
    (void)d;
    return "";
}

int coke_dataset_sort(struct coke_dataset *d, const int32_t *cluster, int32_t clusters,
                      const char *dir, enum coke_sort how,
                      const struct coke_callbacks *callbacks, struct coke_sort_summary *out)
{
    (void)d, (void)cluster, (void)clusters, (void)dir, (void)how, (void)callbacks, (void)out;
    return fail_absent();
}

/* ---- trainings ---- */

int coke_train_preset(struct coke_options *options, const char *name)
{
    (void)options, (void)name;
    return fail_absent();
}

int coke_run_is(const char *path)
{
    (void)path;
    return 0;
}

int coke_run_open(struct coke_run **out, const char *path, const struct coke_options *options)
{
    CK_ARGS_OUT(out);
    (void)path, (void)options;
    return fail_absent();
}

void coke_run_free(struct coke_run *r)
{
    (void)r;
}

int32_t coke_run_channels(const struct coke_run *r)
{
    (void)r;
    return 0;
}

int coke_run_heads(const struct coke_run *r)
{
    (void)r;
    return 0;
}

int64_t coke_run_k(const struct coke_run *r, int head)
{
    (void)r, (void)head;
    return 0;
}

int coke_run_match(const struct coke_run *r, int32_t classes)
{
    (void)r, (void)classes;
    return -1;
}

int coke_run_assign(struct coke_run *r, struct coke_dataset *d, int head,
                    const struct coke_callbacks *callbacks, int32_t *cluster, float *similarity,
                    float *margin)
{
    (void)r, (void)d, (void)head, (void)callbacks, (void)cluster, (void)similarity,
        (void)margin;
    return fail_absent();
}
