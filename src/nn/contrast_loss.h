/* contrast_loss.h - losses that find the right vector among many, with their gradients.
 *
 * Arrays are [rows][dim] of double, unit vectors. The same bytes for any number of threads. */
#ifndef CK_CONTRAST_LOSS_H
#define CK_CONTRAST_LOSS_H

#include <stdint.h>

struct ck_contrast {
    const double *row;    /* [n][dim] */
    const double *column; /* [m][dim] */
    int64_t n, m;
    int dim;
    double temperature;
};

/* Doubles of scratch that the losses below need at once. */
int64_t ck_contrast_scratch(int64_t m);

/* MoCo: row i finds key [n][dim] i among that key and all columns, which are a queue. The mean over
 * rows of the cross-entropy of the cosines over the temperature. grad [n][dim] is with respect to
 * the rows; keys and queue are constants. */
double ck_queue_loss(const struct ck_contrast *c, const double *key, double *scratch,
                     double *grad);

/* Row i finds column first + i among all columns: the same mean. Either gradient may be NULL: by
 * the rows [n][dim], by the columns [m][dim]. */
double ck_match_loss(const struct ck_contrast *c, int64_t first, double *scratch,
                     double *grad_row, double *grad_column);

/* MoCo-v3, one direction: the same times 2 T, as published. grad [n][dim] is by the rows. */
double ck_mocov3_loss(const struct ck_contrast *c, int64_t first, double *scratch,
                      double *grad);

/* index [n]: the column with the largest product with each row, the first of equal ones. Rows and
 * columns have length 1; the temperature is not used. Searches in f32 and compares those that may be
 * nearest in double. scratch: doubles of ck_nearest_scratch. */
int ck_nearest_column(const struct ck_contrast *c, double *scratch, int64_t *index);
int64_t ck_nearest_scratch(int64_t m, int64_t dim);

#endif
