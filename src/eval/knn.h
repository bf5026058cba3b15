/* knn.h - k-nearest-neighbor classification, weighted by cosine similarity. */
#ifndef CK_KNN_H
#define CK_KNN_H

#include <stdint.h>

enum { CK_KNN_MAX_K = 8 }; /* values of k evaluated together */

/* All pointers are borrowed. */
struct ck_knn_job {
    int dim;
    int32_t classes;
    const float *bank;         /* [nbank][dim] */
    const int32_t *bank_label; /* [nbank], 0..classes-1; rows with a negative one do not vote */
    int64_t nbank;
    const float *query;         /* [nquery][dim]; NULL = leave one out (see ck_knn) */
    const int32_t *query_label; /* [nquery], negative or NULL = unknown */
    int64_t nquery;
    double temperature; /* a neighbor's vote is exp(similarity / temperature) */
    int nk;
    int64_t k[CK_KNN_MAX_K]; /* each >= 1; larger than the bank = all of it */
    /* [queries][k[0]] out: rows of the nearest, nearest first, -1 where there are fewer; or
     * NULL. */
    int32_t *nearest;
};

/* k = 20 and 200, temperature 0.07; everything else is 0. */
struct ck_knn_job ck_knn_job_default(void);

struct ck_knn_result {
    int64_t asked; /* queries with a known label */
    int64_t right[CK_KNN_MAX_K];
    double accuracy[CK_KNN_MAX_K]; /* right / asked; NaN if asked is 0 */
};

/* Leave one out: every row of the bank is a query that does not vote for itself, and
 * query_label is ignored. predicted [nk][nquery] (leave one out: [nk][nbank]) may be NULL; -1
 * where no row voted. Rows are normalized internally; a zero vector is equally far from
 * everything; NaN and infinity are COKE_ENUMERIC. Among equally similar rows the lower index is
 * nearer, among classes with equal votes the lower one wins. Uses all threads; the result is
 * bitwise the same for any number of threads and any instruction set. */
int ck_knn(const struct ck_knn_job *job, int32_t *predicted, struct ck_knn_result *out);

#endif
