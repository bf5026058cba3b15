/* outputs.h - may these files be written? Asked before the work, not after it. */
#ifndef COKE_CLI_OUTPUTS_H
#define COKE_CLI_OUTPUTS_H

#include "coke.h"

#include <stdio.h>

/* One file. Devices and pipes may be written always. Says why not. */
int outputs_check_file(const char *path, int force);
/* Where words about the file go: one on standard output leaves no room there for anything else.
 */
FILE *outputs_words(const char *path);
/* The files that coke_cluster_write makes in dir for clusterings of k [heads] clusters. */
int outputs_check_dir(const char *dir, const int32_t *k, int heads, int force);

#endif
