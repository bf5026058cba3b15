/* agree.h - do all processes of a job mean the same thing? */
#ifndef CK_AGREE_H
#define CK_AGREE_H

#include "dist/group.h"

#include <stdint.h>

/* text: lines of "name\tvalue". The program's version and instruction set are compared too. A
 * process where one differs from process 0 fails with a message; none returns before all have
 * agreed. */
int ck_agree_text(struct ck_group *c, const char *text);

/* Fails where a process has another hash than process 0; none returns, and saves what may be
 * wrong, before all have agreed. when: "epoch 3"; what: "labels". */
int ck_agree_hash(struct ck_group *c, uint64_t hash, const char *when, const char *what);

#endif
