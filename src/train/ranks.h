/* ranks.h - what the processes of one training tell each other. Alone, all of it is nothing. */
#ifndef CK_RANKS_H
#define CK_RANKS_H

#include "core/share.h"
#include "data/fetch.h"
#include "dist/bucket.h"
#include "nn/plan.h"
#include "train/train_options.h"

struct ck_ranks {
    struct ck_group *group;
    int rank, size;
    /* this step's batch */
    int64_t *count; /* [size] images of each process */
    int64_t first;  /* of this process's among them all */
    int64_t total;
    int64_t largest; /* count of a process */
    int64_t *bytes;  /* [size] */
    struct ck_buckets *buckets;
    struct ck_grad_hook hook; /* tells the buckets what is ready */
    int params;
};

int ck_ranks_init(struct ck_ranks *r);
/* Gradients of the network's parameters will be summed up. */
int ck_ranks_add_net(struct ck_ranks *r, const struct ck_net *net);
void ck_ranks_release(struct ck_ranks *r);

/* Options, data, versions and instruction sets must be the same everywhere; the process where
 * something is not fails, and says what. content [ck_content_count]: hashes of some images; not
 * read by a process alone. */
int ck_ranks_check(struct ck_ranks *r, const struct ck_train_options *o,
                   const struct coke_dataset *data, const uint64_t *content);

/* This process has n images of the step's batch. */
int ck_ranks_count(struct ck_ranks *r, int64_t n);
/* Parts of `size` bytes an image, in their place in all [total], come together. */
int ck_ranks_gather(struct ck_ranks *r, void *all, size_t size);
struct ck_share ck_ranks_share(struct ck_ranks *r);
struct ck_reduce ck_ranks_reduce(struct ck_ranks *r, int absent);

/* The strongest wish of all: to stop, to save, none. */
int ck_ranks_agree(struct ck_ranks *r, int *wish);

#endif
