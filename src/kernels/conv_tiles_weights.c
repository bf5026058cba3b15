/* conv_tiles_weights.c - the gradient of the weights of bf16 convolutions on tiles.
 *
 * dw[tap] = the sum over pixels of dy[pixel] x[pixel + tap]': a product whose inner dimension is
 * the pixels. Outputs are numbered along rows of `pitch` pixels, image after image, with rows
 * of zeros between them; a view holds the input at the same numbers, so that the rows of a tap
 * are a distance between numbers. Tables say where a number's pixel is.
 *
 * With few channels a worker takes a part of the images: packs them group by group and adds their
 * products to the part's own sums, all in its second-level cache. With many channels the sums
 * would be too large: all workers pack a group, then each takes blocks of columns. */
#include "kernels/conv_tiles_weights.h"
#include "core/workers.h"
#include "kernels/integers.h"
#include "kernels/kernels_wgrad.h"

#include <string.h>

enum {
    STEP = 32,  /* pixels that a product of tiles adds */
    BUNDLE_IMAGES = 16,
    PARTS = 8,
    PART_SUMS = 160 * 1024,         /* largest number of sums that parts have */
    PART_STEPS = 24,                /* fewest per part */
    GROUP_BYTES = 5 << 18,          /* of what should stay in the second-level cache */
    ITEM_LINES = 4,                 /* blocks of lines per item, without parts */
    BLOCK_SUMS = 4 * CK_WGRAD_SUMS, /* per tap */
    STEM_CHANNELS = 4,
    STEM_BYTES = 2 * STEM_CHANNELS,
};

static int64_t aligned(int64_t bytes)
{
    return (bytes + 63) & ~(int64_t)63;
}

/* ---- geometry ---- */

/* 1x1 with stride 1: pixels have no neighbors, an image is one row. */
static int is_flat(const struct ck_tiles_shape *s)
{
    return s->kernel == 1 && s->stride == 1 && s->pad == 0;
}

static int64_t blocks_of(int64_t channels)
{
    return divide_up(channels, CK_TILE_CHANNELS);
}

/* Bytes of a pixel of a block, as the caller stores it. */
static int64_t x_pixel(const struct ck_tiles_gradient *g)
{
    return ck_tiles_block(g->s.ic) * (int64_t)sizeof(uint16_t);
}

static int64_t dy_pixel(const struct ck_tiles_gradient *g)
{
    return ck_tiles_block(g->s.oc) * (int64_t)sizeof(uint16_t);
}

/* Bytes of an image of all blocks. */
static int64_t x_bytes(const struct ck_tiles_gradient *g)
{
    return blocks_of(g->s.ic) * g->s.ih * g->s.iw * x_pixel(g);
}

static int64_t dy_bytes(const struct ck_tiles_gradient *g)
{
    return blocks_of(g->s.oc) * g->s.oh * g->s.ow * dy_pixel(g);
}

static int64_t stem_pitch(const struct ck_tiles_shape *s)
{
    return s->iw + 2 * s->pad + CK_STEM_PIXELS;
}

/* Rows from an output's row, in units of the stride, to that of a tap of kernel row ky. */
static int64_t tap_rows(const struct ck_tiles_shape *s, int64_t ky)
{
    return floor_divide(ky - s->pad, s->stride);
}

static void set_rows(struct ck_tiles_gradient *g)
{
    const struct ck_tiles_shape *s = &g->s;
    g->h = is_flat(s) ? 1 : s->oh;
    g->w = is_flat(s) ? s->oh * s->ow : s->ow;
    g->above = larger(0, -tap_rows(s, 0));
    g->below = larger(0, tap_rows(s, s->kernel - 1));
    /* Rows of zeros below one image are those above the next. */
    int shared = is_flat(s) || g->h * s->stride >= s->ih;
    g->rows = g->h + (shared ? larger(g->above, g->below) : g->above + g->below);
    g->pitch = (g->w + 1) & ~(int64_t)1;
}

static int64_t steps_of(const struct ck_tiles_gradient *g, int64_t images)
{
    return divide_up(((images - 1) * g->rows + g->h) * g->pitch, STEP);
}

