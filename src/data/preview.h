/* preview.h - contact sheets of images and their views (`coke data preview`, the report). */
#ifndef CK_PREVIEW_H
#define CK_PREVIEW_H

#include "data/recipe.h"

/* Each row shows an image and its views in `columns` draws (epochs 0, 1, ...). Random images,
 * chosen by o->seed; unreadable ones are skipped. The caller releases *out. */
int ck_preview(struct coke_dataset *d, const struct ck_view_options *o, int rows, int columns,
               struct ck_image *out);

/* The same as a PNG file. */
int ck_preview_write(struct coke_dataset *d, const struct ck_view_options *options, int rows,
                     int columns, const char *path, int force);

/* Draws the whole images index [rows][columns]; -1 and unreadable images leave an empty cell.
 * The caller releases *out. */
int ck_preview_images(struct coke_dataset *d, const int64_t *index, int rows, int columns,
                      struct ck_image *out);

#endif
