/* bmp.c - reads Windows and OS/2 bitmaps: palettes of 1, 4 and 8 bits (also RLE), and 16, 24
 * and 32 bits per pixel. */
#include "image/codecs.h"
#include "core/error.h"

#include <string.h>

enum { FILE_HEADER = 14, OS2_HEADER = 12, WINDOWS_HEADER = 40, MASKS_AT = 40 };
enum { ALPHA_HEADER = 56 }; /* the least header that has a mask of alpha */
enum { PLAIN = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3 };

/* The headers, as parsed. 64-bit sizes, so that sums with offsets of the file cannot
 * overflow. */
struct bitmap {
    uint32_t header; /* size of the second header in bytes */
    int64_t width, height;
    int top_down;
    uint32_t bits, packing, colors;
    uint32_t mask[4]; /* red, green, blue, alpha (0 = none); for 16 and 32 bits */
    int samples;      /* of a pixel of 16 to 32 bits: 4 = with alpha */
    uint64_t pixels;  /* offset of the pixels */
    int grey;         /* the whole palette is grey */
    uint8_t palette[256][3];
};

static void read_os2_header(const uint8_t *p, struct bitmap *b)
{
    b->width = ck_le16(p + 4);
    b->height = ck_le16(p + 6);
    b->bits = ck_le16(p + 10);
}

static void read_windows_header(const uint8_t *p, struct bitmap *b)
{
    b->width = (int32_t)ck_le32(p + 4);
    b->height = (int32_t)ck_le32(p + 8);
    b->top_down = b->height < 0;
    b->height = b->top_down ? -b->height : b->height;
    b->bits = ck_le16(p + 14);
    b->packing = ck_le32(p + 16);
    b->colors = ck_le32(p + 32);
}

static int check_layout(const struct ck_bytes *in, const struct bitmap *b)
{
    uint32_t bits = b->bits, packing = b->packing;
    int depth = bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
    int packed = packing == PLAIN || (packing == RLE8 && bits == 8) ||
                 (packing == RLE4 && bits == 4) || (packing == BITFIELDS && bits >= 16);
    if (!depth || !packed)
        return ck_fail(COKE_EFORMAT, "%s: BMP with %u bits and compression %u is not supported",
                       in->name, bits, packing);
    if (b->colors > 65536)
        return ck_fail(COKE_EFORMAT, "%s: invalid BMP palette of %u colours", in->name,
                       b->colors);
    return COKE_OK;
}

/* A colour is blue, green, red and, except in OS/2 files, an unused byte. Colours missing from
 * the file are black. */
static int read_palette(const struct ck_bytes *in, struct bitmap *b)
{
    uint64_t at = FILE_HEADER + (uint64_t)b->header, step = b->header == OS2_HEADER ? 3 : 4;
    if (b->colors == 0)
        b->colors = 1u << b->bits;
    if (at + step * b->colors > in->size)
        return ck_codec_truncated(in, CK_CODEC_BMP);
    b->grey = 1;
    for (uint32_t i = 0; i < b->colors && i < 256; i++) {
        const uint8_t *p = in->at + at + step * i;
        for (int c = 0; c < 3; c++)
            b->palette[i][c] = p[2 - c];
        b->grey = b->grey && p[0] == p[1] && p[1] == p[2];
    }
    /* Some writers store the end of the header as the start of the pixels. */
    if (b->pixels == at || b->pixels == 0)
        b->pixels = at + step * b->colors;
    return COKE_OK;
}

/* Masks that are all zero are replaced by the usual ones, like absent masks; but unlike there
 * the fourth byte is alpha, as in Pillow. */
static int read_masks(const struct ck_bytes *in, struct bitmap *b)
{
    static const uint32_t usual[2][3] = {{0x7c00, 0x3e0, 0x1f}, {0xff0000, 0xff00, 0xff}};
    uint64_t end = FILE_HEADER + MASKS_AT + 12;
    memcpy(b->mask, usual[b->bits > 16], sizeof usual[0]);
    if (b->packing == BITFIELDS) {
        if (end > in->size)
            return ck_codec_truncated(in, CK_CODEC_BMP);
        uint32_t any = 0;
        for (int c = 0; c < 3; c++)
            any |= ck_le32(in->at + FILE_HEADER + MASKS_AT + 4 * c);
        for (int c = 0; c < 3 && any; c++)
            b->mask[c] = ck_le32(in->at + FILE_HEADER + MASKS_AT + 4 * c);
        if (!any && b->bits == 32)
            b->mask[3] = 0xff000000;
        else if (any && b->header >= ALPHA_HEADER)
            b->mask[3] = ck_le32(in->at + FILE_HEADER + MASKS_AT + 12);
    }
    if (b->pixels == 0)
        b->pixels = b->header > WINDOWS_HEADER || b->packing != BITFIELDS
                        ? FILE_HEADER + (uint64_t)b->header
                        : end;
    return COKE_OK;
}

