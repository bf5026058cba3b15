/* frame.h - the inner coordinates, in which every score is a dot product of a row and a center.
 *
 * Cosine: rows and centers are unit vectors; a row of weight w is w x. Euclidean, with a
 * reference m and a unit u:
 *
 *     row w (u (x - m), 1),   center (u (c - m), -|u (c - m)|^2 / 2)
 *
 * Their dot product, w u^2 (|x - m|^2 - |x - c|^2) / 2, is highest for the nearest center, and
 * the last column of a sum of rows is the sum of their weights. Distances do not depend on m;
 * subtracting it keeps rows that are far from the origin and near to each other from cancelling
 * in f32. u is a power of two, so that labels do not depend on it either; it makes lengths
 * comparable to those of unit vectors. */
#ifndef CK_FRAME_H
#define CK_FRAME_H

#include "cluster/assign.h"
#include "coke/types.h"
#include "kernels/kernels.h"

#include <stdint.h>

struct ck_frame {
    int32_t metric; /* enum coke_metric */
    int dim;        /* columns of the data */
    int ld;         /* floats per inner vector: padded, with the last column if Euclidean */
    float unit;
    float reach;      /* no row is longer than this in inner coordinates; 0 = any length */
    float *reference; /* [ld] m, zeros for cosine; owned */
};

/* The largest number that Euclidean rows and centers may contain: sums of squares stay finite. */
#define CK_FRAME_LARGEST 1e15f
/* Limit of rows against the spread of the centers, or the first rows, that fixed the unit before
 * all rows were known: sums in fixed point have room for it (kmeans.c). */
#define CK_FRAME_REACH 4096.0f

/* Zero reference and unit 1. On failure there is nothing to release. */
int ck_frame_init(struct ck_frame *f, int metric, int dim);
void ck_frame_release(struct ck_frame *f);
/* Makes f, initialised with the same metric and dim, equal to from. */
void ck_frame_copy(struct ck_frame *f, const struct ck_frame *from);
int ck_frame_equal(const struct ck_frame *a, const struct ck_frame *b);

/* Sets the reference to about the mean [dim] of rows that are up to `spread` away from each
 * other. It is rounded to few bits, so that x - m is exact where x has few bits, too, such as
 * integers, and ties stay ties. */
void ck_frame_set_reference(struct ck_frame *f, const double *mean, double spread);
/* Sets the unit so that vectors of length `longest` get a length within (1/2, 1]. */
void ck_frame_set_unit(struct ck_frame *f, double longest);
/* Both from centers [k][dim]. */
int ck_frame_fit_centers(struct ck_frame *f, const float *centers, int64_t k);

/* Scores in data units per score in inner coordinates: 1 / u^2. Duals and prices scale with
 * it. */
double ck_frame_scale(const struct ck_frame *f);

/* Rows and centers, from data to inner coordinates: in place, x [ld] with zeros from dim on.
 * Returns 0 if the row is unusable: not finite, zero (cosine), or too long (Euclidean). */
int ck_frame_row(const struct ck_frame *f, const struct ck_kernels *kn, float *x, float weight);
/* Cosine: c stays as it is. Returns the first column that is not finite, or too large, or -1. */
int ck_frame_center(const struct ck_frame *f, const struct ck_kernels *kn, float *c);
/* Inner centers c whose columns moved: sets the last one (Euclidean), or the length to 1. */
void ck_frame_close(const struct ck_frame *f, const struct ck_kernels *kn, float *c);
/* c [ld] in data coordinates, out [dim]. */
void ck_frame_center_out(const struct ck_frame *f, const float *c, float *out);

/* w |x - c|^2 of an inner row and center, without cancellation; in inner units. */
double ck_frame_square(const struct ck_frame *f, const struct ck_kernels *kn, const float *x,
                       const float *c);

/* w |u (x - m)|^2 of an inner Euclidean row; cosine: 0. */
double ck_frame_row_square(const struct ck_frame *f, const struct ck_kernels *kn,
                           const float *x);
/* An inner center c as a row x [ld] of weight 1: its score with another center is highest for the
 * nearest. */
void ck_frame_center_row(const struct ck_frame *f, const float *c, float *x);

/* An assigner of inner centers [k][ld], which are borrowed. */
int ck_frame_assigner(struct ck_assigner **out, const struct ck_frame *f,
                      const struct ck_kernels *kn, const float *center, int64_t k);

#endif
