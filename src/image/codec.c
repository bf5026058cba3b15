/* codec.c - recognises the format, enforces limits, and does what all formats have in
 * common. */
#include "image/codec.h"
#include "image/codecs.h"
#include "core/error.h"
#include "core/text.h"
#include "core/vec.h"

#include <stdio.h>
#include <string.h>

/* The formats, indexed by enum ck_codec_kind. To add one: a file that implements these two
 * functions, a row here, a value of the enum and a magic number below. A format whose library
 * was not there when coke was built has no functions. */
static const struct kind {
    const char *name;
    int (*probe)(const struct ck_bytes *in, struct ck_image_info *out);
    int (*decode)(struct ck_decoder *d, const struct ck_decode_job *job);
    const char *extensions; /* the usual one first */
} kinds[CK_CODECS] = {
    [CK_CODEC_JPEG] = {"JPEG", ck_jpeg_probe, ck_jpeg_decode, ".jpg .jpeg"},
    [CK_CODEC_PNG] = {"PNG", ck_png_probe, ck_png_decode, ".png"},
    [CK_CODEC_WEBP] = {"WebP", ck_webp_probe, ck_webp_decode, ".webp"},
    [CK_CODEC_BMP] = {"BMP", ck_bmp_probe, ck_bmp_decode, ".bmp"},
    [CK_CODEC_PNM] = {"PNM", ck_pnm_probe, ck_pnm_decode, ".pnm .ppm .pgm .pbm"},
    [CK_CODEC_GIF] = {"GIF", ck_gif_probe, ck_gif_decode, ".gif"},
#ifdef COKE_HAVE_TIFF
    [CK_CODEC_TIFF] = {"TIFF", ck_tiff_probe, ck_tiff_decode, ".tif .tiff"},
#else
    [CK_CODEC_TIFF] = {"TIFF", NULL, NULL, ".tif .tiff"},
#endif
#ifdef COKE_HAVE_AVIF
    [CK_CODEC_AVIF] = {"AVIF", ck_avif_probe, ck_avif_decode, ".avif"},
#else
    [CK_CODEC_AVIF] = {"AVIF", NULL, NULL, ".avif"},
#endif
};

/* ---- names ---- */

/* Is `ending` one of the words of `list`, in any case? */
static int is_listed(const char *ending, const char *list)
{
    char word[16];
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        if (ck_text_same(word, ending))
            return 1;
        p += n;
    }
    return 0;
}

int ck_codec_reads_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    for (int k = 0; dot && k < CK_CODECS; k++)
        if (kinds[k].probe && is_listed(dot, kinds[k].extensions))
            return 1;
    return 0;
}

const char *ck_codec_extension(enum ck_codec_kind kind)
{
    static const char *const first[CK_CODECS] = {".jpg", ".png", ".webp", ".bmp",
                                                 ".pnm", ".gif", ".tif",  ".avif"};
    return first[kind];
}

void ck_codec_list_extensions(char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int k = 0; k < CK_CODECS && used < size; k++)
        if (kinds[k].probe)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "",
                                     kinds[k].extensions);
}

/* ---- magic numbers ---- */

/* kind < 0: an image that cannot be read. PNM has another test. */
static const struct magic {
    const char *bytes;
    size_t size, at;
    int kind;
    const char *name;
} magics[] = {
    {"\xff\xd8\xff", 3, 0, CK_CODEC_JPEG, NULL},
    {"\x89PNG\r\n\x1a\n", 8, 0, CK_CODEC_PNG, NULL},
    {"WEBP", 4, 8, CK_CODEC_WEBP, NULL}, /* after "RIFF" and a size */
    {"BM", 2, 0, CK_CODEC_BMP, NULL},
    {"GIF87a", 6, 0, CK_CODEC_GIF, NULL},
    {"GIF89a", 6, 0, CK_CODEC_GIF, NULL},
    {"II*\0", 4, 0, CK_CODEC_TIFF, NULL},
    {"MM\0*", 4, 0, CK_CODEC_TIFF, NULL},
    {"ftypavif", 8, 4, CK_CODEC_AVIF, NULL},
    {"ftypavis", 8, 4, CK_CODEC_AVIF, NULL},
    {"\0\0\0\x0cjP  ", 8, 0, -1, "JPEG 2000"},
    {"\xff\x4f\xff\x51", 4, 0, -1, "JPEG 2000"},
    {"ftypheic", 8, 4, -1, "HEIC"},
    {"ftypmif1", 8, 4, -1, "HEIF"},
    {"\xff\x0a", 2, 0, -1, "JPEG XL"},
    {"\0\0\0\x0cJXL ", 8, 0, -1, "JPEG XL"},
};

/* "P1" to "P6" is a weak magic number, so the white space after it is required, too. */
static int is_pnm(const struct ck_bytes *in)
{
    return in->size >= 3 && in->at[0] == 'P' && in->at[1] >= '1' && in->at[1] <= '6' &&
           memchr("\t\n\v\f\r #", in->at[2], 7);
}

static int matches(const struct ck_bytes *in, const struct magic *m)
{
    if (m->kind == CK_CODEC_WEBP && (in->size < 4 || memcmp(in->at, "RIFF", 4) != 0))
        return 0;
    return in->size >= m->at + m->size && memcmp(in->at + m->at, m->bytes, m->size) == 0;
}

