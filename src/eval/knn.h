/* knn.h - classification by the k nearest neighbours, weighted by cosine similarity. */
#ifndef CK_KNN_H
#define CK_KNN_H

#include <stdint.h>

enum { CK_KNN_MAX_K = 8 }; /* values of k in one pass */

struct ck_knn_job {
    int dim;
    int32_t classes;
    const float *bank;         /* [nbank][dim] */
    const int32_t *bank_label; /* [nbank], 0..classes-1; rows with a negative one do not vote */
    int64_t nbank;
    const float *query;         /* [nquery][dim]; NULL = leave one out: every row of the bank is
                                 * asked, and does not vote for itself */
    const int32_t *query_label; /* [nquery], negative = not known; NULL = none is. Not used for
                                 * leave one out. */
    int64_t nquery;
    double temperature; /* a neighbour's vote is exp(similarity / temperature) */
    int nk;
    int64_t k[CK_KNN_MAX_K]; /* each >= 1; more than the bank has = all of it */
};

/* k = 20 and 200, temperature 0.07; the rest is 0. */
struct ck_knn_job ck_knn_job_default(void);

struct ck_knn_result {
    int64_t asked; /* queries with a known label */
    int64_t right[CK_KNN_MAX_K];
    double accuracy[CK_KNN_MAX_K]; /* right / asked; NaN if none was asked */
};

/* predicted [nk][nquery] (leave one out: [nk][nbank]) may be NULL; -1 where nobody voted. Rows
 * are normalised on the way; a zero vector is as far from everything; NaN and infinity are
 * COKE_ENUMERIC. Among equally similar rows the lower index is nearer, among classes with
 * equally many votes the lower one wins. The result has the same bits for any number of threads
 * and any instruction set. */
int ck_knn(const struct ck_knn_job *job, int32_t *predicted, struct ck_knn_result *out);

#endif
