/* order.h - which row is visited when: a function of (mode, seed, epoch, n) and nothing else,
 * so that every process computes the same order without communication. */
#ifndef CK_ORDER_H
#define CK_ORDER_H

#include "core/rng.h"

enum ck_shuffle { CK_SHUFFLE_AUTO, CK_SHUFFLE_FULL, CK_SHUFFLE_BLOCK, CK_SHUFFLE_NONE };

struct ck_order {
    enum ck_shuffle mode;
    uint64_t seed, epoch, n;
    struct ck_perm rows;   /* full */
    struct ck_perm blocks; /* block: the order of runs of CK_ORDER_RUN rows */
};

enum {
    CK_ORDER_RUN = 64,      /* rows read together, so that a disk is read in long pieces */
    CK_ORDER_WINDOW = 4096, /* runs that are mixed with each other */
};

/* auto: full up to 4 GiB of data, block beyond. */
enum ck_shuffle ck_shuffle_resolve(enum ck_shuffle mode, int64_t bytes);
void ck_order_init(struct ck_order *o, enum ck_shuffle mode, uint64_t seed, uint64_t epoch,
                   uint64_t n);
/* row[0..count-1]: the rows at positions first, first + 1, ... Needs no memory per row; may run
 * on several threads. */
void ck_order_rows(const struct ck_order *o, uint64_t first, int count, int64_t *row);

#endif
