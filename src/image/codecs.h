/* codecs.h - the interface between codec.c and the formats. Private to image/. */
#ifndef CK_CODECS_H
#define CK_CODECS_H

#include "image/codec.h"

/* A whole file in memory, borrowed for the call. */
struct ck_bytes {
    const uint8_t *at;
    size_t size;
    const char *name; /* for error messages */
};

/* One image to decode; everything is borrowed for the call. A format fills `out` with
 * info->channels channels, and after them one of alpha if job->alpha is set. */
struct ck_decode_job {
    struct ck_bytes in;
    const struct ck_image_info *info;
    int32_t scale, strict;
    int32_t alpha;      /* wanted, and info->alpha is set */
    struct ck_box want; /* inside the image as stored */
    struct ck_image *out;
    struct ck_box *got; /* initialised to the whole image */
};

/* Read the header only. codec.c has set out->orientation to 1 and out->kind, and checks the
 * sizes afterwards. Only the file's bytes decide; a probe keeps no state. */
int ck_jpeg_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_png_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_webp_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_bmp_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_pnm_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_gif_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_tiff_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_avif_probe(const struct ck_bytes *in, struct ck_image_info *out);

/* Decode to u8. A decoder belongs to one thread at a time. */
int ck_jpeg_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_png_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_webp_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_bmp_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_pnm_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_gif_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_tiff_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_avif_decode(struct ck_decoder *d, const struct ck_decode_job *job);

void ck_jpeg_release(void *state); /* frees ck_decoder.jpeg; NULL is allowed */

/* COKE_EFORMAT with "NAME: truncated KIND file". */
int ck_codec_truncated(const struct ck_bytes *in, enum ck_codec_kind kind);

/* The growing output of an encoder, which owns it; zeroed = empty. */
struct ck_sink {
    uint8_t *data;
    size_t size;
    int64_t capacity;
};
int ck_sink_reserve(struct ck_sink *s, size_t more); /* makes room for `more` bytes past size */
int ck_sink_append(struct ck_sink *s, const void *bytes, size_t n);

/* Unaligned integers, big- and little-endian. */
static inline uint32_t ck_be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t ck_be32(const uint8_t *p)
{
    return ck_be16(p) << 16 | ck_be16(p + 2);
}

static inline uint32_t ck_le16(const uint8_t *p)
{
    return (uint32_t)p[1] << 8 | p[0];
}

static inline uint32_t ck_le24(const uint8_t *p)
{
    return (uint32_t)p[2] << 16 | ck_le16(p);
}

static inline uint32_t ck_le32(const uint8_t *p)
{
    return ck_le16(p + 2) << 16 | ck_le16(p);
}

#endif
