/* table.h - a growing table of numbers, stored by column. */
#ifndef CK_TABLE_H
#define CK_TABLE_H

#include <stdint.h>

/* Zeroed = empty. Owns its columns. */
struct ck_table {
    int columns;
    int64_t rows, room; /* used and allocated rows */
    double **column;    /* [columns][rows] */
};

/* Appends row [columns]; `columns` must be the same in all calls. */
int ck_table_add(struct ck_table *t, const double *row, int columns);
void ck_table_release(struct ck_table *t);

#endif
