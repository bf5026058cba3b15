/* table.h - columns of numbers that grow by rows. */
#ifndef CK_TABLE_H
#define CK_TABLE_H

#include <stdint.h>

/* Zeroed = empty. */
struct ck_table {
    int columns;
    int64_t rows, room;
    double **column; /* [columns][rows] */
};

/* row [columns]; all rows have as many. */
int ck_table_add(struct ck_table *t, const double *row, int columns);
void ck_table_release(struct ck_table *t);

#endif
