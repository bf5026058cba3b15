/* kernels_vec_avx2.h - vectors of 8 floats (AVX2 + FMA) under the names that the kernels written
 * once per instruction set (kernels_*_simd.h) share. For kernels_*.c files of that set, which
 * include immintrin.h first. */
#ifndef CK_KERNELS_VEC_AVX2_H
#define CK_KERNELS_VEC_AVX2_H

#define INLINE static inline __attribute__((always_inline))
#define vec __m256
enum { LANES = 8 };

INLINE vec load(const float *p)
{
    return _mm256_loadu_ps(p);
}

INLINE void store(float *p, vec v)
{
    _mm256_storeu_ps(p, v);
}

/* Bypasses the caches; p is aligned. */
INLINE void stream(float *p, vec v)
{
    _mm256_stream_ps(p, v);
}

INLINE vec zero(void)
{
    return _mm256_setzero_ps();
}

INLINE vec all(float x)
{
    return _mm256_set1_ps(x);
}

INLINE vec add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

INLINE vec sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

INLINE vec mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

/* a b + c, rounded once. */
INLINE vec madd(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* The larger one; b if either is NaN or both are zeros. */
INLINE vec most(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

#endif
