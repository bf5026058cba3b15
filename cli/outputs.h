/* outputs.h - checks before the work whether files can be written afterwards. The writers
 * check again: these checks only save the user a long computation. */
#ifndef COKE_CLI_OUTPUTS_H
#define COKE_CLI_OUTPUTS_H

#include "coke.h"

#include <stdio.h>

/* COKE_OK if path can be created, or replaced with force. Devices and pipes always can. Prints
 * the reason if not. */
int outputs_check_file(const char *path, int force);
/* Creates dir and the missing folders above it; existing ones are fine. Prints a failure. */
int outputs_make_dir(const char *dir);
/* Stream for messages about the file: stderr if the file is /dev/stdout, which must hold
 * nothing else. */
FILE *outputs_words(const char *path);
/* The same for all files that coke_cluster_write makes in dir for heads of k [heads]
 * clusters. */
int outputs_check_dir(const char *dir, const int32_t *k, int heads, int force);

#endif
