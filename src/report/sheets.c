/* sheets.c - contact sheets: thumbnails of chosen images of a data set. */
#include "report/sheets.h"
#include "core/callbacks.h"
#include "core/first_error.h"
#include "core/mem.h"
#include "core/workers.h"
#include "data/fetch.h"
#include "image/resize.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { QUALITY = 80, GRAY = 128, SAMPLE = 64 }; /* of the JPEGs; unreadable; images estimated */

/* Working memory of one thread. */
struct worker {
    struct ck_fetcher fetcher;
    struct ck_resizer resizer;
    struct ck_planes small;
};

/* One sheet in progress. The threads of the team write disjoint tiles of `out`. */
struct maker {
    struct coke_dataset *data;
    const int64_t *image; /* [tiles of this sheet] image numbers, -1 = none */
    int side, columns;
    struct ck_image out;
    struct worker *worker;
    int workers;
    const char *root; /* as in struct ck_sheets */
    _Atomic int64_t bad, outside;
    struct ck_first_error error;  /* out of memory only; other failures count in bad */
    struct ck_first_error unread; /* the first of these */
};

void ck_sheets_release(struct ck_sheets *s)
{
    for (int64_t i = 0; i < s->sheets; i++)
        ck_free(s->sheet[i].bytes);
    ck_free(s->sheet);
    ck_free(s->image);
    ck_free(s->place);
    memset(s, 0, sizeof *s);
}

int ck_sheets_begin(struct ck_sheets *s, int64_t images)
{
    s->image = ck_alloc_array((size_t)images, sizeof *s->image);
    s->place = ck_alloc_array((size_t)images, sizeof *s->place);
    if (!s->image || !s->place)
        return COKE_ENOMEM;
    s->places = images;
    ck_sheets_clear(s);
    return COKE_OK;
}

void ck_sheets_clear(struct ck_sheets *s)
{
    for (int64_t i = 0; i < s->places; i++)
        s->place[i] = -1;
    s->n = 0;
}

int ck_sheets_add(struct ck_sheets *s, int64_t image)
{
    if (image < 0 || image >= s->places)
        return ck_fail(COKE_EUSAGE, "image %lld of %lld", (long long)image,
                       (long long)s->places);
    if (s->place[image] < 0) {
        s->place[image] = (int32_t)s->n;
        s->image[s->n++] = image;
    }
    return COKE_OK;
}

/* ---- one picture ---- */

/* Gray images repeat their channel; of more than 3 channels the first three are shown. */
static uint8_t value_at(const struct ck_planes *p, int channel, int at)
{
    int c = p->channels >= 3 ? channel : 0;
    return p->data[(size_t)c * (size_t)p->width * (size_t)p->height + (size_t)at];
}

/* Copies planar p into the interleaved RGB of the sheet. */
static void paste(struct maker *m, const struct ck_planes *p, int64_t tile)
{
    int left = (int)(tile % m->columns) * m->side;
    int top = (int)(tile / m->columns) * m->side;
    for (int y = 0; y < m->side; y++) {
        uint8_t *to =
            m->out.data + ((size_t)(top + y) * (size_t)m->out.width + (size_t)left) * 3;
        for (int x = 0; x < m->side; x++)
            for (int c = 0; c < 3; c++)
                *to++ = value_at(p, c, y * m->side + x);
    }
}

/* Data sets without a path per image consist of files that the source names. */
static int is_outside(const struct maker *m, int64_t i)
{
    const struct ck_dataset *set = m->data->set;
    char path[PATH_MAX], real[PATH_MAX];
    if (!m->root || !set->type->path || set->type->path(set, i, path, sizeof path) ||
        !realpath(path, real))
        return 0;
    size_t n = strlen(m->root);
    return n > 1 && (strncmp(real, m->root, n) != 0 || real[n] != '/');
}

/* Makes the thumbnail of image i in w->small: its center square. The decoder scales down as far
 * as twice the side, which is cheaper than a full decode. */
static int make_picture(struct maker *m, struct worker *w, int64_t i)
{
    struct ck_box part, box;
    int scale = 8, scaled, rc = COKE_OK;
    CK_TRY(ck_fetch_open(&w->fetcher, m->data, i));
    int32_t shorter =
        w->fetcher.width < w->fetcher.height ? w->fetcher.width : w->fetcher.height;
    while (scale > 1 && shorter / scale < 2 * m->side)
        scale /= 2;
    CK_TRY(ck_fetch_decode(&w->fetcher, m->data, NULL, scale, &part, &scaled));
    const struct ck_image *im = &w->fetcher.image;
    box.width = box.height = im->width < im->height ? im->width : im->height;
    box.x = (im->width - box.width) / 2;
    box.y = (im->height - box.height) / 2;
    CK_TRY(ck_resize(&w->resizer, im, box, CK_BICUBIC, m->side, m->side, &w->small));
done:
    return rc;
}

/* Runs on any thread of the team. */
static void make_tile(void *arg, int64_t tile, int worker)
{
    struct maker *m = arg;
    struct worker *w = &m->worker[worker];
    if (m->image[tile] < 0)
        return;
    if (is_outside(m, m->image[tile])) {
        m->outside++;
        return;
    }
    int rc = make_picture(m, w, m->image[tile]);
    if (rc == COKE_OK)
        paste(m, &w->small, tile);
    else if (rc == COKE_ENOMEM)
        ck_first_error_keep(&m->error, rc);
    else {
        ck_first_error_keep(&m->unread, rc);
        m->bad++;
    }
}

