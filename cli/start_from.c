/* start_from.c - where coke cluster starts: centers of a file, or a model to continue. */
#include "start_from.h"
#include "talk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int start_from_is_given(struct args *a)
{
    return args_file(a, "init") || args_text(a, "continue");
}

void start_from_release(struct start_from *s)
{
    free(s->centers);
    coke_model_free(s->model);
}

/* A folder or *.safetensors: the centers of a model; anything else has rows. */
static int is_model(const char *path)
{
    static const char end[] = ".safetensors";
    struct stat st;
    size_t n = strlen(path);
    return (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) ||
           (n >= sizeof end && strcmp(path + n - (sizeof end - 1), end) == 0);
}

/* The centers must have the rows' dimension. Their number is k, which may be given as well. */
static int check_shape(const char *path, int64_t k, int32_t dim, struct args *a,
                       const struct coke_rows *rows)
{
    int32_t given[COKE_MAX_HEADS];
    int heads = args_ints(a, "k", given);
    if (dim != coke_rows_dim(rows))
        return talk_fail(COKE_EUSAGE, "%s has %d columns, the rows to cluster %d", path, dim,
                         coke_rows_dim(rows));
    if (heads > 1)
        return talk_fail(COKE_EUSAGE, "%s: given centers need a single k, not %d of them", path,
                         heads);
    if (heads == 1 && given[0] != k)
        return talk_fail(COKE_EUSAGE, "%s has %lld centers, but -k is %d; leave -k out", path,
                         (long long)k, given[0]);
    int rc = coke_options_set_int(args_options(a, "cluster"), "k", k);
    return rc ? talk_fail_library(rc) : COKE_OK;
}

static int allocate(struct start_from *s, int64_t k, int32_t dim)
{
    s->centers = calloc((size_t)k, (size_t)dim * sizeof *s->centers);
    return s->centers ? COKE_OK : talk_fail(COKE_ENOMEM, "out of memory for the centers");
}

static int take_model_centers(struct start_from *s, const char *path, struct args *a,
                              const struct coke_rows *rows)
{
    struct coke_model *m;
    int rc = coke_model_load(&m, path);
    if (rc)
        return talk_fail_library(rc);
    int64_t k = coke_model_k(m);
    int32_t dim = coke_model_dim(m);
    rc = check_shape(path, k, dim, a, rows);
    if (!rc)
        rc = allocate(s, k, dim);
    if (!rc && coke_model_centers(m, s->centers))
        rc = talk_fail_library(COKE_EFAIL);
    coke_model_free(m);
    return rc;
}

static int take_row_centers(struct start_from *s, const char *path, struct args *a,
                            const struct coke_rows *rows)
{
    struct coke_rows *from;
    int rc = coke_rows_open(&from, &path, 1, NULL);
    if (rc)
        return talk_fail_library(rc);
    int64_t k = coke_rows_count(from);
    int32_t dim = coke_rows_dim(from);
    rc = check_shape(path, k, dim, a, rows);
    if (!rc)
        rc = allocate(s, k, dim);
    for (int64_t i = 0; i < k && !rc; i++)
        rc = coke_rows_read(from, &i, 1, s->centers + i * dim) ? talk_fail_library(COKE_EIO)
                                                               : COKE_OK;
    coke_rows_free(from);
    return rc;
}

/* The bounds of the model hold unless this call sets its own. A file of options sets all. */
static int keeps_bounds(struct args *a)
{
    return !args_given(a, "ratio") && !args_given(a, "max-ratio") && !args_text(a, "config") &&
           !args_text(a, "min-sizes") && !args_text(a, "max-sizes");
}

int start_from_open(struct start_from *s, struct args *a, const struct coke_rows *rows)
{
    const char *init = args_file(a, "init"), *model = args_text(a, "continue");
    if (init && model)
        return talk_fail(
            COKE_EUSAGE,
            "--init and --continue both set the initial centers; give one of them");
    if (init)
        return is_model(init) ? take_model_centers(s, init, a, rows)
                              : take_row_centers(s, init, a, rows);
    if (!model)
        return COKE_OK;
    int rc = coke_model_load(&s->model, model);
    if (rc)
        return talk_fail_library(rc);
    s->keep_bounds = keeps_bounds(a);
    return check_shape(model, coke_model_k(s->model), coke_model_dim(s->model), a, rows);
}
