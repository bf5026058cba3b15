/* resize.c - antialiased resampling with fixed-point weights: first along lines, then
 * columns. */
#include "image/resize.h"
#include "core/error.h"
#include "core/mem.h"
#include "kernels/pixels.h"

#include <math.h>
#include <string.h>

enum { ACROSS, DOWN, QUADS, LINES }; /* uses of the pieces of scratch */
enum { BAND = 16 };                  /* lines converted to quads at a time */

/* Grows only; the old contents are lost. */
static int make_room(struct ck_resizer *r, int piece, size_t n, size_t size)
{
    if (size && n <= r->bytes[piece] / size)
        return COKE_OK;
    ck_free(r->memory[piece]);
    r->bytes[piece] = 0;
    r->memory[piece] = ck_alloc_array(n, size);
    if (!r->memory[piece])
        return COKE_ENOMEM;
    r->bytes[piece] = n * size;
    return COKE_OK;
}

void ck_resizer_release(struct ck_resizer *r)
{
    for (int i = 0; i < 4; i++)
        ck_free(r->memory[i]);
    memset(r, 0, sizeof *r);
}

/* ---- weights ---- */

/* The filter, widened for downscaling as Pillow does (antialiasing). */
struct window {
    double scale;   /* input pixels per output pixel */
    double support; /* input pixels used on either side of the center */
    double inverse; /* filter units per input pixel */
    enum ck_filter filter;
};

static struct window window_of(enum ck_filter filter, int32_t in, int32_t out)
{
    struct window w = {.scale = (double)in / out, .filter = filter};
    double widened = w.scale < 1.0 ? 1.0 : w.scale;
    w.support = (filter == CK_BICUBIC ? 2.0 : 1.0) * widened;
    w.inverse = 1.0 / widened;
    return w;
}

/* The order of operations is Pillow's: it decides the last bits. */
static double weight_at(enum ck_filter filter, double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (filter == CK_BILINEAR)
        return x < 1.0 ? 1.0 - x : 0.0;
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
}

static double center_of(const struct window *w, int32_t i)
{
    return (i + 0.5) * w->scale;
}

static int32_t first_tap(const struct window *w, double center)
{
    int32_t first = (int32_t)(center - w->support + 0.5);
    return first < 0 ? 0 : first;
}

static int32_t end_of_taps(const struct window *w, double center, int32_t in)
{
    int32_t end = (int32_t)(center + w->support + 0.5);
    return end > in ? in : end;
}

/* Maximum taps of any output pixel, rounded up to even: the kernels take pairs. */
static int32_t count_taps(const struct window *w, int32_t in, int32_t out)
{
    int32_t taps = 0;
    for (int32_t i = 0; i < out; i++) {
        double center = center_of(w, i);
        int32_t n = end_of_taps(w, center, in) - first_tap(w, center);
        taps = n > taps ? n : taps;
    }
    return taps + taps % 2;
}

/* Sets the weights of output pixel i; the arrays hold zeros before. real [taps] is scratch. */
static void set_weights(const struct window *w, struct ck_taps *t, int32_t i, double *real)
{
    double center = center_of(w, i), sum = 0.0;
    int32_t first = first_tap(w, center), n = end_of_taps(w, center, t->in) - first;
    for (int32_t k = 0; k < n; k++) {
        real[k] = weight_at(w->filter, (k + first - center + 0.5) * w->inverse);
        sum += real[k];
    }
    /* Padding taps of weight 0 should read existing pixels where possible: shift the window
     * back. */
    int32_t spare = first + t->taps - t->in;
    int32_t ahead = spare <= 0 ? 0 : spare < first ? spare : first;
    t->first[i] = first - ahead;
    int16_t *low = t->low + (size_t)i * (size_t)t->taps;
    int16_t *high = t->high + (size_t)i * (size_t)t->taps;
    for (int32_t k = 0; k < n; k++) {
        double weight = sum != 0.0 ? real[k] / sum : real[k];
        weight *= 1 << CK_WEIGHT_BITS;
        int32_t fixed = (int32_t)(weight < 0 ? weight - 0.5 : weight + 0.5);
        low[ahead + k] = (int16_t)(fixed & ((1 << CK_WEIGHT_SPLIT) - 1));
        high[ahead + k] = (int16_t)(fixed >> CK_WEIGHT_SPLIT);
    }
}

