/* api_files.c - public functions on rows, options and files: check arguments, call io. */
#include "coke.h"
#include "core/error.h"
#include "core/mem.h"
#include "io/file.h"
#include "io/info.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/numbers.h"
#include "io/rows_file.h"

static int fail_null(const char *function)
{
    return ck_fail(COKE_EUSAGE, "%s: an argument is NULL", function);
}

/* ---- rows ---- */

int coke_rows_open(struct coke_rows **out, const char *const *paths, int npaths,
                   const struct ck_rows_options *options)
{
    if (!out || !paths)
        return fail_null(__func__);
    *out = NULL;
    if (npaths < 1)
        return ck_fail(COKE_EUSAGE, "no input file");
    for (int i = 0; i < npaths; i++)
        if (!paths[i])
            return fail_null(__func__);
    return ck_rows_open(out, paths, npaths, options);
}

int coke_rows_from_array(struct coke_rows **out, const float *x, int64_t n, int32_t dim)
{
    if (!out || !x)
        return fail_null(__func__);
    return ck_rows_from_array(out, x, n, dim);
}

void coke_rows_free(struct coke_rows *rows)
{
    ck_rows_free(rows);
}

int64_t coke_rows_count(const struct coke_rows *rows)
{
    return rows->n;
}

int32_t coke_rows_dim(const struct coke_rows *rows)
{
    return rows->dim;
}

const char *coke_rows_note(const struct coke_rows *rows)
{
    return rows->note;
}

/* ---- numbers and arrays ---- */

int coke_numbers_load(const char *path, double **out, int64_t *n)
{
    if (!path || !out || !n)
        return fail_null(__func__);
    return ck_numbers_load(path, out, n);
}

void coke_numbers_free(double *numbers)
{
    ck_free(numbers);
}

int coke_npy_write_i32(const char *path, const int32_t *x, int64_t n, int force)
{
    if (!path || (!x && n))
        return fail_null(__func__);
    return ck_npy_write(path, CK_I32, 1, &n, x, force);
}

int coke_npy_write_f32(const char *path, const float *x, int64_t rows, int64_t cols, int force)
{
    const int64_t shape[2] = {rows, cols};
    if (!path || (!x && rows && cols))
        return fail_null(__func__);
    return ck_npy_write(path, CK_F32, 2, shape, x, force);
}

int coke_file_write(const char *path, const void *bytes, size_t size, int force)
{
    struct ck_writer w = {0};
    int rc = COKE_OK;
    if (!path || (!bytes && size))
        return fail_null(__func__);
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_writer_write(&w, bytes, size));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    return rc;
}

int coke_info_print(const char *path, int json, FILE *to)
{
    if (!path || !to)
        return fail_null(__func__);
    return ck_info_print(path, json, to);
}
