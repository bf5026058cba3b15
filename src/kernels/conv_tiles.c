/* conv_tiles.c - bf16 convolutions on tiles: rearranges images so that every tap of 16 outputs
 * is a tile, and runs the panels of kernels_conv_tiles.h on them.
 *
 * A worker copies the images of its chunk into views, without gaps between rows, one per
 * distance of columns: then a tap is the same offset for all outputs, and a tile of 16 outputs
 * may span rows. Where rows are a multiple of 16 outputs no tile does, and one view with columns
 * of zeros beside it serves all distances. With stride 2 even and odd rows (and columns) have
 * views of their own. Convolutions 1x1 with stride 1 read the images themselves. */
#include "kernels/conv_tiles.h"
#include "core/workers.h"
#include "kernels/amx.h"
#include "kernels/integers.h"
#include "kernels/kernels_conv_tiles.h"

#include <string.h>

enum {
    ROWS = 16,            /* pixels of a tile */
    VIEW_BYTES = 1 << 20, /* desired maximum of the views of a chunk: part of a 2 MB cache */
    CHUNK_TILES = 16,  /* tiles that a panel should have at least, to use its weights often */
    CHUNKS = 8,        /* desired minimum number of chunks */
    SLACK = 64 * 1024, /* after the views: tiles of small images read beyond them */
};

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* ---- taps and views ---- */

struct tap {
    int64_t a, b; /* source pixel: (step * row + a, step * column + b) */
    int64_t weight;
};

/* The range of floor(x / step) over the taps. */
struct range {
    int64_t least, most;
};

static struct range range_of(const struct tap *t, int64_t n, int64_t step, int columns)
{
    struct range r = {INT64_MAX, INT64_MIN};
    for (int64_t i = 0; i < n; i++) {
        int64_t at = floor_divide(columns ? t[i].b : t[i].a, step);
        r.least = smaller(r.least, at);
        r.most = larger(r.most, at);
    }
    return r;
}

static int64_t find_view(struct ck_tiles_part *p, struct ck_tiles_view v)
{
    for (int64_t i = 0; i < p->views; i++)
        if (p->view[i].row == v.row && p->view[i].column == v.column)
            return i;
    p->view[p->views] = v;
    return p->views++;
}

static int is_wide(const struct ck_tiles_part *p)
{
    return p->w % ROWS == 0;
}

static void make_views(struct ck_tiles_part *p, const struct tap *tap)
{
    int64_t step = p->step;
    struct range rows = range_of(tap, p->taps, step, 0);
    struct range columns = range_of(tap, p->taps, step, 1);
    p->rows_above = rows.most - rows.least;
    p->pitch = is_wide(p) ? p->w + columns.most - columns.least : p->w;
    for (int64_t i = 0; i < p->taps; i++) {
        int64_t row = floor_divide(tap[i].a, step), column = floor_divide(tap[i].b, step);
        struct ck_tiles_view v = {tap[i].a - step * (row - rows.least), tap[i].b};
        if (is_wide(p))
            v.column = tap[i].b - step * (column - columns.least);
        p->tap_view[i] = (int8_t)find_view(p, v);
        p->tap_row[i] = (int8_t)(row - rows.least);
        p->tap_column[i] = is_wide(p) ? (int8_t)(column - columns.least) : 0;
        p->tap_weight[i] = (int8_t)tap[i].weight;
    }
}

static void make_forward(struct ck_tiles_conv *c, struct tap *tap)
{
    const struct ck_tiles_shape *s = &c->s;
    struct ck_tiles_part *p = &c->part[c->parts++];
    *p = (struct ck_tiles_part){.h = s->oh, .w = s->ow, .step = s->stride};
    p->taps = s->kernel * s->kernel;
    for (int64_t i = 0; i < p->taps; i++)
        tap[i] = (struct tap){i / s->kernel - s->pad, i % s->kernel - s->pad, i};
    if (!c->stem)
        make_views(p, tap);
}

/* Output o reads input stride * o + k - pad: the input at stride * i + parity gets gradients
 * from the taps k for which i + (parity + pad - k) / stride is whole. */
