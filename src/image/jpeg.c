/* jpeg.c - JPEG, using libjpeg-turbo: decodes whole or in part, at full size or scaled;
 * encodes. */
#include "image/codec.h"
#include "image/codecs.h"
#include "image/exif.h"
#include "core/error.h"
#include "core/mem.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>

/* ROWS: rows per call of libjpeg. A scan of a progressive file costs a sweep over all
 * coefficients, however few bytes it has. Files may cost FREE_SWEEPS sweeps (usual encoders: 3
 * to 10) and PER_BYTE more blocks per byte, and have MAX_SCANS scans. */
enum { ROWS = 16, MAX_SCANS = 500, FREE_SWEEPS = 16, PER_BYTE = 8, FIRST_SINK = 1 << 16 };

/* Side of a block after scaling; the field's name depends on the version of the interface. */
#if JPEG_LIB_VERSION >= 70
#define BLOCK_SIDE(c) ((c)->min_DCT_h_scaled_size)
#define COMPONENT_SIDE(p) ((p)->DCT_h_scaled_size)
#else
#define BLOCK_SIDE(c) ((c)->min_DCT_scaled_size)
#define COMPONENT_SIDE(p) ((p)->DCT_scaled_size)
#endif

/* libjpeg's error handler: longjmp to the function that then reports the message. */
struct errors {
    struct jpeg_error_mgr base; /* first, so that a pointer to it is a pointer to both */
    jmp_buf jump;
    int status;                    /* status to report */
    const char *words;             /* our message; NULL = libjpeg's */
    char warning[JMSG_LENGTH_MAX]; /* the first warning; "" = none */
};

/* Stored in ck_decoder.jpeg: allocated by the first JPEG file of a thread, reused by the
 * others. */
struct decompressor {
    struct jpeg_decompress_struct c; /* first: check_scans gets a pointer to it */
    struct errors errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    int64_t cost;  /* blocks that the scans have visited so far */
    int64_t bytes; /* of the file */
};

/* ---- errors ---- */

static void jump_out(j_common_ptr c)
{
    struct errors *e = (struct errors *)c->err;
    longjmp(e->jump, 1);
}

/* Fails with our own message, a string literal. */
static void jump_with(j_common_ptr c, const char *words)
{
    struct errors *e = (struct errors *)c->err;
    e->words = words;
    longjmp(e->jump, 1);
}

/* Level -1 marks corrupt data that libjpeg decodes anyway; an error only if the caller is
 * strict. */
static void keep_warning(j_common_ptr c, int level)
{
    struct errors *e = (struct errors *)c->err;
    if (level < 0 && !e->warning[0])
        e->base.format_message(c, e->warning);
}

static void stay_silent(j_common_ptr c)
{
    (void)c;
}

static void set_errors(struct errors *e, int status)
{
    jpeg_std_error(&e->base);
    e->base.error_exit = jump_out;
    e->base.emit_message = keep_warning;
    e->base.output_message = stay_silent;
    e->status = status;
    e->words = NULL;
    e->warning[0] = 0;
}

/* Turns what libjpeg reported before the jump into this library's error. */
static int report_error(const char *name, j_common_ptr c)
{
    struct errors *e = (struct errors *)c->err;
    char words[JMSG_LENGTH_MAX];
    if (e->words)
        return ck_fail(e->status, "%s: JPEG: %s", name, e->words);
    e->base.format_message(c, words);
    int memory = e->base.msg_code == JERR_OUT_OF_MEMORY;
    return ck_fail(memory ? COKE_ENOMEM : e->status, "%s: JPEG: %s", name, words);
}

/* ---- the header ---- */

/* SOF0 to SOF15 without DHT, JPG and DAC. */
static int is_frame(uint8_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
           marker != 0xcc;
}

