/* exif.c - reads the orientation from EXIF data; nothing else of EXIF is used.
 *
 * All offsets come from the file: each is checked against the size before it is used. */
#include "image/exif.h"
#include "image/codecs.h"

#include <string.h>

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, TYPE_LONG = 4, ENTRY_BYTES = 12 };

/* A TIFF header and the data after it, borrowed, in either byte order. */
struct tiff {
    const uint8_t *at;
    size_t size;
    int big_endian;
};

static uint32_t read16(const struct tiff *t, size_t at)
{
    return t->big_endian ? ck_be16(t->at + at) : ck_le16(t->at + at);
}

static uint32_t read32(const struct tiff *t, size_t at)
{
    return t->big_endian ? ck_be32(t->at + at) : ck_le32(t->at + at);
}

static int open_tiff(struct tiff *t)
{
    if (t->size < 8)
        return 0;
    t->big_endian = t->at[0] == 'M';
    return (memcmp(t->at, "II", 2) == 0 || memcmp(t->at, "MM", 2) == 0) && read16(t, 2) == 42;
}

/* The value of the directory entry at `at` if it is a valid orientation, else 0. */
static int entry_orientation(const struct tiff *t, size_t at)
{
    uint32_t type = read16(t, at + 2);
    if (read16(t, at) != TAG_ORIENTATION || read32(t, at + 4) < 1)
        return 0;
    uint32_t value = type == TYPE_SHORT  ? read16(t, at + 8)
                     : type == TYPE_LONG ? read32(t, at + 8)
                                         : 0;
    return value >= 1 && value <= 8 ? (int)value : 0;
}

/* Scans the first directory (IFD0) only, which is where cameras store it. open_tiff ensures a
 * size of at least 8, so that size - 2 cannot wrap. */
int ck_exif_orientation(const uint8_t *block, size_t size)
{
    size_t skip = size >= 6 && memcmp(block, "Exif\0", 5) == 0 ? 6 : 0;
    struct tiff t = {.at = block + skip, .size = size - skip};
    if (!open_tiff(&t))
        return 1;
    size_t at = read32(&t, 4);
    if (at > t.size - 2)
        return 1;
    size_t entries = read16(&t, at);
    at += 2;
    for (size_t i = 0; i < entries && at + ENTRY_BYTES <= t.size; i++, at += ENTRY_BYTES) {
        int found = entry_orientation(&t, at);
        if (found)
            return found;
    }
    return 1;
}
