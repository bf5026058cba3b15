/* codec_driver.c - the image codecs as a program, for tests that compare them with others'.
 *
 * codec_driver decode
 *     answers each line of stdin "CHANNELS ORIENT SCALE BACKGROUND FILE" (background: RRGGBB in
 *     hexadecimal, or -1) with "WIDTH HEIGHT CHANNELS\n" and
 *     the pixels, or with "error: ...\n"
 * codec_driver parts N FILE...
 *     decodes N random parts of each file at random scales, which must have the bytes of the
 *     whole; prints how many were smaller
 * codec_driver encode KIND QUALITY IN OUT
 * codec_driver jpeg H V RESTART PROGRESSIVE IN OUT
 *     writes a JPEG file of the kinds that the library reads but does not write: sampling
 *     factors of the components, MCUs between restart markers
 * codec_driver time N FILE...
 *     prints milliseconds of processor time per file, mean of N rounds */
#include "image/codec.h"
#include "core/mem.h"
#include "core/rng.h"
#include "coke.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <jpeglib.h>

struct file {
    unsigned char *bytes;
    size_t size;
};

static int read_file(const char *path, struct file *out)
{
    FILE *f = fopen(path, "rb");
    long n = -1;
    if (f && fseek(f, 0, SEEK_END) == 0)
        n = ftell(f);
    if (n < 0 || fseek(f, 0, SEEK_SET))
        return -1;
    /* of just this size, so that the sanitizer sees a read beyond it */
    out->bytes = malloc((size_t)n ? (size_t)n : 1);
    out->size = out->bytes ? fread(out->bytes, 1, (size_t)n, f) : 0;
    fclose(f);
    return out->size == (size_t)n ? 0 : -1;
}

static int decode(struct ck_decoder *d, const struct file *f, const char *name,
                  struct ck_decode_options o, const struct ck_box *want, struct ck_image *out,
                  struct ck_box *got)
{
    return ck_codec_decode(d, f->bytes, f->size, name, &o, want, out, got);
}

static int serve(void)
{
    struct ck_decoder d = {0};
    struct ck_image im = {0};
    struct ck_box got;
    char path[4096];
    struct ck_decode_options o = {0};
    int color;
    while (scanf("%d %d %d %x %4095[^\n]", &o.channels, &o.orient, &o.scale, (unsigned *)&color,
                 path) == 5) {
        struct file f;
        const uint8_t background[] = {(uint8_t)(color >> 16), (uint8_t)(color >> 8),
                                      (uint8_t)color};
        o.background = color < 0 ? NULL : background;
        if (read_file(path, &f))
            return 2;
        if (decode(&d, &f, path, o, NULL, &im, &got)) {
            printf("error: %s\n", coke_last_error());
        } else {
            printf("%d %d %d\n", im.width, im.height, im.channels);
            fwrite(im.data, 1, (size_t)(im.width * im.height * im.channels), stdout);
        }
        free(f.bytes);
        fflush(stdout);
    }
    ck_decoder_release(&d);
    ck_image_release(&im);
    return 0;
}

static int32_t draw(uint64_t i, int32_t n)
{
    return (int32_t)(ck_rng_unit(1, 2, i, 0) * n);
}

static struct ck_box random_box(uint64_t i, int32_t width, int32_t height)
{
    struct ck_box b = {draw(4 * i, width), draw(4 * i + 1, height), 0, 0};
    b.width = 1 + draw(4 * i + 2, width - b.x);
    b.height = 1 + draw(4 * i + 3, height - b.y);
    return b;
}

/* Is `part`, which lies at *got of the whole, the same there, and does it hold `want`? */
static int same_part(const struct ck_image *whole, const struct ck_image *part,
                     const struct ck_box *got, const struct ck_box *want, int32_t scale)
{
    int32_t right = (want->x + want->width + scale - 1) / scale;
    int32_t bottom = (want->y + want->height + scale - 1) / scale;
    size_t c = (size_t)whole->channels;
    if (got->x * scale > want->x || got->y * scale > want->y || got->x + got->width < right ||
        got->y + got->height < bottom || part->width != got->width ||
        part->height != got->height)
        return 0;
    for (int32_t y = want->y / scale; y < bottom; y++) {
        size_t x = (size_t)(want->x / scale), n = (size_t)right - x;
        const uint8_t *a = whole->data + ((size_t)y * (size_t)whole->width + x) * c;
        const uint8_t *b =
            part->data + ((size_t)(y - got->y) * (size_t)part->width + x - (size_t)got->x) * c;
        if (memcmp(a, b, n * c) != 0)
            return 0;
    }
    return 1;
}

static int compare_parts(const char *path, int n, int *smaller)
{
    struct ck_decoder d = {0};
    struct ck_image whole = {0}, part = {0};
    struct ck_image_info info;
    struct ck_box got;
    struct file f;
    int bad = read_file(path, &f) || ck_codec_probe(f.bytes, f.size, path, &info);
    for (int i = 0; i < n && !bad; i++) {
        struct ck_decode_options o = {.scale = 1 << (i * 4 / n)};
        struct ck_box want = random_box((uint64_t)i, info.width, info.height);
        if (i * 4 % n < 4)
            bad = decode(&d, &f, path, o, NULL, &whole, &got);
        bad = bad || decode(&d, &f, path, o, &want, &part, &got) ||
              !same_part(&whole, &part, &got, &want, o.scale);
        *smaller += part.width < whole.width;
        if (bad)
            printf("%s: part %d x %d at %d, %d, scale %d: differs (%s)\n", path, want.width,
                   want.height, want.x, want.y, o.scale, coke_last_error());
    }
    free(f.bytes);
    ck_decoder_release(&d);
    ck_image_release(&whole);
    ck_image_release(&part);
    return bad;
}

