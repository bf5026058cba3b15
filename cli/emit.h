/* emit.h - results of clusterings on stdout: a short table, or JSON. */
#ifndef COKE_CLI_EMIT_H
#define COKE_CLI_EMIT_H

#include "coke.h"

/* Closes a document and frees j. A write error is not reported here: main.c checks standard
 * output at the end, once. */
int emit_close(struct coke_json *j);

/* Objective, sizes and certificate of one clustering, with the keys of summary.json. */
void emit_head(struct coke_json *j, const struct coke_head_summary *s);
/* The same as lines of text. */
void emit_head_text(FILE *to, const struct coke_head_summary *s);

#endif
