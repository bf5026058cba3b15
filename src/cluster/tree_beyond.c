/* tree_beyond.c - the last rows of a repair: leaves that no path reaches exchange rows with the
 * most similar leaves that can, even beyond the rows' candidates. Always succeeds, because the
 * bounds are feasible. */
#include "cluster/tree_repair.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXTRA = 256, /* rows that are compared: this many, and MANY for each that is needed */
    MANY = 16,
    REPORT_LEAVES = 16,
};

/* A leaf or a group, by its similarity to another one. */
struct similar {
    float score;
    int32_t index;
};

/* A row that may move. */
struct offer {
    double loss, gain; /* score of the old label minus that of the new; new minus old */
    int64_t row;
    int32_t from;
};

struct beyond {
    struct ck_tree_scan *s;
    struct ck_tree_repair *r;
    int64_t *first, *end; /* [k + 1], [k] members of a leaf: member[first] .. member[end - 1] */
    int64_t *member; /* rows by label; those that moved since are dropped as they are met */
    struct similar *group; /* [groups] */
    struct similar *leaf;
    int64_t nleaf, leaf_room;
    struct offer *offer;
    int64_t noffer, offer_room;
    float *x; /* [CK_TILE][ld] */
};

static int by_similarity(const void *a, const void *b)
{
    const struct similar *x = a, *y = b;
    if (x->score != y->score)
        return (x->score < y->score) - (x->score > y->score);
    return (x->index > y->index) - (x->index < y->index);
}

static int by_loss(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    if (x->loss != y->loss)
        return (x->loss > y->loss) - (x->loss < y->loss);
    return (x->row > y->row) - (x->row < y->row);
}

/* Counting sort of the rows by label. */
static void list_members(struct beyond *b)
{
    const struct ck_labels *l = b->r->labels;
    int64_t k = b->r->tree->k, n = b->r->scan->rows->n;
    b->first[0] = 0;
    for (int64_t i = 0; i < k; i++) {
        b->first[i + 1] = b->first[i] + b->r->size[i];
        b->end[i] = b->first[i];
    }
    for (int64_t i = 0; i < n; i++)
        if (ck_labels_get(l, i) >= 0)
            b->member[b->end[ck_labels_get(l, i)]++] = i;
}

/* How many rows leaf k can give (to a leaf that lacks some) or take. */
static int64_t spare(const struct beyond *b, int64_t k, int give)
{
    const struct ck_tree_repair *r = b->r;
    if (give)
        return r->size[k] - r->min_size[k];
    return r->max_size ? r->max_size[k] - r->size[k] : r->scan->rows->n;
}

/* b->leaf: leaves that can give or take, most similar to k first, with `need` spare in all. */
static int find_partners(struct beyond *b, int64_t k, int64_t need, int give)
{
    const struct ck_tree *t = b->r->tree;
    const float *c = b->x;
    ck_frame_center_row(t->frame, b->r->center + k * t->ld, b->x);
    for (int64_t g = 0; g < t->groups; g++)
        b->group[g] = (struct similar){t->kn->dot(c, t->center + g * t->ld, t->ld), (int32_t)g};
    qsort(b->group, (size_t)t->groups, sizeof *b->group, by_similarity);
    b->nleaf = 0;
    int64_t found = 0;
    for (int64_t i = 0; i < t->groups && (i < t->probes || found < need); i++) {
        int64_t g = b->group[i].index;
        for (int64_t l = t->first[g]; l < t->first[g + 1]; l++) {
            if (l == k || spare(b, l, give) <= 0)
                continue;
            CK_RETURN_IF(CK_VEC_RESERVE(b->leaf, b->leaf_room, b->nleaf + 1));
            b->leaf[b->nleaf++] =
                (struct similar){t->kn->dot(c, b->r->center + l * t->ld, t->ld), (int32_t)l};
            found += spare(b, l, give);
        }
    }
    if (b->nleaf > 0)
        qsort(b->leaf, (size_t)b->nleaf, sizeof *b->leaf, by_similarity);
    return COKE_OK;
}

/* Offers rows of leaf `from`, at most `most`, to leaf `to`. */
static int offer_rows(struct beyond *b, int32_t from, int32_t to, int64_t most)
{
    const struct ck_tree_repair *r = b->r;
    int ld = r->tree->ld;
    for (int64_t at = b->end[from] - 1; at >= b->first[from] && most > 0; at--) {
        int64_t row = b->member[at];
        if (ck_labels_get(r->labels, row) != from) { /* moved before */
            b->member[at] = b->member[--b->end[from]];
            continue;
        }
        CK_RETURN_IF(ck_scan_get(r->scan, &row, 1, b->x));
        double old = (double)r->tree->kn->dot(b->x, r->center + (int64_t)from * ld, ld);
        double new = (double)r->tree->kn->dot(b->x, r->center + (int64_t)to * ld, ld);
        CK_RETURN_IF(CK_VEC_RESERVE(b->offer, b->offer_room, b->noffer + 1));
        b->offer[b->noffer++] = (struct offer){old - new, new - old, row, from};
        most--;
    }
    return COKE_OK;
}

