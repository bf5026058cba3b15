/* gif.c - reads the first frame of GIF files: LZW, palettes, interlacing, a transparent color. */
#include "image/codecs.h"
#include "core/error.h"

#include <string.h>

enum { SCREEN_HEADER = 13, FRAME_HEADER = 9, CODES = 4096, MAX_BITS = 12 };

/* The first frame. Points into the file's bytes. */
struct frame {
    int32_t canvas_width, canvas_height;
    int32_t x, y, width, height;
    const uint8_t *palette; /* [colors][3] */
    int colors;
    int transparent; /* index, -1 = none */
    int interlaced;
    size_t data; /* offset of the LZW data: its code size, then sub-blocks */
};

/* ---- the header ---- */

/* Sets the palette of a flags byte, whose colors begin at *at, and moves *at behind them. */
static int read_palette(const struct ck_bytes *in, uint32_t flags, size_t *at, struct frame *f)
{
    if (!(flags & 0x80))
        return COKE_OK;
    int colors = 2 << (flags & 7);
    if (in->size - *at < 3 * (size_t)colors)
        return ck_codec_truncated(in, CK_CODEC_GIF);
    f->palette = in->at + *at;
    f->colors = colors;
    *at += 3 * (size_t)colors;
    return COKE_OK;
}

/* Moves *at behind an extension's sub-blocks; the graphic control extension names a transparent
 * color. */
static int skip_extension(const struct ck_bytes *in, size_t *at, struct frame *f)
{
    if (in->size - *at < 1)
        return ck_codec_truncated(in, CK_CODEC_GIF);
    int control = in->at[(*at)++] == 0xf9;
    for (size_t n; *at < in->size; *at += n) {
        n = in->at[(*at)++];
        if (n == 0)
            return COKE_OK;
        if (n > in->size - *at)
            break;
        if (control && n >= 4)
            f->transparent = in->at[*at] & 1 ? in->at[*at + 3] : -1;
        control = 0;
    }
    return ck_codec_truncated(in, CK_CODEC_GIF);
}

static int read_frame(const struct ck_bytes *in, size_t at, struct frame *f)
{
    const uint8_t *p = in->at + at;
    if (in->size - at < FRAME_HEADER)
        return ck_codec_truncated(in, CK_CODEC_GIF);
    f->x = (int32_t)ck_le16(p);
    f->y = (int32_t)ck_le16(p + 2);
    f->width = (int32_t)ck_le16(p + 4);
    f->height = (int32_t)ck_le16(p + 6);
    f->interlaced = p[8] >> 6 & 1;
    at += FRAME_HEADER;
    CK_RETURN_IF(read_palette(in, p[8], &at, f));
    if (f->width < 1 || f->height < 1)
        return ck_fail(COKE_EFORMAT, "%s: a GIF frame of %d x %d pixels", in->name, f->width,
                       f->height);
    if (f->x + f->width > f->canvas_width)
        f->canvas_width = f->x + f->width;
    if (f->y + f->height > f->canvas_height)
        f->canvas_height = f->y + f->height;
    f->data = at;
    return COKE_OK;
}

/* Called by both probe and decode; the file's bytes do not change in between. */
static int find_frame(const struct ck_bytes *in, struct frame *f)
{
    size_t at = SCREEN_HEADER;
    *f = (struct frame){.transparent = -1};
    if (in->size < SCREEN_HEADER)
        return ck_codec_truncated(in, CK_CODEC_GIF);
    f->canvas_width = (int32_t)ck_le16(in->at + 6);
    f->canvas_height = (int32_t)ck_le16(in->at + 8);
    CK_RETURN_IF(read_palette(in, in->at[10], &at, f));
    while (at < in->size) {
        uint8_t mark = in->at[at++];
        if (mark == ',')
            return read_frame(in, at, f);
        if (mark == ';')
            return ck_fail(COKE_EFORMAT, "%s: the GIF file contains no image", in->name);
        if (mark == '!')
            CK_RETURN_IF(skip_extension(in, &at, f));
    }
    return ck_codec_truncated(in, CK_CODEC_GIF);
}

/* Colors beyond the palette are a ramp of greys, as in Pillow. */
static int is_grey(const struct frame *f)
{
    for (int i = 0; i < f->colors; i++) {
        const uint8_t *p = f->palette + 3 * i;
        if (p[0] != p[1] || p[1] != p[2])
            return 0;
    }
    return 1;
}

int ck_gif_probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    struct frame f;
    CK_RETURN_IF(find_frame(in, &f));
    out->width = f.canvas_width;
    out->height = f.canvas_height;
    out->channels = is_grey(&f) ? 1 : 3;
    out->bits = 8;
    out->alpha = f.transparent >= 0;
    return COKE_OK;
}

/* ---- codes ---- */

/* Bits of the sub-blocks, least significant first. */
struct codes {
    const struct ck_bytes *in;
    size_t at;
    size_t left; /* bytes of the sub-block */
    uint32_t bits;
    int n; /* bits that are there */
};

/* The next code of `size` bits; -1 at the end of the sub-blocks or of the file. */
static int next_code(struct codes *c, int size)
{
    for (; c->n < size; c->n += 8) {
        if (c->left == 0) {
            if (c->at >= c->in->size)
                return -1;
            c->left = c->in->at[c->at++];
            if (c->left == 0)
                return -1;
        }
        if (c->at >= c->in->size)
            return -1;
        c->bits |= (uint32_t)c->in->at[c->at++] << c->n;
        c->left--;
    }
    int code = (int)(c->bits & ((1u << size) - 1));
    c->bits >>= size;
    c->n -= size;
    return code;
}