/* As many images per bundle as fill whole steps best; fewer, if it makes little difference. */
static void set_bundles(struct ck_tiles_gradient *g)
{
    int64_t most = smaller(g->s.n, BUNDLE_IMAGES);
    most = smaller(most, INT32_MAX / larger(x_bytes(g), dy_bytes(g)));
    double best = 0;
    for (int64_t u = 1; u <= most; u++) {
        double full = (double)(u * g->h * g->w) / (double)(steps_of(g, u) * STEP);
        if (full > best + .02) {
            best = full;
            g->images = u;
        }
    }
    g->steps = steps_of(g, g->images);
    g->span = g->steps * STEP + (g->above + g->below) * g->pitch;
    g->bundles = divide_up(g->s.n, g->images);
}

static void set_channels(struct ck_tiles_gradient *g)
{
    const struct ck_tiles_shape *s = &g->s;
    g->stem = s->ic <= STEM_CHANNELS && s->kernel > 1;
    g->swapped = s->kernel == 1 && s->ic < s->oc;
    g->lines = g->swapped ? s->ic : s->oc;
    g->columns = g->swapped ? s->oc : g->stem ? STEM_CHANNELS * s->kernel : s->ic;
    g->line_blocks = blocks_of(g->lines);
    g->column_blocks = blocks_of(g->columns);
    g->views = smaller(s->kernel, s->stride) * (g->stem ? 1 : s->kernel);
    g->taps = s->kernel * (g->stem ? 1 : s->kernel);
    g->compact = g->stem ? s->ih * stem_pitch(s) * STEM_BYTES : 0;
}

/* Tiles in use of a block of `channels` in all. */
static int tiles_of(int64_t channels, int64_t block)
{
    return channels - block * CK_TILE_CHANNELS > CK_TILE_CHANNELS / 2 ? 2 : 1;
}

/* Elements of a bundle: of a block of lines; of half a block of columns in one view. */
static int64_t line_size(const struct ck_tiles_gradient *g)
{
    return g->steps * 2 * CK_WGRAD_TILE;
}

static int64_t column_size(const struct ck_tiles_gradient *g)
{
    return g->span * CK_TILE_CHANNELS / 2;
}

static int64_t sums_of(const struct ck_tiles_gradient *g)
{
    return g->line_blocks * g->column_blocks * g->taps * BLOCK_SUMS;
}

int ck_tiles_gradient_init(struct ck_tiles_gradient *g, const struct ck_tiles_shape *s)
{
    memset(g, 0, sizeof *g);
    g->s = *s;
    if (!ck_tile_kernels() || s->kernel > CK_TILES_KERNEL || s->stride < 1 ||
        larger(x_bytes(g), dy_bytes(g)) > INT32_MAX)
        return 0;
    set_channels(g);
    set_rows(g);
    set_bundles(g);
    int many = g->bundles * g->steps >= PARTS * PART_STEPS && sums_of(g) <= PART_SUMS;
    g->parts = g->stem || many ? smaller(PARTS, g->bundles) : 0;
    /* Parts use all blocks again and again; items one of columns, and one of lines for all taps. */
    int64_t columns = g->parts ? g->column_blocks : 1;
    int64_t lines = g->parts || g->taps == 1 ? g->line_blocks : 2;
    int64_t bytes = 2 * (lines * line_size(g) + columns * g->views * 2 * column_size(g));
    int64_t most = larger(1, GROUP_BYTES / bytes);
    int64_t bundles = g->parts ? divide_up(g->bundles, g->parts) : g->bundles;
    g->group = divide_up(bundles, divide_up(bundles, most));
    return 1;
}

/* ---- scratch ---- */

/* Bytes, multiples of 64. */
struct layout {
    int64_t tables, sums;           /* of the run */
    int64_t lines, columns, images; /* of a worker, or shared without parts */
    int64_t own;                    /* of a worker: sums of a block, if there is one group */
};

/* Without parts and with one group the sums of a block are complete at once. */
static int is_single(const struct ck_tiles_gradient *g)
{
    return !g->parts && g->group == g->bundles;
}

static int64_t table_size(const struct ck_tiles_gradient *g)
{
    return g->views * g->span + g->steps * STEP;
}

static struct layout layout_of(const struct ck_tiles_gradient *g)
{
    return (struct layout){
        .tables = aligned(2 * table_size(g) * (int64_t)sizeof(int32_t)),
        .sums = is_single(g) ? 0 : larger(g->parts, 1) * sums_of(g) * (int64_t)sizeof(float),
        .lines = g->group * g->line_blocks * line_size(g) * 2,
        .columns = g->group * g->column_blocks * g->views * 2 * column_size(g) * 2,
        .images = aligned(g->images * g->compact),
        .own = is_single(g) ? g->taps * BLOCK_SUMS * (int64_t)sizeof(float) : 0,
    };
}

