/* fetch.c - reads an image of a data set and decodes it to pixels. */
#include "data/fetch.h"
#include "core/error.h"
#include "core/mem.h"

void ck_fetcher_release(struct ck_fetcher *f)
{
    ck_item_release(&f->item);
    ck_decoder_release(&f->decoder);
    ck_image_release(&f->image);
    ck_image_release(&f->spare);
}

/* EXIF orientations 5 to 8 swap width and height. */
static int is_turned(const struct ck_fetcher *f, const struct coke_dataset *d)
{
    return d->o.exif && f->info.orientation >= 5;
}

/* Reads the bytes and takes the size from the header; decodes nothing. */
int ck_fetch_open(struct ck_fetcher *f, struct coke_dataset *d, int64_t i)
{
    int rc = COKE_OK;
    CK_TRY(ck_dataset_read(d->set, i, &f->item));
    ck_dataset_name(d->set, i, f->name, sizeof f->name);
    f->width = f->item.pixels.width;
    f->height = f->item.pixels.height;
    if (!f->item.bytes)
        goto done;
    CK_TRY(ck_codec_probe(f->item.bytes, f->item.size, f->name, &f->info));
    f->width = is_turned(f, d) ? f->info.height : f->info.width;
    f->height = is_turned(f, d) ? f->info.width : f->info.height;
done:
    return rc;
}

/* Takes over uncompressed pixels by swapping the buffers, without a copy. */
static int take_pixels(struct ck_fetcher *f, const struct coke_dataset *d)
{
    struct ck_image t = f->image;
    f->image = f->item.pixels;
    f->item.pixels = t;
    int rc = ck_image_to_channels(&f->image, d->channels, &f->spare);
    return rc ? ck_fail_prefix(rc, "%s: ", f->name) : COKE_OK;
}

/* Only JPEG decodes at a reduced scale; *scaled says what was done. */
int ck_fetch_decode(struct ck_fetcher *f, const struct coke_dataset *d,
                    const struct ck_box *want, int scale, struct ck_box *part, int *scaled)
{
    int rc = COKE_OK;
    *scaled = 1;
    if (!f->item.bytes) {
        CK_TRY(take_pixels(f, d));
        *part = (struct ck_box){0, 0, f->width, f->height};
        goto done;
    }
    *scaled = f->info.kind == CK_CODEC_JPEG ? scale : 1;
    const struct ck_background *b = f->background ? f->background : &d->background;
    struct ck_decode_options o = {.max_pixels = d->o.max_pixels,
                                  .background = b->composite ? b->color : NULL,
                                  .channels = d->channels,
                                  .orient = d->o.exif,
                                  .strict = f->strict,
                                  .scale = *scaled,
                                  .info = &f->info};
    CK_TRY(ck_codec_decode(&f->decoder, f->item.bytes, f->item.size, f->name, &o, want,
                           &f->image, part));
done:
    return rc;
}