static int parts(int n, char **paths)
{
    int bad = 0, smaller = 0;
    for (; *paths; paths++)
        bad += compare_parts(*paths, n, &smaller) != 0;
    printf("%d files differ, %d parts smaller than the whole\n", bad, smaller);
    return bad != 0;
}

static int encode(const char *kind, int quality, const char *from, const char *to)
{
    struct ck_decoder d = {0};
    struct ck_image im = {0};
    struct ck_box got;
    struct file f;
    unsigned char *bytes;
    size_t size;
    struct ck_decode_options o = {0};
    if (read_file(from, &f) || decode(&d, &f, from, o, NULL, &im, &got))
        return 1;
    int rc = strcmp(kind, "JPEG") == 0  ? ck_jpeg_encode(&im, quality, &bytes, &size)
             : strcmp(kind, "PNG") == 0 ? ck_png_encode(&im, &bytes, &size)
                                        : ck_pnm_encode(&im, &bytes, &size);
    FILE *out = rc ? NULL : fopen(to, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
        return 1;
    free(f.bytes);
    ck_free(bytes);
    ck_image_release(&im);
    ck_decoder_release(&d);
    return 0;
}

static void set_layout(struct jpeg_compress_struct *c, const char *factors)
{
    int ycck = strcmp(factors, "ycck") == 0;
    c->input_components = ycck ? 4 : 3;
    c->in_color_space = ycck ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(c);
    if (ycck)
        jpeg_set_colorspace(c, JCS_YCCK);
    for (int i = 0; i < 3 && !ycck; i++) {
        c->comp_info[i].h_samp_factor = factors[3 * i] - '0';
        c->comp_info[i].v_samp_factor = factors[3 * i + 1] - '0';
    }
}

/* A row of im; black is made of the other colours. */
static void write_row(struct jpeg_compress_struct *c, const struct ck_image *im, uint8_t *row)
{
    const uint8_t *from = im->data + 3 * (size_t)im->width * c->next_scanline;
    size_t n = (size_t)c->input_components;
    for (size_t x = 0; x < (size_t)im->width; x++)
        for (size_t i = 0; i < n; i++)
            row[n * x + i] = i < 3 ? from[3 * x + i] : (uint8_t)(255 - from[3 * x] / 2);
    jpeg_write_scanlines(c, &row, 1);
}

/* spec: FACTORS RESTART PROGRESSIVE IN OUT */
static int make_jpeg(char **spec)
{
    struct ck_decoder d = {0};
    struct ck_image im = {0};
    struct ck_box got;
    struct file f;
    struct ck_decode_options o = {.channels = 3};
    FILE *out = fopen(spec[4], "wb");
    if (!out || read_file(spec[3], &f) || decode(&d, &f, spec[3], o, NULL, &im, &got))
        return 1;
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, out);
    c.image_width = (JDIMENSION)im.width;
    c.image_height = (JDIMENSION)im.height;
    set_layout(&c, spec[0]);
    c.restart_interval = (unsigned)atoi(spec[1]);
    if (atoi(spec[2]))
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    uint8_t *row = malloc(4 * (size_t)im.width);
    while (row && c.next_scanline < c.image_height)
        write_row(&c, &im, row);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    free(f.bytes);
    ck_image_release(&im);
    ck_decoder_release(&d);
    return fclose(out) != 0;
}

static int time_files(int rounds, char **paths)
{
    struct ck_decoder d = {0};
    struct ck_image im = {0};
    struct ck_box got;
    double seconds = 0;
    int n = 0;
    for (; *paths; paths++) {
        struct file f;
        struct ck_decode_options o = {.channels = 3};
        if (read_file(*paths, &f))
            return 1;
        clock_t start = clock();
        for (int i = 0; i < rounds; i++)
            if (decode(&d, &f, *paths, o, NULL, &im, &got))
                return 1;
        seconds += (double)(clock() - start) / CLOCKS_PER_SEC;
        n += rounds;
        free(f.bytes);
    }
    printf("%.4f ms\n", 1000 * seconds / n);
    ck_decoder_release(&d);
    ck_image_release(&im);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "decode") == 0)
        return serve();
    if (argc > 3 && strcmp(argv[1], "parts") == 0)
        return parts(atoi(argv[2]), argv + 3);
    if (argc == 6 && strcmp(argv[1], "encode") == 0)
        return encode(argv[2], atoi(argv[3]), argv[4], argv[5]);
    if (argc == 7 && strcmp(argv[1], "jpeg") == 0)
        return make_jpeg(argv + 2);
    if (argc > 3 && strcmp(argv[1], "time") == 0)
        return time_files(atoi(argv[2]), argv + 3);
    fprintf(stderr, "usage: see the head of codec_driver.c\n");
    return 2;
}