/* Fills t with arrays inside one piece of scratch; they live until that piece is used again. */
static int make_taps(struct ck_resizer *r, int piece, enum ck_filter filter, int32_t in,
                     int32_t out, struct ck_taps *t)
{
    struct window w = window_of(filter, in, out);
    size_t taps = (size_t)count_taps(&w, in, out), n = (size_t)out;
    /* The two extra pixels' worth of room holds `real`. */
    int rc = make_room(r, piece, n + 2,
                       sizeof *t->first + taps * (sizeof *t->low + sizeof *t->high));
    if (rc)
        return rc;
    double *real = r->memory[piece];
    t->in = in;
    t->out = out;
    t->taps = (int32_t)taps;
    t->first = (int32_t *)(real + taps);
    t->low = (int16_t *)(t->first + n);
    t->high = t->low + n * taps;
    memset(t->low, 0, 2 * n * taps * sizeof *t->low);
    for (int32_t i = 0; i < out; i++)
        set_weights(&w, t, i, real);
    return COKE_OK;
}

/* ---- the two directions ---- */

/* Copies up to four channels from `from` on of some lines, as quads. */
static void gather_quads(const struct ck_image *im, struct ck_box part, int32_t from,
                         uint8_t *out)
{
    int32_t n = im->channels - from < CK_QUAD ? im->channels - from : CK_QUAD;
    size_t size = (size_t)im->channels;
    for (int32_t y = part.y; y < part.y + part.height; y++) {
        const uint8_t *in =
            im->data + ((size_t)y * (size_t)im->width + (size_t)part.x) * size + from;
        for (int32_t x = 0; x < part.width; x++, in += size, out += CK_QUAD)
            for (int32_t c = 0; c < CK_QUAD; c++)
                out[c] = c < n ? in[c] : 0;
    }
}

/* Along lines, for any number of channels, four at a time; lines are first copied to
 * scratch. */
static int across_groups(struct ck_resizer *r, const struct ck_image *im, struct ck_box box,
                         const struct ck_taps *t, int32_t from, uint8_t *quads, int64_t stride)
{
    size_t line = (size_t)box.width * CK_QUAD;
    int rc = make_room(r, LINES, BAND * line + CK_PIXEL_SLACK, 1);
    if (rc)
        return rc;
    for (int32_t y = 0; y < box.height; y += BAND) {
        struct ck_box part = {box.x, box.y + y, box.width, box.height - y};
        part.height = part.height < BAND ? part.height : BAND;
        gather_quads(im, part, from, r->memory[LINES]);
        ck_pixels()->resize_across(t, r->memory[LINES], (int64_t)line, CK_QUAD, part.height,
                                   quads + y * stride, stride);
    }
    return COKE_OK;
}

/* RGB needs no copy: the kernel reads pixels of three bytes. */
static void across_rgb(const struct ck_image *im, struct ck_box box, const struct ck_taps *t,
                       uint8_t *quads, int64_t stride)
{
    int64_t line = 3 * (int64_t)im->width;
    ck_pixels()->resize_across(t, im->data + box.y * line + 3 * (int64_t)box.x, line, 3,
                               box.height, quads, stride);
}

/* A size that does not change needs no special case: its weights are 1 and 0. */
int ck_resize(struct ck_resizer *r, const struct ck_image *im, struct ck_box box,
              enum ck_filter filter, int32_t width, int32_t height, struct ck_planes *out)
{
    int rc;
    struct ck_taps across, down;
    size_t slack = CK_PIXEL_SLACK;
    size_t stride = ((size_t)width * CK_QUAD + slack - 1) / slack * slack;
    CK_TRY(make_taps(r, ACROSS, filter, box.width, width, &across));
    CK_TRY(make_taps(r, DOWN, filter, box.height, height, &down));
    CK_TRY(make_room(r, QUADS, (size_t)box.height + 1, stride));
    CK_TRY(ck_planes_reshape(out, width, height, im->channels));
    uint8_t *quads = r->memory[QUADS];
    for (int32_t c = 0; c < im->channels; c += CK_QUAD) {
        int group = im->channels - c < CK_QUAD ? im->channels - c : CK_QUAD;
        if (im->channels == 3)
            across_rgb(im, box, &across, quads, (int64_t)stride);
        else
            CK_TRY(across_groups(r, im, box, &across, c, quads, (int64_t)stride));
        ck_pixels()->resize_down(&down, quads, (int64_t)stride, width, group,
                                 out->data + (size_t)c * (size_t)width * (size_t)height);
    }
done:
    return rc;
}
