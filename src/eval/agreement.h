/* agreement.h - how well a clustering agrees with known classes: ACC, NMI, ARI, purity. */
#ifndef CK_AGREEMENT_H
#define CK_AGREEMENT_H

#include <stdint.h>

struct ck_agreement {
    int64_t n;       /* samples with both a class and a cluster; 0: everything below is NaN */
    double accuracy; /* best one-to-one matching; samples of unmatched clusters are wrong */
    double many_to_one; /* every cluster stands for its most frequent class */
    double nmi;         /* mutual information over the mean of the two entropies */
    double ari;         /* adjusted Rand index */
};

/* truth [n] in 0..classes-1 and labels [n] in 0..clusters-1; samples where one of them is
 * negative (not known) are left out. Numbers that do not occur are fine. As scikit-learn has
 * it, one class and one cluster give NMI = ARI = 1, one of them alone 0. Time: n + min^2 * max
 * of classes and clusters; memory: 8 bytes * classes * clusters. */
int ck_agreement(const int32_t *truth, const int32_t *labels, int64_t n, int32_t classes,
                 int32_t clusters, struct ck_agreement *out);

/* The same for numbers from outside: those out of range are errors. */
int ck_agreement_checked(const int32_t *truth, const int32_t *labels, int64_t n,
                         int32_t classes, int32_t clusters, struct ck_agreement *out);

/* The parts, for those who show the table itself. */

/* count [classes][clusters] = samples of that class in that cluster. */
int ck_confusion(const int32_t *truth, const int32_t *labels, int64_t n, int32_t classes,
                 int32_t clusters, int64_t *count);

int ck_agreement_of_counts(const int64_t *count, int32_t classes, int32_t clusters,
                           struct ck_agreement *out);

/* match [clusters] = the class that each cluster is matched with so that most samples are
 * right, each class at most once; -1 = none. *right (may be NULL) = samples that are right. */
int ck_match(const int64_t *count, int32_t classes, int32_t clusters, int32_t *match,
             int64_t *right);

/* purity [clusters] = share of the most frequent class, NaN for an empty cluster; major
 * [clusters] = that class (the lowest of several), -1 for an empty cluster. Both may be NULL.
 */
void ck_purity(const int64_t *count, int32_t classes, int32_t clusters, double *purity,
               int32_t *major);

#endif