/* Markers without a length: TEM, RST0 to RST7, SOI. */
static int is_alone(uint8_t marker)
{
    return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

/* The next marker at or after *at, which advances past it; 0 if there is none. */
static uint8_t next_marker(const struct ck_bytes *in, size_t *at)
{
    for (; *at + 1 < in->size; (*at)++)
        if (in->at[*at] == 0xff && in->at[*at + 1] != 0xff && in->at[*at + 1] != 0) {
            *at += 2;
            return in->at[*at - 1];
        }
    return 0;
}

/* body: a frame header after its length field, at smaller 6 bytes. */
static int read_frame(const struct ck_bytes *in, const uint8_t *body, struct ck_image_info *out)
{
    int components = body[5];
    if (components != 1 && components != 3 && components != 4)
        return ck_fail(COKE_EFORMAT, "%s: JPEG has %d components; 1, 3 and 4 are supported",
                       in->name, components);
    out->bits = body[0];
    out->height = (int32_t)ck_be16(body + 1);
    out->width = (int32_t)ck_be16(body + 3);
    out->channels = components == 1 ? 1 : 3;
    return COKE_OK;
}

/* Reads the markers up to the first scan. Of several frame headers or EXIF blocks the first
 * counts. */
int ck_jpeg_probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    size_t bytes, *scan = &out->scan;
    int exif = 0;
    *scan = 2;
    for (uint8_t marker; (marker = next_marker(in, scan)) != 0; *scan += bytes) {
        bytes = 0;
        if (is_alone(marker))
            continue;
        if (marker == 0xd9 || *scan + 2 > in->size)
            break;
        bytes = ck_be16(in->at + *scan);
        const uint8_t *body = in->at + *scan + 2;
        if (bytes < 2 || bytes > in->size - *scan)
            break;
        if (marker == 0xda && out->channels)
            return COKE_OK;
        if (marker == 0xe1 && !exif && bytes >= 8 && memcmp(body, "Exif\0", 5) == 0) {
            exif = 1;
            out->orientation = ck_exif_orientation(body, bytes - 2);
        }
        if (is_frame(marker) && !out->channels && bytes >= 8) {
            int rc = read_frame(in, body, out);
            if (rc)
                return rc;
        }
    }
    return ck_fail(COKE_EFORMAT, "%s: damaged or truncated JPEG header", in->name);
}

/* Whether an end marker follows the header. Checked before decoding, so that a truncated file
 * is found no matter which part of it is wanted. */
static int has_end(const struct ck_bytes *in, const struct ck_image_info *info)
{
    for (size_t i = in->size; i > info->scan + 1; i--)
        if (in->at[i - 1] == 0xd9 && in->at[i - 2] == 0xff)
            return 1;
    return 0;
}

/* ---- source, memory, limits ---- */

static void begin_source(j_decompress_ptr c)
{
    (void)c;
}

/* The whole file is in the buffer from the start, so that a request for more means
 * truncation. */
static boolean ask_beyond_end(j_decompress_ptr c)
{
    jump_with((j_common_ptr)c, "truncated file");
    return FALSE;
}

static void skip_bytes(j_decompress_ptr c, long n)
{
    struct jpeg_source_mgr *s = c->src;
    if (n <= 0)
        return;
    if ((size_t)n > s->bytes_in_buffer)
        ask_beyond_end(c);
    s->next_input_byte += n;
    s->bytes_in_buffer -= (size_t)n;
}

static int64_t blocks_of_image(const struct jpeg_decompress_struct *c)
{
    int64_t blocks = 0;
    for (int i = 0; i < c->num_components; i++)
        blocks += (int64_t)c->comp_info[i].width_in_blocks * c->comp_info[i].height_in_blocks;
    return blocks;
}

/* One call of consume_input: a row of MCUs, or as many as make up the height of one where the
 * scan has a single component. */
static int64_t blocks_of_step(const struct jpeg_decompress_struct *c)
{
    int rows =
        c->comps_in_scan == 1 && c->cur_comp_info[0] ? c->cur_comp_info[0]->v_samp_factor : 1;
    return (int64_t)c->MCUs_per_row * c->blocks_in_MCU * rows;
}