static void make_data(struct ck_tiles_conv *c, int64_t row, int64_t column, struct tap *tap)
{
    const struct ck_tiles_shape *s = &c->s;
    if (row >= s->ih || column >= s->iw)
        return;
    struct ck_tiles_part *p = &c->part[c->parts++];
    *p = (struct ck_tiles_part){.h = divide_up(s->ih - row, s->stride),
                                .w = divide_up(s->iw - column, s->stride),
                                .row = row,
                                .column = column,
                                .step = 1};
    for (int64_t ky = 0; ky < s->kernel; ky++)
        for (int64_t kx = 0; kx < s->kernel; kx++) {
            int64_t a = row + s->pad - ky, b = column + s->pad - kx;
            if (a % s->stride == 0 && b % s->stride == 0)
                tap[p->taps++] =
                    (struct tap){a / s->stride, b / s->stride, ky * s->kernel + kx};
        }
    if (p->taps)
        make_views(p, tap);
}

/* Reads the source itself in place of views. */
static int is_direct(const struct ck_tiles_conv *c, const struct ck_tiles_part *p)
{
    return !c->stem && p->taps == 1 && p->step == 1 && p->view[0].row == 0 &&
           p->view[0].column == 0 && p->h == c->sh && p->w == c->sw && p->h * p->w >= ROWS;
}

/* ---- sizes ---- */

/* Bytes of a pixel of the source and of its views; of the destination. */
static int64_t source_pixel(const struct ck_tiles_conv *c)
{
    return c->from * (int64_t)sizeof(uint16_t);
}

static int64_t pixel_out(const struct ck_tiles_conv *c)
{
    return c->to * (int64_t)sizeof(uint16_t);
}

/* Bytes of the views of one image for `rows` rows of outputs; of its source if it is direct. */
static int64_t view_bytes(const struct ck_tiles_conv *c, const struct ck_tiles_part *p,
                          int64_t rows)
{
    if (c->stem)
        return (int64_t)aligned(
            (size_t)(((rows - 1) * p->step + c->s.kernel) * p->pitch * 2 * CK_STEM_CHANNELS));
    int64_t views = is_direct(c, p) ? 1 : p->views;
    return views * c->sc * (rows + p->rows_above) * p->pitch * source_pixel(c);
}

static int64_t tiles_of(const struct ck_tiles_conv *c, const struct ck_tiles_part *p,
                        int64_t rows)
{
    return c->stem ? rows * divide_up(p->w, ROWS) : divide_up(rows * p->w, ROWS);
}

/* Rows of outputs per band; direct parts need whole tiles. */
static int64_t choose_band(const struct ck_tiles_conv *c, const struct ck_tiles_part *p)
{
    int64_t rows = p->h;
    while (rows > 1 && view_bytes(c, p, rows) > VIEW_BYTES)
        rows = divide_up(rows, 2);
    while (rows < p->h && rows * p->w < ROWS)
        rows++;
    return rows;
}

/* Images per chunk: enough tiles for a panel, but views that fit the cache. */
static int64_t choose_group(const struct ck_tiles_conv *c)
{
    const struct ck_tiles_part *p = &c->part[0];
    int64_t group = divide_up(CHUNK_TILES, tiles_of(c, p, p->h));
    group = smaller(group, larger(c->s.n / CHUNKS, 1));
    while (group > 1 && group * view_bytes(c, p, p->band) > VIEW_BYTES + VIEW_BYTES / 4)
        group--;
    return group;
}

/* What a worker's scratch holds, in this order; sizes in bytes. */
struct layout {
    size_t views, tiles, at, out, moments;
};

static struct layout layout_of(const struct ck_tiles_conv *c)
{
    struct layout l = {0, 0, 0, 0, 0};
    for (int i = 0; i < c->parts; i++) {
        const struct ck_tiles_part *p = &c->part[i];
        size_t views = is_direct(c, p) ? 0 : (size_t)(c->group * view_bytes(c, p, p->band));
        size_t tiles = (size_t)(c->group * tiles_of(c, p, p->band)) * sizeof(struct ck_tile);
        size_t out = c->stride > 1 ? (size_t)(c->group * p->band * p->w * pixel_out(c)) : 0;
        size_t at = (size_t)p->steps * sizeof(int64_t);
        l.views = views > l.views ? views : l.views;
        l.tiles = tiles > l.tiles ? tiles : l.tiles;
        l.out = out > l.out ? out : l.out;
        l.at = at > l.at ? at : l.at;
    }
    l.views = aligned(l.views + SLACK);
    l.tiles = aligned(l.tiles);
    l.at = aligned(l.at);
    l.out = aligned(l.out);
    l.moments = aligned((size_t)(c->dc * c->group) * sizeof(struct ck_tile_moments));
    return l;
}

