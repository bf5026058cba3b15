/* table.c - columns of numbers that grow by rows. */
#include "report/table.h"
#include "core/error.h"
#include "core/mem.h"

#include <string.h>

static int grow(struct ck_table *t, int columns)
{
    int64_t room = t->room ? 2 * t->room : 64;
    if (!t->column) {
        t->column = ck_calloc_array((size_t)columns, sizeof *t->column);
        if (!t->column)
            return COKE_ENOMEM;
        t->columns = columns;
    }
    for (int c = 0; c < columns; c++) {
        double *more = ck_realloc_array(t->column[c], (size_t)room, sizeof *more);
        if (!more)
            return COKE_ENOMEM;
        t->column[c] = more;
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
