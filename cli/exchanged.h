/* exchanged.h - the output of the commands export and import. */
#ifndef COKE_CLI_EXCHANGED_H
#define COKE_CLI_EXCHANGED_H

#include "coke.h"

/* Prints what was read, the kind of encoder and what was written; the note goes to stderr. */
int exchanged_print(const struct coke_exchange_summary *x, const char *path, int json,
                    int quiet);

#endif
