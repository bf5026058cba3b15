/* same.h - do all processes of a job mean the same thing? */
#ifndef CK_SAME_H
#define CK_SAME_H

#include "coke.h"
#include "dist/comm.h"

#include <stdio.h>

/* Lines for ck_same_text: the program, the instruction set, and the options but for those that
 * may differ (NULL: none may). */
void ck_same_put_options(FILE *to, const struct coke_option_table *t, const void *options,
                         int (*may_differ)(const char *name));

/* text: lines of "name\tvalue". The process where one differs from the first process's fails,
 * in words; no one goes on before all have agreed. */
int ck_same_text(struct ck_comm *c, const char *text);

/* Fails where a process has another hash than the first; no one goes on, to save what may be
 * wrong, before all have agreed. when: "epoch 3"; what: "labels". */
int ck_same_hash(struct ck_comm *c, uint64_t hash, const char *when, const char *what);

#endif
