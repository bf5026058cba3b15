/* spool_columns.c - an array in column order (Fortran's, which pandas saves) as rows in a
 * temporary file.
 *
 * Reading single rows from columns would touch a page per element; this reads the file once, a
 * block of rows at a time. */
#include "io/spool.h"
#include "core/error.h"
#include "core/guard.h"
#include "core/mem.h"

enum { BLOCK = 16 << 20, TILE = 32 }; /* bytes per block; rows per tile */

struct columns {
    const unsigned char *data; /* [dim][n] */
    int64_t n;
    int32_t dim;
    size_t size;
    int64_t first, rows; /* the block */
    unsigned char *out;  /* [rows][dim] */
};

/* Transposes rows [i, end) of the block. The types only move: any of the same size will do. */
#define TURN(type)                                                                             \
    do {                                                                                       \
        const unsigned char *from = c->data + (size_t)(c->first + i) * sizeof(type);           \
        type *to = (type *)(void *)c->out + i * c->dim;                                        \
        for (int32_t j = 0; j < c->dim; j++, from += (size_t)c->n * sizeof(type))              \
            for (int64_t r = 0; r < end - i; r++)                                              \
                __builtin_memcpy(&to[r * c->dim + j], from + (size_t)r * sizeof(type),         \
                                 sizeof(type));                                                \
    } while (0)

/* Called by ck_guard_call: holds nothing. A tile at a time, so that the rows written stay in the
 * cache. */
static int turn_block(void *arg)
{
    const struct columns *c = arg;
    for (int64_t i = 0; i < c->rows; i += TILE) {
        int64_t end = i + TILE < c->rows ? i + TILE : c->rows;
        if (c->size == 1)
            TURN(uint8_t);
        else if (c->size == 2)
            TURN(uint16_t);
        else if (c->size == 4)
            TURN(uint32_t);
        else
            TURN(uint64_t);
    }
    return COKE_OK;
}

int ck_spool_columns(struct ck_map *out, const char *name, const unsigned char *data, int64_t n,
                     int32_t dim, size_t size, struct ck_spooled *all)
{
    struct columns c = {.data = data, .n = n, .dim = dim, .size = size};
    struct ck_spool spool = {0};
    size_t row = (size_t)dim * size;
    int64_t most = row < BLOCK ? (int64_t)(BLOCK / row) : 1;
    int rc = COKE_OK;
    *out = (struct ck_map){0};
    c.out = ck_alloc_array((size_t)(most < n ? most : n), row);
    if (!c.out)
        CK_LEAVE(COKE_ENOMEM);
    CK_TRY(ck_spool_open(&spool, all->dir));
    for (c.first = 0; c.first < n; c.first += c.rows) {
        c.rows = most < n - c.first ? most : n - c.first;
        rc = ck_guard_call(turn_block, &c);
        if (rc == COKE_EIO)
            ck_fail_prefix(rc, "%s: ", name);
        CK_TRY(rc);
        CK_TRY(ck_spool_write(&spool, c.out, (size_t)c.rows * row));
    }
    CK_TRY(ck_spool_map(&spool, out, all, name, "its columns come first (Fortran order)"));
done:
    ck_spool_close(&spool);
    ck_free(c.out);
    return rc;
}
