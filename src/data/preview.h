/* preview.h - a picture of what training sees. */
#ifndef CK_PREVIEW_H
#define CK_PREVIEW_H

#include "data/recipe.h"

/* Each row: an image and, behind it, its views in `columns` drawings (epochs 0, 1, ...). */
int ck_preview(struct coke_dataset *d, const struct ck_view_options *o, int rows, int columns,
               struct ck_image *out);

/* The same as a PNG file. */
int ck_preview_write(struct coke_dataset *d, const struct ck_view_options *options, int rows,
                     int columns, const char *path, int force);

/* Images index [rows][columns], whole, -1 = an empty cell; what cannot be read is empty too. */
int ck_preview_images(struct coke_dataset *d, const int64_t *index, int rows, int columns,
                      struct ck_image *out);

#endif
