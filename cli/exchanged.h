/* exchanged.h - what the commands export and import print. */
#ifndef COKE_CLI_EXCHANGED_H
#define COKE_CLI_EXCHANGED_H

#include "coke.h"

/* The result: what was read, what it is, what was written; the note goes to stderr. */
int exchanged_print(const struct coke_exchange_summary *x, const char *path, int json,
                    int quiet);

#endif
