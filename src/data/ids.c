/* ids.c - image ids: made from names, made unique, and compared with those of an earlier
 * data set.
 *
 * An id identifies an image independently of its position, so adding or removing files does not
 * silently shift the labels of the others. */
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/mem.h"

#include <string.h>

/* A hash table with open addressing; ids are hashes already. */
struct slot {
    uint64_t id;
    int64_t value; /* 0 = free */
};

struct table {
    struct slot *slot;
    size_t mask;
};

/* At most half full, so that probing ends quickly. The caller frees t->slot. */
static int make_table(struct table *t, int64_t n)
{
    size_t slots = 16;
    while (slots < (size_t)n * 2)
        slots *= 2;
    t->mask = slots - 1;
    t->slot = ck_calloc_array(slots, sizeof *t->slot);
    return t->slot ? COKE_OK : COKE_ENOMEM;
}

/* The slot of id, or the free slot where it belongs. */
static struct slot *find_slot(const struct table *t, uint64_t id)
{
    size_t i = (size_t)(id ^ id >> 32) & t->mask;
    while (t->slot[i].value && t->slot[i].id != id)
        i = (i + 1) & t->mask;
    return &t->slot[i];
}

int ck_ids_distinct(uint64_t *id, int64_t n, const uint64_t *second)
{
    struct table t;
    int rc = make_table(&t, n);
    if (rc)
        return rc;
    for (int64_t i = 0; i < n; i++) {
        struct slot *s = find_slot(&t, id[i]);
        if (s->value && second) {
            id[i] = second[i];
            s = find_slot(&t, id[i]);
        }
        s->id = id[i];
        if (s->value++) {
            int64_t times = s->value;
            id[i] = ck_hash(&times, sizeof times, id[i]);
        }
    }
    ck_free(t.slot);
    return COKE_OK;
}

int ck_dataset_make_ids(struct ck_dataset *d, const struct ck_names *names)
{
    char text[1024];
    d->id = ck_alloc_array((size_t)d->n, sizeof *d->id);
    if (!d->id)
        return COKE_ENOMEM;
    for (int64_t i = 0; i < d->n; i++) {
        if (!names)
            d->type->name(d, i, text, sizeof text);
        d->id[i] = ck_hash_text(names ? ck_names_get(names, i) : text);
    }
    return ck_ids_distinct(d->id, d->n, NULL);
}

uint64_t ck_dataset_fingerprint(const struct ck_dataset *d)
{
    if (!d->id)
        return 0;
    uint64_t h = ck_hash(d->id, (size_t)d->n * sizeof *d->id, 0);
    return d->label ? ck_hash(d->label, (size_t)d->n * sizeof *d->label, h) : h;
}

int ck_dataset_compare(const struct ck_dataset *d, const uint64_t *id, int64_t n,
                       struct ck_dataset_change *out, int64_t *then)
{
    struct table t;
    *out = (struct ck_dataset_change){0};
    int rc = make_table(&t, n);
    if (rc)
        return rc;
    for (int64_t i = 0; i < n; i++) {
        struct slot *s = find_slot(&t, id[i]);
        if (!s->value)
            *s = (struct slot){.id = id[i], .value = i + 1};
    }
    out->removed = n;
    for (int64_t i = 0; i < d->n; i++) {
        int64_t was = find_slot(&t, d->id[i])->value - 1;
        out->added += was < 0;
        out->removed -= was >= 0;
        out->moved += was >= 0 && was != i;
        if (then)
            then[i] = was;
    }
    ck_free(t.slot);
    return COKE_OK;
}