static void size_all(struct ck_tiles_conv *c)
{
    int64_t packed = 0;
    for (int i = 0; i < c->parts; i++) {
        struct ck_tiles_part *p = &c->part[i];
        p->steps = c->stem ? c->s.kernel : p->taps * c->sc;
        p->b = packed;
        packed += p->steps * c->dc * 1024;
        p->band = choose_band(c, p);
    }
    c->packed = (size_t)packed * sizeof(uint16_t);
    c->group = choose_group(c);
    c->chunks = divide_up(c->s.n, c->group);
    struct layout l = layout_of(c);
    c->scratch = l.views + l.tiles + l.at + l.out + l.moments;
    c->sums = c->pass == CK_TILES_FORWARD
                  ? (size_t)(c->chunks * 2 * c->dc * c->to) * sizeof(double)
                  : 0;
}

static void set_images(struct ck_tiles_conv *c)
{
    const struct ck_tiles_shape *s = &c->s;
    int forward = c->pass == CK_TILES_FORWARD;
    int64_t sources = forward ? s->ic : s->oc, outputs = forward ? s->oc : s->ic;
    c->from = ck_tiles_block(sources);
    c->to = ck_tiles_block(outputs);
    c->sc = divide_up(sources, c->from);
    c->sh = forward ? s->ih : s->oh;
    c->sw = forward ? s->iw : s->ow;
    c->dc = divide_up(outputs, c->to);
    c->dh = forward ? s->oh : s->ih;
    c->dw = forward ? s->ow : s->iw;
    c->stride = forward ? 1 : s->stride;
    c->stem = forward && s->ic <= CK_STEM_CHANNELS && s->kernel > 1;
}

int ck_tiles_init(struct ck_tiles_conv *c, const struct ck_tiles_shape *s,
                  enum ck_tiles_pass pass)
{
    struct tap tap[CK_TILES_TAPS];
    memset(c, 0, sizeof *c);
    if (!ck_tile_kernels() || s->kernel > CK_TILES_KERNEL || s->stride > 2 ||
        s->pad >= s->kernel)
        return 0;
    c->s = *s;
    c->pass = pass;
    set_images(c);
    if (pass == CK_TILES_FORWARD)
        make_forward(c, tap);
    for (int64_t i = 0; pass == CK_TILES_DATA && i < s->stride * s->stride; i++)
        make_data(c, i / s->stride, i % s->stride, tap);
    if (c->stem)
        c->part[0].pitch = (larger(c->part[0].w, ROWS) - 1) * s->stride + CK_STEM_PIXELS;
    size_all(c);
    return 1;
}

size_t ck_tiles_scratch(const struct ck_tiles_conv *c, int threads)
{
    return (size_t)threads * c->scratch + c->sums;
}

/* ---- running ---- */

struct run {
    const struct ck_tiles_conv *c;
    const struct ck_tile_kernels *kn;
    const unsigned char *src;
    const uint16_t *packed;
    uint16_t *dst;
    const struct ck_tiles_producer *producer;
    double *partial; /* [chunks][2][channels]; NULL = no sums wanted */
    unsigned char *scratch;
    struct layout layout;
};

/* A band of rows of one part, for the images of a chunk. */
struct band {
    const struct ck_tiles_part *p;
    int64_t first, images; /* of the batch */
    int64_t row, rows;     /* of the part */
    unsigned char *views, *out;
    struct ck_tile *tile;
    int64_t *at;
    struct ck_tile_moments *moments; /* [dc][group]; NULL = no sums wanted */
};

