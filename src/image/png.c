/* png.c - PNG by libpng: no gamma, no colour management, just the stored samples. */
#include "image/codec.h"
#include "image/codecs.h"
#include "image/exif.h"
#include "core/error.h"
#include "core/mem.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { SIGNATURE = 8, CHUNK_HEADER = 8, CHUNK_EXTRA = 12, IHDR_BYTES = 13, LEVEL = 6 };
/* No chunk but the pixels may take more memory than this. */
enum { MAX_CHUNK_BYTES = 1 << 20 };

/* The state of one call, reading or writing, for libpng's callbacks; on the caller's stack. */
struct transfer {
    png_structp png;
    png_infop info;
    const struct ck_bytes *in; /* when reading */
    size_t at;
    struct ck_sink sink; /* when writing */
    int out_of_memory;
    char words[128]; /* libpng's message, if it failed */
};

/* ---- callbacks ---- */

/* libpng may not return from an error: jumps to the setjmp of run_reader or run_writer. */
static PNG_NORETURN void give_up(png_structp png, png_const_charp words)
{
    struct transfer *s = png_get_error_ptr(png);
    snprintf(s->words, sizeof s->words, "%s", words);
    png_longjmp(png, 1);
}

static void stay_silent(png_structp png, png_const_charp words)
{
    (void)png;
    (void)words;
}

/* Through ck_alloc_array, so that tests can fail each allocation. */
static png_voidp allocate(png_structp png, png_alloc_size_t bytes)
{
    struct transfer *s = png_get_mem_ptr(png);
    void *p = ck_alloc_array(bytes, 1);
    s->out_of_memory |= !p;
    return p;
}

static void release(png_structp png, png_voidp p)
{
    (void)png;
    ck_free(p);
}

static void read_bytes(png_structp png, png_bytep to, size_t n)
{
    struct transfer *s = png_get_io_ptr(png);
    if (n > s->in->size - s->at)
        png_error(png, "truncated file");
    memcpy(to, s->in->at + s->at, n);
    s->at += n;
}

static void write_bytes(png_structp png, png_bytep from, size_t n)
{
    struct transfer *s = png_get_io_ptr(png);
    if (ck_sink_append(&s->sink, from, n)) {
        s->out_of_memory = 1;
        png_error(png, "out of memory");
    }
}

static void flush(png_structp png)
{
    (void)png;
}

/* ---- the header ---- */

/* The body of the first chunk of that name before a chunk named `end` (NULL: of all), or NULL.
 * Scans chunk headers only. */
static const uint8_t *find_chunk(const struct ck_bytes *in, const char *name, const char *end,
                                 size_t *bytes)
{
    for (size_t at = SIGNATURE; in->size - at >= CHUNK_EXTRA;) {
        const uint8_t *chunk = in->at + at;
        *bytes = ck_be32(chunk);
        if (*bytes > in->size - at - CHUNK_EXTRA || (end && memcmp(chunk + 4, end, 4) == 0))
            break;
        if (memcmp(chunk + 4, name, 4) == 0)
            return chunk + CHUNK_HEADER;
        at += *bytes + CHUNK_EXTRA;
    }
    return NULL;
}

int ck_png_probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    const uint8_t *header = in->at + SIGNATURE, *body = header + CHUNK_HEADER;
    size_t bytes;
    if (in->size < SIGNATURE + CHUNK_EXTRA + IHDR_BYTES)
        return ck_codec_truncated(in, CK_CODEC_PNG);
    if (ck_be32(header) != IHDR_BYTES || memcmp(header + 4, "IHDR", 4) != 0)
        return ck_fail(COKE_EFORMAT, "%s: the PNG file does not start with an IHDR chunk",
                       in->name);
    /* Sides beyond 31 bits become 0, which codec.c rejects as well. */
    uint32_t width = ck_be32(body), height = ck_be32(body + 4);
    out->width = width > INT32_MAX ? 0 : (int32_t)width;
    out->height = height > INT32_MAX ? 0 : (int32_t)height;
    out->channels = body[9] & PNG_COLOR_MASK_COLOR ? 3 : 1;
    out->bits = body[8];
    out->alpha = body[9] & PNG_COLOR_MASK_ALPHA || find_chunk(in, "tRNS", "IDAT", &bytes);
    const uint8_t *exif = find_chunk(in, "eXIf", NULL, &bytes); /* may follow the pixels */
    out->orientation = exif ? ck_exif_orientation(exif, bytes) : 1;
    return COKE_OK;
}

/* ---- reading ---- */

/* Skips every chunk but the pixels, the palette and its alpha, so that it costs no memory. */
static void set_limits(png_structp png, int alpha)
{
    static const png_byte names[] =
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0"
        "sBIT\0sCAL\0sPLT\0sRGB\0sTER\0tEXt\0tIME\0zTXt\0tRNS";
    int n = (int)(sizeof names / 5) - (alpha ? 1 : 0);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, n);
    png_set_user_limits(png, CK_IMAGE_MAX_SIDE, CK_IMAGE_MAX_SIDE);
    png_set_chunk_malloc_max(png, MAX_CHUNK_BYTES);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
}

