/* tiff.c - reads the first image of TIFF files by libtiff: grey, RGB and palettes of up to 16 bits
 * per sample, in strips or tiles, with or without alpha. Only built where libtiff is there. */
#include "image/codecs.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

/* libtiff allocates no more than this at once, whatever the file says. */
enum { MAX_ALLOCATION = 1 << 28 };

/* One open file. libtiff reads it through callbacks, which share this struct. */
struct source {
    const struct ck_bytes *in;
    toff_t at;
    TIFF *tiff;
    char words[128]; /* the first message of libtiff, if it failed */
};

/* What the directory says. */
struct layout {
    uint32_t width, height;
    uint32_t block_width, block_height; /* of tiles, or of strips of rows */
    uint16_t bits, samples, photometric, planes;
    int tiled, alpha;   /* alpha: 1 = associated (premultiplied), 2 = unassociated */
    int kept;           /* samples that are used: color and alpha */
    uint16_t *color[3]; /* [1 << bits] the palette; borrowed from libtiff */
    uint16_t orientation;
};

/* ---- callbacks ---- */

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t n)
{
    struct source *s = handle;
    size_t left = s->at < s->in->size ? s->in->size - (size_t)s->at : 0;
    size_t get = (size_t)n < left ? (size_t)n : left;
    if (get)
        memcpy(to, s->in->at + s->at, get);
    s->at += get;
    return (tmsize_t)get;
}

static tmsize_t write_bytes(thandle_t handle, void *from, tmsize_t n)
{
    (void)handle;
    (void)from;
    (void)n;
    return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence)
{
    struct source *s = handle;
    toff_t from = whence == SEEK_CUR ? s->at : whence == SEEK_END ? s->in->size : 0;
    s->at = from + offset;
    return s->at;
}

static int close_source(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle)
{
    return ((struct source *)handle)->in->size;
}

static int keep_words(TIFF *tiff, void *user, const char *module, const char *format,
                      va_list list)
{
    struct source *s = user;
    (void)tiff;
    (void)module;
    if (!s->words[0])
        ck_format_list(s->words, sizeof s->words, format, list);
    return 1;
}

static int stay_silent(TIFF *tiff, void *user, const char *module, const char *format,
                       va_list list)
{
    (void)tiff;
    (void)user;
    (void)module;
    (void)format;
    (void)list;
    return 1;
}

static int fail(const struct source *s)
{
    return ck_fail(COKE_EFORMAT, "%s: TIFF: %s", s->in->name,
                   s->words[0] ? s->words : "damaged or truncated");
}

/* "m": without mapping, so that every read is checked above. */
static int open_source(struct source *s, const struct ck_bytes *in)
{
    TIFFOpenOptions *o = TIFFOpenOptionsAlloc();
    memset(s, 0, sizeof *s);
    s->in = in;
    if (!o)
        return ck_fail(COKE_ENOMEM, "%s: out of memory in libtiff", in->name);
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, MAX_ALLOCATION);
    TIFFOpenOptionsSetErrorHandlerExtR(o, keep_words, s);
    TIFFOpenOptionsSetWarningHandlerExtR(o, stay_silent, NULL);
    s->tiff = TIFFClientOpenExt(in->name, "rm", s, read_bytes, write_bytes, seek, close_source,
                                size_of, NULL, NULL, o);
    TIFFOpenOptionsFree(o);
    return s->tiff ? COKE_OK : fail(s);
}

/* ---- the directory ---- */

static int refuse(const struct source *s, const struct layout *l)
{
    return ck_fail(COKE_EFORMAT,
                   "%s: a TIFF of %u samples of %u bits and photometric %u is not supported",
                   s->in->name, l->samples, l->bits, l->photometric);
}

/* The first extra sample may be alpha; other extra samples are left out. */
static void find_alpha(TIFF *t, struct layout *l, int colors)
{
    uint16_t n = 0, *kinds = NULL;
    l->kept = colors;
    if (l->samples <= colors || !TIFFGetField(t, TIFFTAG_EXTRASAMPLES, &n, &kinds) || n < 1)
        return;
    if (kinds[0] == EXTRASAMPLE_ASSOCALPHA || kinds[0] == EXTRASAMPLE_UNASSALPHA) {
        l->alpha = kinds[0];
        l->kept++;
    }
}

