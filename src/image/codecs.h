/* codecs.h - what codec.c and the readers of the kinds of files share. */
#ifndef CK_CODECS_H
#define CK_CODECS_H

#include "image/codec.h"

/* A whole file in memory. */
struct ck_bytes {
    const uint8_t *at;
    size_t size;
    const char *name; /* for sentences */
};

/* One picture to decode. Readers fill `out` with info->channels channels. */
struct ck_decode_job {
    struct ck_bytes in;
    const struct ck_image_info *info;
    int32_t scale, strict;
    struct ck_box want; /* inside the picture as stored */
    struct ck_image *out;
    struct ck_box *got; /* set to the whole picture beforehand */
};

/* Probes fill `out`, whose orientation is 1 and kind set beforehand; sizes are checked by
 * codec.c. */
int ck_jpeg_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_png_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_webp_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_bmp_probe(const struct ck_bytes *in, struct ck_image_info *out);
int ck_pnm_probe(const struct ck_bytes *in, struct ck_image_info *out);

int ck_jpeg_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_png_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_webp_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_bmp_decode(struct ck_decoder *d, const struct ck_decode_job *job);
int ck_pnm_decode(struct ck_decoder *d, const struct ck_decode_job *job);

void ck_jpeg_release(void *state); /* ck_decoder.jpeg; NULL accepted */

/* COKE_EFORMAT with "NAME: KIND is cut short". */
int ck_codec_cut_short(const struct ck_bytes *in, enum ck_codec_kind kind);

/* Bytes that grow as an encoder writes; zeroed = empty. */
struct ck_sink {
    uint8_t *data;
    size_t size;
    int64_t capacity;
};
int ck_sink_reserve(struct ck_sink *s, size_t more); /* room for `more` bytes beyond size */
int ck_sink_append(struct ck_sink *s, const void *bytes, size_t n);

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
