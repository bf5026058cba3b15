/* preview.c - contact sheets of images and their views. */
#include "data/preview.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/option.h"
#include "core/rng.h"
#include "data/data_options.h"
#include "io/file.h"

#include <string.h>

enum {
    GAP = 4,              /* pixels between views */
    WIDE_GAP = 12,        /* pixels between groups of views */
    MIN_CELL = 96,        /* smallest side of a cell */
    PAPER = 250,          /* gray value of the background */
    MAX_SIDE = 30000,     /* of the sheet */
    MAX_AREA = 200000000, /* of the sheet */
};

/* A sheet being drawn; out is the caller's, the rest working memory. */
struct sheet {
    struct ck_image *out;
    struct ck_recipe recipe;
    struct ck_fetcher fetcher;
    struct ck_canvas canvas;
    struct ck_planes small;
    int cell; /* side in pixels */
};

/* Enlarges small views by a whole factor, so that their pixels can be counted. */
static int zoom_of(int32_t width, int cell)
{
    return width > 0 && cell / width > 1 ? cell / width : 1;
}

/* Missing channels repeat the last one, so that gray images become gray RGB. */
static uint8_t value_at(const struct ck_planes *p, int channel, int x, int y, int flip)
{
    int c = channel < p->channels ? channel : p->channels - 1;
    x = flip ? p->width - 1 - x : x;
    return p->data[((size_t)c * (size_t)p->height + (size_t)y) * (size_t)p->width + (size_t)x];
}

/* Copies planar p, enlarged by zoom, into the interleaved RGB of out. */
static void paste(struct ck_image *out, const struct ck_planes *p, int flip, int left, int top,
                  int zoom)
{
    for (int y = 0; y < p->height * zoom; y++) {
        uint8_t *to = out->data + ((size_t)(top + y) * (size_t)out->width + (size_t)left) * 3;
        for (int x = 0; x < p->width * zoom; x++)
            for (int c = 0; c < 3; c++)
                *to++ = value_at(p, c, x / zoom, y / zoom, flip);
    }
}

/* Draws the whole image, scaled to fit its cell. */
static int paste_whole(struct sheet *s, struct coke_dataset *d, int64_t i, int left, int top)
{
    struct ck_box part;
    int scale, rc = COKE_OK;
    CK_TRY(ck_fetch_open(&s->fetcher, d, i));
    CK_TRY(ck_fetch_decode(&s->fetcher, d, NULL, 1, &part, &scale));
    const struct ck_image *im = &s->fetcher.image;
    int32_t longer = im->width > im->height ? im->width : im->height;
    int zoom = zoom_of(longer, s->cell);
    int32_t w = im->width, h = im->height;
    if (longer > s->cell) {
        w = (int32_t)((int64_t)w * s->cell / longer);
        h = (int32_t)((int64_t)h * s->cell / longer);
    }
    w = w ? w : 1;
    h = h ? h : 1;
    struct ck_box all = {0, 0, im->width, im->height};
    CK_TRY(ck_resize(&s->canvas.resizer, im, all, CK_BILINEAR, w, h, &s->small));
    paste(s->out, &s->small, 0, left + (s->cell - w * zoom) / 2, top + (s->cell - h * zoom) / 2,
          zoom);
done:
    return rc;
}

/* The views of image i in an epoch, exactly as training would make them. */
static int paste_views(struct sheet *s, struct coke_dataset *d, int64_t i, int64_t epoch,
                       int left, int top)
{
    struct ck_view_draws draws;
    CK_RETURN_IF(ck_recipe_begin(&s->recipe, &s->fetcher, d, i, epoch, &draws));
    for (int v = 0; v < s->recipe.views; v++, left += s->cell + GAP) {
        const struct ck_view *view = &s->recipe.view[v];
        CK_RETURN_IF(ck_view_render(&s->canvas, view, &draws.draw[v], &s->fetcher.image,
                                    &draws.part, draws.scale));
        int zoom = zoom_of(view->width > view->height ? view->width : view->height, s->cell);
        paste(s->out, &s->canvas.planes, draws.draw[v].flip,
              left + (s->cell - view->width * zoom) / 2,
              top + (s->cell - view->height * zoom) / 2, zoom);
    }
    return COKE_OK;
}

/* Per row a random image and its views in `columns` epochs. Fails only if no image is
 * readable. */
