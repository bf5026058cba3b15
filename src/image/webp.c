/* webp.c - WebP: parses the RIFF container; libwebp decodes the images. */
#include "image/codecs.h"
#include "image/exif.h"
#include "core/error.h"

#include <string.h>
#include <webp/decode.h>

enum { CHUNK_HEADER = 8, RIFF_HEADER = 12, FRAME_HEADER = 16 };

/* The first image of the file and its position on the canvas. Points into the file's bytes. */
struct picture {
    const uint8_t *chunk; /* "VP8 " or "VP8L", including its header, and any "ALPH" before it */
    size_t bytes;
    const uint8_t *alpha; /* the "ALPH" chunk of a "VP8 " to come */
    int32_t transparent;  /* the file says that it has alpha */
    int32_t x, y, width, height;
    int32_t canvas_width, canvas_height;
    int32_t orientation;
    int extended; /* there is a VP8X chunk, which says more than the image does */
    int animated; /* x, y, width, height are from an ANMF chunk */
};

static int is_tag(const uint8_t *chunk, const char *tag)
{
    return memcmp(chunk, tag, 4) == 0;
}

/* The chunk that starts at *at in [*at, end); advances *at past it. NULL at the end, or if the
 * chunk claims more bytes than there are. */
static const uint8_t *next_chunk(const uint8_t **at, const uint8_t *end, size_t *bytes)
{
    const uint8_t *chunk = *at;
    if (end - chunk < CHUNK_HEADER)
        return NULL;
    *bytes = ck_le32(chunk + 4);
    if (*bytes > (size_t)(end - chunk) - CHUNK_HEADER)
        return NULL;
    size_t step = CHUNK_HEADER + *bytes + *bytes % 2;
    *at = step > (size_t)(end - chunk) ? end : chunk + step;
    return chunk;
}

/* Takes a chunk if it is part of the first image: alpha, or the image itself. libwebp reads both
 * from "ALPH" on, with what lies between. */
static void take_picture(struct picture *p, const uint8_t *chunk, size_t bytes)
{
    if (p->chunk)
        return;
    if (is_tag(chunk, "ALPH"))
        p->alpha = chunk;
    if (!is_tag(chunk, "VP8 ") && !is_tag(chunk, "VP8L"))
        return;
    p->chunk = p->alpha && is_tag(chunk, "VP8 ") ? p->alpha : chunk;
    p->bytes = (size_t)(chunk - p->chunk) + CHUNK_HEADER + bytes;
}

/* One frame of an animation: its position, and the first image chunk inside. The caller has
 * checked that the frame header is complete. */
static void read_frame(const uint8_t *chunk, size_t bytes, struct picture *p)
{
    const uint8_t *body = chunk + CHUNK_HEADER, *at = body + FRAME_HEADER, *end = body + bytes;
    size_t n;
    p->animated = 1;
    p->x = (int32_t)(2 * ck_le24(body));
    p->y = (int32_t)(2 * ck_le24(body + 3));
    p->width = (int32_t)ck_le24(body + 6) + 1;
    p->height = (int32_t)ck_le24(body + 9) + 1;
    for (const uint8_t *c; !p->chunk && (c = next_chunk(&at, end, &n));)
        take_picture(p, c, n);
}

static void read_chunk(const uint8_t *chunk, size_t bytes, struct picture *p)
{
    const uint8_t *body = chunk + CHUNK_HEADER;
    if (is_tag(chunk, "VP8X") && bytes >= 10) {
        p->extended = 1;
        p->transparent = body[0] >> 4 & 1;
        p->canvas_width = (int32_t)ck_le24(body + 4) + 1;
        p->canvas_height = (int32_t)ck_le24(body + 7) + 1;
    } else if (is_tag(chunk, "EXIF")) {
        p->orientation = ck_exif_orientation(body, bytes);
    } else if (is_tag(chunk, "ANMF") && bytes >= FRAME_HEADER && !p->chunk) {
        read_frame(chunk, bytes, p);
    } else {
        take_picture(p, chunk, bytes);
    }
}

