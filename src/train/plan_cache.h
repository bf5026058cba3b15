/* plan_cache.h - a network compiled for the batch sizes of a training. */
#ifndef CK_PLAN_CACHE_H
#define CK_PLAN_CACHE_H

#include "data/fetch.h"
#include "nn/plan.h"
#include "nn/twin.h"

/* A network compiled for n images: one plan per view, because all views of a part are in
 * flight between their forward and backward passes. */
struct ck_plans {
    int64_t n;    /* 0 = none compiled */
    int32_t size; /* width of the first view */
    int64_t used; /* ck_plan_cache.clock at the last use */
    struct ck_plan *plan[COKE_MAX_VIEWS];
};

/* Sizes in use: a full batch and the last one of an epoch, and with accumulation or several
 * ranks one size more of each. */
enum { CK_PLAN_SETS = 4 };

struct ck_plan_cache {
    struct ck_plans set[CK_PLAN_SETS];
    int64_t clock; /* counts uses */
    /* Set before the first use: each view runs on one thread (ck_lanes), with a twin of the network
     * for all views but the first. */
    int lanes;
    struct ck_net twin[COKE_MAX_VIEWS - 1]; /* of view v + 1; empty = not needed yet */
};

/* Whether `views` views keep `threads` threads busy when each runs on one of them, without a
 * barrier in every layer: at least three quarters of the time. */
int ck_lanes_pay(int views, int threads);

/* The plans of `views` views of b from view `first` on for n images, compiled unless cached; the
 * least recently used set makes room. Images of another size do not come back (size-schedule only
 * grows): their plans are released. `like` is completed by the sizes. *out belongs to the cache and
 * is valid until the next call. A failed compilation leaves the set empty. */
int ck_plan_cache_get(struct ck_plan_cache *c, struct ck_net *net,
                      const struct ck_plan_request *like, const struct coke_batch *b, int first,
                      int views, int64_t n, struct ck_plans **out);
/* With lanes: before the forward passes, after them, and after the backward passes of all views. */
void ck_plan_cache_begin(struct ck_plan_cache *c, const struct ck_net *net);
void ck_plan_cache_add_statistics(struct ck_plan_cache *c, struct ck_net *net);
void ck_plan_cache_add_gradients(struct ck_plan_cache *c, struct ck_net *net);
/* Call it before the network is released. */
void ck_plan_cache_release(struct ck_plan_cache *c);

#endif
