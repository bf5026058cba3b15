/* kernels_vec_avx512.h - vectors of 16 floats (AVX-512) under the names that the kernels written
 * once per instruction set (kernels_*_simd.h) share. For kernels_*.c files of that set, which
 * include immintrin.h first. */
#ifndef CK_KERNELS_VEC_AVX512_H
#define CK_KERNELS_VEC_AVX512_H

#define INLINE static inline __attribute__((always_inline))
#define vec __m512
enum { LANES = 16 };

INLINE vec load(const float *p)
{
    return _mm512_loadu_ps(p);
}

INLINE void store(float *p, vec v)
{
    _mm512_storeu_ps(p, v);
}

/* Bypasses the caches; p is aligned. */
INLINE void stream(float *p, vec v)
{
    _mm512_stream_ps(p, v);
}

INLINE vec zero(void)
{
    return _mm512_setzero_ps();
}

INLINE vec all(float x)
{
    return _mm512_set1_ps(x);
}

INLINE vec add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

INLINE vec sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

INLINE vec mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

/* a b + c, rounded once. */
INLINE vec madd(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* The larger one; b if either is NaN or both are zeros. */
INLINE vec most(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

#endif