size_t ck_tiles_gradient_scratch(const struct ck_tiles_gradient *g, int threads)
{
    struct layout l = layout_of(g);
    return (size_t)(l.tables + l.sums + threads * l.own +
                    (g->parts ? threads : 1) * (l.lines + l.columns + l.images));
}

/* ---- tables ---- */

/* One call: on the caller's stack; workers write disjoint parts of what it points to. */
struct run {
    const struct ck_tiles_gradient *g;
    const struct ck_wgrad_kernels *kn;
    struct layout layout;
    const unsigned char *x, *dy;
    int accumulate;
    float *dw;
    int32_t *table[2]; /* of a full bundle and of the last one: [views][span], [steps * STEP] */
    float *sum;        /* [parts][line_blocks][column_blocks][taps][BLOCK_SUMS] */
    unsigned char *scratch;
    int64_t first, bundles; /* the current group, without parts */
};

/* Where packed images of a group go: lines [line block][bundle][..], columns [column block]
 * [view][half][bundle][..]. */
struct packed {
    uint16_t *lines, *columns;
    unsigned char *images; /* a stem's, compact */
};

static struct packed packed_of(const struct run *r, int worker)
{
    const struct layout *l = &r->layout;
    unsigned char *at = r->scratch + worker * (l->lines + l->columns + l->images);
    return (struct packed){(uint16_t *)(void *)at, (uint16_t *)(void *)(at + l->lines),
                           at + l->lines + l->columns};
}

/* The offset of a view's pixel in x, from the first image of a bundle; -1 = outside. `row` counts
 * from the first output row of the bundle. */
static int32_t x_offset(const struct ck_tiles_gradient *g, int64_t view, int64_t row,
                        int64_t column, int64_t images)
{
    const struct ck_tiles_shape *s = &g->s;
    int64_t kernel = g->stem ? 1 : s->kernel, phase = view / kernel, kx = view % kernel;
    int64_t image = row < 0 ? 0 : row / g->rows, within = row - image * g->rows;
    if (is_flat(s))
        return image < images && column < g->w
                   ? (int32_t)(image * x_bytes(g) + column * x_pixel(g))
                   : -1;
    int64_t rest = phase - s->pad - s->stride * floor_divide(phase - s->pad, s->stride);
    int64_t y = within * s->stride + rest;
    int64_t x = column * s->stride + (g->stem ? 0 : kx - s->pad);
    if (image >= images || y < 0 || y >= s->ih || column >= g->w)
        return -1;
    if (g->stem)
        return (int32_t)(image * g->compact + (y * stem_pitch(s) + x) * STEM_BYTES);
    return x < 0 || x >= s->iw
               ? -1
               : (int32_t)(image * x_bytes(g) + (y * s->iw + x) * x_pixel(g));
}

static int32_t dy_offset(const struct ck_tiles_gradient *g, int64_t row, int64_t column,
                         int64_t images)
{
    int64_t image = row / g->rows, within = row % g->rows;
    if (image >= images || within >= g->h || column >= g->w)
        return -1;
    return (int32_t)(image * dy_bytes(g) + (within * g->w + column) * dy_pixel(g));
}

static void fill_table(const struct ck_tiles_gradient *g, int64_t images, int32_t *table)
{
    for (int64_t v = 0; v < g->views; v++)
        for (int64_t i = 0; i < g->span; i++)
            *table++ = x_offset(g, v, i / g->pitch - g->above, i % g->pitch, images);
    for (int64_t i = 0; i < g->steps * STEP; i++)
        *table++ = dy_offset(g, i / g->pitch, i % g->pitch, images);
}

static void fill_tables(const struct run *r)
{
    const struct ck_tiles_gradient *g = r->g;
    int64_t rest = g->s.n % g->images;
    fill_table(g, g->images, r->table[0]);
    if (rest)
        fill_table(g, rest, r->table[1]);
}

/* ---- packing ---- */