/* Fails for everything that cannot be read. */
static int recognise(const struct ck_bytes *in, int *kind)
{
    const char *other = NULL;
    *kind = is_pnm(in) ? CK_CODEC_PNM : -1;
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (matches(in, &magics[i])) {
            *kind = magics[i].kind;
            other = magics[i].name;
        }
    if (*kind >= 0 && kinds[*kind].probe)
        return COKE_OK;
    if (*kind >= 0)
        return ck_fail(COKE_EFORMAT, "%s: this coke is built without %s", in->name,
                       kinds[*kind].name);
    if (other)
        return ck_fail(COKE_EFORMAT, "%s: %s images are not supported", in->name, other);
    return ck_fail(COKE_EFORMAT,
                   "%s: not an image of a known format (JPEG, PNG, WebP, BMP, PNM, GIF, TIFF, "
                   "AVIF)",
                   in->name);
}

/* Checks the sides here, before any format multiplies them. */
static int probe(const struct ck_bytes *in, struct ck_image_info *out)
{
    if (in->size == 0)
        return ck_fail(COKE_EFORMAT, "%s: empty file", in->name);
    int kind;
    CK_RETURN_IF(recognise(in, &kind));
    *out = (struct ck_image_info){.kind = (enum ck_codec_kind)kind, .orientation = 1};
    int rc = kinds[kind].probe(in, out);
    if (rc)
        return rc;
    if (out->width < 1 || out->height < 1 || out->width > CK_IMAGE_MAX_SIDE ||
        out->height > CK_IMAGE_MAX_SIDE)
        return ck_fail(COKE_EFORMAT, "%s: %d x %d pixels; sides must be 1 to %d", in->name,
                       out->width, out->height, CK_IMAGE_MAX_SIDE);
    return COKE_OK;
}

int ck_codec_probe(const void *bytes, size_t size, const char *name, struct ck_image_info *out)
{
    struct ck_bytes in = {bytes, size, name};
    return probe(&in, out);
}

const char *ck_codec_name(enum ck_codec_kind kind)
{
    return kinds[kind].name;
}

int ck_codec_truncated(const struct ck_bytes *in, enum ck_codec_kind kind)
{
    return ck_fail(COKE_EFORMAT, "%s: truncated %s file", in->name, kinds[kind].name);
}

static int check_pixels(const struct ck_bytes *in, const struct ck_image_info *info,
                        int64_t limit)
{
    if (limit == 0)
        limit = CK_MAX_PIXELS;
    if ((int64_t)info->width * info->height > limit)
        return ck_fail(COKE_EFORMAT,
                       "%s: %d x %d pixels, more than the limit of %lld (max-pixels)", in->name,
                       info->width, info->height, (long long)limit);
    return COKE_OK;
}

static int check_options(const struct ck_decode_options *o)
{
    if (o->scale != 0 && o->scale != 1 && o->scale != 2 && o->scale != 4 && o->scale != 8)
        return ck_fail(COKE_EUSAGE,
                       "cannot decode images at 1/%d: 1/1, 1/2, 1/4 and 1/8 are supported",
                       o->scale);
    if (o->channels != 0 && o->channels != 1 && o->channels != 3)
        return ck_fail(COKE_EUSAGE,
                       "cannot decode images to %d channels: 1 and 3 are supported",
                       o->channels);
    return COKE_OK;
}

/* The part to decode: `want`, or everything if the image will be rotated afterwards. */
static int choose_part(const struct ck_image_info *info, int rotate, const struct ck_box *want,
                       struct ck_box *part)
{
    *part = (struct ck_box){0, 0, info->width, info->height};
    if (!want || rotate)
        return COKE_OK;
    if (want->x < 0 || want->y < 0 || want->width < 1 || want->height < 1 ||
        want->width > info->width - want->x || want->height > info->height - want->y)
        return ck_fail(COKE_EUSAGE,
                       "the part %d x %d at %d, %d is not inside the %d x %d image",
                       want->width, want->height, want->x, want->y, info->width, info->height);
    *part = *want;
    return COKE_OK;
}

int ck_codec_decode(struct ck_decoder *d, const void *bytes, size_t size, const char *name,
                    const struct ck_decode_options *options, const struct ck_box *want,
                    struct ck_image *out, struct ck_box *got)
{
    struct ck_image_info probed;
    const struct ck_image_info *info = options->info ? options->info : &probed;
    struct ck_decode_job job = {
        .in = {bytes, size, name}, .info = info, .out = out, .got = got};
    int rc;
    CK_TRY(check_options(options));
    if (info == &probed)
        CK_TRY(probe(&job.in, &probed));
    CK_TRY(check_pixels(&job.in, info, options->max_pixels));
    int rotate = options->orient ? info->orientation : 1;
    CK_TRY(choose_part(info, rotate != 1, want, &job.want));
    job.scale = options->scale ? options->scale : 1;
    job.strict = options->strict;
    job.alpha = info->alpha && options->background;
    *got = (struct ck_box){0, 0, info->width, info->height};
    CK_TRY(kinds[info->kind].decode(d, &job));
    if (job.alpha)
        CK_TRY(ck_image_composite(out, options->background, &d->spare));
    int32_t channels = options->channels ? options->channels : info->channels;
    CK_TRY(ck_image_to_channels(out, channels, &d->spare));
    if (rotate != 1) {
        CK_TRY(ck_image_orient(out, rotate, &d->spare));
        *got = (struct ck_box){0, 0, out->width, out->height};
    }
done:
    return rc;
}

void ck_decoder_release(struct ck_decoder *d)
{
    ck_jpeg_release(d->jpeg);
    ck_image_release(&d->spare);
    memset(d, 0, sizeof *d);
}

/* Doubles the capacity, so that appending costs amortised constant time. */
int ck_sink_reserve(struct ck_sink *s, size_t more)
{
    return CK_VEC_RESERVE(s->data, s->capacity, s->size + more);
}

int ck_sink_append(struct ck_sink *s, const void *bytes, size_t n)
{
    int rc = ck_sink_reserve(s, n);
    if (rc)
        return rc;
    memcpy(s->data + s->size, bytes, n);
    s->size += n;
    return COKE_OK;
}