/* ---- pixels ---- */

/* The position at which pixels are written. */
struct pen {
    const struct frame *f;
    struct ck_image *out;
    const uint8_t (*color)[4]; /* [256] the samples of each index */
    int32_t x, y;              /* in the frame; y == height: full */
    int sweep;                 /* of an interlaced frame: 0 to 3 */
};

static void end_row(struct pen *p)
{
    static const uint8_t first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    p->x = 0;
    if (!p->f->interlaced) {
        p->y++;
        return;
    }
    p->y += step[p->sweep];
    while (p->y >= p->f->height && p->sweep < 3)
        p->y = first[++p->sweep];
}

static void put_index(struct pen *p, uint8_t index)
{
    if (p->y >= p->f->height)
        return;
    size_t samples = (size_t)p->out->channels, row = (size_t)(p->f->y + p->y);
    size_t at = row * (size_t)p->out->width + (size_t)(p->f->x + p->x);
    memcpy(p->out->data + at * samples, p->color[index], samples);
    if (++p->x == p->f->width)
        end_row(p);
}

/* The strings of the codes: each is that of `prefix` and one index more. */
struct table {
    uint16_t prefix[CODES];
    uint8_t last[CODES];
    int n;     /* codes so far */
    int clear; /* the code that empties the table; clear + 1 ends the image */
    int size;  /* bits of a code */
};

static void reset(struct table *t, int bits)
{
    t->clear = 1 << bits;
    t->n = t->clear + 2;
    t->size = bits + 1;
    for (int i = 0; i < t->clear; i++)
        t->last[i] = (uint8_t)i;
}

static void add(struct table *t, int prefix, uint8_t last)
{
    if (t->n == CODES)
        return;
    t->prefix[t->n] = (uint16_t)prefix;
    t->last[t->n++] = last;
    if (t->n == 1 << t->size && t->size < MAX_BITS)
        t->size++;
}

/* Writes the string of a code; returns its first index. Prefixes are smaller than their codes,
 * so it ends. */
static uint8_t write_string(const struct table *t, int code, struct pen *p)
{
    uint8_t reversed[CODES];
    int n = 0;
    for (; code >= t->clear; code = t->prefix[code])
        reversed[n++] = t->last[code];
    reversed[n++] = t->last[code];
    for (int i = n; i-- > 0;)
        put_index(p, reversed[i]);
    return reversed[n - 1];
}

static uint8_t first_of(const struct table *t, int code)
{
    while (code >= t->clear)
        code = t->prefix[code];
    return t->last[code];
}

/* What follows the last pixel is not read, as in Pillow. */
static int unpack(struct codes *c, int bits, struct pen *p)
{
    struct table t;
    int previous = -1;
    reset(&t, bits);
    while (p->y < p->f->height) {
        int code = next_code(c, t.size);
        if (code < 0 || code == t.clear + 1)
            return ck_codec_truncated(c->in, CK_CODEC_GIF);
        if (code == t.clear) {
            reset(&t, bits);
            previous = -1;
            continue;
        }
        if (code > t.n || (previous < 0 && code >= t.clear) || (code == t.n && t.n == CODES))
            return ck_fail(COKE_EFORMAT, "%s: damaged GIF image", c->in->name);
        if (previous >= 0)
            add(&t, previous, first_of(&t, code == t.n ? previous : code));
        write_string(&t, code, p);
        previous = code;
    }
    return COKE_OK;
}

/* The samples of each index: grey or RGB, then alpha. */
static void make_colors(const struct frame *f, int grey, uint8_t color[256][4])
{
    for (int i = 0; i < 256; i++) {
        uint8_t alpha = i == f->transparent ? 0 : 255;
        memset(color[i], i, 3);
        if (i < f->colors)
            memcpy(color[i], f->palette + 3 * i, 3);
        color[i][grey ? 1 : 3] = alpha;
    }
}

static void fill(struct ck_image *im, const uint8_t *color)
{
    size_t samples = (size_t)im->channels, n = (size_t)im->width * (size_t)im->height;
    for (size_t i = 0; i < n; i++)
        memcpy(im->data + i * samples, color, samples);
}

int ck_gif_decode(struct ck_decoder *d, const struct ck_decode_job *job)
{
    (void)d;
    uint8_t color[256][4];
    struct frame f;
    struct pen p = {.f = &f, .out = job->out, .color = (const uint8_t(*)[4])color};
    CK_RETURN_IF(find_frame(&job->in, &f));
    struct codes c = {.in = &job->in, .at = f.data + 1};
    if (f.data >= job->in.size)
        return ck_codec_truncated(&job->in, CK_CODEC_GIF);
    int bits = job->in.at[f.data];
    if (bits < 1 || bits > 8)
        return ck_fail(COKE_EFORMAT, "%s: a GIF image with codes of %d bits", job->in.name,
                       bits);
    CK_RETURN_IF(ck_image_reshape(job->out, f.canvas_width, f.canvas_height,
                                  job->info->channels + job->alpha));
    make_colors(&f, job->info->channels == 1, color);
    fill(job->out, color[f.transparent < 0 ? 0 : f.transparent]);
    return unpack(&c, bits, &p);
}
