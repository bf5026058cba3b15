/* codec.h - image files: recognised by their bytes (never by their names), decoded to u8 pixels
 * as Pillow does, and encoded.
 *
 * All functions run on the calling thread and share no state but what the caller passes in, so
 * that the loader's threads decode in parallel, each with a decoder of its own. */
#ifndef CK_CODEC_H
#define CK_CODEC_H

#include "image/image.h"

enum ck_codec_kind {
    CK_CODEC_JPEG,
    CK_CODEC_PNG,
    CK_CODEC_WEBP,
    CK_CODEC_BMP,
    CK_CODEC_PNM,
    CK_CODEC_GIF,
    CK_CODEC_TIFF, /* only if libtiff was there when coke was built */
    CK_CODEC_AVIF, /* only if libavif was */
    CK_CODECS
};

struct ck_image_info {
    enum ck_codec_kind kind;
    int32_t width, height; /* as stored, before orientation is applied */
    int32_t channels;      /* 1 = grey, 3 = colour (palette, CMYK and alpha count as colour) */
    int32_t bits;          /* per sample, as stored */
    int32_t alpha;       /* pixels may be transparent: an alpha channel, a transparent colour */
    int32_t orientation; /* EXIF, 1..8; 1 if the file has none */
    size_t scan;         /* JPEG: offset of the first scan; else 0 */
};

struct ck_decode_options {
    int64_t max_pixels; /* larger images fail before allocating; 0 = CK_MAX_PIXELS */
    int32_t channels;   /* 1 or 3; 0 = as in ck_image_info */
    int32_t orient;     /* apply the EXIF orientation */
    int32_t strict;     /* JPEG: damage that decoders tolerate is an error, too */
    int32_t scale;      /* JPEG: 1, 2, 4 or 8 = decode at 1/scale; others ignore it; 0 = 1 */
    /* [3] red, green, blue: what shows through transparent pixels; NULL = alpha is dropped, and
     * the colours stored under it appear. Borrowed for the call. */
    const uint8_t *background;
    /* What ck_codec_probe found in the same bytes, borrowed for the call; NULL = probe here. */
    const struct ck_image_info *info;
};

enum { CK_MAX_PIXELS = 178956970 }; /* Pillow's limit */

/* Scratch of one thread. Zeroed = ready; the members belong to the codecs. */
struct ck_decoder {
    struct ck_image spare;
    void *jpeg; /* libjpeg's state, allocated once; owned */
};
void ck_decoder_release(struct ck_decoder *d);

const char *ck_codec_name(enum ck_codec_kind kind); /* "JPEG" */

/* Does the extension of a file name promise a format that can be read? */
int ck_codec_reads_name(const char *name);
/* The usual extension, as ".jpg". */
const char *ck_codec_extension(enum ck_codec_kind kind);
/* All extensions that can be read, as ".jpg .jpeg ...". */
void ck_codec_list_extensions(char *text, size_t size);

/* Reads the header only. `name` is used in error messages. An unknown or empty file fails with
 * COKE_EFORMAT. */
int ck_codec_probe(const void *bytes, size_t size, const char *name, struct ck_image_info *out);

/* Decodes to u8. want (NULL = everything) is the part that will be used, in pixels of the
 * upright, unscaled image: `out` then holds at least this part, with the same bytes there that
 * decoding everything would give, and *got says which part it holds, in pixels of the upright
 * and scaled image (so out is got->width x got->height). Formats that cannot decode parts
 * decode everything, and so does an image that must be rotated. `bytes` is borrowed for the
 * call; `out` keeps its memory from image to image.
 *
 * Damaged or truncated data fails with COKE_EFORMAT; but damage below the wanted part of a JPEG
 * goes unnoticed, and errors in JPEG data that Pillow tolerates are tolerated. Animations: the
 * first frame; where it does not cover its canvas, transparent if the file has alpha, else black. 16-bit samples of PNG: their high
 * byte; PNM samples: v/max * 255, rounded. Alpha is composited on options->background as by Pillow's
 * alpha_composite(). Colour profiles and gamma are ignored. The orientation is that of EXIF data proper, not of XMP or of text chunks. */
int ck_codec_decode(struct ck_decoder *d, const void *bytes, size_t size, const char *name,
                    const struct ck_decode_options *options, const struct ck_box *want,
                    struct ck_image *out, struct ck_box *got);

/* Return bytes that the caller releases with ck_free; the same pixels give the same bytes (with
 * the same versions of the libraries). 1 or 3 channels. JPEG: baseline, quality 1..100, chroma
 * at half the size (4:2:0) below CK_JPEG_FULL_COLOR, at full size (4:4:4) from there on. PNG:
 * zlib level 6. PNM: P5 or P6. */
enum { CK_JPEG_FULL_COLOR = 95 };
int ck_jpeg_encode(const struct ck_image *im, int quality, unsigned char **bytes, size_t *size);
int ck_png_encode(const struct ck_image *im, unsigned char **bytes, size_t *size);
int ck_pnm_encode(const struct ck_image *im, unsigned char **bytes, size_t *size);

#endif