/* Called by both probe and decode; the file's bytes do not change in between. */
static int read_headers(const struct ck_bytes *in, struct bitmap *b)
{
    memset(b, 0, sizeof *b);
    if (in->size < FILE_HEADER + OS2_HEADER)
        return ck_codec_truncated(in, CK_CODEC_BMP);
    const uint8_t *p = in->at + FILE_HEADER;
    b->pixels = ck_le32(in->at + 10);
    b->header = ck_le32(p);
    if (b->header != OS2_HEADER && (b->header < WINDOWS_HEADER || b->header > 124))
        return ck_fail(COKE_EFORMAT, "%s: a BMP header of %u bytes is not supported", in->name,
                       b->header);
    if (in->size - FILE_HEADER < b->header)
        return ck_codec_truncated(in, CK_CODEC_BMP);
    if (b->header == OS2_HEADER)
        read_os2_header(p, b);
    else
        read_windows_header(p, b);
    int rc = check_layout(in, b);
    if (rc)
        return rc;
    return b->bits <= 8 ? read_palette(in, b) : read_masks(in, b);
}

int ck_bmp_probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    struct bitmap b;
    int rc = read_headers(in, &b);
    if (rc)
        return rc;
    /* Values out of range stay out of range, for codec.c to reject. */
    out->width = (int32_t)(b.width < 0 ? 0 : b.width);
    out->height = (int32_t)(b.height > INT32_MAX ? 0 : b.height);
    out->channels = b.grey ? 1 : 3;
    out->alpha = b.mask[3] != 0;
    out->bits = b.bits == 16 ? 5 : b.bits < 8 ? (int32_t)b.bits : 8;
    return COKE_OK;
}

/* Writes one palette colour and advances *to. */
static void put_color(const struct bitmap *b, uint32_t index, uint8_t **to)
{
    memcpy(*to, b->palette[index], b->grey ? 1 : 3);
    *to += b->grey ? 1 : 3;
}

static void unpack_indices(const struct bitmap *b, const uint8_t *row, uint8_t *to)
{
    uint32_t per_byte = 8 / b->bits, mask = (1u << b->bits) - 1;
    for (uint32_t x = 0; x < (uint32_t)b->width; x++) {
        uint32_t shift = (per_byte - 1 - x % per_byte) * b->bits;
        put_color(b, (uint32_t)row[x / per_byte] >> shift & mask, &to);
    }
}

/* Scales the bits under `mask` to 0..255, rounding down as Pillow does. */
static uint8_t under_mask(uint32_t pixel, uint32_t mask)
{
    if (mask == 0)
        return 0;
    int shift = __builtin_ctz(mask);
    return (uint8_t)((uint64_t)((pixel & mask) >> shift) * 255 / (mask >> shift));
}

static void unpack_masked(const struct bitmap *b, const uint8_t *row, uint8_t *to)
{
    for (uint32_t x = 0; x < (uint32_t)b->width; x++)
        for (int c = 0; c < b->samples; c++) {
            uint32_t pixel = b->bits == 16 ? ck_le16(row + 2 * x) : ck_le32(row + 4 * x);
            *to++ = under_mask(pixel, b->mask[c]);
        }
}

static void unpack_bytes(const struct bitmap *b, const uint8_t *row, uint8_t *to)
{
    uint32_t step = b->bits / 8;
    for (uint32_t x = 0; x < (uint32_t)b->width; x++, row += step, to += 3) {
        to[0] = row[2];
        to[1] = row[1];
        to[2] = row[0];
    }
}

static void unpack_row(const struct bitmap *b, const uint8_t *row, uint8_t *to)
{
    int bytes = b->bits == 24 || (b->bits == 32 && b->samples == 3 && b->mask[0] == 0xff0000 &&
                                  b->mask[1] == 0xff00 && b->mask[2] == 0xff);
    if (b->bits <= 8)
        unpack_indices(b, row, to);
    else if (bytes)
        unpack_bytes(b, row, to);
    else
        unpack_masked(b, row, to);
}

