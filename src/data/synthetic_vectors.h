/* synthetic_vectors.h - unit vectors in clusters of very different sizes. */
#ifndef CK_SYNTHETIC_VECTORS_H
#define CK_SYNTHETIC_VECTORS_H

#include <stdint.h>

/* Fills x [n][dim], a function of the seed. */
int ck_synthetic_fill(float *x, int64_t n, int32_t dim, int32_t clusters, uint64_t seed);

#endif
