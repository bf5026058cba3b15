/* class_loss.h - losses of class scores (logits), in double: cross-entropy to labels, SCAN's
 * agreement of neighbors, and the information between two views (IIC).
 *
 * Gradients are overwritten. Nothing allocates. Equations: docs/networks.md, part 3. */
#ifndef CK_CLASS_LOSS_H
#define CK_CLASS_LOSS_H

#include <stdint.h>

/* p [n][c] = softmax of z; may be z. */
void ck_class_softmax(const double *z, int64_t n, int c, double *p);

/* The mean of weight[label] times the cross-entropy over the rows with a label, divided by their
 * weights' sum; rows of label -1 count nothing. weight [c], or NULL: all 1. No row: 0. */
double ck_label_cross_entropy(const double *z, int64_t n, int c, const int32_t *label,
                              const double *weight, double *grad);
/* label [n] = the largest score where its probability is above threshold, else -1. Returns their
 * number. p [n][c] is scratch. */
int64_t ck_confident_labels(const double *z, int64_t n, int c, double threshold, double *p,
                            int32_t *label);
/* weight [c] = labels in all / labels of the class; 1 for a class without. */
void ck_balance_classes(const int32_t *label, int64_t n, int c, double *weight);

/* The fraction of the rows with a label whose largest score is that of the label. */
double ck_class_accuracy(const double *z, int64_t n, int c, const int32_t *label);
/* The fraction of the rows whose largest scores in x and y agree. */
double ck_class_agreement(const double *x, const double *y, int64_t n, int c);

/* Doubles that the scratch of these two needs. */
int64_t ck_class_scratch(int64_t n, int c);
/* The mean of -log of the scalar product of both softmaxes, less weight times the entropy of the
 * mean softmax of x. x, y: scores of images and of their neighbors. */
double ck_scan_loss(const double *x, const double *y, int64_t n, int c, double weight,
                    double *scratch, double *grad_x, double *grad_y);
/* Minus the mutual information of the classes of x and y, two views of the same images. */
double ck_information_loss(const double *x, const double *y, int64_t n, int c, double *scratch,
                           double *grad_x, double *grad_y);

#endif