static int draw_rows(struct sheet *s, struct coke_dataset *d, uint64_t seed, int rows,
                     int columns)
{
    struct ck_perm perm;
    int rc = COKE_OK;
    ck_perm_init(&perm, seed, CK_RNG_SAMPLE, 0, (uint64_t)d->set->n);
    int group = s->recipe.views * (s->cell + GAP) - GAP + WIDE_GAP;
    int drawn = 0;
    for (int64_t r = 0; r < d->set->n && drawn < rows; r++) {
        int64_t i = (int64_t)ck_perm_at(&perm, (uint64_t)r);
        int top = GAP + drawn * (s->cell + GAP);
        rc = paste_whole(s, d, i, GAP, top);
        for (int c = 0; c < columns && !rc; c++)
            rc = paste_views(s, d, i, c, GAP + s->cell + WIDE_GAP + c * group, top);
        if (rc && rc != COKE_EFORMAT)
            goto done;
        drawn += rc == COKE_OK; /* an unreadable image is skipped: the next one gets its row */
    }
    if (drawn > 0)
        rc = COKE_OK;
done:
    return rc;
}

/* Makes an empty sheet. */
static int begin_sheet(struct ck_image *out, int64_t width, int64_t height)
{
    if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_AREA)
        return ck_fail(COKE_EUSAGE,
                       "a sheet of %lld x %lld pixels is too large; use fewer rows or columns",
                       (long long)width, (long long)height);
    CK_RETURN_IF(ck_image_reshape(out, (int32_t)width, (int32_t)height, 3));
    memset(out->data, PAPER, (size_t)width * (size_t)height * 3);
    return COKE_OK;
}

static void release(struct sheet *s)
{
    ck_fetcher_release(&s->fetcher);
    ck_canvas_release(&s->canvas);
    ck_planes_release(&s->small);
}

/* Unreadable images and index -1 leave their cell empty. */
int ck_preview_images(struct coke_dataset *d, const int64_t *index, int rows, int columns,
                      struct ck_image *out)
{
    int rc = COKE_OK;
    struct sheet s = {.out = out, .cell = MIN_CELL};
    int64_t step = s.cell + GAP;
    CK_TRY(begin_sheet(out, GAP + columns * step, GAP + rows * step));
    for (int i = 0; i < rows * columns; i++) {
        if (index[i] < 0)
            continue;
        rc = paste_whole(&s, d, index[i], GAP + i % columns * (int)step,
                         GAP + i / columns * (int)step);
        if (rc && rc != COKE_EFORMAT)
            goto done;
        rc = COKE_OK;
    }
done:
    release(&s);
    return rc;
}

int ck_preview(struct coke_dataset *d, const struct ck_view_options *o, int rows, int columns,
               struct ck_image *out)
{
    int rc = COKE_OK;
    struct sheet s = {.out = out, .cell = MIN_CELL};
    CK_TRY(ck_recipe_init(&s.recipe, d, o, NULL));
    rows = d->set->n < rows ? (int)d->set->n : rows;
    for (int v = 0; v < s.recipe.views; v++) {
        const struct ck_view *view = &s.recipe.view[v];
        int side = view->width > view->height ? view->width : view->height;
        s.cell = side > s.cell ? side : s.cell;
    }
    int64_t group = s.recipe.views * (s.cell + GAP) - GAP + WIDE_GAP;
    int64_t width = 2 * GAP + s.cell + columns * group, height = GAP + rows * (s.cell + GAP);
    CK_TRY(begin_sheet(out, width, height));
    CK_TRY(draw_rows(&s, d, (uint64_t)o->seed, rows, columns));
done:
    release(&s);
    return rc;
}

int ck_preview_write(struct coke_dataset *d, const struct ck_view_options *options, int rows,
                     int columns, const char *path, int force)
{
    int rc = COKE_OK;
    struct ck_image sheet = {0};
    struct ck_writer w = {0};
    unsigned char *bytes = NULL;
    size_t size;
    CK_TRY(ck_options_check(ck_view_option_table(), options));
    if (rows < 1 || columns < 1)
        CK_FAIL(COKE_EUSAGE,
                "a sheet of %d rows and %d columns is invalid: both must be at least 1", rows,
                columns);
    if (d->set->n < 0)
        CK_FAIL(COKE_EUSAGE, "%s can only be read once, in order: no preview", d->set->source);
    CK_TRY(ck_file_check_target(path, force));
    CK_TRY(ck_preview(d, options, rows, columns, &sheet));
    CK_TRY(ck_png_encode(&sheet, &bytes, &size));
    CK_TRY(ck_writer_open(&w, path, force));
    CK_TRY(ck_writer_write(&w, bytes, size));
    CK_TRY(ck_writer_commit(&w));
done:
    ck_writer_abort(&w);
    ck_free(bytes);
    ck_image_release(&sheet);
    return rc;
}