/* A still image must fill its canvas; a frame of an animation must lie inside. */
static int check_place(const struct ck_bytes *in, struct picture *p)
{
    WebPBitstreamFeatures f;
    if (WebPGetFeatures(p->chunk, p->bytes, &f) != VP8_STATUS_OK)
        return ck_fail(COKE_EFORMAT, "%s: damaged WebP image", in->name);
    if (!p->extended)
        p->transparent = f.has_alpha != 0;
    if (!p->animated) {
        p->width = f.width;
        p->height = f.height;
    }
    if (p->canvas_width == 0) {
        p->canvas_width = p->width;
        p->canvas_height = p->height;
    }
    int fits = p->animated
                   ? p->x + p->width <= p->canvas_width && p->y + p->height <= p->canvas_height
                   : p->width == p->canvas_width && p->height == p->canvas_height;
    if (f.width != p->width || f.height != p->height || !fits)
        return ck_fail(COKE_EFORMAT,
                       "%s: a WebP image of %d x %d does not fit its canvas of %d x %d",
                       in->name, f.width, f.height, p->canvas_width, p->canvas_height);
    return COKE_OK;
}

/* Reads all chunks, because the orientation may follow the image. */
static int find_picture(const struct ck_bytes *in, struct picture *p)
{
    size_t riff = ck_le32(in->at + 4), bytes;
    memset(p, 0, sizeof *p);
    p->orientation = 1;
    if (riff > in->size - CHUNK_HEADER)
        return ck_codec_truncated(in, CK_CODEC_WEBP);
    const uint8_t *at = in->at + RIFF_HEADER, *end = in->at + CHUNK_HEADER + riff;
    for (const uint8_t *c; at < end && (c = next_chunk(&at, end, &bytes));)
        read_chunk(c, bytes, p);
    if (!p->chunk)
        return ck_fail(COKE_EFORMAT, "%s: the WebP file contains no image", in->name);
    return check_place(in, p);
}

int ck_webp_probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    struct picture p;
    int rc = find_picture(in, &p);
    if (rc)
        return rc;
    out->width = p.canvas_width;
    out->height = p.canvas_height;
    out->channels = 3;
    out->bits = 8;
    out->alpha = p.transparent;
    out->orientation = p.orientation;
    return COKE_OK;
}

/* Decodes into its part of the canvas, which is 0 elsewhere: black, or transparent. libwebp writes to `out` directly and frees only what it allocated. */
static int decode_picture(const struct ck_bytes *in, const struct picture *p,
                          struct ck_image *out)
{
    WebPDecoderConfig config;
    size_t samples = (size_t)out->channels, stride = samples * (size_t)out->width;
    size_t corner = (size_t)p->y * stride + samples * (size_t)p->x;
    if (!WebPInitDecoderConfig(&config))
        return ck_fail(COKE_EFAIL, "the libwebp library does not match its header");
    config.output.colorspace = samples == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out->data + corner;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = stride * (size_t)out->height - corner;
    VP8StatusCode status = WebPDecode(p->chunk, p->bytes, &config);
    WebPFreeDecBuffer(&config.output);
    if (status == VP8_STATUS_OUT_OF_MEMORY)
        return ck_fail(COKE_ENOMEM, "%s: out of memory in libwebp", in->name);
    if (status != VP8_STATUS_OK)
        return ck_fail(COKE_EFORMAT, "%s: damaged or truncated WebP image", in->name);
    return COKE_OK;
}

int ck_webp_decode(struct ck_decoder *d, const struct ck_decode_job *job)
{
    (void)d;
    struct picture p;
    struct ck_image *out = job->out;
    int rc;
    CK_TRY(find_picture(&job->in, &p));
    CK_TRY(ck_image_reshape(out, p.canvas_width, p.canvas_height, 3 + job->alpha));
    if (p.width != out->width || p.height != out->height)
        memset(out->data, 0, (size_t)out->channels * (size_t)out->width * (size_t)out->height);
    CK_TRY(decode_picture(&job->in, &p, out));
done:
    return rc;
}
