/* emit.h - results on stdout: the short table, or JSON. */
#ifndef COKE_CLI_EMIT_H
#define COKE_CLI_EMIT_H

#include "coke.h"

/* A JSON object written as it goes; NULL keys are items of an array. */
struct emit {
    FILE *to;
    int depth;
    int items; /* bit per depth: something was written there */
};

void emit_begin(struct emit *e, const char *key, char bracket); /* '{' or '[' */
void emit_end(struct emit *e, char bracket);                    /* '}' or ']' */
void emit_int(struct emit *e, const char *key, int64_t value);
void emit_real(struct emit *e, const char *key, double value); /* not finite = null */
void emit_flag(struct emit *e, const char *key, int value);
void emit_text(struct emit *e, const char *key, const char *value);

/* Text in quotes. Names are any bytes: what is not UTF-8 becomes '?'. */
void emit_json_string(FILE *to, const char *text);

/* Objective, sizes and certificate of one clustering, with the keys of summary.json. */
void emit_head(struct emit *e, const struct coke_head_summary *s);
/* The same as lines of text. */
void emit_head_text(FILE *to, const struct coke_head_summary *s);

#endif
