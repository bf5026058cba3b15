/* agree.h - checks that all processes of a group have the same options, data and results.
 *
 * Collective: all processes call these functions in the same order. */
#ifndef CK_AGREE_H
#define CK_AGREE_H

#include "dist/group.h"

#include <stdint.h>

/* text: lines of "name\tvalue". Version and instruction set of the program are compared, too. A
 * process that differs from process 0 fails with a message. A process that agrees returns only
 * after all have agreed; if one fails, it waits until the failing process ends the job. */
int ck_agree_text(struct ck_group *c, const char *text);

/* Fails in processes whose hash differs from that of process 0; the others do not return before
 * all have agreed, so that none saves a wrong result. when: "epoch 3"; what: "labels". */
int ck_agree_hash(struct ck_group *c, uint64_t hash, const char *when, const char *what);

#endif
