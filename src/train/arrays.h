/* arrays.h - the arrays that a method keeps, released together. */
#ifndef CK_ARRAYS_H
#define CK_ARRAYS_H

#include <stddef.h>

enum { CK_ARRAYS = 12 };

/* Zeros = none yet. */
struct ck_arrays {
    void *block[CK_ARRAYS];
    int n;
    int failed; /* an array could not be made */
};

/* A new array of zeros; NULL = no memory. */
double *ck_arrays_doubles(struct ck_arrays *a, size_t n);
float *ck_arrays_floats(struct ck_arrays *a, size_t n);
/* COKE_OK if there was memory for all of them. */
int ck_arrays_status(const struct ck_arrays *a);
void ck_arrays_release(struct ck_arrays *a);

#endif
