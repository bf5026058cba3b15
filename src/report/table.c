/* table.c - a growing table of numbers, stored by column. */
#include "report/table.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"

#include <string.h>

/* Makes room for one more row. If a column cannot grow, t->room stays, so that the table
 * remains valid. */
static int grow(struct ck_table *t, int columns)
{
    int64_t room = t->room;
    if (!t->column) {
        t->column = ck_calloc_array((size_t)columns, sizeof *t->column);
        if (!t->column)
            return COKE_ENOMEM;
        t->columns = columns;
    }
    for (int c = 0; c < columns; c++) {
        room = t->room; /* CK_VEC_RESERVE raises it alike for each column */
        CK_RETURN_IF(CK_VEC_RESERVE(t->column[c], room, t->rows + 1));
    }
    t->room = room;
    return COKE_OK;
}

int ck_table_add(struct ck_table *t, const double *row, int columns)
{
    int rc = t->rows < t->room ? COKE_OK : grow(t, columns);
    if (rc)
        return rc;
    for (int c = 0; c < columns; c++)
        t->column[c][t->rows] = row[c];
    t->rows++;
    return COKE_OK;
}

void ck_table_release(struct ck_table *t)
{
    for (int c = 0; c < t->columns; c++)
        ck_free(t->column[c]);
    ck_free(t->column);
    memset(t, 0, sizeof *t);
}
