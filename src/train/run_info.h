/* run_info.h - describes a run folder, as text or JSON (`coke info`). */
#ifndef CK_RUN_INFO_H
#define CK_RUN_INFO_H

#include <stdio.h>

/* Is path the folder of a training? Other folders and files are described by io/info.h. */
int ck_run_info_is(const char *path);
/* Data, progress, encoder, heads, last metrics and the options that are not the defaults, also
 * of a training that is running. Nothing is printed if the last checkpoint is invalid. */
int ck_run_info_print(const char *path, int json, FILE *to);

#endif
