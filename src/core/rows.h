/* rows.h - the interface of a source of vectors: any row, as f32, from any thread.
 *
 * io implements it for files and arrays, cluster reads it. The creator frees it. */
#ifndef CK_ROWS_H
#define CK_ROWS_H

#include <stdint.h>

struct coke_rows {
    int64_t n;
    int32_t dim;
    int one_pass; /* a stream: rows are read in ascending order, by one caller at a time; the
                   * first `head` rows stay readable in any order until row `head` is read */
    int64_t head;
    int64_t bytes;    /* of the data; decides how to shuffle */
    const char *name; /* of the source, for messages */
    const char *note; /* for the user, or "" */

    /* Copies rows index[0..n-1] to out [n][ld], ld >= dim; columns from dim on become 0. */
    int (*get)(struct coke_rows *r, const int64_t *index, int n, float *out, int ld);
    /* Prefetch hint: these rows are read soon. May be NULL. */
    void (*will_need)(struct coke_rows *r, int64_t first, int64_t n);
    /* Writes "FILE: row 17" (the row within its file) for errors. */
    void (*where)(const struct coke_rows *r, int64_t index, char *text, int size);
    /* One element as it is stored, before its conversion to f32, for errors. NULL: as get gives
     * it. */
    double (*value)(struct coke_rows *r, int64_t index, int32_t column);
    void (*free)(struct coke_rows *r);
};

#endif
