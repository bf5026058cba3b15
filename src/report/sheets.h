/* sheets.h - small pictures of some images of a data set, many to a sheet, within a number of
 * bytes. */
#ifndef CK_SHEETS_H
#define CK_SHEETS_H

#include "coke/types.h"

#include <stddef.h>
#include <stdint.h>

enum { CK_SHEET_COLUMNS = 16, CK_SHEET_TILES = 256 };

struct ck_sheet {
    unsigned char *bytes; /* a JPEG */
    size_t size;
};

struct ck_sheets {
    int side; /* pixels of a picture; 0 = there are none */
    int64_t n;
    int64_t *image; /* [n] which image of the data set, each once */
    int32_t *place; /* [images of the data set] where it is, -1 = nowhere */
    int64_t places;
    int64_t sheets;
    struct ck_sheet *sheet;
    int64_t bytes; /* of all sheets */
    int64_t bad;   /* images that could not be read: grey */
    /* What is shown of a cluster, within the bytes. */
    int nearest, borderline, random, dots;
};
void ck_sheets_release(struct ck_sheets *s);

/* An image that shall be there. */
int ck_sheets_begin(struct ck_sheets *s, int64_t images);
int ck_sheets_add(struct ck_sheets *s, int64_t image);
void ck_sheets_clear(struct ck_sheets *s); /* none shall be there any more */

/* Makes the pictures; progress as in struct coke_callbacks, or NULL. */
int ck_sheets_make(struct ck_sheets *s, struct coke_dataset *d,
                   const struct coke_callbacks *callbacks);
/* The short side of the largest of some of the images added; 0 = none can be read. */
int32_t ck_sheets_largest(const struct ck_sheets *s, struct coke_dataset *d);
/* Bytes that one picture takes on average, by a look at some of those added. */
int ck_sheets_estimate(const struct ck_sheets *s, struct coke_dataset *d, int side,
                       double *bytes);

#endif
