/* copies.h - parameters in the layouts and precision that convolutions use, shared by all plans
 * of a network and refreshed when a parameter changes. Owned by the network. */
#ifndef CK_COPIES_H
#define CK_COPIES_H

#include "kernels/conv_tiles.h"
#include "nn/dnn.h"
#include "nn/net.h"

/* Returns the index (>= 0) of the copy of parameter `param` in `format`, which is created if
 * necessary, or a status. The format has oc and ic channels; those beyond the parameter's are
 * 0. */
int ck_copies_get(struct ck_net *net, int param, const struct ck_format *format, int64_t oc,
                  int64_t ic);
/* The same for weights packed for tiles. */
int ck_copies_get_packed(struct ck_net *net, int param, const struct ck_tiles_conv *tiles);
/* Brings the copy up to date and returns its data, valid until the network is released. Not for
 * several threads at once. */
int ck_copies_fresh(struct ck_net *net, int copy, const void **data);
void ck_copies_free(struct ck_copies *c);

#endif
