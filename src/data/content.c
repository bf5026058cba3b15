/* content.c - hashes of some images of a data set, so that a replaced file is noticed. */
#include "data/content.h"
#include "core/error.h"
#include "core/hash.h"

#include <string.h>

int64_t ck_content_count(const struct ck_dataset *d)
{
    if (d->n < 0 || strcmp(d->type->kind, "synthetic") == 0)
        return 0;
    return d->n < CK_CONTENT_MAX ? d->n : CK_CONTENT_MAX;
}

int64_t ck_content_image(const struct ck_dataset *d, int64_t i)
{
    return ck_sample_at(d->n, ck_content_count(d), i);
}

static uint64_t hash_item(const struct ck_item *item)
{
    const struct ck_image *p = &item->pixels;
    if (item->bytes)
        return ck_hash(item->bytes, item->size, 1);
    size_t size = (size_t)p->width * (size_t)p->height * (size_t)p->channels;
    return ck_hash(p->data, size, 2);
}

int ck_content_hash(struct ck_dataset *d, uint64_t *out)
{
    struct ck_item item = {0};
    int rc = COKE_OK;
    int64_t n = ck_content_count(d);
    for (int64_t i = 0; i < n && !rc; i++) {
        rc = ck_dataset_read(d, ck_content_image(d, i), &item);
        out[i] = rc ? 0 : hash_item(&item);
        rc = rc == COKE_EFORMAT ? COKE_OK : rc;
    }
    ck_item_release(&item);
    return rc;
}