/* Is leaf k beyond the candidates of the row? */
static int is_beyond(struct beyond *b, int64_t row, int64_t k, int *out)
{
    struct ck_tree *t = b->r->tree;
    int64_t g = ck_tree_group_of(t, k);
    *out = 1;
    CK_RETURN_IF(ck_scan_get(b->r->scan, &row, 1, b->x));
    ck_tree_route(t, 0, b->x, 1);
    for (int p = 0; p < t->probes; p++)
        *out &= t->route[p] != g;
    return COKE_OK;
}

/* Accepts the cheapest offers to leaf k, up to `most`, from leaves that have rows to spare. */
static int accept_offers(struct beyond *b, int32_t k, int64_t most, int give)
{
    struct ck_tree_repair *r = b->r;
    if (b->noffer > 0)
        qsort(b->offer, (size_t)b->noffer, sizeof *b->offer, by_loss);
    for (int64_t i = 0; i < b->noffer && most > 0; i++) {
        const struct offer *o = &b->offer[i];
        int beyond;
        if (give && spare(b, o->from, 1) <= 0)
            continue;
        CK_RETURN_IF(is_beyond(b, o->row, k, &beyond));
        ck_labels_set(r->labels, o->row, k);
        r->size[o->from]--;
        r->size[k]++;
        r->primal += o->gain;
        r->moved++;
        r->beyond += beyond;
        most--;
    }
    return COKE_OK;
}

/* Leaf k lacks rows: those of the most similar leaves that can give enough. */
static int take_rows(struct beyond *b, int32_t k)
{
    const struct ck_tree_repair *r = b->r;
    int64_t need = r->min_size[k] - r->size[k], found = 0;
    CK_RETURN_IF(find_partners(b, k, need, 1));
    b->noffer = 0;
    for (int64_t i = 0; i < b->nleaf && found < need; i++) {
        int32_t from = b->leaf[i].index;
        found += spare(b, from, 1);
        CK_RETURN_IF(offer_rows(b, from, k, MANY * need + EXTRA));
    }
    return accept_offers(b, k, need, 1);
}

/* Leaf k has too many rows: they go to the most similar leaves with room, one after another. */
static int give_rows(struct beyond *b, int32_t k)
{
    const struct ck_tree_repair *r = b->r;
    CK_RETURN_IF(find_partners(b, k, r->size[k] - r->max_size[k], 0));
    for (int64_t i = 0; i < b->nleaf && r->size[k] > r->max_size[k]; i++) {
        int32_t to = b->leaf[i].index;
        int64_t over = r->size[k] - r->max_size[k], room = spare(b, to, 0);
        int64_t most = over < room ? over : room;
        b->noffer = 0;
        CK_RETURN_IF(offer_rows(b, k, to, MANY * most + EXTRA));
        CK_RETURN_IF(accept_offers(b, to, most, 0));
    }
    return COKE_OK;
}

/* First the leaves with too many rows, so that afterwards every move is to one that lacks some. */
static int exchange(struct beyond *b)
{
    const struct ck_tree_repair *r = b->r;
    int64_t k = r->tree->k, done = 0;
    for (int give = 1; give >= 0; give--) {
        list_members(b);
        for (int64_t i = 0; i < k; i++)
            while (give ? r->max_size && r->size[i] > r->max_size[i]
                        : r->size[i] < r->min_size[i]) {
                if (done++ % REPORT_LEAVES == 0)
                    CK_RETURN_IF(ck_tree_scan_report(b->s, i, k));
                CK_RETURN_IF(give ? give_rows(b, (int32_t)i) : take_rows(b, (int32_t)i));
            }
    }
    return COKE_OK;
}

int ck_tree_fill_beyond(struct ck_tree_scan *s)
{
    struct beyond b = {.s = s, .r = s->r};
    const struct ck_tree *t = s->r->tree;
    int rc = COKE_ENOMEM;
    b.first = ck_alloc_array((size_t)t->k + 1, sizeof *b.first);
    b.end = ck_alloc_array((size_t)t->k, sizeof *b.end);
    b.member = ck_alloc_array((size_t)s->r->scan->rows->n, sizeof *b.member);
    b.group = ck_alloc_array((size_t)t->groups, sizeof *b.group);
    b.x = ck_calloc_array(CK_TILE, (size_t)t->ld * sizeof *b.x);
    if (!b.first || !b.end || !b.member || !b.group || !b.x)
        goto done;
    rc = exchange(&b);
done:
    ck_free(b.first);
    ck_free(b.end);
    ck_free(b.member);
    ck_free(b.group);
    ck_free(b.leaf);
    ck_free(b.offer);
    ck_free(b.x);
    return rc;
}
