/* rows_settle.c - copies rows that cannot be read where they are to a temporary file. */
#include "io/rows_part.h"
#include "core/error.h"
#include "core/mem.h"

/* Bytes pulled at a time, more if one unit of the source is larger; units beyond UNIT_MAX, whose
 * size is only what the file says, are pulled in pieces of a row or more. */
enum { BLOCK = 8 << 20, UNIT_MAX = 1 << 28 };

static int pull_all(struct ck_part *p, struct ck_spool *to)
{
    int rc = COKE_OK;
    int64_t row = (int64_t)p->vecs.stride, all = p->vecs.n * row;
    int64_t unit = p->source.unit < UNIT_MAX ? p->source.unit : row;
    int64_t most = unit < BLOCK ? BLOCK / unit * unit : unit;
    most = most < all ? most : all;
    unsigned char *block = ck_alloc_array((size_t)most, 1);
    if (!block)
        return COKE_ENOMEM;
    for (int64_t at = 0; at < all; at += most) {
        size_t n = (size_t)(most < all - at ? most : all - at);
        CK_TRY(p->source.pull(p->source.from, p->name, block, n));
        CK_TRY(ck_spool_write(to, block, n));
    }
    if (p->source.end)
        CK_TRY(p->source.end(p->source.from, p->name));
done:
    ck_free(block);
    return rc;
}

/* The new map takes the place of the old one. */
static void replace_map(struct ck_part *p, struct ck_map map, enum ck_layout layout)
{
    if (p->source.from)
        p->source.free(p->source.from);
    p->source = (struct ck_part_source){0};
    ck_map_release(&p->map);
    p->map = map;
    p->data = map.data;
    p->layout = layout;
}

static int settle_source(struct ck_part *p, struct ck_spooled *all)
{
    struct ck_spool spool = {0};
    struct ck_map map = {0};
    int rc = COKE_OK;
    CK_TRY(ck_spool_open(&spool, all->dir));
    CK_TRY(ck_spool_room(&spool, p->name, p->vecs.n * (int64_t)p->vecs.stride));
    CK_TRY(pull_all(p, &spool));
    CK_TRY(ck_spool_map(&spool, &map, all, p->name, "it is compressed or in pieces"));
    replace_map(p, map, p->source.columns ? CK_LAYOUT_COLUMNS : CK_LAYOUT_ROWS);
done:
    ck_spool_close(&spool);
    return rc;
}

static int settle_columns(struct ck_part *p, struct ck_spooled *all)
{
    struct ck_map map;
    CK_RETURN_IF(ck_spool_columns(&map, p->name, p->data, p->vecs.n, p->vecs.dim,
                                  ck_dtype_size(p->dtype), all));
    replace_map(p, map, CK_LAYOUT_ROWS);
    return COKE_OK;
}

int ck_part_settle(struct ck_part *p, struct ck_spooled *all)
{
    if (p->layout == CK_LAYOUT_SOURCE)
        CK_RETURN_IF(settle_source(p, all));
    /* A single row or column is the same in both orders. */
    if (p->layout == CK_LAYOUT_COLUMNS && (p->vecs.n == 1 || p->vecs.dim == 1))
        p->layout = CK_LAYOUT_ROWS;
    return p->layout == CK_LAYOUT_COLUMNS ? settle_columns(p, all) : COKE_OK;
}
