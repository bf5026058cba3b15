/* rows.h - what a source of vectors offers: any row, as f32, from any thread. */
#ifndef CK_ROWS_H
#define CK_ROWS_H

#include <stdint.h>

struct coke_rows {
    int64_t n;
    int32_t dim;
    int one_pass; /* rows come in ascending order only, one caller at a time; the first
                   * `head` rows stay readable in any order until row `head` is asked for */
    int64_t head;
    int64_t bytes;    /* of the data, to choose how to shuffle */
    const char *name; /* of the source, for errors */
    const char *note; /* for the user, or "" */

    /* Copies rows index[0..n-1] to out [n][ld] (ld >= dim; the rest is set to 0). */
    int (*get)(struct coke_rows *r, const int64_t *index, int n, float *out, int ld);
    /* Says which rows come soon. May be NULL. */
    void (*will_need)(struct coke_rows *r, int64_t first, int64_t n);
    /* Writes "FILE: row 17" (the row within its file) for errors. */
    void (*where)(const struct coke_rows *r, int64_t index, char *text, int size);
    void (*free)(struct coke_rows *r);
};

#endif