/* Every PNG becomes 8-bit grey or RGB, the formats that ck_png_probe announces, with or without
 * alpha. A tRNS chunk that libpng refuses leaves opaque pixels. */
static void set_transforms(png_structp png, png_infop info, int alpha)
{
    int color = png_get_color_type(png, info);
    int has_alpha = color & PNG_COLOR_MASK_ALPHA || png_get_valid(png, info, PNG_INFO_tRNS);
    png_set_strip_16(png); /* keeps the high byte, as Pillow does */
    png_set_packing(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_palette_to_rgb(png);
    if (!alpha)
        png_set_strip_alpha(png);
    else if (has_alpha)
        png_set_tRNS_to_alpha(png);
    else
        png_set_add_alpha(png, 0xffff, PNG_FILLER_AFTER);
}

/* Leaves by longjmp when libpng finds an error. */
static int read_pixels(struct transfer *s, const struct ck_decode_job *job)
{
    png_structp png = s->png;
    struct ck_image *out = job->out;
    int32_t channels = job->info->channels + job->alpha;
    set_limits(png, job->alpha);
    png_set_read_fn(png, s, read_bytes);
    png_read_info(png, s->info);
    set_transforms(png, s->info, job->alpha);
    int sweeps = png_set_interlace_handling(png); /* 7 if interlaced, else 1 */
    png_read_update_info(png, s->info);
    int32_t width = (int32_t)png_get_image_width(png, s->info);
    int32_t height = (int32_t)png_get_image_height(png, s->info);
    size_t row = (size_t)width * (size_t)channels;
    if (png_get_rowbytes(png, s->info) != row)
        png_error(png, "rows have an unexpected length");
    int rc = ck_image_reshape(out, width, height, channels);
    if (rc)
        return rc;
    for (int sweep = 0; sweep < sweeps; sweep++)
        for (int32_t y = 0; y < height; y++)
            png_read_row(png, out->data + row * (size_t)y, NULL);
    png_read_end(png, NULL);
    return COKE_OK;
}

/* setjmp is in a function of its own, whose variables do not change after it. */
static int run_reader(struct transfer *s, const struct ck_decode_job *job)
{
    if (setjmp(png_jmpbuf(s->png))) {
        if (s->out_of_memory)
            return COKE_ENOMEM;
        return ck_fail(COKE_EFORMAT, "%s: PNG: %s", s->in->name, s->words);
    }
    return read_pixels(s, job);
}

int ck_png_decode(struct ck_decoder *d, const struct ck_decode_job *job)
{
    (void)d;
    struct transfer s = {.in = &job->in};
    int rc;
    s.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &s, give_up, stay_silent, &s,
                                     allocate, release);
    s.info = s.png ? png_create_info_struct(s.png) : NULL;
    if (!s.info)
        CK_FAIL(COKE_ENOMEM, "%s: out of memory in libpng", job->in.name);
    CK_TRY(run_reader(&s, job));
done:
    png_destroy_read_struct(&s.png, &s.info, NULL);
    return rc;
}

/* ---- writing ---- */

/* Leaves by longjmp like read_pixels. */
static void write_pixels(struct transfer *s, const struct ck_image *im)
{
    int color = im->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY;
    size_t row = (size_t)im->width * (size_t)im->channels;
    png_set_write_fn(s->png, s, write_bytes, flush);
    png_set_user_limits(s->png, CK_IMAGE_MAX_SIDE, CK_IMAGE_MAX_SIDE);
    png_set_compression_level(s->png, LEVEL);
    png_set_IHDR(s->png, s->info, (png_uint_32)im->width, (png_uint_32)im->height, 8, color,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(s->png, s->info);
    for (int32_t y = 0; y < im->height; y++)
        png_write_row(s->png, im->data + row * (size_t)y);
    png_write_end(s->png, s->info);
}

static int run_writer(struct transfer *s, const struct ck_image *im)
{
    if (setjmp(png_jmpbuf(s->png))) {
        if (s->out_of_memory)
            return COKE_ENOMEM;
        return ck_fail(COKE_EUSAGE, "%d x %d pixels as PNG: %s", im->width, im->height,
                       s->words);
    }
    write_pixels(s, im);
    return COKE_OK;
}

int ck_png_encode(const struct ck_image *im, unsigned char **bytes, size_t *size)
{
    struct transfer s = {0};
    int rc;
    if (im->channels != 1 && im->channels != 3)
        return ck_fail(COKE_EUSAGE,
                       "cannot write an image of %d channels as PNG: 1 and 3 are supported",
                       im->channels);
    s.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &s, give_up, stay_silent, &s,
                                      allocate, release);
    s.info = s.png ? png_create_info_struct(s.png) : NULL;
    if (!s.info)
        CK_FAIL(COKE_ENOMEM, "out of memory in libpng");
    CK_TRY(run_writer(&s, im));
    *bytes = s.sink.data;
    *size = s.sink.size;
    s.sink.data = NULL;
done:
    png_destroy_write_struct(&s.png, &s.info);
    ck_free(s.sink.data);
    return rc;
}
