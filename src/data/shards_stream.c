/* shards_stream.c - tar files that are read once, in order: compressed files and pipes. One
 * thread at a time. */
#include "data/shards.h"
#include "data/tar_samples.h"
#include "core/error.h"
#include "core/mem.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct shards_stream {
    struct ck_dataset base;
    struct ck_names paths;
    int64_t shard; /* the current one */
    int64_t next;  /* number of the next image */
    int open;      /* whether `in` is open */
    struct ck_stream in;
    struct ck_samples samples;
    struct ck_sample_counts counts; /* of the previous shards */
    int32_t label;                  /* of the image just read */
    char name[PATH_MAX];
};

static int begin_shard(struct shards_stream *s)
{
    int rc = ck_stream_open(&s->in, ck_names_get(&s->paths, s->shard));
    if (rc)
        return rc;
    s->samples.tar.in = &s->in;
    s->open = 1;
    return COKE_OK;
}

static void end_shard(struct shards_stream *s)
{
    s->counts.without += s->samples.counts.without;
    s->counts.further += s->samples.counts.further;
    s->counts.odd += s->samples.counts.odd;
    s->counts.unended += s->samples.counts.unended;
    ck_samples_release(&s->samples);
    ck_stream_close(&s->in);
    s->open = 0;
    s->shard++;
}

static int read_next(struct shards_stream *s, struct ck_item *item)
{
    struct ck_sample sample;
    int rc = COKE_OK, more = 0;
    while (!more && s->shard < s->paths.n) {
        if (!s->open)
            rc = begin_shard(s);
        if (!rc)
            rc = ck_samples_next(&s->samples, item, &sample, &more);
        if (rc && (!s->open || s->samples.tar.broken)) {
            ck_first_error_keep(&s->base.broken, rc);
            end_shard(s); /* nothing more can be read from it */
        }
        CK_TRY(rc);
        if (!more)
            end_shard(s);
    }
    if (more) {
        s->label = sample.label;
        snprintf(s->name, sizeof s->name, "%s/%s",
                 ck_base_name(ck_names_get(&s->paths, s->shard)), sample.key);
        return COKE_OK;
    }
    CK_TRY(ck_shards_note(&s->base, &s->counts));
    s->counts = (struct ck_sample_counts){0}; /* reported once */
done:
    if (rc || !more)
        item->bytes = NULL;
    return rc;
}

static int read_image(struct ck_dataset *d, int64_t i, struct ck_item *item)
{
    struct shards_stream *s = (struct shards_stream *)d;
    if (i != s->next)
        return ck_fail(COKE_EUSAGE, "%s: can be read only once, in order", d->source);
    s->next++;
    s->label = -1;
    snprintf(s->name, sizeof s->name, "%s#%lld", d->source, (long long)i);
    return read_next(s, item);
}

static int32_t label_image(const struct ck_dataset *d)
{
    return ((const struct shards_stream *)d)->label;
}

static void name_image(const struct ck_dataset *d, int64_t i, char *text, size_t size)
{
    (void)i;
    snprintf(text, size, "%s", ((const struct shards_stream *)d)->name);
}

static void free_stream(struct ck_dataset *d)
{
    struct shards_stream *s = (struct shards_stream *)d;
    if (s->open)
        end_shard(s);
    ck_names_release(&s->paths);
}

static const struct ck_dataset_type stream_type = {.kind = "tar stream",
                                                   .read = read_image,
                                                   .name = name_image,
                                                   .free = free_stream,
                                                   .label = label_image};

int ck_shards_open_stream(struct ck_dataset **out, const char *source, struct ck_names *paths)
{
    struct shards_stream *s = ck_dataset_new(&stream_type, sizeof *s, source);
    if (!s)
        return COKE_ENOMEM;
    s->base.n = -1;
    s->label = -1;
    s->paths = *paths;
    *paths = (struct ck_names){0};
    int rc = begin_shard(s); /* so that a wrong path fails at opening */
    if (rc)
        ck_dataset_free(&s->base);
    else
        *out = &s->base;
    return rc;
}
