/* rows_file.h - rows from files, from a pipe, or from memory. */
#ifndef CK_ROWS_FILE_H
#define CK_ROWS_FILE_H

#include "coke/types.h"
#include "core/rows.h"
#include "io/rows_options.h"

/* Joins files of equal dimension into one list of rows; paths may be patterns and folders
 * (io/rows_paths.h). Several threads may call get at the
 * same time, except on a one-pass stream. The caller frees *out with ck_rows_free; NULL on
 * failure. */
int ck_rows_open(struct coke_rows **out, const char *const *paths, int npaths,
                 const struct ck_rows_options *options);
/* Rows of a pipe, read once and in order (one_pass in core/rows.h). Takes ownership of fd, also
 * on failure. */
int ck_rows_open_stream(struct coke_rows **out, int fd, const char *name);
/* Both borrow the array, which must outlive the rows. */
int ck_rows_from_memory(struct coke_rows **out, const struct coke_memory *m);
int ck_rows_from_array(struct coke_rows **out, const float *x, int64_t n, int32_t dim);
/* Rows index [n] to out [n][dim]. */
int ck_rows_read(struct coke_rows *rows, const int64_t *index, int64_t n, float *out);
void ck_rows_free(struct coke_rows *rows);

#endif