/* One row of a view from the row `src` of the source; NULL = outside. */
static void fill_row(const struct run *r, const struct ck_tiles_part *p, int64_t column,
                     const unsigned char *src, unsigned char *dst)
{
    int64_t pixel = source_pixel(r->c);
    if (!src) {
        memset(dst, 0, (size_t)(p->pitch * pixel));
        return;
    }
    int64_t from = column >= 0 ? 0 : divide_up(-column, p->step);
    int64_t to = column >= r->c->sw ? 0 : (r->c->sw - 1 - column) / p->step + 1;
    from = smaller(from, p->pitch);
    to = larger(smaller(to, p->pitch), from);
    memset(dst, 0, (size_t)(from * pixel));
    r->kn->pixels(to - from, pixel, src + (column + from * p->step) * pixel, p->step * pixel,
                  dst + from * pixel, pixel);
    memset(dst + to * pixel, 0, (size_t)((p->pitch - to) * pixel));
}

/* The views of one image: [view][source block][rows][pitch]. */
static void fill_views(const struct run *r, const struct band *b, const unsigned char *image,
                       unsigned char *views)
{
    const struct ck_tiles_conv *c = r->c;
    const struct ck_tiles_part *p = b->p;
    int64_t rows = b->rows + p->rows_above, pixel = source_pixel(c);
    for (int64_t v = 0; v < p->views; v++)
        for (int64_t block = 0; block < c->sc; block++)
            for (int64_t i = 0; i < rows; i++) {
                int64_t y = p->view[v].row + (b->row + i) * p->step;
                const unsigned char *src = image + (block * c->sh + y) * c->sw * pixel;
                fill_row(r, p, p->view[v].column, y < 0 || y >= c->sh ? NULL : src, views);
                views += p->pitch * pixel;
            }
}

/* The image with a border of zeros and CK_STEM_CHANNELS channels. */
static void fill_stem(const struct run *r, const struct band *b, const unsigned char *image,
                      unsigned char *view)
{
    const struct ck_tiles_conv *c = r->c;
    enum { BYTES = 2 * CK_STEM_CHANNELS };
    int64_t pad = c->s.pad, rows = (b->rows - 1) * b->p->step + c->s.kernel;
    for (int64_t i = 0; i < rows; i++, view += b->p->pitch * BYTES) {
        int64_t y = b->row * b->p->step + i - pad;
        const unsigned char *src = image + y * c->sw * source_pixel(c);
        memset(view, 0, (size_t)(b->p->pitch * BYTES));
        int64_t n = smaller(c->sw, b->p->pitch - pad);
        for (int64_t x = 0; y >= 0 && y < c->sh && x < n; x++)
            memcpy(view + (x + pad) * BYTES, src + x * source_pixel(c), BYTES);
    }
}

/* Bytes from a tile's first pixel to the pixels of each step. */
static void set_steps(const struct run *r, const struct band *b)
{
    const struct ck_tiles_conv *c = r->c;
    const struct ck_tiles_part *p = b->p;
    for (int64_t k = 0; c->stem && k < p->steps; k++)
        b->at[k] = k * p->pitch * 2 * CK_STEM_CHANNELS;
    if (c->stem)
        return;
    int64_t rows = is_direct(c, p) ? c->sh : b->rows + p->rows_above;
    for (int64_t block = 0; block < c->sc; block++)
        for (int64_t i = 0; i < p->taps; i++) {
            int64_t plane = p->tap_view[i] * c->sc + block;
            b->at[block * p->taps + i] =
                ((plane * rows + p->tap_row[i]) * p->pitch + p->tap_column[i]) *
                source_pixel(c);
        }
}

/* Bytes from an output's first source pixel to the next one's. */
static int64_t tile_pixel(const struct ck_tiles_conv *c, const struct ck_tiles_part *p)
{
    return c->stem ? 2 * CK_STEM_CHANNELS * p->step : source_pixel(c);
}

/* The tiles of one image. Outputs are numbered along the rows; the last tile (stems: the last of
 * a row) begins earlier rather than reach over the end. */