static struct ck_wgrad_pixels x_pixels(const struct run *r, int64_t bundle, int64_t view,
                                       int64_t block, const struct packed *to)
{
    const struct ck_tiles_gradient *g = r->g;
    const int32_t *table = r->table[(bundle + 1) * g->images > g->s.n];
    const unsigned char *x = r->x + bundle * g->images * x_bytes(g);
    return (struct ck_wgrad_pixels){g->stem ? to->images
                                            : x + block * g->s.ih * g->s.iw * x_pixel(g),
                                    table + view * g->span, g->span};
}

static struct ck_wgrad_pixels dy_pixels(const struct run *r, int64_t bundle, int64_t block)
{
    const struct ck_tiles_gradient *g = r->g;
    const int32_t *table = r->table[(bundle + 1) * g->images > g->s.n];
    const unsigned char *dy = r->dy + bundle * g->images * dy_bytes(g);
    return (struct ck_wgrad_pixels){dy + block * g->s.oh * g->s.ow * dy_pixel(g),
                                    table + g->views * g->span, g->steps * STEP};
}

static uint16_t *columns_at(const struct ck_tiles_gradient *g, const struct packed *p,
                            int64_t block, int64_t view, int64_t half)
{
    return p->columns + ((block * g->views + view) * 2 + half) * g->group * column_size(g);
}

/* A block of lines of bundle `at` of the group. */
static void pack_lines(const struct run *r, int64_t bundle, int64_t at, int64_t block,
                       const struct packed *to)
{
    const struct ck_tiles_gradient *g = r->g;
    struct ck_wgrad_pixels p =
        g->swapped ? x_pixels(r, bundle, 0, block, to) : dy_pixels(r, bundle, block);
    r->kn->lines(&p, tiles_of(g->lines, block),
                 to->lines + (block * g->group + at) * line_size(g));
}

static void pack_columns(const struct run *r, int64_t bundle, int64_t at, int64_t block,
                         const struct packed *to)
{
    const struct ck_tiles_gradient *g = r->g;
    for (int64_t v = 0; v < g->views; v++) {
        struct ck_wgrad_pixels p =
            g->swapped ? dy_pixels(r, bundle, block) : x_pixels(r, bundle, v, block, to);
        uint16_t *high = columns_at(g, to, block, v, 1) + at * column_size(g);
        r->kn->pairs(&p, columns_at(g, to, block, v, 0) + at * column_size(g),
                     tiles_of(g->columns, block) == 2 ? high : NULL);
    }
}

/* A stem's images with STEM_CHANNELS channels per pixel and columns of zeros beside them: the
 * pixels of a row of the kernel are 64 neighboring bytes. */
static void compact_images(const struct run *r, int64_t bundle, unsigned char *out)
{
    const struct ck_tiles_gradient *g = r->g;
    const struct ck_tiles_shape *s = &g->s;
    int64_t first = bundle * g->images, images = smaller(g->images, s->n - first);
    memset(out, 0, (size_t)(images * g->compact));
    for (int64_t row = 0; row < images * s->ih; row++) {
        const unsigned char *src = r->x + (first * s->ih + row) * s->iw * x_pixel(g);
        unsigned char *dst = out + (row * stem_pitch(s) + s->pad) * STEM_BYTES;
        for (int64_t i = 0; i < s->iw; i++)
            memcpy(dst + i * STEM_BYTES, src + i * x_pixel(g), STEM_BYTES);
    }
}

/* ---- products ---- */

static float *sums_at(const struct run *r, int64_t part, int64_t line, int64_t column)
{
    const struct ck_tiles_gradient *g = r->g;
    return r->sum + part * sums_of(g) +
           (line * g->column_blocks + column) * g->taps * BLOCK_SUMS;
}

/* The packed tiles of tap and half number `at` of a block of columns. */
static const uint16_t *tap_columns(const struct ck_tiles_gradient *g, const struct packed *p,
                                   int64_t block, int64_t at, int halves)
{
    const struct ck_tiles_shape *s = &g->s;
    int64_t tap = at / halves, kernel = g->stem ? 1 : s->kernel;
    int64_t ky = tap / kernel, kx = tap % kernel;
    int64_t view = ky % s->stride * kernel + kx;
    return columns_at(g, p, block, view, at % halves) +
           (g->above + tap_rows(s, ky)) * g->pitch * CK_TILE_CHANNELS / 2;
}

