/* tar_samples.c - the samples of a tar file in the WebDataset convention. */
#include "data/tar_samples.h"
#include "data/dataset_kinds.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_TEXT = 32, HEAD = 12, FIRST_ROOM = 256 << 10 };

/* How certain it is that a member is the sample's image; a higher rank replaces a lower one. */
enum rank { NO_IMAGE, BY_CONTENT, BY_LAST_EXTENSION, BY_EXTENSION };

/* ---- members ---- */

static const char *extension_of(const struct ck_samples *s)
{
    const char *dot = s->member.name + s->key_length;
    return *dot ? dot + 1 : dot;
}

/* Moves to the next member that can be part of a sample; skips hidden files. */
static int advance(struct ck_samples *s)
{
    const char *base = ".";
    int more = 1;
    s->pending = 0;
    while (more && *base == '.') {
        CK_RETURN_IF(ck_tar_next(&s->tar, &s->member, &more));
        base = more ? ck_base_name(s->member.name) : "";
    }
    s->counts.odd = s->tar.odd;
    s->counts.unended = s->tar.unended;
    s->pending = more;
    if (more)
        s->key_length = (size_t)(base - s->member.name) + strcspn(base, ".");
    return COKE_OK;
}

static int is_same_sample(const struct ck_samples *s)
{
    return s->pending && strncmp(s->key, s->member.name, s->key_length) == 0 &&
           !s->key[s->key_length];
}

static int keep_key(struct ck_samples *s)
{
    if (s->key_length >= s->room) {
        ck_free(s->key);
        s->room = 0;
        s->key = ck_alloc_array(s->key_length * 2 + 64, 1);
        if (!s->key)
            return COKE_ENOMEM;
        s->room = s->key_length * 2 + 64;
    }
    memcpy(s->key, s->member.name, s->key_length);
    s->key[s->key_length] = 0;
    return COKE_OK;
}

/* ---- labels ---- */

static int read_label(struct ck_samples *s, int32_t *label)
{
    char text[LABEL_TEXT + 1], *end;
    size_t got;
    int rc = ck_tar_read(&s->tar, text, LABEL_TEXT, &got);
    if (rc)
        return rc;
    text[got] = 0;
    if (!s->tar.left)
        CK_RETURN_IF(ck_tar_check(s->tar.in->name, s->member.name, s->member.sum, text, got));
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || end[strspn(end, " \t\r\n")] || s->tar.left || errno || value < -1 ||
        value > CK_LABEL_MAX)
        return ck_fail(COKE_EFORMAT, "%s: %s is not a label (an integer from 0 to %d)",
                       s->tar.in->name, s->member.name, CK_LABEL_MAX);
    *label = (int32_t)value;
    return COKE_OK;
}

/* ---- images ---- */

/* Signatures that are unmistakable; other formats need their extension. */
static int is_image_content(const unsigned char *p, size_t n)
{
    return (n >= 3 && memcmp(p, "\xff\xd8\xff", 3) == 0) ||
           (n >= 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0) ||
           (n >= 6 && (memcmp(p, "GIF87a", 6) == 0 || memcmp(p, "GIF89a", 6) == 0)) ||
           (n >= 12 && memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WEBP", 4) == 0);
}

static enum rank rank_by_name(const struct ck_samples *s)
{
    const char *extension = extension_of(s);
    if (!*extension || !ck_codec_reads_name(s->member.name))
        return NO_IMAGE;
    return strchr(extension, '.') ? BY_LAST_EXTENSION : BY_EXTENSION;
}

static int grow(struct ck_item *item, size_t used)
{
    int64_t room = (int64_t)item->capacity;
    CK_RETURN_IF(CK_VEC_RESERVE(item->buffer, room, used ? used + 1 : FIRST_ROOM));
    item->capacity = (size_t)room;
    return COKE_OK;
}

/* Reads the rest of the member; head [n] was read already. Memory grows with the data that
 * arrive, not with what the header claims. */
static int take_bytes(struct ck_samples *s, const unsigned char *head, size_t n,
                      struct ck_item *item)
{
    size_t got = 1;
    if (s->member.size > CK_ITEM_MAX)
        return ck_fail(COKE_EFORMAT, "%s: %s has %lld bytes; the limit is %d", s->tar.in->name,
                       s->member.name, (long long)s->member.size, CK_ITEM_MAX);
    CK_RETURN_IF(grow(item, 0));
    memcpy(item->buffer, head, n);
    for (item->size = n; got; item->size += got) {
        CK_RETURN_IF(grow(item, item->size));
        CK_RETURN_IF(
            ck_tar_read(&s->tar, item->buffer + item->size, item->capacity - item->size, &got));
    }
    item->bytes = item->buffer;
    return ck_tar_check(s->tar.in->name, s->member.name, s->member.sum, item->bytes,
                        item->size);
}

/* Takes the current member if it ranks higher than the image found so far. */
static int consider_image(struct ck_samples *s, struct ck_item *item, struct ck_sample *out,
                          enum rank *best)
{
    unsigned char head[HEAD];
    size_t n = 0;
    enum rank rank = rank_by_name(s);
    if (rank == NO_IMAGE && *best < BY_CONTENT) {
        CK_RETURN_IF(ck_tar_read(&s->tar, head, sizeof head, &n));
        rank = is_image_content(head, n) ? BY_CONTENT : NO_IMAGE;
    }
    s->counts.further += rank != NO_IMAGE && *best != NO_IMAGE;
    if (rank <= *best)
        return COKE_OK;
    *best = rank;
    out->offset = s->member.offset;
    out->size = s->member.size;
    out->sum = s->member.sum;
    if (item)
        CK_RETURN_IF(take_bytes(s, head, n, item));
    return COKE_OK;
}

/* ---- samples ---- */

/* Reads all members of one sample; *best = NO_IMAGE if none is an image. */
static int read_sample(struct ck_samples *s, struct ck_item *item, struct ck_sample *out,
                       enum rank *best)
{
    *out = (struct ck_sample){.label = -1};
    *best = NO_IMAGE;
    CK_RETURN_IF(keep_key(s));
    do {
        if (strcmp(extension_of(s), "cls") == 0)
            CK_RETURN_IF(read_label(s, &out->label));
        else
            CK_RETURN_IF(consider_image(s, item, out, best));
        CK_RETURN_IF(advance(s));
    } while (is_same_sample(s));
    out->key = s->key;
    return COKE_OK;
}

int ck_samples_next(struct ck_samples *s, struct ck_item *item, struct ck_sample *out,
                    int *more)
{
    enum rank best = NO_IMAGE;
    int rc = COKE_OK;
    if (!s->pending)
        CK_TRY(advance(s));
    while (s->pending && best == NO_IMAGE) {
        CK_TRY(read_sample(s, item, out, &best));
        s->counts.without += best == NO_IMAGE;
    }
    *more = best != NO_IMAGE;
done:
    if (rc)
        s->pending = 0; /* a caller that continues starts with the next member */
    return rc;
}

void ck_samples_release(struct ck_samples *s)
{
    ck_tar_release(&s->tar);
    ck_free(s->key);
    *s = (struct ck_samples){0};
}
