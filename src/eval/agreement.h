/* agreement.h - agreement of a clustering with known classes: accuracy, NMI, ARI, purity.
 *
 * Pure functions of their arguments, in the calling thread: safe from any thread. */
#ifndef CK_AGREEMENT_H
#define CK_AGREEMENT_H

#include <stdint.h>

struct ck_agreement {
    int64_t n;          /* samples with both a class and a cluster; 0: the rest is NaN */
    double accuracy;    /* best one-to-one matching; unmatched clusters count as wrong */
    double many_to_one; /* every cluster counts as its most frequent class */
    double nmi;         /* mutual information over the mean of the two entropies */
    double ari;         /* adjusted Rand index */
};

/* truth [n] in 0..classes-1 and labels [n] in 0..clusters-1; samples with a negative value in
 * either (unknown) are skipped. Numbers that do not occur are allowed. As in scikit-learn, a
 * single class and a single cluster give NMI = ARI = 1, only one of them single gives 0. Time:
 * n + min^2 * max of classes and clusters; memory: 8 bytes * classes * clusters. */
int ck_agreement(const int32_t *truth, const int32_t *labels, int64_t n, int32_t classes,
                 int32_t clusters, struct ck_agreement *out);

/* The same for data from outside the library: numbers out of range are errors. */
int ck_agreement_checked(const int32_t *truth, const int32_t *labels, int64_t n,
                         int32_t classes, int32_t clusters, struct ck_agreement *out);

/* The parts, for the report, which shows the table itself. */

/* count [classes][clusters] = samples of that class in that cluster; allocated by the
 * caller. */
int ck_confusion(const int32_t *truth, const int32_t *labels, int64_t n, int32_t classes,
                 int32_t clusters, int64_t *count);

int ck_agreement_of_counts(const int64_t *count, int32_t classes, int32_t clusters,
                           struct ck_agreement *out);

/* match [clusters] = the class assigned to each cluster so that most samples are right, each
 * class at most once; -1 = none. *right (may be NULL) = samples that are right. */
int ck_match(const int64_t *count, int32_t classes, int32_t clusters, int32_t *match,
             int64_t *right);

/* purity [clusters] = fraction of the most frequent class, NaN for an empty cluster; major
 * [clusters] = that class (the lowest of several), -1 for an empty cluster. Both may be
 * NULL. */
void ck_purity(const int64_t *count, int32_t classes, int32_t clusters, double *purity,
               int32_t *major);

#endif
