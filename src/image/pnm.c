/* pnm.c - portable bitmaps, greymaps and pixmaps: reads P1 to P6, writes P5 and P6. */
#include "image/codec.h"
#include "image/codecs.h"
#include "core/error.h"
#include "core/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DIGITS = 10 };

/* The unread part of the file. */
struct cursor {
    const uint8_t *at, *end;
};

/* `data` starts at the first sample. */
struct header {
    int format; /* 1..6 */
    uint32_t width, height, maxval;
    struct cursor data;
};

static int is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips white space and comments, which end with their line. */
static void skip_space(struct cursor *c)
{
    for (; c->at < c->end && (is_space(*c->at) || *c->at == '#'); c->at++)
        if (*c->at == '#')
            while (c->at < c->end && *c->at != '\n' && *c->at != '\r')
                c->at++;
    if (c->at > c->end)
        c->at = c->end;
}

/* Reads an unsigned decimal number of up to 31 bits. Returns 0 if there is none. */
static int read_number(struct cursor *c, uint32_t *out)
{
    uint64_t value = 0;
    int digits = 0;
    skip_space(c);
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && digits <= MAX_DIGITS; c->at++) {
        value = 10 * value + (uint64_t)(*c->at - '0');
        digits++;
    }
    *out = (uint32_t)value;
    return digits > 0 && digits <= MAX_DIGITS && value <= INT32_MAX;
}

static int is_bitmap(const struct header *h)
{
    return h->format == 1 || h->format == 4;
}

/* P1 to P3 store samples as text. */
static int is_plain(const struct header *h)
{
    return h->format <= 3;
}

static int32_t channels_of(const struct header *h)
{
    return h->format == 3 || h->format == 6 ? 3 : 1;
}

static int read_header(const struct ck_bytes *in, struct header *h)
{
    *h = (struct header){
        .format = in->at[1] - '0', .maxval = 1, .data = {in->at + 2, in->at + in->size}};
    int ok = read_number(&h->data, &h->width) && read_number(&h->data, &h->height);
    if (ok && !is_bitmap(h))
        ok = read_number(&h->data, &h->maxval);
    /* One character of white space separates the header from the samples. */
    if (!ok || h->data.at == h->data.end || !(is_space(*h->data.at) || *h->data.at == '#'))
        return ck_fail(COKE_EFORMAT, "%s: damaged or truncated PNM header", in->name);
    if (h->maxval < 1 || h->maxval > 65535)
        return ck_fail(COKE_EFORMAT,
                       "%s: invalid maximum sample %u in the PNM header; must be 1 to 65535",
                       in->name, h->maxval);
    if (!is_plain(h))
        h->data.at++;
    return COKE_OK;
}

int ck_pnm_probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    struct header h;
    int rc = read_header(in, &h);
    if (rc)
        return rc;
    out->width = (int32_t)h.width;
    out->height = (int32_t)h.height;
    out->channels = channels_of(&h);
    out->bits = is_bitmap(&h) ? 1 : h.maxval > 255 ? 16 : 8;
    return COKE_OK;
}

/* Scales to 0..255 with Pillow's rounding (Python's round(value / maxval * 255)). */
static uint8_t to_byte(uint32_t value, uint32_t maxval)
{
    double scaled = rint((double)value / (double)maxval * 255.0);
    return scaled > 255 ? 255 : (uint8_t)scaled;
}

/* The minimum number of bytes that can hold the samples, so that a header that claims too much
 * is found before memory is allocated. */
static uint64_t min_bytes(const struct header *h, uint64_t samples)
{
    if (h->format == 4)
        return (uint64_t)h->height * ((h->width + 7) / 8);
    if (h->format == 1)
        return samples;
    if (is_plain(h))
        return 2 * samples - 1; /* one digit each, and white space between */
    return samples * (h->maxval > 255 ? 2 : 1);
}

/* The error of a text sample that could not be read. */
static int plain_fault(const struct ck_bytes *in, const struct cursor *c)
{
    if (c->at == c->end)
        return ck_codec_truncated(in, CK_CODEC_PNM);
    return ck_fail(COKE_EFORMAT, "%s: byte %zu of the PNM file is not a number", in->name,
                   (size_t)(c->at - in->at));
}

