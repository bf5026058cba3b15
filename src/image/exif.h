/* exif.h - the one thing of EXIF that matters here: which way up. */
#ifndef CK_EXIF_H
#define CK_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* The orientation 1..8 in a block of EXIF data, with or without "Exif\0\0" in front. A block
 * that is damaged, or says nothing or nonsense, gives 1: no reason to refuse the pixels. */
int ck_exif_orientation(const uint8_t *block, size_t size);

#endif
