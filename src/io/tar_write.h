/* tar_write.h - members of a tar file, with the same bytes on every machine. */
#ifndef CK_TAR_WRITE_H
#define CK_TAR_WRITE_H

#include "io/file.h"

#include <stdint.h>

/* One file; a name that does not fit gets a pax header. *bytes (may be NULL) grows by what was
 * written. */
int ck_tar_add(struct ck_writer *w, const char *name, const void *data, size_t size,
               int64_t *bytes);
int ck_tar_end(struct ck_writer *w); /* two empty blocks */

#endif