static struct ck_tile *add_tiles(const struct run *r, const struct band *b, int64_t image,
                                 const unsigned char *a, uint16_t *out, struct ck_tile *t)
{
    const struct ck_tiles_part *p = b->p;
    int64_t line = r->c->stem || is_wide(p) ? p->w : b->rows * p->w;
    int64_t pixel = tile_pixel(r->c, p), pitch = p->pitch * pixel;
    for (int64_t i = 0; i < b->rows * p->w / line; i++)
        for (int64_t j = 0; j < line; j += ROWS, t++) {
            int64_t start = larger(smaller(j, line - ROWS), 0);
            t->a = a + i * pitch + start * pixel;
            t->out = out + (i * line + start) * r->c->to;
            t->from = (int)(j - start);
            t->to = (int)smaller(ROWS, line - start);
            t->image = (int)image;
        }
    return t;
}

/* Fills the views and lists the tiles of all images; returns how many there are. */
static int64_t prepare(const struct run *r, const struct band *b)
{
    const struct ck_tiles_conv *c = r->c;
    const struct ck_tiles_part *p = b->p;
    int64_t view = view_bytes(c, p, b->rows);
    struct ck_tile *t = b->tile;
    for (int64_t g = 0; g < b->images; g++) {
        const unsigned char *image =
            r->src + (b->first + g) * c->sc * c->sh * c->sw * source_pixel(c);
        const unsigned char *a = b->views + g * view;
        uint16_t *out =
            r->dst + ((b->first + g) * c->dc * c->dh * c->dw + b->row * p->w) * c->to;
        if (c->stride > 1)
            out = (uint16_t *)(void *)b->out + g * b->rows * p->w * c->to;
        if (c->stem)
            fill_stem(r, b, image, b->views + g * view);
        else if (is_direct(c, p))
            a = image + b->row * p->w * source_pixel(c);
        else
            fill_views(r, b, image, b->views + g * view);
        t = add_tiles(r, b, g, a, out, t);
    }
    set_steps(r, b);
    return t - b->tile;
}

/* Moves a block of outputs of this parity to their places; src NULL = they are 0. */
static void spread(const struct run *r, const struct band *b, int64_t block, int64_t g,
                   const unsigned char *src)
{
    const struct ck_tiles_conv *c = r->c;
    const struct ck_tiles_part *p = b->p;
    static const unsigned char zero[2 * CK_TILE_CHANNELS];
    int64_t plane = (b->first + g) * c->dc + block, pixel = pixel_out(c);
    for (int64_t i = 0; i < b->rows; i++) {
        int64_t row = plane * c->dh + p->row + (b->row + i) * c->stride;
        uint16_t *out = r->dst + (row * c->dw + p->column) * c->to;
        r->kn->pixels(p->w, pixel, src ? src + i * p->w * pixel : zero, src ? pixel : 0, out,
                      c->stride * pixel);
    }
}

/* Of sources per step; a stem's steps are full. */
static int pairs_of(const struct ck_tiles_conv *c)
{
    return c->stem ? 16 : (int)(c->from / 2);
}

static void run_band(const struct run *r, const struct band *b)
{
    const struct ck_tiles_conv *c = r->c;
    const struct ck_tiles_part *p = b->p;
    int64_t tiles = p->taps ? prepare(r, b) : 0;
    struct ck_tile_panel panel = {.tile = b->tile,
                                  .tiles = tiles,
                                  .pixel = tile_pixel(c, p),
                                  .at = b->at,
                                  .steps = p->steps,
                                  .pairs = pairs_of(c),
                                  .halves = (int)(c->to / 16)};
    for (int64_t block = 0; block < c->dc; block++) {
        panel.b = r->packed + p->b + block * p->steps * 1024;
        panel.out = c->stride > 1 ? 0 : block * c->dh * c->dw * c->to;
        panel.moments = b->moments ? b->moments + block * c->group : NULL;
        if (tiles)
            r->kn->panel(&panel);
        for (int64_t g = 0; c->stride > 1 && g < b->images; g++)
            spread(r, b, block, g, tiles ? b->out + g * b->rows * p->w * pixel_out(c) : NULL);
    }
}

/* Sums about 0 of one chunk, in double: the terms that cancel are exact. Those in f32 are of
 * single images, so that the result does not depend on how images are divided among chunks and
 * processes, but for the rounding of doubles. */