/* libjpeg's progress callback, called for each row of blocks of each scan. */
static void check_scans(j_common_ptr common)
{
    struct decompressor *s = (struct decompressor *)common;
    if (!jpeg_has_multiple_scans(&s->c) || jpeg_input_complete(&s->c))
        return;
    s->cost += blocks_of_step(&s->c);
    if (s->c.input_scan_number > MAX_SCANS ||
        s->cost > FREE_SWEEPS * blocks_of_image(&s->c) + PER_BYTE * s->bytes)
        jump_with(common, "implausibly many scans");
}

/* Creates libjpeg's state anew for each file, which costs a few small allocations: tables that
 * a file does not define must not be those of the previous file. */
static void open_file(struct decompressor *s, const struct ck_bytes *in)
{
    jpeg_create_decompress(&s->c);
    s->source = (struct jpeg_source_mgr){.next_input_byte = in->at,
                                         .bytes_in_buffer = in->size,
                                         .init_source = begin_source,
                                         .fill_input_buffer = ask_beyond_end,
                                         .skip_input_data = skip_bytes,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = begin_source};
    s->progress.progress_monitor = check_scans;
    s->cost = 0;
    s->bytes = (int64_t)in->size;
    s->c.src = &s->source;
    s->c.progress = &s->progress;
}

static int get_decompressor(struct ck_decoder *d, struct decompressor **out)
{
    if (!d->jpeg)
        d->jpeg = ck_calloc_array(1, sizeof **out);
    if (!d->jpeg)
        return COKE_ENOMEM;
    *out = d->jpeg;
    return COKE_OK;
}

void ck_jpeg_release(void *state)
{
    ck_free(state); /* libjpeg's own memory was freed after the last file */
}

/* ---- which part ---- */