/* P1: digits, with or without white space between them; 1 is black. */
static int read_plain_bits(const struct ck_bytes *in, struct cursor c, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        skip_space(&c);
        if (c.at == c.end || (*c.at != '0' && *c.at != '1'))
            return plain_fault(in, &c);
        out[i] = *c.at++ == '1' ? 0 : 255;
    }
    return COKE_OK;
}

static int read_plain(const struct ck_bytes *in, const struct header *h, uint8_t *out, size_t n)
{
    struct cursor c = h->data;
    for (size_t i = 0; i < n; i++) {
        uint32_t value;
        if (!read_number(&c, &value))
            return plain_fault(in, &c);
        if (value > h->maxval)
            return ck_fail(COKE_EFORMAT,
                           "%s: sample %u exceeds the maximum of %u in the PNM header",
                           in->name, value, h->maxval);
        out[i] = to_byte(value, h->maxval);
    }
    return COKE_OK;
}

static void unpack_bits(const struct header *h, uint8_t *out)
{
    const uint8_t *row = h->data.at;
    for (uint32_t y = 0; y < h->height; y++, row += (h->width + 7) / 8)
        for (uint32_t x = 0; x < h->width; x++)
            *out++ = row[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
}

/* Clips samples above maxval; 8-bit ones go through a table. */
static void unpack_samples(const struct header *h, uint8_t *out, size_t n)
{
    const uint8_t *from = h->data.at;
    uint8_t table[256];
    if (h->maxval > 255) {
        for (size_t i = 0; i < n; i++)
            out[i] = to_byte(ck_be16(from + 2 * i), h->maxval);
        return;
    }
    for (uint32_t v = 0; v < 256; v++)
        table[v] = to_byte(v, h->maxval);
    for (size_t i = 0; i < n; i++)
        out[i] = table[from[i]];
}

/* Parses the header again: only its end says where the samples are. */
int ck_pnm_decode(struct ck_decoder *d, const struct ck_decode_job *job)
{
    (void)d;
    struct header h;
    struct ck_image *out = job->out;
    int rc;
    CK_TRY(read_header(&job->in, &h));
    uint64_t samples = (uint64_t)h.width * h.height * (uint64_t)channels_of(&h);
    if ((uint64_t)(h.data.end - h.data.at) < min_bytes(&h, samples))
        return ck_codec_truncated(&job->in, CK_CODEC_PNM);
    CK_TRY(ck_image_reshape(out, (int32_t)h.width, (int32_t)h.height, channels_of(&h)));
    if (h.format == 1)
        rc = read_plain_bits(&job->in, h.data, out->data, (size_t)samples);
    else if (is_plain(&h))
        rc = read_plain(&job->in, &h, out->data, (size_t)samples);
    else if (h.format == 4)
        unpack_bits(&h, out->data);
    else if (h.maxval == 255)
        memcpy(out->data, h.data.at, (size_t)samples);
    else
        unpack_samples(&h, out->data, (size_t)samples);
done:
    return rc;
}

int ck_pnm_encode(const struct ck_image *im, unsigned char **bytes, size_t *size)
{
    char head[64];
    if (im->channels != 1 && im->channels != 3)
        return ck_fail(COKE_EUSAGE,
                       "cannot write an image of %d channels as PNM: 1 and 3 are supported",
                       im->channels);
    size_t n = (size_t)snprintf(head, sizeof head, "P%d\n%d %d\n255\n",
                                im->channels == 3 ? 6 : 5, im->width, im->height);
    size_t pixels = (size_t)im->width * (size_t)im->height * (size_t)im->channels;
    *bytes = ck_alloc_array(n + pixels, 1);
    if (!*bytes)
        return COKE_ENOMEM;
    memcpy(*bytes, head, n);
    memcpy(*bytes + n, im->data, pixels);
    *size = n + pixels;
    return COKE_OK;
}
