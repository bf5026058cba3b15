/* api_files.c - public functions on rows and files. Writers leave a whole file or none, and
 * replace an existing one only with force. */
#include "api/check_args.h"
#include "core/mem.h"
#include "data/synthetic_vectors.h"
#include "io/file.h"
#include "io/info.h"
#include "io/npy.h"
#include "io/numbers.h"
#include "io/rows_file.h"
#if COKE_NN
#include "train/run_info.h"
#endif

/* ---- rows ---- */

int coke_rows_open(struct coke_rows **out, const char *const *paths, int npaths,
                   const struct coke_options *options)
{
    CK_ARGS_OUT(out);
    CK_ARGS(paths);
    if (npaths < 1)
        return ck_fail(COKE_EUSAGE, "no input file");
    for (int i = 0; i < npaths; i++)
        CK_ARGS(paths[i]);
    CK_OPTIONS(o, rows, options);
    return ck_rows_open(out, paths, npaths, o);
}

/* x is borrowed: it must outlive the rows. */
int coke_rows_from_array(struct coke_rows **out, const float *x, int64_t n, int32_t dim)
{
    CK_ARGS_OUT(out);
    CK_ARGS(x);
    return ck_rows_from_array(out, x, n, dim);
}

int coke_rows_from_memory(struct coke_rows **out, const struct coke_memory *m)
{
    struct coke_memory full;
    CK_ARGS_OUT(out);
    CK_ARGS(m);
    CK_READ(full, m);
    CK_ARGS(full.data);
    return ck_rows_from_memory(out, &full);
}

void coke_rows_free(struct coke_rows *rows)
{
    ck_rows_free(rows);
}

int64_t coke_rows_count(const struct coke_rows *rows)
{
    return rows ? rows->n : 0;
}

int32_t coke_rows_dim(const struct coke_rows *rows)
{
    return rows ? rows->dim : 0;
}

int coke_rows_read(struct coke_rows *rows, const int64_t *index, int64_t n, float *out)
{
    CK_ARGS(rows, index, out);
    return ck_rows_read(rows, index, n, out);
}

const char *coke_rows_note(const struct coke_rows *rows)
{
    return rows ? rows->note : "";
}

/* ---- numbers and arrays: loaded ones are freed with the matching _free ---- */

int coke_numbers_load(const char *path, double **out, int64_t *n)
{
    CK_ARGS_OUT(out);
    CK_ARGS(path, n);
    return ck_numbers_load(path, out, n);
}

void coke_numbers_free(double *numbers)
{
    ck_free(numbers);
}

int coke_counts_load(const char *path, int64_t **out, int64_t *n)
{
    CK_ARGS_OUT(out);
    CK_ARGS(path, n);
    return ck_counts_load(path, out, n);
}

void coke_counts_free(int64_t *counts)
{
    ck_free(counts);
}

/* Empty arrays may be NULL; so in the writers below. */
int coke_npy_write_i32(const char *path, const int32_t *x, int64_t n, int force)
{
    CK_ARGS(path);
    if (n)
        CK_ARGS(x);
    return ck_npy_write_single(path, CK_I32, 1, &n, x, force);
}

int coke_npy_write_i64(const char *path, const int64_t *x, int64_t n, int force)
{
    CK_ARGS(path);
    if (n)
        CK_ARGS(x);
    return ck_npy_write_single(path, CK_I64, 1, &n, x, force);
}

int coke_npy_write_f32(const char *path, const float *x, int64_t rows, int64_t cols, int force)
{
    const int64_t shape[2] = {rows, cols};
    CK_ARGS(path);
    if (rows && cols)
        CK_ARGS(x);
    return ck_npy_write_single(path, CK_F32, 2, shape, x, force);
}

int coke_file_write(const char *path, const void *bytes, size_t size, int force)
{
    CK_ARGS(path);
    if (size)
        CK_ARGS(bytes);
    return ck_file_write(path, bytes, size, force);
}

int coke_info_print(const char *path, int json, FILE *to)
{
    CK_ARGS(path, to);
#if COKE_NN
    if (ck_run_info_is(path))
        return ck_run_info_print(path, json, to);
#endif
    return ck_info_print(path, NULL, json, to);
}

int coke_info_print_rows(const char *path, const struct coke_options *options, int json,
                         FILE *to)
{
    CK_ARGS(path, to);
    CK_OPTIONS(o, rows, options);
    if (!o->raw || !o->raw[0])
        return coke_info_print(path, json, to);
    return ck_info_print(path, o->raw, json, to);
}

/* ---- built-in data ---- */

int coke_synthetic_fill(float *x, int64_t n, int32_t dim, int32_t clusters, uint64_t seed)
{
    CK_ARGS(x);
    return ck_synthetic_fill(x, n, dim, clusters, seed);
}
