/* conv_table.h - chooses the algorithm of a convolution: from a fixed table, or by measurement.
 *
 * Tuning is process-global and not synchronised: call everything here from one thread. */
#ifndef CK_CONV_TABLE_H
#define CK_CONV_TABLE_H

#include "nn/conv.h"

/* Chooses the algorithm; src as in ck_conv_init. The table's choice, so that two runs give the
 * same bytes; or, while tuning is on, the tuning file's, or if that has none the one that is
 * fastest now. */
int ck_conv_choose(const struct ck_conv_shape *s, enum ck_conv_pass pass, enum ck_dtype t,
                   const struct ck_format *src, enum ck_conv_way *way);

/* Turns tuning on and reads the file `path` if it exists. NULL turns it off. */
int ck_tuning_open(const char *path);
/* Stops measuring: what the file does not have comes from the table. */
void ck_tuning_freeze(void);
/* Writes the file, atomically, if something was measured since. */
int ck_tuning_save(void);

#endif
