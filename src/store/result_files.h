/* result_files.h - the files of a clustering: labels, centers, model and summary. */
#ifndef CK_RESULT_FILES_H
#define CK_RESULT_FILES_H

#include "coke/types.h"

/* Writes all files into dir, which is created if missing, or none: a failure removes what was
 * written, unless force replaced earlier files. In a group only rank 0 writes; the others
 * return COKE_OK. */
int ck_cluster_write(const struct coke_cluster *c, const char *dir, int force);
/* The bytes of the model file of head h, which the caller frees with ck_free. */
int ck_cluster_pack(const struct coke_cluster *c, int h, void **bytes, size_t *size);

#endif
