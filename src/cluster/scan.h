/* scan.h - rows from a source in inner coordinates (frame.h), weighted and checked, in blocks on
 * any thread. */
#ifndef CK_SCAN_H
#define CK_SCAN_H

#include "cluster/frame.h"
#include "coke/types.h"
#include "core/rows.h"
#include "core/share.h"
#include "kernels/kernels.h"

#include <stdint.h>

struct ck_scan {
    struct coke_rows *rows; /* borrowed */
    const struct ck_kernels *kn;
    int ld;
    struct ck_frame frame;
    const double *weight; /* [n] or NULL, borrowed: rows are multiplied by it */
    double weight_scale;  /* so that the mean weight is 1 */
    double heaviest;      /* the largest scaled weight */
    double extent[2];     /* Euclidean: largest distance of a row, a center from the reference */
    double longest;       /* no score of a row and a center is larger in absolute value */
    uint8_t *bad;         /* [n / 8 + 1] bits, NULL = bad rows are errors */
    int64_t nbad;
};

/* Checks the weights. With skip_bad, reads all rows once, on all threads, to find those that
 * are not finite or, by cosine, zero. On failure there is nothing to release. */
int ck_scan_init(struct ck_scan *s, struct coke_rows *rows, const struct ck_kernels *kn,
                 const double *weight, int skip_bad, int metric);
void ck_scan_release(struct ck_scan *s);

/* Euclidean: chooses the frame from the rows, of which it reads all once (a stream: those that
 * it keeps). share: processes that divide this, NULL = none; collective. Cosine: nothing to do. */
int ck_scan_fit(struct ck_scan *s, const struct ck_share *share);
/* After the fit: widens the frame to a center [dim] that may be farther away than all rows. */
void ck_scan_cover(struct ck_scan *s, const float *center);
/* Uses the frame of a model, whose inner centers have at most length 1. With `range`, Euclidean
 * rows are all read once for s->longest, which only a repair needs. */
int ck_scan_use_frame(struct ck_scan *s, const struct ck_frame *frame, int range);

static inline int ck_scan_is_bad(const struct ck_scan *s, int64_t i)
{
    return s->bad && (s->bad[i >> 3] >> (i & 7) & 1);
}

/* Rows index[0..n-1] in inner coordinates, to x [n][ld]. An unusable row is an error that names
 * file and row. Thread-safe unless the source is one-pass. */
int ck_scan_get(const struct ck_scan *s, const int64_t *index, int n, float *x);

/* Weight of row i, scaled to a mean of 1. A weight of 0 becomes one in a million, so that the
 * row still has a direction and gets the label of its nearest center. */
static inline double ck_scan_weight(const struct ck_scan *s, int64_t i)
{
    if (!s->weight)
        return 1;
    double w = s->weight[i] * s->weight_scale;
    return w > 1e-6 ? w : 1e-6;
}

#endif
