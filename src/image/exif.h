/* exif.h - reads the orientation from EXIF data; nothing else of EXIF is used. */
#ifndef CK_EXIF_H
#define CK_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* The orientation 1..8 in a block of EXIF data, with or without "Exif\0\0" in front. A damaged
 * block, or one without a valid orientation, gives 1: that is no reason to reject the
 * pixels. */
int ck_exif_orientation(const uint8_t *block, size_t size);

#endif
