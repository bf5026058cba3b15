/* copies.h - parameters in the layouts and precision that convolutions want, shared by all
 * plans of a network and brought up to date when the parameter has changed. */
#ifndef CK_COPIES_H
#define CK_COPIES_H

#include "nn/dnn.h"
#include "nn/net.h"

/* Returns the number of the copy of parameter `param` in `format` (>= 0), made if there is none
 * yet, or a status. The format has oc and ic channels, of which those beyond the parameter's
 * are 0. */
int ck_copies_get(struct ck_net *net, int param, const struct ck_format *format, int64_t oc,
                  int64_t ic);
/* The copy's numbers, up to date. */
int ck_copies_fresh(struct ck_net *net, int copy, const void **data);
void ck_copies_free(struct ck_copies *c);

#endif
