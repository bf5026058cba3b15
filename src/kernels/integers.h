/* integers.h - small functions of integers. Private to kernels. */
#ifndef CK_INTEGERS_H
#define CK_INTEGERS_H

#include <stdint.h>

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a >= 0, b > 0. */
static inline int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The largest whole number up to a / b, b > 0. */
static inline int64_t floor_divide(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -divide_up(-a, b);
}

#endif
