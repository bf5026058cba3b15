/* order.c - which row is visited when. */
#include "cluster/order.h"

enum ck_shuffle ck_shuffle_resolve(enum ck_shuffle mode, int64_t bytes)
{
    if (mode != CK_SHUFFLE_AUTO)
        return mode;
    return bytes <= (int64_t)4 << 30 ? CK_SHUFFLE_FULL : CK_SHUFFLE_BLOCK;
}

/* Permutations are computed per element, not stored: O(1) memory for any n. */
void ck_order_init(struct ck_order *o, enum ck_shuffle mode, uint64_t seed, uint64_t epoch,
                   uint64_t n)
{
    *o = (struct ck_order){.mode = mode, .seed = seed, .epoch = epoch, .n = n};
    if (mode == CK_SHUFFLE_FULL)
        ck_perm_init(&o->rows, seed, CK_RNG_ORDER, epoch, n);
    if (mode == CK_SHUFFLE_BLOCK)
        ck_perm_init(&o->blocks, seed, CK_RNG_ORDER, epoch, n / CK_ORDER_RUN);
}

/* Runs are permuted over the whole file, then rows within windows of CK_ORDER_WINDOW runs: a
 * window is read from at most that many places. The last n % CK_ORDER_RUN rows stay last. */
static void block_rows(const struct ck_order *o, uint64_t first, int count, int64_t *row)
{
    const uint64_t window_rows = (uint64_t)CK_ORDER_RUN * CK_ORDER_WINDOW;
    uint64_t whole = o->n / CK_ORDER_RUN * CK_ORDER_RUN, current = UINT64_MAX;
    struct ck_perm inside;
    for (int i = 0; i < count; i++) {
        uint64_t at = first + (uint64_t)i;
        if (at >= whole) {
            row[i] = (int64_t)at;
            continue;
        }
        uint64_t window = at / window_rows, begin = window * window_rows;
        if (window != current) {
            uint64_t size = whole - begin < window_rows ? whole - begin : window_rows;
            ck_perm_init(&inside, o->seed, CK_RNG_ORDER, o->epoch ^ (window + 1) << 32, size);
            current = window;
        }
        uint64_t mixed = begin + ck_perm_at(&inside, at - begin);
        uint64_t run = ck_perm_at(&o->blocks, mixed / CK_ORDER_RUN);
        row[i] = (int64_t)(run * CK_ORDER_RUN + mixed % CK_ORDER_RUN);
    }
}

void ck_order_rows(const struct ck_order *o, uint64_t first, int count, int64_t *row)
{
    if (o->mode == CK_SHUFFLE_BLOCK) {
        block_rows(o, first, count, row);
        return;
    }
    for (int i = 0; i < count; i++) {
        uint64_t at = first + (uint64_t)i;
        row[i] = (int64_t)(o->mode == CK_SHUFFLE_FULL ? ck_perm_at(&o->rows, at) : at);
    }
}