static int32_t round_down(int32_t x, int32_t step)
{
    return x / step * step;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Crops only layouts that are known to give the same bytes in part: all components of one size,
 * or a large one before small ones. libjpeg miscomputes the widths of parts where chroma is
 * both scaled by the transform and interpolated (4:1:0 at 1/2, for example). */
static int can_crop(const struct jpeg_decompress_struct *c)
{
    for (int i = 0; i < c->num_components; i++) {
        const jpeg_component_info *p = &c->comp_info[i];
        int full = p->h_samp_factor == c->max_h_samp_factor &&
                   p->v_samp_factor == c->max_v_samp_factor;
        int whole =
            p->h_samp_factor * COMPONENT_SIDE(p) == c->max_h_samp_factor * BLOCK_SIDE(c);
        int small = p->h_samp_factor == 1 && p->v_samp_factor == 1;
        if (!full && !(i > 0 && small && (whole || COMPONENT_SIDE(p) == BLOCK_SIDE(c))))
            return 0;
    }
    return 1;
}

/* The wanted part in pixels of the output, with one more block on either side: chroma is
 * interpolated between neighbours, which are missing at the edge of a part. */
static struct ck_box scaled_part(const struct jpeg_decompress_struct *c,
                                 const struct ck_decode_job *job)
{
    const struct ck_box *w = &job->want;
    int32_t scale = job->scale, width = (int32_t)c->output_width;
    int32_t height = (int32_t)c->output_height;
    if (!can_crop(c))
        return (struct ck_box){0, 0, width, height};
    int32_t block = BLOCK_SIDE(c) * c->max_h_samp_factor;
    int32_t left = larger(round_down(w->x / scale, block) - block, 0);
    int32_t right = smaller((w->x + w->width + scale - 1) / scale + block, width);
    int32_t bottom = smaller((w->y + w->height + scale - 1) / scale, height);
    return (struct ck_box){left, w->y / scale, right - left, bottom - w->y / scale};
}

/* Selects the columns and skips the rows above; returns the part that libjpeg will decode. */
static struct ck_box go_to_part(struct decompressor *s, const struct ck_decode_job *job)
{
    struct ck_box part = scaled_part(&s->c, job);
    if (part.width < (int32_t)s->c.output_width) {
        JDIMENSION x = (JDIMENSION)part.x, width = (JDIMENSION)part.width;
        jpeg_crop_scanline(&s->c, &x, &width);
        part.x = (int32_t)x;
        part.width = (int32_t)width;
    }
    if (part.y > 0)
        jpeg_skip_scanlines(&s->c, (JDIMENSION)part.y);
    return part;
}

/* ---- decoding ---- */

/* Decodes up to n rows to consecutive rows of `row` bytes; returns their number. */
static int read_rows(struct decompressor *s, uint8_t *to, size_t row, int32_t n)
{
    JSAMPROW rows[ROWS];
    n = smaller(n, ROWS);
    for (int32_t i = 0; i < n; i++)
        rows[i] = to + row * (size_t)i;
    return (int)jpeg_read_scanlines(&s->c, rows, (JDIMENSION)n);
}

static void read_part(struct decompressor *s, struct ck_image *out)
{
    size_t row = (size_t)out->width * (size_t)out->channels;
    for (int32_t y = 0; y < out->height;)
        y += read_rows(s, out->data + row * (size_t)y, row, out->height - y);
}

/* a * b / 255, rounded as Pillow does. */
static uint32_t mul255(uint32_t a, uint32_t b)
{
    uint32_t t = a * b + 128;
    return ((t >> 8) + t) >> 8;
}

/* Four-component files are Adobe's, which store the inverse: 255 = no ink. */
static void cmyk_to_rgb(const uint8_t *from, uint8_t *to, int32_t n)
{
    for (int32_t i = 0; i < n; i++, from += 4)
        for (int c = 0; c < 3; c++)
            *to++ = (uint8_t)(from[3] - mul255(255u - from[c], from[3]));
}

/* Converts ROWS rows at a time; `four` is scratch. */
static int read_cmyk_part(struct decompressor *s, struct ck_image *out, struct ck_image *four)
{
    int rc = ck_image_reshape(four, out->width, ROWS, 4);
    if (rc)
        return rc;
    uint8_t *to = out->data;
    for (int32_t y = 0; y < out->height;) {
        int n = read_rows(s, four->data, 4 * (size_t)out->width, out->height - y);
        cmyk_to_rgb(four->data, to, n * out->width);
        to += 3 * (size_t)out->width * (size_t)n;
        y += n;
    }
    return COKE_OK;
}

static J_COLOR_SPACE color_space(const struct decompressor *s)
{
    return s->c.num_components == 1   ? JCS_GRAYSCALE
           : s->c.num_components == 3 ? JCS_RGB
                                      : JCS_CMYK;
}

/* Leaves by longjmp when libjpeg finds an error. */
static int decode_part(struct ck_decoder *d, struct decompressor *s,
                       const struct ck_decode_job *job)
{
    open_file(s, &job->in);
    jpeg_read_header(&s->c, TRUE);
    if (s->c.image_width != (JDIMENSION)job->info->width ||
        s->c.image_height != (JDIMENSION)job->info->height ||
        (s->c.num_components == 1) != (job->info->channels == 1))
        jump_with((j_common_ptr)&s->c, "contradictory frame headers");
    s->c.out_color_space = color_space(s);
    s->c.scale_num = 1;
    s->c.scale_denom = (unsigned)job->scale;
    jpeg_start_decompress(&s->c);
    *job->got = go_to_part(s, job);
    int rc = ck_image_reshape(job->out, job->got->width, job->got->height, job->info->channels);
    if (rc)
        return rc;
    if (s->c.num_components == 4)
        return read_cmyk_part(s, job->out, &d->spare);
    read_part(s, job->out);
    return COKE_OK;
}

static int decode_or_report(struct ck_decoder *d, struct decompressor *s,
                            const struct ck_decode_job *job)
{
    if (setjmp(s->errors.jump))
        return report_error(job->in.name, (j_common_ptr)&s->c);
    return decode_part(d, s, job);
}

/* libjpeg's state never outlives the call, whichever way it ends. */
int ck_jpeg_decode(struct ck_decoder *d, const struct ck_decode_job *job)
{
    struct decompressor *s;
    int rc;
    if (!has_end(&job->in, job->info))
        return ck_codec_truncated(&job->in, CK_CODEC_JPEG);
    CK_TRY(get_decompressor(d, &s));
    set_errors(&s->errors, COKE_EFORMAT);
    memset(&s->c, 0, sizeof s->c); /* leaves nothing to destroy if creation fails */
    s->c.err = &s->errors.base;
    rc = decode_or_report(d, s, job);
    jpeg_destroy_decompress(&s->c);
    if (!rc && job->strict && s->errors.warning[0])
        rc =
            ck_fail(COKE_EFORMAT, "%s: damaged JPEG data: %s", job->in.name, s->errors.warning);
done:
    return rc;
}

/* ---- encoding ---- */

/* On the stack of ck_jpeg_encode; `c` is first, so that a pointer to it is a pointer to all. */
struct compressor {
    struct jpeg_compress_struct c;
    struct errors errors;
    struct jpeg_destination_mgr destination;
    struct ck_sink sink;
};

static struct compressor *compressor_of(j_compress_ptr c)
{
    return (struct compressor *)c;
}

/* Gives libjpeg the room between sink.size and sink.capacity to fill. */
static void offer_room(j_compress_ptr c)
{
    struct compressor *s = compressor_of(c);
    if (ck_sink_reserve(&s->sink, FIRST_SINK)) {
        s->errors.status = COKE_ENOMEM;
        jump_with((j_common_ptr)c, "out of memory");
    }
    s->destination.next_output_byte = s->sink.data + s->sink.size;
    s->destination.free_in_buffer = (size_t)s->sink.capacity - s->sink.size;
}

/* libjpeg calls this when the room is full, whatever free_in_buffer says. */
static boolean take_full(j_compress_ptr c)
{
    compressor_of(c)->sink.size = (size_t)compressor_of(c)->sink.capacity;
    offer_room(c);
    return TRUE;
}

static void take_rest(j_compress_ptr c)
{
    struct compressor *s = compressor_of(c);
    s->sink.size = (size_t)s->sink.capacity - s->destination.free_in_buffer;
}

static void set_parameters(struct compressor *s, const struct ck_image *im, int quality)
{
    s->c.image_width = (JDIMENSION)im->width;
    s->c.image_height = (JDIMENSION)im->height;
    s->c.input_components = im->channels;
    s->c.in_color_space = im->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&s->c);
    jpeg_set_quality(&s->c, quality, TRUE);
    int half = im->channels == 3 && quality < CK_JPEG_FULL_COLOR;
    s->c.comp_info[0].h_samp_factor = half ? 2 : 1;
    s->c.comp_info[0].v_samp_factor = half ? 2 : 1;
}