/* JPEG data are converted to RGB by libjpeg; other YCbCr is not supported. */
static int find_colors(const struct source *s, struct layout *l)
{
    uint16_t packing = 0, format = SAMPLEFORMAT_UINT;
    TIFFGetFieldDefaulted(s->tiff, TIFFTAG_COMPRESSION, &packing);
    TIFFGetFieldDefaulted(s->tiff, TIFFTAG_SAMPLEFORMAT, &format);
    if (l->photometric == PHOTOMETRIC_YCBCR && packing == COMPRESSION_JPEG && l->bits == 8) {
        TIFFSetField(s->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        l->photometric = PHOTOMETRIC_RGB;
    }
    int grey = l->photometric == PHOTOMETRIC_MINISBLACK ||
               l->photometric == PHOTOMETRIC_MINISWHITE,
        palette = l->photometric == PHOTOMETRIC_PALETTE && l->bits <= 8,
        rgb = l->photometric == PHOTOMETRIC_RGB && l->bits >= 8;
    int depth = l->bits == 1 || l->bits == 2 || l->bits == 4 || l->bits == 8 || l->bits == 16;
    int colors = rgb ? 3 : 1;
    if ((!grey && !palette && !rgb) || !depth || format != SAMPLEFORMAT_UINT ||
        l->samples < colors || (l->bits < 8 && l->samples != 1))
        return refuse(s, l);
    if (palette &&
        !TIFFGetField(s->tiff, TIFFTAG_COLORMAP, &l->color[0], &l->color[1], &l->color[2]))
        return ck_fail(COKE_EFORMAT, "%s: the TIFF file has no palette", s->in->name);
    find_alpha(s->tiff, l, colors);
    return COKE_OK;
}

static int read_layout(const struct source *s, struct layout *l)
{
    TIFF *t = s->tiff;
    memset(l, 0, sizeof *l);
    TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &l->width);
    TIFFGetField(t, TIFFTAG_IMAGELENGTH, &l->height);
    TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &l->bits);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &l->samples);
    TIFFGetFieldDefaulted(t, TIFFTAG_ORIENTATION, &l->orientation);
    uint16_t planar = PLANARCONFIG_CONTIG;
    TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planar);
    l->planes = planar == PLANARCONFIG_SEPARATE ? l->samples : 1;
    if (!TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &l->photometric))
        return ck_fail(COKE_EFORMAT, "%s: the TIFF file does not say what its samples are",
                       s->in->name);
    l->tiled = TIFFIsTiled(t);
    l->block_width = l->width;
    if (l->tiled) {
        TIFFGetField(t, TIFFTAG_TILEWIDTH, &l->block_width);
        TIFFGetField(t, TIFFTAG_TILELENGTH, &l->block_height);
    } else {
        TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &l->block_height);
    }
    if (!l->tiled && l->block_height > l->height)
        l->block_height = l->height;
    if (l->width > CK_IMAGE_MAX_SIDE || l->height > CK_IMAGE_MAX_SIDE || !l->block_width ||
        !l->block_height)
        return ck_fail(COKE_EFORMAT, "%s: a TIFF of %u x %u pixels in blocks of %u x %u",
                       s->in->name, l->width, l->height, l->block_width, l->block_height);
    return find_colors(s, l);
}

int ck_tiff_probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    struct source s;
    struct layout l;
    int rc = COKE_OK;
    CK_TRY(open_source(&s, in));
    CK_TRY(read_layout(&s, &l));
    out->width = (int32_t)l.width;
    out->height = (int32_t)l.height;
    out->channels = l.kept - (l.alpha != 0) == 1 && !l.color[0] ? 1 : 3;
    out->bits = l.bits;
    out->alpha = l.alpha != 0;
    out->orientation = l.orientation >= 1 && l.orientation <= 8 ? l.orientation : 1;
done:
    if (s.tiff)
        TIFFClose(s.tiff);
    return rc;
}

/* ---- pixels ---- */

/* Sample i of a row: indices of palettes as they are, others scaled to 8 bits. */
static uint8_t sample_at(const struct layout *l, const uint8_t *row, size_t i)
{
    if (l->bits == 16) {
        uint16_t x;
        memcpy(&x, row + 2 * i, sizeof x);
        return (uint8_t)(x >> 8);
    }
    if (l->bits == 8)
        return row[i];
    size_t per_byte = 8u / l->bits;
    uint32_t shift = (uint32_t)(per_byte - 1 - i % per_byte) * l->bits;
    uint32_t max = (1u << l->bits) - 1, x = (uint32_t)row[i / per_byte] >> shift & max;
    return (uint8_t)(l->color[0] ? x : x * 255 / max);
}

/* Copies the part of a block at (x, y) that lies in the image, of one plane or all samples. */
static void unpack_block(const struct layout *l, const uint8_t *block, size_t stride,
                         uint32_t x, uint32_t y, int plane, struct ck_image *raw)
{
    size_t kept = (size_t)l->kept, step = l->planes > 1 ? 1 : l->samples;
    size_t first = l->planes > 1 ? (size_t)plane : 0, n = l->planes > 1 ? 1 : kept;
    for (uint32_t r = 0; r < l->block_height && y + r < l->height; r++) {
        const uint8_t *row = block + r * stride;
        uint8_t *to = raw->data + ((size_t)(y + r) * l->width + x) * kept + first;
        for (uint32_t c = 0; c < l->block_width && x + c < l->width; c++, to += kept)
            for (size_t i = 0; i < n; i++)
                to[i] = sample_at(l, row, c * step + i);
    }
}