/* ---- sheets ---- */

/* A worker per thread; buffers are allocated on first use and reused for all tiles. root: as in
 * struct ck_sheets. */
static int maker_init(struct maker *m, const char *root, struct coke_dataset *d, int side)
{
    memset(m, 0, sizeof *m);
    m->data = d;
    m->root = root;
    m->side = side;
    m->columns =
        CK_SHEET_COLUMNS; /* all sheets of a page have the same width: it relies on it */
    m->workers = ck_threads();
    m->worker = ck_calloc_array((size_t)m->workers, sizeof *m->worker);
    return m->worker ? COKE_OK : COKE_ENOMEM;
}

static void maker_release(struct maker *m)
{
    for (int i = 0; m->worker && i < m->workers; i++) {
        ck_fetcher_release(&m->worker[i].fetcher);
        ck_resizer_release(&m->worker[i].resizer);
        ck_planes_release(&m->worker[i].small);
    }
    ck_free(m->worker);
    ck_image_release(&m->out);
}

/* out->bytes belongs to the caller. */
static int make_sheet(struct maker *m, const int64_t *image, int64_t n, struct ck_sheet *out)
{
    int64_t columns = m->columns, rows = (n + columns - 1) / columns;
    m->image = image;
    CK_RETURN_IF(
        ck_image_reshape(&m->out, (int32_t)(columns * m->side), (int32_t)(rows * m->side), 3));
    memset(m->out.data, GRAY, (size_t)(columns * rows * m->side * m->side) * 3);
    ck_parallel(n, make_tile, m);
    CK_RETURN_IF(ck_first_error_raise(&m->error));
    return ck_jpeg_encode(&m->out, QUALITY, &out->bytes, &out->size);
}

int ck_sheets_make(struct ck_sheets *s, struct coke_dataset *d,
                   const struct coke_callbacks *callbacks)
{
    struct maker m;
    int rc = COKE_OK;
    int64_t sheets = (s->n + CK_SHEET_TILES - 1) / CK_SHEET_TILES;
    CK_TRY(maker_init(&m, s->root, d, s->side));
    s->sheet = ck_calloc_array((size_t)sheets, sizeof *s->sheet);
    if (!s->sheet)
        CK_LEAVE(COKE_ENOMEM);
    for (int64_t at = 0; at < s->n; at += CK_SHEET_TILES) {
        int64_t n = s->n - at < CK_SHEET_TILES ? s->n - at : CK_SHEET_TILES;
        CK_TRY(ck_progress_count(callbacks, "pictures", at, s->n, "pictures"));
        struct ck_sheet *sheet = &s->sheet[s->sheets++];
        CK_TRY(make_sheet(&m, s->image + at, n, sheet));
        s->bytes += (int64_t)sheet->size;
    }
    s->bad = m.bad;
    memcpy(s->why, m.unread.sentence, sizeof s->why);
    s->outside = m.outside;
done:
    maker_release(&m);
    return rc;
}

/* Samples evenly over the added images; images are opened but not decoded. */
int32_t ck_sheets_largest(const struct ck_sheets *s, struct coke_dataset *d)
{
    struct ck_fetcher f = {0};
    int32_t largest = 0;
    int64_t n = s->n < SAMPLE ? s->n : SAMPLE;
    for (int64_t i = 0; i < n; i++) {
        if (ck_fetch_open(&f, d, s->image[i * s->n / n]))
            continue; /* counted when its picture is made */
        int32_t shorter = f.width < f.height ? f.width : f.height;
        largest = shorter > largest ? shorter : largest;
    }
    ck_fetcher_release(&f);
    return largest;
}

int ck_sheets_estimate(const struct ck_sheets *s, struct coke_dataset *d, int side,
                       double *bytes)
{
    struct maker m;
    struct ck_sheet sheet = {0};
    int64_t image[SAMPLE], n = s->n < SAMPLE ? s->n : SAMPLE;
    int rc = COKE_OK;
    *bytes = 0;
    CK_TRY(maker_init(&m, s->root, d, side));
    for (int64_t i = 0; i < n; i++)
        image[i] = s->image[i * s->n / n];
    if (n == 0)
        goto done;
    CK_TRY(make_sheet(&m, image, n, &sheet));
    *bytes = (double)sheet.size / (double)n;
done:
    ck_free(sheet.bytes);
    maker_release(&m);
    return rc;
}

int ck_sheet_of(struct coke_dataset *d, const int64_t *image, int n, int columns, int side,
                struct ck_sheet *out)
{
    struct maker m;
    int rc = COKE_OK;
    *out = (struct ck_sheet){0};
    if (n < 1 || columns < 1 || side < 1 || n > CK_SHEET_TILES || columns > n || side > 1024)
        return ck_fail(
            COKE_EUSAGE,
            "a sheet of %d images in %d columns of %d pixels: 1 to %d images, at most "
            "as many columns and 1024 pixels are possible",
            n, columns, side, CK_SHEET_TILES);
    for (int i = 0; i < n; i++)
        if (image[i] < -1 || image[i] >= d->set->n)
            return ck_fail(COKE_EUSAGE, "image %lld of %lld", (long long)image[i],
                           (long long)d->set->n);
    CK_TRY(maker_init(&m, NULL, d, side));
    m.columns = columns;
    CK_TRY(make_sheet(&m, image, n, out));
done:
    maker_release(&m);
    return rc;
}