/* Adds the products of a block of lines and one of columns over the group to their sums. */
static void multiply(const struct run *r, const struct packed *p, int64_t line, int64_t column,
                     int64_t bundles, int resume, float *sum)
{
    const struct ck_tiles_gradient *g = r->g;
    int halves = tiles_of(g->columns, column);
    struct ck_wgrad_panel panel = {.a = p->lines + line * g->group * line_size(g),
                                   .lines = tiles_of(g->lines, line),
                                   .steps = g->steps,
                                   .bundles = bundles,
                                   .a_bundle = line_size(g),
                                   .b_bundle = column_size(g),
                                   .resume = resume};
    int64_t all = g->taps * halves, most = 4 / panel.lines;
    for (int64_t at = 0; at < all; at += most) {
        panel.columns = (int)smaller(most, all - at);
        for (int i = 0; i < panel.columns; i++)
            panel.b[i] = tap_columns(g, p, column, at + i, halves);
        panel.sum = sum + at * panel.lines * CK_WGRAD_SUMS;
        r->kn->panel(&panel);
    }
}

static void run_part(void *arg, int64_t part, int worker)
{
    const struct run *r = arg;
    const struct ck_tiles_gradient *g = r->g;
    struct packed p = packed_of(r, worker);
    int64_t from = part * g->bundles / g->parts, to = (part + 1) * g->bundles / g->parts;
    r->kn->begin();
    for (int64_t first = from; first < to; first += g->group) {
        int64_t bundles = smaller(g->group, to - first);
        for (int64_t b = 0; b < bundles; b++) {
            if (g->stem)
                compact_images(r, first + b, p.images);
            for (int64_t i = 0; i < g->line_blocks; i++)
                pack_lines(r, first + b, b, i, &p);
            for (int64_t i = 0; i < g->column_blocks; i++)
                pack_columns(r, first + b, b, i, &p);
        }
        for (int64_t c = 0; c < g->column_blocks; c++)
            for (int64_t i = 0; i < g->line_blocks; i++)
                multiply(r, &p, i, c, bundles, first > from, sums_at(r, part, i, c));
    }
    r->kn->end();
}

/* Without parts: a block of lines or columns of one bundle. */
static void pack_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct run *r = arg;
    const struct ck_tiles_gradient *g = r->g;
    struct packed p = packed_of(r, 0);
    int64_t blocks = g->line_blocks + g->column_blocks, at = chunk / blocks, i = chunk % blocks;
    if (i < g->line_blocks)
        pack_lines(r, r->first + at, at, i, &p);
    else
        pack_columns(r, r->first + at, at, i - g->line_blocks, &p);
}

/* ---- the result ---- */

/* Where column `c` of tap `tap` and line `line` is in dw; -1 = padding. */
static int64_t place_of(const struct ck_tiles_gradient *g, int64_t line, int64_t tap, int64_t c)
{
    const struct ck_tiles_shape *s = &g->s;
    int64_t window = s->kernel * s->kernel;
    if (g->swapped)
        return c < s->oc ? c * s->ic + line : -1;
    int64_t kx = c / STEM_CHANNELS, channel = c % STEM_CHANNELS;
    return channel < s->ic && kx < s->kernel
               ? (line * s->ic + channel) * window + tap * s->kernel + kx
               : -1;
}

/* Swapped operands and stems: moves 16 sums of a line, of one half of the columns from `c`, to
 * their places in dw. */
static void scatter(const struct run *r, const float *sum, int64_t line, int64_t tap, int64_t c,
                    int half)
{
    int halves = tiles_of(r->g->columns, c / CK_TILE_CHANNELS);
    for (int i = 0; i < 16; i++) {
        int64_t to = place_of(r->g, line, tap, c + ck_wgrad_channel(halves, half, i));
        if (to >= 0)
            r->dw[to] = r->accumulate ? r->dw[to] + sum[i] : sum[i];
    }
}

/* Usually the sums of a line are consecutive in dw, the taps of a column side by side; `n`
 * columns are in use. Tiles are `stride` floats apart, of each tap `halves`. */
static void move_line(const struct run *r, const float *sum, int64_t stride, int halves,
                      int64_t n, float *dw)
{
    float out[CK_TILE_CHANNELS * CK_TILES_TAPS];
    int64_t taps = r->g->taps;
    for (int64_t tap = 0; tap < taps; tap++)
        for (int half = 0; half < halves; half++, sum += stride)
            for (int i = 0; i < 16; i++)
                out[ck_wgrad_channel(halves, half, i) * taps + tap] = sum[i];
    if (!r->accumulate)
        memcpy(dw, out, (size_t)(n * taps) * sizeof *dw);
    for (int64_t i = 0; r->accumulate && i < n * taps; i++)
        dw[i] += out[i];
}

