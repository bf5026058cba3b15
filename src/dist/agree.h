/* agree.h - do all processes of a job mean the same thing? */
#ifndef CK_AGREE_H
#define CK_AGREE_H

#include "coke/types.h"
#include "core/option.h"
#include "dist/group.h"

#include <stdio.h>

/* Lines for ck_agree_text: the program, the instruction set, and the options but for those that
 * may differ (NULL: none may). */
void ck_agree_put_options(FILE *to, const struct ck_option_table *t, const void *options,
                          int (*may_differ)(const char *name));

/* text: lines of "name\tvalue". The process where one differs from the first process's fails,
 * in words; no one goes on before all have agreed. */
int ck_agree_text(struct ck_group *c, const char *text);

/* Fails where a process has another hash than the first; no one goes on, to save what may be
 * wrong, before all have agreed. when: "epoch 3"; what: "labels". */
int ck_agree_hash(struct ck_group *c, uint64_t hash, const char *when, const char *what);

#endif
