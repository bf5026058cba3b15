/* sheets.h - contact sheets: thumbnails of chosen images of a data set, 256 per JPEG.
 *
 * Use: begin, add the images, make. The caller (report.c) chooses side and images so that the
 * sheets fit into a number of bytes. One calling thread; decoding uses all threads. */
#ifndef CK_SHEETS_H
#define CK_SHEETS_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

enum { CK_SHEET_COLUMNS = 16, CK_SHEET_TILES = 256 }; /* per sheet */

struct ck_sheet {
    unsigned char *bytes; /* a JPEG */
    size_t size;
};

/* Zeroed = empty. Owns its arrays and the JPEGs. */
struct ck_sheets {
    int side;       /* pixels of a thumbnail; 0 = no pictures */
    int64_t n;      /* images added */
    int64_t *image; /* [n] image numbers of the data set, each once */
    int32_t *place; /* [places] position in image, -1 = not added */
    int64_t places; /* images of the data set */
    int64_t sheets;
    struct ck_sheet *sheet;
    int64_t bytes;         /* sum over all sheets */
    int64_t bad;           /* unreadable images, shown in gray */
    char why[CK_SENTENCE]; /* one of them is unreadable */
    /* Files outside of this folder (borrowed, without links in it) stay gray, wherever links
     * lead; NULL = all are shown. */
    const char *root;
    int64_t outside; /* how many */
    /* Members per cluster of each kind that have a picture, and whether map dots have one. */
    int nearest, borderline, random, dots;
};
void ck_sheets_release(struct ck_sheets *s);

/* Starts with no images, of a data set of `images`. */
int ck_sheets_begin(struct ck_sheets *s, int64_t images);
/* Adds an image; one that is already there is ignored. */
int ck_sheets_add(struct ck_sheets *s, int64_t image);
void ck_sheets_clear(struct ck_sheets *s); /* removes all images */

/* Decodes the images and encodes the sheets. callbacks may be NULL. Of the errors of
 * single images only COKE_ENOMEM is returned; other images count in bad. */
int ck_sheets_make(struct ck_sheets *s, struct coke_dataset *d,
                   const struct coke_callbacks *callbacks);
/* The largest short side among a sample of the added images; 0 = none is readable. */
int32_t ck_sheets_largest(const struct ck_sheets *s, struct coke_dataset *d);
/* Mean JPEG bytes per thumbnail of `side` pixels, estimated from a sample of the added
 * images. */
int ck_sheets_estimate(const struct ck_sheets *s, struct coke_dataset *d, int side,
                       double *bytes);

/* One sheet of images image[0..n-1] of d, -1 = none, n at most CK_SHEET_TILES; out->bytes belongs
 * to the caller. Unreadable images are gray. */
int ck_sheet_of(struct coke_dataset *d, const int64_t *image, int n, int columns, int side,
                struct ck_sheet *out);

#endif
