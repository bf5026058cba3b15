/* rows_images.h - which images the rows of a .npy file are of: a small JSON file beside it.
 *
 * x-images.json beside x.npy has the source, the options that choose and order its images, their
 * number and the fingerprint of their names and labels. */
#ifndef CK_ROWS_IMAGES_H
#define CK_ROWS_IMAGES_H

#include "data/fetch.h"

enum { CK_ROWS_IMAGES_PATH = 4200 };

/* The path of the file beside `rows`; 0 = rows is not called *.npy, and has none. */
int ck_rows_images_path(const char *rows, char out[CK_ROWS_IMAGES_PATH]);
int ck_rows_images_write(const char *rows, const struct coke_dataset *d, int force);
/* Opens the data set that the file beside `rows` names; fails if it has other images by now. */
int ck_rows_images_open(struct coke_dataset **out, const char *rows);

#endif