/* Where stored row y belongs; bitmaps are stored bottom-up unless the height is negative. */
static uint8_t *row_of(const struct bitmap *b, struct ck_image *out, int64_t y)
{
    size_t stride = (size_t)out->width * (size_t)out->channels;
    return out->data + stride * (size_t)(b->top_down ? y : b->height - 1 - y);
}

/* The position at which RLE data are written: rows in stored order. */
struct pen {
    const struct bitmap *b;
    struct ck_image *out;
    int64_t x, y;
};

/* Drops pixels past the end of the row. y < height: unpack_rle checks it before each command,
 * and no command draws after it has changed y. */
static void draw(struct pen *pen, uint32_t index)
{
    if (pen->x >= pen->b->width)
        return;
    uint8_t *to = row_of(pen->b, pen->out, pen->y) + pen->x * pen->out->channels;
    put_color(pen->b, index, &to);
    pen->x++;
}

/* The i-th palette index in a run of RLE4 or RLE8 bytes. */
static uint32_t run_index(const struct bitmap *b, const uint8_t *p, uint32_t i)
{
    if (b->packing == RLE8)
        return p[i];
    return i % 2 ? p[i / 2] & 15u : p[i / 2] >> 4;
}

/* Number of bytes that follow the pair (0, code). */
static size_t escape_bytes(const struct bitmap *b, uint32_t code)
{
    if (code < 2)
        return 0;
    if (code == 2)
        return 2;
    size_t n = b->packing == RLE8 ? code : (code + 1) / 2;
    return n + n % 2; /* padded to an even number */
}

/* 0 ends a row, 2 moves the position, other codes are literal indices; 1 ends the image. */
static void draw_escape(struct pen *pen, uint32_t code, const uint8_t *p)
{
    if (code == 0) {
        pen->x = 0;
        pen->y++;
    } else if (code == 2) {
        pen->x += p[0];
        pen->y += p[1];
    } else {
        for (uint32_t i = 0; i < code; i++)
            draw(pen, run_index(pen->b, p, i));
    }
}

/* n pixels of one index (RLE8), or of two alternating ones (RLE4). */
static void draw_run(struct pen *pen, uint32_t n, uint8_t byte)
{
    uint8_t both[2] = {byte, byte};
    for (uint32_t i = 0; i < n; i++)
        draw(pen, run_index(pen->b, both, pen->b->packing == RLE8 ? 0 : i % 2));
}

/* Skipped pixels get colour 0. Stops at the end code, or after the last row. */
static int unpack_rle(const struct ck_bytes *in, const struct bitmap *b, struct ck_image *out)
{
    struct pen pen = {.b = b, .out = out};
    uint8_t *to = out->data;
    for (int64_t i = 0; i < b->width * b->height; i++)
        put_color(b, 0, &to);
    uint64_t at = b->pixels;
    while (pen.y < b->height && !(pen.y == b->height - 1 && pen.x >= b->width)) {
        if (at + 2 > in->size)
            return ck_codec_truncated(in, CK_CODEC_BMP);
        uint8_t n = in->at[at], code = in->at[at + 1];
        at += 2;
        if (n == 0 && code == 1)
            break;
        size_t more = n ? 0 : escape_bytes(b, code);
        if (at + more > in->size)
            return ck_codec_truncated(in, CK_CODEC_BMP);
        if (n)
            draw_run(&pen, n, code);
        else
            draw_escape(&pen, code, in->at + at);
        at += more;
    }
    return COKE_OK;
}

int ck_bmp_decode(struct ck_decoder *d, const struct ck_decode_job *job)
{
    (void)d;
    struct bitmap b;
    int rc;
    CK_TRY(read_headers(&job->in, &b));
    int rle = b.packing == RLE8 || b.packing == RLE4;
    uint64_t stride = ((uint64_t)b.width * b.bits + 31) / 32 * 4;
    uint64_t need = rle ? 0 : stride * (uint64_t)b.height;
    if (b.pixels > job->in.size || need > job->in.size - b.pixels)
        return ck_codec_truncated(&job->in, CK_CODEC_BMP);
    b.samples = 3 + job->alpha;
    CK_TRY(ck_image_reshape(job->out, (int32_t)b.width, (int32_t)b.height,
                            b.grey ? 1 : b.samples));
    if (rle)
        return unpack_rle(&job->in, &b, job->out);
    for (int64_t y = 0; y < b.height; y++)
        unpack_row(&b, job->in.at + b.pixels + stride * (uint64_t)y, row_of(&b, job->out, y));
done:
    return rc;
}