static int encode_or_report(struct compressor *s, const struct ck_image *im, int quality)
{
    if (setjmp(s->errors.jump))
        return report_error("writing", (j_common_ptr)&s->c);
    jpeg_create_compress(&s->c);
    s->destination = (struct jpeg_destination_mgr){.init_destination = offer_room,
                                                   .empty_output_buffer = take_full,
                                                   .term_destination = take_rest};
    s->c.dest = &s->destination;
    set_parameters(s, im, quality);
    jpeg_start_compress(&s->c, TRUE);
    size_t row = (size_t)im->width * (size_t)im->channels;
    while (s->c.next_scanline < s->c.image_height) {
        JSAMPROW from = im->data + row * s->c.next_scanline;
        jpeg_write_scanlines(&s->c, &from, 1);
    }
    jpeg_finish_compress(&s->c);
    return COKE_OK;
}

int ck_jpeg_encode(const struct ck_image *im, int quality, unsigned char **bytes, size_t *size)
{
    struct compressor s;
    if (im->channels != 1 && im->channels != 3)
        return ck_fail(COKE_EUSAGE,
                       "cannot write an image of %d channels as JPEG: 1 and 3 are supported",
                       im->channels);
    memset(&s, 0, sizeof s);
    set_errors(&s.errors, COKE_EUSAGE);
    s.c.err = &s.errors.base;
    int rc = encode_or_report(&s, im, quality);
    jpeg_destroy_compress(&s.c);
    if (rc) {
        ck_free(s.sink.data);
        return rc;
    }
    *bytes = s.sink.data;
    *size = s.sink.size;
    return COKE_OK;
}
