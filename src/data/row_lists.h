/* row_lists.h - what users know about the rows of a clustering: a name and a class per row. */
#ifndef CK_ROW_LISTS_H
#define CK_ROW_LISTS_H

#include "data/names.h"

/* Appends one name per row to out: line i of a text file is the name of row i. A file that has
 * not exactly n lines is COKE_EFORMAT. */
int ck_row_names_load(struct ck_names *out, const char *path, int64_t n);

/* The class of each row. Zeroed = none; owns its arrays. */
struct ck_row_classes {
    int32_t *class;       /* [n] 0..classes-1, -1 = unknown */
    int32_t classes;      /* that occur */
    struct ck_names name; /* [classes] */
};

/* A text file with a class per line, in which an empty line is unknown, or a one-dimensional .npy
 * of whole numbers, in which a negative number is unknown. Classes are numbered in the order of
 * their names: numbers by value, before words. n lines or numbers are needed, and at least one
 * that is known. */
int ck_row_classes_load(struct ck_row_classes *out, const char *path, int64_t n);
void ck_row_classes_release(struct ck_row_classes *c);

#endif