/* Adds the parts in their order and moves a block of lines and columns to dw. */
static void finish(const struct run *r, int64_t line, int64_t column, float *sum)
{
    const struct ck_tiles_gradient *g = r->g;
    int lines = tiles_of(g->lines, line), halves = tiles_of(g->columns, column);
    int64_t tiles = g->taps * halves, stride = lines * CK_WGRAD_SUMS;
    for (int64_t part = 1; part < g->parts; part++) {
        const float *other = sums_at(r, part, line, column);
        for (int64_t i = 0; i < tiles * stride; i++)
            sum[i] += other[i];
    }
    int64_t first = line * CK_TILE_CHANNELS, c = column * CK_TILE_CHANNELS;
    int64_t used = smaller(CK_TILE_CHANNELS, g->lines - first);
    int64_t n = smaller(CK_TILE_CHANNELS, g->columns - c);
    for (int64_t i = 0; i < used; i++) {
        const float *from = sum + i * 16;
        if (!g->swapped && !g->stem)
            move_line(r, from, stride, halves, n,
                      r->dw + ((first + i) * g->s.ic + c) * g->taps);
        else
            for (int64_t at = 0; at < tiles; at++)
                scatter(r, from + at * stride, first + i, at / halves, c, (int)(at % halves));
    }
}

static void finish_chunk(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const struct run *r = arg;
    int64_t line = chunk / r->g->column_blocks, column = chunk % r->g->column_blocks;
    finish(r, line, column, sums_at(r, 0, line, column));
}

static int64_t items_per_column(const struct ck_tiles_gradient *g)
{
    return divide_up(g->line_blocks, ITEM_LINES);
}

static void multiply_chunk(void *arg, int64_t chunk, int worker)
{
    const struct run *r = arg;
    const struct ck_tiles_gradient *g = r->g;
    struct packed p = packed_of(r, 0), beyond = packed_of(r, 1);
    float *own = (float *)(void *)beyond.lines + worker * g->taps * BLOCK_SUMS;
    int64_t column = chunk / items_per_column(g);
    int64_t from = chunk % items_per_column(g) * ITEM_LINES;
    int64_t to = smaller(from + ITEM_LINES, g->line_blocks);
    int last = r->first + r->bundles == g->bundles;
    r->kn->begin();
    for (int64_t i = from; i < to; i++) {
        float *sum = is_single(g) ? own : sums_at(r, 0, i, column);
        multiply(r, &p, i, column, r->bundles, r->first > 0, sum);
        if (last)
            finish(r, i, column, sum);
    }
    r->kn->end();
}

const struct ck_wgrad_kernels *ck_wgrad_kernels(void)
{
    const struct ck_tile_kernels *k = ck_tile_kernels();
#if defined(__x86_64__)
    if (k == &ck_tile_kernels_amx)
        return &ck_wgrad_kernels_amx;
    if (k == &ck_tile_kernels_bf16)
        return &ck_wgrad_kernels_bf16;
#endif
    return k ? &ck_wgrad_kernels_emulated : NULL;
}

void ck_tiles_gradient_run(const struct ck_tiles_gradient *g, const void *x, const void *dy,
                           int accumulate, float *dw, void *scratch)
{
    struct run r = {.g = g,
                    .kn = ck_wgrad_kernels(),
                    .layout = layout_of(g),
                    .x = x,
                    .dy = dy,
                    .accumulate = accumulate,
                    .dw = dw};
    unsigned char *at = scratch;
    r.table[0] = (int32_t *)(void *)at;
    r.table[1] = r.table[0] + table_size(g);
    r.sum = (float *)(void *)(at + r.layout.tables);
    r.scratch = at + r.layout.tables + r.layout.sums;
    fill_tables(&r);
    if (g->parts) {
        ck_parallel(g->parts, run_part, &r);
        ck_parallel(g->line_blocks * g->column_blocks, finish_chunk, &r);
    }
    for (r.first = 0; !g->parts && r.first < g->bundles; r.first += g->group) {
        r.bundles = smaller(g->group, g->bundles - r.first);
        ck_parallel(r.bundles * (g->line_blocks + g->column_blocks), pack_chunk, &r);
        ck_parallel(g->column_blocks * items_per_column(g), multiply_chunk, &r);
    }
}