static void add_moments(const struct run *r, const struct ck_tile_moments *m, int64_t chunk,
                        int64_t images)
{
    int64_t to = r->c->to, channels = r->c->dc * to;
    double *sum = r->partial + 2 * chunk * channels, *square = sum + channels;
    for (int64_t i = 0; i < 2 * channels; i++)
        sum[i] = 0;
    for (int64_t block = 0; block < r->c->dc; block++, m += r->c->group)
        for (int64_t g = 0; g < images; g++)
            for (int64_t j = 0; j < to; j++) {
                double pivot = (double)m[g].pivot[j], dev = (double)m[g].dev[j];
                double base = (double)m[g].rows * pivot;
                sum[block * to + j] += base + dev;
                square[block * to + j] +=
                    base * pivot + (2 * pivot * dev + (double)m[g].square[j]);
            }
}

static void run_chunk(void *arg, int64_t chunk, int worker)
{
    const struct run *r = arg;
    const struct ck_tiles_conv *c = r->c;
    const struct layout *l = &r->layout;
    unsigned char *mine = r->scratch + (size_t)worker * c->scratch;
    struct band b = {.first = chunk * c->group, .views = mine};
    b.images = smaller(c->group, c->s.n - b.first);
    b.tile = (struct ck_tile *)(void *)(mine + l->views);
    b.at = (int64_t *)(void *)(mine + l->views + l->tiles);
    b.out = mine + l->views + l->tiles + l->at;
    struct ck_tile_moments *moments = (struct ck_tile_moments *)(void *)(b.out + l->out);
    b.moments = r->partial ? moments : NULL;
    if (r->partial)
        memset(moments, 0, l->moments);
    if (r->producer)
        r->producer->run(r->producer->arg, b.first, b.images);
    r->kn->begin(pairs_of(c));
    for (int i = 0; i < c->parts; i++) {
        b.p = &c->part[i];
        for (b.row = 0; b.row < b.p->h; b.row += b.rows) {
            b.rows = smaller(b.p->band, b.p->h - b.row);
            run_band(r, &b);
        }
    }
    r->kn->end();
    if (r->partial)
        add_moments(r, moments, chunk, b.images);
}

/* Adds the chunks' sums in their order. */
static void add_chunks(const struct run *r, const struct ck_tiles_sums *sums)
{
    int64_t channels = r->c->dc * r->c->to;
    for (int64_t i = 0; i < channels; i++) {
        sums->sum[i] = sums->square[i] = 0;
        for (int64_t chunk = 0; chunk < r->c->chunks; chunk++) {
            sums->sum[i] += r->partial[2 * chunk * channels + i];
            sums->square[i] += r->partial[(2 * chunk + 1) * channels + i];
        }
    }
}

void ck_tiles_run(const struct ck_tiles_conv *c, const void *src, const void *packed, void *dst,
                  const struct ck_tiles_producer *producer, const struct ck_tiles_sums *sums,
                  void *scratch)
{
    struct run r = {.c = c,
                    .kn = ck_tile_kernels(),
                    .src = src,
                    .packed = packed,
                    .dst = dst,
                    .producer = producer,
                    .partial = sums ? scratch : NULL,
                    .scratch = (unsigned char *)scratch + c->sums,
                    .layout = layout_of(c)};
    ck_parallel(c->chunks, run_chunk, &r);
    if (sums)
        add_chunks(&r, sums);
}

/* ---- versions ---- */

/* Not synchronised: tests set it while no other thread computes. */
static const struct ck_tile_kernels *forced;

void ck_tile_kernels_force(const struct ck_tile_kernels *version)
{
    forced = version;
}

const struct ck_tile_kernels *ck_tile_kernels(void)
{
    if (forced)
        return forced;
    switch (ck_amx()) {
#if defined(__x86_64__)
    case CK_AMX_UNIT:
        return &ck_tile_kernels_amx;
#endif
    case CK_AMX_EMULATED:
        return &ck_tile_kernels_emulated;
    default:
        break;
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw"))
        return &ck_tile_kernels_bf16;
#endif
    return NULL;
}

const char *ck_tiles_how(void)
{
    const struct ck_tile_kernels *k = ck_tile_kernels();
    return k ? k->name : NULL;
}
