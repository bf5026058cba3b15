/* ranks.c - what the processes of one training tell each other. */
#include "train/ranks.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/share.h"
#include "data/content.h"
#include "dist/agree.h"
#include "dist/group_share.h"
#include "nn/dnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 8,            /* at least so many for a network, */
    BUCKET_LEAST = 1 << 14, /* but none smaller, */
    BUCKET_MOST = 1 << 20,  /* or larger than so many numbers, */
    PIECE_LEAST = 1 << 13,  /* unless a process's piece of it would be smaller than this */
};

int ck_ranks_init(struct ck_ranks *r)
{
    memset(r, 0, sizeof *r);
    r->group = ck_group();
    r->rank = ck_group_rank(r->group);
    r->size = ck_group_size(r->group);
    r->count = ck_calloc_array((size_t)r->size, sizeof *r->count);
    r->bytes = ck_calloc_array((size_t)r->size, sizeof *r->bytes);
    return r->count && r->bytes ? COKE_OK : COKE_ENOMEM;
}

void ck_ranks_release(struct ck_ranks *r)
{
    ck_buckets_free(r->buckets);
    ck_free(r->count);
    ck_free(r->bytes);
    memset(r, 0, sizeof *r);
}

/* ---- gradients ---- */

/* The backward pass comes from the last parameter to the first. */
static int note_ready(void *arg, int first, int n)
{
    struct ck_ranks *r = arg;
    int rc = COKE_OK;
    for (int i = first + n - 1; i >= first && !rc; i--)
        rc = ck_buckets_ready(r->buckets, r->params - 1 - i);
    return rc;
}

int ck_ranks_add_net(struct ck_ranks *r, const struct ck_net *net)
{
    int rc = COKE_OK, n = net->nparams;
    struct ck_span_f32 *span = NULL;
    if (r->size == 1)
        return COKE_OK;
    int64_t room = ck_net_size(net) / BUCKETS;
    room = room < BUCKET_LEAST ? BUCKET_LEAST : room > BUCKET_MOST ? BUCKET_MOST : room;
    if (room < (int64_t)r->size * PIECE_LEAST)
        room = (int64_t)r->size * PIECE_LEAST;
    span = ck_alloc_array((size_t)n, sizeof *span);
    if (!span)
        return COKE_ENOMEM;
    for (int i = 0; i < n; i++)
        span[n - 1 - i] = (struct ck_span_f32){net->param[i].grad, net->param[i].size};
    CK_TRY(ck_buckets_new(&r->buckets, r->group, span, n, room));
    r->params = n;
    r->hook = (struct ck_grad_hook){note_ready, r};
done:
    ck_free(span);
    return rc;
}

/* ---- are they the same? ---- */

/* A line per sampled image, so that the message names the first one that differs. */
static void put_content(FILE *f, const struct ck_dataset *d, const uint64_t *content)
{
    char name[256];
    for (int64_t i = 0; i < ck_content_count(d); i++) {
        ck_dataset_name(d, ck_content_image(d, i), name, sizeof name);
        for (char *c = name; *c; c++)
            *c = *c == '\t' || *c == '\n' ? ' ' : *c;
        fprintf(f, "the content of %s\t%016llx\n", name, (unsigned long long)content[i]);
    }
}

/* "name\tvalue\n" for everything that must be the same. NULL: out of memory. */
static char *describe(const struct ck_train_options *o, const struct coke_dataset *data,
                      const uint64_t *content)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    ck_share_put_options(f, ck_train_option_table(), o, ck_train_option_is_free);
    fprintf(f, "oneDNN\t%s\n", ck_dnn_version());
    fprintf(f, "the number of images\t%lld\n", (long long)data->set->n);
    fprintf(f, "the list of images\t%016llx\n",
            (unsigned long long)ck_dataset_fingerprint(data->set));
    put_content(f, data->set, content);
    fclose(f);
    return text;
}

int ck_ranks_check(struct ck_ranks *r, const struct ck_train_options *o,
                   const struct coke_dataset *data, const uint64_t *content)
{
    if (r->size == 1)
        return COKE_OK;
    char *mine = describe(o, data, content);
    int rc = mine ? ck_agree_text(r->group, mine) : ck_fail(COKE_ENOMEM, "out of memory");
    free(mine);
    return rc;
}

/* ---- a step ---- */

int ck_ranks_count(struct ck_ranks *r, int64_t n)
{
    CK_RETURN_IF(ck_group_gather_equal(r->group, &n, r->count, sizeof n));
    r->first = r->total = r->largest = 0;
    for (int i = 0; i < r->size; i++) {
        r->first += i < r->rank ? r->count[i] : 0;
        r->total += r->count[i];
        r->largest = r->count[i] > r->largest ? r->count[i] : r->largest;
    }
    return COKE_OK;
}

int ck_ranks_gather(struct ck_ranks *r, void *all, size_t size)
{
    if (r->size == 1)
        return COKE_OK;
    for (int i = 0; i < r->size; i++)
        r->bytes[i] = r->count[i] * (int64_t)size;
    return ck_group_gather(r->group, (char *)all + (size_t)r->first * size, all, r->bytes);
}

struct ck_share ck_ranks_share(struct ck_ranks *r)
{
    return ck_group_share(r->group);
}

static int sum_statistics(void *arg, double *v, int64_t n)
{
    return ck_group_sum_f64(arg, v, n);
}

struct ck_reduce ck_ranks_reduce(struct ck_ranks *r, int absent)
{
    return (struct ck_reduce){sum_statistics, r->group, absent};
}

int ck_ranks_agree(struct ck_ranks *r, int *wish)
{
    int64_t wants[2] = {*wish && *wish != COKE_ANSWER_SAVE, *wish == COKE_ANSWER_SAVE};
    CK_RETURN_IF(ck_group_sum_i64(r->group, wants, 2));
    *wish = wants[0] ? 1 : wants[1] ? COKE_ANSWER_SAVE : 0;
    return COKE_OK;
}
