/* share.h - interface for dividing work among the processes of a group and collecting the
 * parts. dist fills it (ck_group_share); layers that must not include dist, such as cluster,
 * use it. */
#ifndef CK_SHARE_H
#define CK_SHARE_H

#include "coke/types.h"
#include "core/option.h"

#include <stdint.h>
#include <stdio.h>

/* Gathered parts are multiples of this many bytes. */
enum { CK_SHARE_WORD = 4 };

/* All functions are collective: every process of the group calls them in the same order, from
 * one thread. With size 1 they are never called and may be NULL. */
struct ck_share {
    int rank, size; /* of this process; of the group */
    /* Parts of bytes[rank] bytes, concatenated in `all` on every process. `mine` may already be
     * in its place in `all`. */
    int (*gather)(void *arg, const void *mine, void *all, const int64_t *bytes);
    /* v [n] becomes the sum over the processes. */
    int (*sum_i64)(void *arg, int64_t *v, int64_t n);
    /* text: lines of "name\tvalue". Fails on every process whose text differs from that of
     * process 0; returns on none before all have agreed. */
    int (*agree_text)(void *arg, const char *text);
    /* The same for a hash. when: "epoch 3", what: "labels", for the message. */
    int (*agree_hash)(void *arg, uint64_t hash, const char *when, const char *what);
    void *arg;
};

/* A group of one process, which does all the work. */
struct ck_share ck_share_alone(void);

/* The first of the items of process `rank` of `size` out of n; its part ends where that of
 * rank + 1 begins. n < 2^63 / size. */
int64_t ck_share_first(int64_t n, int rank, int size);

/* Gathers items of `item` bytes, divided by ck_share_first among the processes, in place:
 * all [n]. bytes [size] is scratch. */
int ck_share_gather_items(const struct ck_share *s, void *all, int64_t n, int64_t item,
                          int64_t *bytes);

/* Lines for agree_text: the options, except those that may differ between processes (NULL: none
 * may). */
void ck_share_put_options(FILE *to, const struct ck_option_table *t, const void *options,
                          int (*may_differ)(const char *name));

#endif
