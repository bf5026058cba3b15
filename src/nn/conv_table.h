/* conv_table.h - which way a convolution is computed: a fixed table, or what was measured. */
#ifndef CK_CONV_TABLE_H
#define CK_CONV_TABLE_H

#include "nn/conv.h"

/* The way, src as in ck_conv_init: the table's, so that two runs give the same
 * bytes; or, while tuning is on, the tuning file's, or if that has none the fastest here and
 * now. Not for several threads at once. */
int ck_conv_choose(const struct ck_conv_shape *s, enum ck_conv_pass pass, enum ck_dtype t,
                   const struct ck_format *src, enum ck_conv_way *way);

/* Turns tuning on: choices come from the file `path` if it exists. NULL turns it off. */
int ck_tuning_open(const char *path);
/* Nothing more is measured: what the file does not have comes from the table. */
void ck_tuning_freeze(void);
/* Writes the file if something was measured since; atomically. */
int ck_tuning_save(void);

#endif