/* A block must have all rows that lie in the image. */
static int read_block(struct source *s, const struct layout *l, uint32_t x, uint32_t y,
                      int plane, uint8_t *block, tmsize_t size, size_t stride)
{
    uint32_t rows = l->height - y < l->block_height ? l->height - y : l->block_height;
    tmsize_t need = l->tiled ? size : (tmsize_t)(rows * stride);
    tmsize_t got =
        l->tiled ? TIFFReadEncodedTile(
                       s->tiff, TIFFComputeTile(s->tiff, x, y, 0, (uint16_t)plane), block, size)
                 : TIFFReadEncodedStrip(s->tiff, TIFFComputeStrip(s->tiff, y, (uint16_t)plane),
                                        block, need);
    return got < need ? fail(s) : COKE_OK;
}

static int read_plane(struct source *s, const struct layout *l, int plane, uint8_t *block,
                      tmsize_t size, struct ck_image *raw)
{
    size_t stride = (size_t)(l->tiled ? TIFFTileRowSize(s->tiff) : TIFFScanlineSize(s->tiff));
    for (uint32_t y = 0; y < l->height; y += l->block_height)
        for (uint32_t x = 0; x < l->width; x += l->block_width) {
            CK_RETURN_IF(read_block(s, l, x, y, plane, block, size, stride));
            unpack_block(l, block, stride, x, y, plane, raw);
        }
    return COKE_OK;
}

/* libtiff's sizes of a row and a block must hold what unpack_block reads of them. */
static int check_sizes(const struct source *s, const struct layout *l, tmsize_t size)
{
    size_t stride = (size_t)(l->tiled ? TIFFTileRowSize(s->tiff) : TIFFScanlineSize(s->tiff));
    size_t samples = l->planes > 1 ? 1 : l->samples;
    size_t row = (samples * l->block_width * l->bits + 7) / 8;
    if (size < 1 || size > MAX_ALLOCATION || stride < row ||
        stride > (size_t)size / l->block_height)
        return ck_fail(COKE_EFORMAT, "%s: TIFF: blocks of %u x %u pixels in %lld bytes",
                       s->in->name, l->block_width, l->block_height, (long long)size);
    return COKE_OK;
}

static int read_samples(struct source *s, const struct layout *l, struct ck_image *raw)
{
    int rc = COKE_OK;
    uint8_t *block = NULL;
    tmsize_t size = l->tiled ? TIFFTileSize(s->tiff) : TIFFStripSize(s->tiff);
    CK_RETURN_IF(check_sizes(s, l, size));
    CK_RETURN_IF(ck_image_reshape(raw, (int32_t)l->width, (int32_t)l->height, l->kept));
    block = ck_alloc_array((size_t)size, 1);
    if (!block)
        return COKE_ENOMEM;
    for (int p = 0; p < (l->planes > 1 ? l->kept : 1); p++)
        CK_TRY(read_plane(s, l, p, block, size, raw));
done:
    ck_free(block);
    return rc;
}

/* Undoes the multiplication by alpha, rounding down as Pillow does. */
static uint8_t divide(uint8_t x, uint8_t alpha)
{
    uint32_t y = alpha ? 255u * x / alpha : 0;
    return (uint8_t)(y > 255 ? 255 : y);
}

static void convert_pixel(const struct layout *l, const uint8_t *from, uint8_t *to,
                          int channels)
{
    uint8_t alpha = l->alpha ? from[l->kept - 1] : 255;
    for (int c = 0; c < channels; c++) {
        uint8_t x = l->color[0] ? (uint8_t)(l->color[c][from[0]] >> 8) : from[c];
        if (l->photometric == PHOTOMETRIC_MINISWHITE)
            x = (uint8_t)(255 - x);
        to[c] = l->alpha == EXTRASAMPLE_ASSOCALPHA && alpha < 255 ? divide(x, alpha) : x;
    }
}

static int convert(const struct layout *l, const struct ck_image *raw,
                   const struct ck_decode_job *job)
{
    int channels = job->info->channels;
    size_t n = (size_t)raw->width * (size_t)raw->height, step = (size_t)(channels + job->alpha);
    CK_RETURN_IF(ck_image_reshape(job->out, raw->width, raw->height, (int32_t)step));
    for (size_t i = 0; i < n; i++) {
        const uint8_t *from = raw->data + i * (size_t)l->kept;
        convert_pixel(l, from, job->out->data + i * step, channels);
        if (job->alpha)
            job->out->data[i * step + step - 1] = from[l->kept - 1];
    }
    return COKE_OK;
}

int ck_tiff_decode(struct ck_decoder *d, const struct ck_decode_job *job)
{
    struct source s;
    struct layout l;
    int rc = COKE_OK;
    CK_TRY(open_source(&s, &job->in));
    CK_TRY(read_layout(&s, &l));
    CK_TRY(read_samples(&s, &l, &d->spare));
    CK_TRY(convert(&l, &d->spare, job));
done:
    if (s.tiff)
        TIFFClose(s.tiff);
    return rc;
}
