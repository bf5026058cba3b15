/* result_files.h - the files of a clustering: labels, centers, model and summary. */
#ifndef CK_RESULT_FILES_H
#define CK_RESULT_FILES_H

#include "coke/types.h"

/* Writes all files into dir, which is made if it does not exist, or none. Of several processes
 * only the first writes. */
int ck_cluster_write(const struct coke_cluster *c, const char *dir, int force);

#endif
