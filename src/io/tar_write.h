/* tar_write.h - writes tar members; owner, mode and time are fixed, so the bytes are the same
 * on every machine. */
#ifndef CK_TAR_WRITE_H
#define CK_TAR_WRITE_H

#include "io/file.h"

#include <stdint.h>

/* Adds one file; a name that does not fit the header gets a pax header. Adds the bytes written
 * to *bytes (may be NULL). */
int ck_tar_add(struct ck_writer *w, const char *name, const void *data, size_t size,
               int64_t *bytes);
int ck_tar_end(struct ck_writer *w); /* writes the end mark, two blocks of zeros */

#endif
